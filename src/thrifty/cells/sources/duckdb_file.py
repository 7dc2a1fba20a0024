"""Cells from a table in a DuckDB file; of one that would not fit into memory, only those bought.

The file is opened to be read and nothing else: its statements reach no other file. Names of tables
and columns are checked against its catalogue and quoted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.checks import checked_ids
from thrifty.cells.sources.columnar import LongColumnSource, chosen_features, told_boolean
from thrifty.cells.sources.kinds import read_kinds
from thrifty.errors import BadInput, ThriftyError
from thrifty.typing import AnyArray, KindsLike

if TYPE_CHECKING:
    import duckdb

__all__ = ["DuckDBSource", "URL"]

#: how ``Source.from_sql`` knows a DuckDB file
URL = "duckdb:///"
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_TEXT = ("VARCHAR", "ENUM")
#: one thread that keeps little of what it read takes no longer than many: measured on 10^7 rows
_LIMITS = {"memory_limit": "128MB", "threads": "1", "enable_external_access": "false"}
#: rows that are looked at first: most columns of numbers show there that they are no bits
_FIRST = 1000


class DuckDBSource(LongColumnSource):
    """A table of a DuckDB file; made by :meth:`Source.from_sql`."""

    def __init__(
        self,
        path: str,
        table: str,
        *,
        id: str | None = None,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        boolean: bool | Collection[str] | None = None,
        schema: str | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        self.path = Path(path)
        self._open: duckdb.DuckDBPyConnection | None = None
        self._from = self._find(schema or "main", table)
        described = self._run(f"SELECT column_name, column_type FROM (DESCRIBE {self._from})")
        types = {str(column): str(kind) for column, kind in described}
        chosen_features(list(types), [] if id is None else [id], (), f"table {table!r}")
        names = chosen_features(list(types), features, {*without, id or ""}, f"table {table!r}")
        n = self._count(table)
        if id is not None:
            self.name = name or (f"{schema}.{table}" if schema else table)
            ids = [
                i for (i,) in self._run(f"SELECT {_quoted(id)} FROM {self._from} ORDER BY rowid")
            ]
            self.examples = checked_ids(ids, n)
        said, told = read_kinds(kinds, names), told_boolean(boolean, names)
        text = [
            i
            for i, name in enumerate(names)
            if said.get(name) == "category"
            or isinstance(said.get(name), tuple)
            or (name not in said and types[name].startswith(_TEXT))
        ]
        bits = self._kinds(names, types, {*text, *map(names.index, said)}) if told is None else told
        bits[[i for i, name in enumerate(names) if said.get(name) == "boolean"]] = True
        super().__init__(n, names, bits, allow_missing=allow_missing, told=said, text=text)

    def _find(self, schema: str, table: str) -> str:
        """The table as statements name it, if it is there."""
        there = self._run(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_type = 'BASE TABLE'"
        )
        if (schema, table) not in there:
            names = ", ".join(repr(t) for s, t in there[:8] if s == schema)
            raise BadInput(f"{self.path} has no table {table!r}; it has {names or 'none'}.")
        return f"{_quoted(schema)}.{_quoted(table)}"

    def _count(self, table: str) -> int:
        ((n, last),) = self._run(f"SELECT count(*), max(rowid) FROM {self._from}")
        assert isinstance(n, int)
        if n and last != n - 1:
            raise BadInput(
                f"rows were deleted from table {table!r} in {self.path}, so they have no places to "
                "be found by. Copy it: CREATE TABLE whole AS SELECT * FROM ..."
            )
        return n

    def _kinds(
        self, names: Sequence[str], types: dict[str, str], other: Collection[int]
    ) -> NDArray[np.bool_]:
        """Boolean columns, and numbers that are 0 or 1 throughout."""
        out, unsure = np.zeros(len(names), dtype=np.bool_), []
        for i, name in enumerate(names):
            kind = types[name]
            if i in other:
                continue
            if kind == "BOOLEAN":
                out[i] = True
            elif kind.removeprefix("U").startswith(_NUMBERS):
                unsure.append(i)
            else:
                raise BadInput(
                    f"every feature must hold numbers, Booleans or text; {name!r} in {self.path} "
                    f"holds {kind}. Convert it first, or leave it out with features= or without=."
                )
        for where in (f"WHERE rowid < {_FIRST}", ""):
            found = self._of_bits([names[i] for i in unsure], where)
            unsure = [i for i, bits in zip(unsure, found, strict=True) if bits]
        out[unsure] = True
        return out

    def _of_bits(self, names: Sequence[str], where: str) -> Sequence[object]:
        if not names:
            return []
        bits = "coalesce(bool_and({0} IS NOT NULL AND {0} IN (0, 1)), true)"
        each = ", ".join(bits.format(_quoted(name)) for name in names)
        return self._run(f"SELECT {each} FROM {self._from} {where}")[0]

    # -- values -------------------------------------------------------------------------------

    def numbers_of(
        self, features: Sequence[int], rows: NDArray[np.int64]
    ) -> Sequence[NDArray[np.float64]]:
        """In one look at the table, however many columns."""
        names = ", ".join(_quoted(self.feature_names[f]) for f in features)
        wanted = np.unique(rows)
        with self._reading() as connection:
            found = connection.execute(
                f"SELECT rowid, {names} FROM {self._from} "
                "WHERE rowid IN (SELECT unnest(?::BIGINT[])) ORDER BY rowid",
                [wanted.tolist()],
            ).fetchnumpy()
        at = np.searchsorted(wanted, rows)
        return [_filled(found[self.feature_names[f]])[at] for f in features]

    def fetch(self, names: Sequence[str]) -> list[AnyArray]:
        chosen = ", ".join(map(_quoted, names))
        with self._reading() as connection:
            found = connection.execute(
                f"SELECT {chosen} FROM {self._from} ORDER BY rowid"
            ).fetchnumpy()
        return [_filled(found[name]) for name in names]

    # -- the file -----------------------------------------------------------------------------

    def _run(self, statement: str) -> list[tuple[object, ...]]:
        with self._reading() as connection:
            return connection.execute(statement).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of this thread; what is wrong with the file is said in our words."""
        module = _duckdb()
        if self._open is None and not self.path.is_file():
            raise BadInput(f"there is no file {self.path}.")
        try:
            if self._open is None:
                self._open = module.connect(str(self.path), read_only=True, config=_LIMITS)
            with self._open.cursor() as cursor:
                yield cursor
        except module.Error as error:
            raise BadInput(
                f"{self.path} cannot be read by DuckDB ({type(error).__name__}: "
                f"{str(error)[:300]}). See that it is a DuckDB file and that nobody writes to it."
            ) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _filled(column: AnyArray) -> AnyArray:
    """Numbers with NaN for gaps; text, None for gaps, as it is."""
    gaps = np.ma.getmaskarray(column)
    values = np.ma.getdata(column)
    if values.dtype == object:
        values[gaps] = None
        return values
    numbers = values.astype(np.float64)
    numbers[gaps] = np.nan
    return numbers


def _duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError as error:
        raise ThriftyError(
            "reading a DuckDB file needs the package duckdb. Type: pip install 'thrifty[frames]'"
        ) from error
    return duckdb
