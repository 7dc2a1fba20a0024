"""What can be packed, read a block of rows at a time: CSV, Parquet, .npy, scipy sparse .npz.

An input says how many examples it has, its names, which features are Boolean (one pass over the
data decides), and gives its rows in blocks.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.checks import checked_names, default_names
from thrifty.errors import BadInput
from thrifty.typing import AnyArray

__all__ = ["Input", "read_input"]

#: bytes of one block of float64 rows
_BLOCK = 64 * 2**20


class Input(ABC):
    """A table on disk."""

    n_examples: int
    names: tuple[str, ...]

    @abstractmethod
    def blocks(self) -> Iterator[AnyArray]:
        """The rows, from the first on, in blocks of any size."""

    def rows_at_once(self) -> int:
        """Rows of one block: a multiple of 64 that fits the memory set aside."""
        return max(64, _BLOCK // (8 * max(len(self.names), 1)) // 64 * 64)

    def even_blocks(self) -> Iterator[AnyArray]:
        """The rows in blocks of :meth:`rows_at_once`; only the last may be smaller."""
        n = self.rows_at_once()
        waiting: list[AnyArray] = []
        held = 0
        for block in self.blocks():
            while len(block):
                part = block[: n - held]
                waiting.append(part)
                held += len(part)
                block = block[len(part) :]
                if held == n:
                    yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                    waiting, held = [], 0
        if waiting:
            yield np.concatenate(waiting)

    def survey(self) -> tuple[int, NDArray[np.bool_]]:
        """How many rows there are and which features hold only 0 and 1; refuses NaN."""
        boolean = np.ones(len(self.names), dtype=np.bool_)
        n = 0
        for block in self.blocks():
            if block.dtype.kind == "f" and not np.isfinite(block).all():
                row, column = map(int, np.argwhere(~np.isfinite(block))[0])
                raise BadInput(
                    f"every value must be known and finite; got {block[row, column]} for "
                    f"{self.names[column]} on row {n + row}. Mend or drop it before packing."
                )
            boolean &= ((block == 0) | (block == 1)).all(axis=0)
            n += len(block)
        return n, boolean


class ArrayInput(Input):
    """A .npy file, memory-mapped."""

    def __init__(self, path: Path, without: Collection[str]) -> None:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            raise BadInput(
                f"{path} must hold a table of numbers; it is {table.ndim}-D {table.dtype}."
            )
        names = default_names(table.shape[1])
        self._keep = _kept(names, without)
        self.names = tuple(names[i] for i in self._keep.tolist())
        self._table = table

    def blocks(self) -> Iterator[AnyArray]:
        step = self.rows_at_once()
        for start in range(0, len(self._table), step):
            yield np.asarray(self._table[start : start + step])[:, self._keep]


class SparseInput(Input):
    """A scipy sparse matrix saved with ``scipy.sparse.save_npz``, or one in memory."""

    def __init__(self, source: Any, names: Sequence[str] | None, without: Collection[str]) -> None:
        from scipy import sparse

        matrix = sparse.load_npz(source) if isinstance(source, Path) else source
        self._matrix = matrix.tocsr()
        width = self._matrix.shape[1]
        all_names = default_names(width) if names is None else checked_names(names, width)
        self._keep = _kept(all_names, without)
        self.names = tuple(all_names[i] for i in self._keep.tolist())

    def blocks(self) -> Iterator[AnyArray]:
        step = self.rows_at_once()
        for start in range(0, self._matrix.shape[0], step):
            yield self._matrix[start : start + step].toarray()[:, self._keep]


class ParquetInput(Input):
    """A Parquet file, read a few rows at a time."""

    def __init__(self, path: Path, without: Collection[str]) -> None:
        self._file = _arrow("parquet").ParquetFile(path)
        every = tuple(self._file.schema_arrow.names)
        keep = _kept(checked_names(every, len(every)), without)
        self.names = tuple(every[i] for i in keep.tolist())

    def blocks(self) -> Iterator[AnyArray]:
        batches = self._file.iter_batches(
            batch_size=self.rows_at_once(), columns=list(self.names), use_threads=False
        )
        for batch in batches:
            yield np.column_stack([_numbers(batch.column(n), n) for n in self.names])


class TextInput(Input):
    """A CSV file whose first line names the columns."""

    def __init__(self, path: Path, without: Collection[str]) -> None:
        self._path = path
        with open(path, newline="", encoding="utf-8") as lines:
            head = next(csv.reader(lines), [])
        keep = _kept(checked_names(head, len(head)), without)
        self.names = tuple(head[i] for i in keep.tolist())

    def blocks(self) -> Iterator[AnyArray]:
        arrow, reader = _arrow("csv"), None
        numbers = dict.fromkeys(self.names, _arrow().float64())
        convert = arrow.ConvertOptions(include_columns=list(self.names), column_types=numbers)
        try:
            reader = arrow.open_csv(
                self._path,
                read_options=arrow.ReadOptions(block_size=_BLOCK // 8, use_threads=False),
                convert_options=convert,
            )
            for batch in reader:
                yield np.column_stack([_numbers(batch.column(n), n) for n in self.names])
        except _arrow().ArrowInvalid as error:
            raise BadInput(
                f"{self._path} must hold numbers in every column that is packed: {error}. Encode "
                "categories first, or leave the column out (--without)."
            ) from error


def read_input(
    source: Any, *, names: Sequence[str] | None = None, without: Collection[str] = ()
) -> Input:
    """The input behind a path, by its ending, or a scipy sparse matrix."""
    if hasattr(source, "tocsr"):
        return SparseInput(source, names, without)
    path = Path(source)
    if not path.exists():
        raise BadInput(f"there is no file {path}.")
    readers: dict[str, Callable[[Path, Collection[str]], Input]] = {
        ".npy": ArrayInput,
        ".parquet": ParquetInput,
        ".pq": ParquetInput,
        ".csv": TextInput,
    }
    ending = path.suffix.lower()
    if ending == ".npz":
        return SparseInput(path, names, without)
    if ending not in readers:
        raise BadInput(
            f"{path} must end in .csv, .parquet, .npy or .npz (scipy sparse); got {ending!r}."
        )
    return readers[ending](path, without)


def _kept(names: Sequence[str], without: Collection[str]) -> NDArray[np.int64]:
    unknown = sorted(set(without) - set(names))
    if unknown:
        raise BadInput(f"columns to leave out must be there; these are not: {unknown[:5]}.")
    keep = [i for i, name in enumerate(names) if name not in set(without)]
    if not keep:
        raise BadInput("at least one column must be left to pack.")
    return np.array(keep, dtype=np.int64)


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "biuf" and not all(
        v is None or isinstance(v, bool | int | float) for v in values.tolist()
    ):
        raise BadInput(
            f"column {name!r} must hold numbers or Booleans; it holds {column.type}. Encode it "
            "first, or leave it out (--without)."
        )
    if values.dtype.kind not in "biuf":
        values = np.array([np.nan if v is None else float(v) for v in values.tolist()])
    return values.astype(np.float64)


def _arrow(part: str = "") -> ModuleType:
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise BadInput(
            "reading CSV and Parquet needs pyarrow. Type: pip install 'thrifty[frames]'"
        ) from error
    found: ModuleType = getattr(pyarrow, part) if part else pyarrow
    return found
