"""Cells from a Parquet file: only the columns that are looked at are read.

Of a table that would not fit into memory, numbers are taken row group by row group, and nothing of
them is kept: a task that looks at few rows takes little memory however long the file is.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from thrifty.cells.sources.base import Source
from thrifty.cells.sources.kinds import read_column, read_kinds
from thrifty.errors import BadInput, ThriftyError
from thrifty.on_demand import needed
from thrifty.typing import AnyArray, Bools, Floats, Ints, KindsLike, Words
from thrifty.untrusted import readable

if TYPE_CHECKING:
    import pandas
    import pyarrow
    import pyarrow.parquet

#: bytes of a whole table in memory up to which columns are kept once they are read
_KEPT = 512 * 2**20


class ColumnSource(Source):
    """A source whose columns are fetched when they are first needed, and kept.

    Of a table that may not fit into memory, what is looked at of numbers is read and not kept.
    """

    named = True
    #: whether columns of numbers may be read on some rows: by :meth:`numbers_of`
    by_rows = True

    def __init__(
        self,
        n_examples: int,
        names: Sequence[str],
        where: str,
        *,
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        if n_examples == 0 or len(names) == 0:
            raise BadInput(
                f"a source needs at least one example and one feature; the table has {n_examples} "
                f"rows and {len(names)} features."
            )
        told = read_kinds(kinds, names)
        found = {name: self.kind_of(name) for name in names if name not in told}
        bits = self._bits(names, found, where)
        for name, said in told.items():
            bits[names.index(name)] = said == "boolean"
        super().__init__(n_examples, names, bits)
        # a number that is said to be one is read as it is
        self._told = {n: k for n, k in told.items() if (k, self.kind_of(n)) != ("number", "number")}
        # Text is a category; its values are known once its column was read.
        self._found: dict[int, tuple[str, ...]] = {}
        for f, name in enumerate(names):
            said = told.get(name, found.get(name, ""))
            if said in ("category", "text") or isinstance(said, tuple):
                self._found[f] = said if isinstance(said, tuple) else ()
        self._allow_missing = allow_missing
        self.categories = MappingProxyType(self._found)
        self._table: dict[int, Floats] = {}
        self._packed: dict[int, Words] = {}

    @abstractmethod
    def kind_of(self, name: str) -> str:
        """What a column holds: "boolean", "number", "text", or what it is that is no feature."""

    @abstractmethod
    def of_bits(self, names: Sequence[str]) -> Sequence[object]:
        """Whether each of these columns of numbers is 0 or 1 throughout."""

    def _bits(self, names: Sequence[str], found: Mapping[str, str], where: str) -> Bools:
        """Boolean columns, and numbers that are 0 or 1 throughout."""
        for name, kind in found.items():
            if kind not in ("boolean", "number", "text"):
                raise BadInput(
                    f"every feature must hold numbers, Booleans or text; {name!r} in {where} holds "
                    f"{kind}. Convert it first, or leave it out with features= or without=."
                )
        unsure = [name for name, kind in found.items() if kind == "number"]
        bits = {name for name, yes in zip(unsure, self.of_bits(unsure), strict=True) if yes}
        return np.array([name in bits or found.get(name) == "boolean" for name in names])

    @abstractmethod
    def fetch(self, names: Sequence[str]) -> Sequence[Sequence[object] | AnyArray]:
        """Whole columns, one per name, in the order of the examples."""

    def _load(self, missing: Sequence[int]) -> None:
        if missing:
            columns = self.fetch([self.feature_names[f] for f in missing])
            for f, column in zip(missing, columns, strict=True):
                self._table[f] = self._checked(f, column)

    def _checked(self, f: int, column: object) -> Floats:
        name = self.feature_names[f]
        if f in self._found or name in self._told:
            told = self._told.get(name, "category")
            read = read_column(np.asarray(column, dtype=object), name, told)
            if read.categories is not None:
                self._found[f] = read.categories
            column = read.values
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"every feature must hold numbers or Booleans; {name!r} does not ({error}). Encode "
                "it first, or leave it out with features=."
            ) from error
        if len(values) != self.n_examples:
            raise BadInput(
                f"the table has changed while it was read: {name!r} has {len(values)} values now, "
                f"and there were {self.n_examples} examples."
            )
        return self._checked_values(f, values)

    def _checked_values(self, f: int, values: Floats, rows: Ints | None = None) -> Floats:
        """Values of a column that may be; of these rows, None: of all."""
        name = self.feature_names[f]
        bad = ~np.isfinite(values)
        if self._allow_missing and not self.boolean[f]:
            bad &= ~np.isnan(values)
        if self.boolean[f]:
            bad |= (values != 0) & (values != 1)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            row = at if rows is None else int(rows[at])
            wanted = "0 or 1" if self.boolean[f] else "a finite number"
            raise BadInput(
                f"{name!r} must be {wanted}; got {values[at]:g} on example {row} "
                "(nan where there is none). Mend the value, or leave the feature out."
            )
        return values

    def numbers_of(self, features: Sequence[int], rows: Ints) -> Sequence[Floats]:
        """Columns of numbers on some rows, NaN for gaps."""
        raise NotImplementedError

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        whole = dict.fromkeys(features.tolist())
        if self.by_rows and 8 * self.n_examples * self.n_features > _KEPT:
            # what a word stands for, the whole column says
            some = self._found.keys() | {f for f in whole if self.feature_names[f] in self._told}
            whole = {f: None for f in whole if f in some}
        self._load([f for f in whole if f not in self._table])
        others = [f for f in dict.fromkeys(features.tolist()) if f not in self._table]
        found = dict(zip(others, self.numbers_of(others, rows) if others else [], strict=True))
        out = np.empty((len(rows), len(features)))
        for j, f in enumerate(features.tolist()):
            if f in found:
                out[:, j] = self._checked_values(f, found[f], rows)
            else:
                out[:, j] = self._table[f][rows]
        return out

    def columns(self, features: Ints) -> Words:
        for f in features.tolist():
            if f not in self._packed:
                self._packed[f] = super().columns(np.array([f]))[0]
        return np.array([self._packed[f] for f in features.tolist()], dtype=np.uint64)


def chosen_features(
    there: Sequence[str], wanted: Sequence[str] | None, without: Collection[str], where: str
) -> list[str]:
    """The features a user named, checked against what is there; all of them for None."""
    if wanted is None:
        return [name for name in there if name not in without]
    unknown = [name for name in wanted if name not in set(there)]
    if unknown:
        raise BadInput(
            f"{where} has no column {unknown[0]!r} ({len(unknown)} of {len(wanted)} are missing); "
            f"it has {', '.join(map(repr, there[:8]))}{', ...' if len(there) > 8 else ''}."
        )
    return list(wanted)


class ParquetSource(ColumnSource):
    """A Parquet file; made by :meth:`Source.from_parquet`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        self.path = Path(path)
        with whole_parquet(self.path):
            self._file = opened_parquet(self.path)
            there = [str(name) for name in self._file.schema_arrow.names]
            names = chosen_features(there, features, without, str(self.path))
            n = int(self._file.metadata.num_rows)
            super().__init__(n, names, str(self.path), allow_missing=allow_missing, kinds=kinds)

    def kind_of(self, name: str) -> str:
        import pyarrow.types

        kind = self._file.schema_arrow.field(name).type
        if _is_text(kind):
            return "text"
        if pyarrow.types.is_boolean(kind):
            return "boolean"
        is_number = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
        return "number" if is_number else str(kind)

    def of_bits(self, names: Sequence[str]) -> list[bool]:
        places = {name: at for at, name in enumerate(self._file.schema_arrow.names)}
        return [self._of_bits(name, places[name]) for name in names]

    def _of_bits(self, name: str, place: int) -> bool:
        """Whether a column of numbers is 0 or 1 throughout; what is no bit is found first.

        Row groups say their ends and gaps, which most often is enough; else they are read, one
        after another, until a value is something else.
        """
        metadata, groups = self._file.metadata, range(self._file.metadata.num_row_groups)
        for g in groups if metadata.num_columns == len(self._file.schema_arrow.names) else ():
            said = metadata.row_group(g).column(place).statistics
            if said is None or not said.has_min_max:
                continue
            if said.min < 0 or said.max > 1 or (said.has_null_count and said.null_count):
                return False
        for g in groups:
            with whole_parquet(self.path):
                values = self._file.read_row_group(g, [name]).column(0).to_numpy()
            if values.dtype == object or not ((values == 0) | (values == 1)).all():
                return False
        return True

    def numbers_of(self, features: Sequence[int], rows: Ints) -> Sequence[Floats]:
        """From the row groups that have them."""
        return [self._numbers(f, rows) for f in features]

    def _numbers(self, f: int, rows: Ints) -> Floats:
        sizes = [self._file.metadata.row_group(g).num_rows for g in range(len(self._ends))]
        group = np.searchsorted(self._ends, rows, side="right")
        out = np.full(len(rows), np.nan)
        for g in np.unique(group).tolist():
            here = np.flatnonzero(group == g)
            with whole_parquet(self.path):
                column = self._file.read_row_group(g, [self.feature_names[f]]).column(0)
                values = column.take(rows[here] - (self._ends[g] - sizes[g])).to_numpy()
            out[here] = values.astype(np.float64)
        return out

    @cached_property
    def _ends(self) -> Ints:
        """Where each row group ends."""
        metadata = self._file.metadata
        return np.cumsum([metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)])

    def fetch(self, names: Sequence[str]) -> list[AnyArray]:
        if not names:
            return []
        with whole_parquet(self.path):
            return self._fetch(names)

    def _fetch(self, names: Sequence[str]) -> list[AnyArray]:
        out = []
        for name in names:  # one after another: what Arrow holds of it goes with it
            column = self._file.read(columns=[name]).column(0)
            values = _texts(column) if _is_text(column.type) else column.to_numpy()
            if values.dtype == object and not any(isinstance(v, str) for v in values):
                # Booleans with gaps
                values = np.array([np.nan if v is None else float(v) for v in values.tolist()])
            out.append(values if values.dtype == object else values.astype(np.float64, copy=False))
        return out


def _is_text(kind: pyarrow.DataType) -> bool:
    import pyarrow.types as types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(inner) or types.is_large_string(inner))


def _texts(column: pyarrow.ChunkedArray) -> AnyArray:
    """Texts, None where there is none; a text that repeats is there once."""
    parts = [np.zeros(0, dtype=object)]
    for chunk in column.chunks:
        words = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        parts.append(words[chunk.indices.fill_null(len(words) - 1).to_numpy()])
    return np.concatenate(parts)


@contextmanager
def whole_parquet(path: Path) -> Iterator[None]:
    """A damaged file is an error of ours, wherever in it the damage shows."""
    try:
        with readable(f"the Parquet file {path}", BadInput):
            yield
    except ThriftyError:
        raise
    except Exception as error:  # pyarrow has kinds of its own
        raise BadInput(
            f"the Parquet file {path} cannot be read ({type(error).__name__}: {str(error)[:300]}). "
            "It is damaged or cut short: write it again."
        ) from error


def frame_of(table: pyarrow.Table) -> pandas.DataFrame:
    """As pandas reads it; texts that repeat are there once."""
    frame = table.to_pandas()
    for name in table.column_names:
        if _is_text(table.column(name).type):
            frame[name] = frame[name].astype(object)
    return frame


def opened_parquet(path: Path) -> pyarrow.parquet.ParquetFile:
    """The file, its head read and believed; columns of text come as dictionaries.

    A text of many letters takes a few bytes for each row that repeats it. Cells that a file claims
    are in proportion to its size: what compresses better was made to.
    """
    needed("pyarrow.parquet", "reading Parquet", "frames")
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        said, size = file.metadata, path.stat().st_size
        rows = int(said.num_rows)
        # of rows and of cells: how many a file of any size may claim, or so many for each byte
        most = max(1_000_000, 100 * size), max(10_000_000, 1000 * size)
        if not (0 <= rows <= most[0] and 0 <= rows * int(said.num_columns) <= most[1]):
            raise BadInput(
                f"{path} claims {rows:,} rows of {said.num_columns:,} columns in {size:,} bytes, "
                "which cannot be: it is damaged."
            )
        texts = [str(field.name) for field in file.schema_arrow if _is_text(field.type)]
        return pyarrow.parquet.ParquetFile(path, read_dictionary=texts) if texts else file
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}.") from error
    except (OSError, pyarrow.ArrowException, ValueError, TypeError, KeyError, MemoryError) as error:
        raise BadInput(f"{path} is not a Parquet file ({str(error)[:300]}).") from error
