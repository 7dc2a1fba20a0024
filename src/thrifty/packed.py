"""Packing a table into a column file that is read a column at a time.

Writing the packed column file in bounded memory: rows come in blocks, columns go to disk.

Written beside its place under another name and put there when it is complete: a run that is
killed leaves no file that looks whole.

From a table on disk to a packed column file.

What can be packed, read a block of rows at a time: CSV, Parquet, .npy, scipy sparse .npz.

An input says how many examples it has, its names, which features are Boolean (one pass over the
data decides), and gives its rows in blocks.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.checks import checked_names, default_names
from thrifty.cells.sources.packed_file import FORMAT, VERSION, seal_of
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, Json

#: bytes of one block of float64 rows
_BLOCK = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Input:
    """A table on disk: its names, and its rows in blocks of at most so many."""

    names: tuple[str, ...]
    blocks: Callable[[int], Iterator[AnyArray]]

    @property
    def rows_at_once(self) -> int:
        """Rows of one block: a multiple of 64 that fits the memory set aside."""
        return max(64, _BLOCK // (8 * max(len(self.names), 1)) // 64 * 64)

    def even_blocks(self) -> Iterator[AnyArray]:
        """The rows in blocks of :attr:`rows_at_once`; only the last may be smaller."""
        n = self.rows_at_once
        waiting: list[AnyArray] = []
        held = 0
        for block in self.blocks(n):
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
        for block in self.blocks(self.rows_at_once):
            if block.dtype.kind == "f" and not np.isfinite(block).all():
                row, column = map(int, np.argwhere(~np.isfinite(block))[0])
                raise BadInput(
                    f"every value must be known and finite; got {block[row, column]} for "
                    f"{self.names[column]} on row {n + row}. Mend or drop it before packing."
                )
            boolean &= ((block == 0) | (block == 1)).all(axis=0)
            n += len(block)
        return n, boolean


def _of_array(path: Path, without: Collection[str]) -> Input:
    """A .npy file, memory-mapped."""
    table = np.load(path, mmap_mode="r", allow_pickle=False)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise BadInput(f"{path} must hold a table of numbers; it is {table.ndim}-D {table.dtype}.")
    return _sliced(table, default_names(table.shape[1]), without)


def _sliced(table: Any, names: Sequence[str], without: Collection[str]) -> Input:
    """An array, or a scipy sparse matrix in rows."""
    keep = _kept(names, without)

    def blocks(step: int) -> Iterator[AnyArray]:
        for start in range(0, table.shape[0], step):
            some = table[start : start + step]
            yield np.asarray(some.toarray() if hasattr(some, "toarray") else some)[:, keep]

    return Input(tuple(names[i] for i in keep.tolist()), blocks)


def _of_parquet(path: Path, without: Collection[str]) -> Input:
    """A Parquet file, read a few rows at a time."""
    file = _arrow("parquet").ParquetFile(path)
    every = file.schema_arrow.names
    names = [every[i] for i in _kept(checked_names(every, len(every)), without).tolist()]

    def blocks(step: int) -> Iterator[AnyArray]:
        for batch in file.iter_batches(batch_size=step, columns=names, use_threads=False):
            yield np.column_stack([_numbers(batch.column(n), n) for n in names])

    return Input(tuple(names), blocks)


def _of_text(path: Path, without: Collection[str]) -> Input:
    """A CSV file whose first line names the columns."""
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            head = next(csv.reader(lines), [])
    except csv.Error as error:
        raise BadInput(f"the header of {path} cannot be read: {error}.") from error
    names = [head[i] for i in _kept(checked_names(head, len(head)), without).tolist()]

    def blocks(step: int) -> Iterator[AnyArray]:
        arrow, numbers = _arrow("csv"), dict.fromkeys(names, _arrow().float64())
        try:
            reader = arrow.open_csv(
                path,
                read_options=arrow.ReadOptions(block_size=_BLOCK // 8, use_threads=False),
                convert_options=arrow.ConvertOptions(include_columns=names, column_types=numbers),
            )
            for batch in reader:
                yield np.column_stack([_numbers(batch.column(n), n) for n in names])
        except _arrow().ArrowInvalid as error:
            raise BadInput(
                f"{path} must hold numbers in every column that is packed: {error}. Encode "
                "categories first, or leave the column out (--without)."
            ) from error

    return Input(tuple(names), blocks)


def read_input(
    source: Any, *, names: Sequence[str] | None = None, without: Collection[str] = ()
) -> Input:
    """The input behind a path, by its ending, or a scipy sparse matrix."""
    path = Path() if hasattr(source, "tocsr") else Path(source)
    ending = path.suffix.lower()
    if not path.exists():
        raise BadInput(f"there is no file {path}.")
    if ending == ".npz":
        from scipy import sparse

        source = sparse.load_npz(path)
    if hasattr(source, "tocsr"):
        width = source.shape[1]
        told = default_names(width) if names is None else checked_names(names, width)
        return _sliced(source.tocsr(), told, without)
    readers = {".npy": _of_array, ".parquet": _of_parquet, ".pq": _of_parquet, ".csv": _of_text}
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
    if values.dtype.kind not in "biuf":
        plain = values.tolist()
        if not all(v is None or isinstance(v, bool | int | float) for v in plain):
            raise BadInput(
                f"column {name!r} must hold numbers or Booleans; it holds {column.type}. Encode it "
                "first, or leave it out (--without)."
            )
        values = np.array([np.nan if v is None else v for v in plain])
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


#: bytes of columns whose checksums are computed at once
_AT_ONCE = 16 * 2**20


class Writer:
    """Takes blocks of rows, in order; every block but the last has a multiple of 64 rows."""

    def __init__(
        self, path: Path, n_examples: int, names: Sequence[str], boolean: NDArray[np.bool_]
    ) -> None:
        self.path, self.n_examples, self.names = path, n_examples, list(names)
        if any("\0" in name for name in self.names):
            raise BadInput("a feature name must not hold a zero byte.")
        self.boolean = np.asarray(boolean, dtype=np.bool_)
        self._working = path.with_name(f"{path.name}.{os.getpid()}.part")
        if self._working.exists():
            shutil.rmtree(self._working)
        self._working.mkdir(parents=True)
        n_boolean = int(self.boolean.sum())
        words = kernels.words_for(n_examples)
        self._bits = self._room("bits.bin", "<u8", (n_boolean, words))
        self._reals = self._room("reals.bin", "<f8", (len(self.names) - n_boolean, n_examples))
        self._at = 0

    def _room(self, name: str, dtype: str, shape: tuple[int, int]) -> AnyArray | None:
        if 0 in shape:
            (self._working / name).touch()
            return None
        return np.memmap(self._working / name, dtype=dtype, mode="w+", shape=shape)

    def add(self, rows: AnyArray) -> None:
        """The next rows, all features."""
        n = len(rows)
        if self._at % 64:
            raise BadInput("only the last block of rows may end within a word of 64.")
        if self._bits is not None:
            bits = kernels.pack_columns(rows, np.flatnonzero(self.boolean))
            first = self._at // 64
            self._bits[:, first : first + bits.shape[1]] = bits
        if self._reals is not None:
            self._reals[:, self._at : self._at + n] = rows[:, ~self.boolean].T
        self._at += n

    def close(self, progress: Callable[[float], None] = lambda share: None) -> None:
        """Checksums, names, meta.json; then the file takes its place."""
        if self._at != self.n_examples:
            raise BadInput(
                f"{self.n_examples} examples were announced and {self._at} came: the input changed "
                "while it was read."
            )
        sums = np.zeros(len(self.names), dtype="<u4")
        sums[self.boolean] = _checksums(self._bits)
        sums[~self.boolean] = _checksums(self._reals)
        progress(0.9)
        self._write_small(sums)
        for room in (self._bits, self._reals):
            if room is not None:
                room.flush()  # type: ignore[attr-defined]
        self._bits = self._reals = None
        for file in self._working.iterdir():
            _sync(file)
        if self.path.exists():
            shutil.rmtree(self.path)
        os.replace(self._working, self.path)
        progress(1.0)

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._bits = self._reals = None
        shutil.rmtree(self._working, ignore_errors=True)

    def _write_small(self, sums: NDArray[np.uint32]) -> None:
        texts = [name.encode() + b"\0" for name in self.names]
        small = {
            "kinds.bin": self.boolean.astype(np.uint8).tobytes(),
            "sums.bin": sums.tobytes(),
            "names.bin": b"".join(texts),
        }
        for name, data in small.items():
            (self._working / name).write_bytes(data)
        sizes = {file.name: file.stat().st_size for file in sorted(self._working.iterdir())}
        meta: Json = {
            "format": FORMAT,
            "version": VERSION,
            "n_examples": self.n_examples,
            "n_features": len(self.names),
            "n_boolean": int(self.boolean.sum()),
            "sizes": sizes,
            "checksums": {name: zlib.crc32(data) for name, data in small.items()},
        }
        meta["seal"] = seal_of(meta)
        text = json.dumps(meta, sort_keys=True, indent=1)
        (self._working / "meta.json").write_text(text, encoding="utf-8")


def _checksums(room: AnyArray | None) -> list[int]:
    if room is None:
        return []
    step = max(1, _AT_ONCE // (room.shape[1] * 8))
    sums: list[int] = []
    for start in range(0, len(room), step):
        block = np.ascontiguousarray(room[start : start + step]).view(np.uint8)
        sums += [zlib.crc32(row) for row in block]
    return sums


def _sync(file: Path) -> None:
    with open(file, "rb") as handle:
        os.fsync(handle.fileno())


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed."""

    path: Path
    n_examples: int
    n_features: int
    n_boolean: int
    bytes: int


def pack(
    source: object,
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    without: Collection[str] = (),
    replace: bool = False,
    progress: Callable[[float], None] = lambda share: None,
) -> Packed:
    """Pack CSV, Parquet, .npy or scipy sparse data; memory stays bounded whatever its size.

    Columns that hold only 0 and 1 take a bit per cell, others eight bytes. ``without`` names
    columns to leave out, such as the labels; ``replace`` allows an earlier file to be replaced.

    >>> import tempfile
    >>> from scipy import sparse
    >>> import thrifty
    >>> folder = Path(tempfile.mkdtemp())
    >>> packed = pack(sparse.eye(3, format="csr"), folder / "eye.cells")
    >>> thrifty.Source.from_packed(packed.path)
    PackedSource(3 examples x 3 features)
    """
    target = Path(path)
    if target.exists() and not replace:
        raise BadInput(
            f"{target} is there already. Choose another name, or allow it to be replaced "
            "(--replace)."
        )
    if target.exists() and not (target / "meta.json").exists():
        raise BadInput(f"{target} is not a packed file and is not replaced.")
    table = read_input(source, names=names, without=without)
    n_examples, boolean = table.survey()
    if not n_examples:
        raise BadInput("at least one example is needed; the input has none.")
    progress(0.3)
    writer = Writer(target, n_examples, table.names, boolean)
    try:
        done = 0
        for block in table.even_blocks():
            writer.add(block)
            done += len(block)
            progress(0.3 + 0.5 * done / n_examples)
        writer.close(progress)
    except BaseException:
        writer.abandon()
        raise
    size = sum(file.stat().st_size for file in target.iterdir())
    return Packed(target, n_examples, len(table.names), int(boolean.sum()), size)
