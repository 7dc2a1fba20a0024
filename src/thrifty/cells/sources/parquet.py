"""Cells from a Parquet file: only the columns that are looked at are read.

Of a table that would not fit into memory, numbers are taken row group by row group, and nothing of
them is kept: a task that looks at few rows takes little memory however long the file is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.columnar import LongColumnSource, chosen_features, told_boolean
from thrifty.cells.sources.kinds import ToldKind, read_kinds
from thrifty.errors import BadInput, ThriftyError
from thrifty.typing import AnyArray, KindsLike
from thrifty.untrusted import readable

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

__all__ = ["ParquetSource", "opened_parquet", "whole_parquet"]


class ParquetSource(LongColumnSource):
    """A Parquet file; made by :meth:`Source.from_parquet`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        boolean: bool | Collection[str] | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        self.path = Path(path)
        with whole_parquet(self.path):
            self._open(features, without, boolean, allow_missing, kinds)

    def _open(
        self,
        features: Sequence[str] | None,
        without: Collection[str],
        boolean: bool | Collection[str] | None,
        allow_missing: bool,
        kinds: object,
    ) -> None:
        self._file = opened_parquet(self.path)
        there = [str(name) for name in self._file.schema_arrow.names]
        names = chosen_features(there, features, without, str(self.path))
        said = read_kinds(kinds, names)
        text = self._text(names, said)
        told = told_boolean(boolean, names)
        of_bits = told if told is not None else self._kinds(names, {*text, *map(names.index, said)})
        of_bits[[i for i, name in enumerate(names) if said.get(name) == "boolean"]] = True
        rows = int(self._file.metadata.num_rows)
        super().__init__(rows, names, of_bits, allow_missing=allow_missing, told=said, text=text)

    def _text(self, names: Sequence[str], said: Mapping[str, ToldKind]) -> list[int]:
        """Columns of text are categories, unless something else was said; so is what was said."""
        import pyarrow.types as types

        def is_text(kind: pyarrow.DataType) -> bool:
            inner = kind.value_type if types.is_dictionary(kind) else kind
            return bool(types.is_string(inner) or types.is_large_string(inner))

        schema = self._file.schema_arrow
        return [
            i
            for i, name in enumerate(names)
            if said.get(name) == "category"
            or isinstance(said.get(name), tuple)
            or (name not in said and is_text(schema.field(name).type))
        ]

    def _kinds(self, names: Sequence[str], other: Collection[int]) -> NDArray[np.bool_]:
        """Boolean columns, and numbers that are 0 or 1 throughout."""
        import pyarrow.types

        schema = self._file.schema_arrow
        out = np.zeros(len(names), dtype=np.bool_)
        unsure = []
        for i, name in enumerate(names):
            kind = schema.field(name).type
            if i in other:
                continue
            if pyarrow.types.is_boolean(kind):
                out[i] = True
            elif pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
                unsure.append(i)
            else:
                raise BadInput(
                    f"every feature must hold numbers, Booleans or text; {name!r} in {self.path} "
                    f"holds {kind}. Convert it first, or leave it out with features= or without=."
                )
        places = {name: at for at, name in enumerate(schema.names)}
        for i in unsure:
            out[i] = self._of_bits(names[i], places[names[i]])
        return out

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

    def numbers_of(
        self, features: Sequence[int], rows: NDArray[np.int64]
    ) -> Sequence[NDArray[np.float64]]:
        """From the row groups that have them."""
        return [self._numbers(f, rows) for f in features]

    def _numbers(self, f: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
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
    def _ends(self) -> NDArray[np.int64]:
        """Where each row group ends."""
        metadata = self._file.metadata
        return np.cumsum([metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)])

    def fetch(self, names: Sequence[str]) -> list[AnyArray]:
        if not names:
            return []
        with whole_parquet(self.path):
            return self._fetch(names)

    def _fetch(self, names: Sequence[str]) -> list[AnyArray]:
        table = self._file.read(columns=list(names))
        out = []
        for name in names:
            values = table.column(name).to_numpy()
            if values.dtype == object and not any(isinstance(v, str) for v in values):
                # Booleans with gaps
                values = np.array([np.nan if v is None else float(v) for v in values.tolist()])
            out.append(values if values.dtype == object else values.astype(np.float64))
        return out


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


def opened_parquet(path: Path) -> pyarrow.parquet.ParquetFile:
    """The file, its head read and believed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ThriftyError(
            "reading Parquet needs the package pyarrow. Type: pip install 'thrifty[frames]'"
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(path)
        rows, size = int(file.metadata.num_rows), path.stat().st_size
        if not 0 <= rows <= max(10_000_000, 1000 * size):
            raise BadInput(
                f"{path} claims {rows:,} rows in {size:,} bytes, which cannot be: it is damaged."
            )
        return file
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}.") from error
    except (OSError, pyarrow.ArrowException, ValueError, TypeError, KeyError, MemoryError) as error:
        raise BadInput(f"{path} is not a Parquet file ({str(error)[:300]}).") from error
