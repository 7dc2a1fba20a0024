"""Cells from a table of a database, through SQLAlchemy Core.

Names of tables and columns are checked against the reflected schema and then handed to SQLAlchemy,
which quotes them: no statement is put together from text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.cells.ledger.answers import redacted
from thrifty.cells.sources.checks import checked_ids
from thrifty.cells.sources.parquet import ColumnSource, chosen_features
from thrifty.errors import BadInput
from thrifty.on_demand import needed
from thrifty.typing import AnyArray, Floats, Ints, KindsLike

if TYPE_CHECKING:
    import duckdb
    import sqlalchemy

_COLUMNS_AT_ONCE = 500


class SqlSource(ColumnSource):
    """A table of a database; made by :meth:`thrifty.Source.from_sql`."""

    by_rows = False

    def __init__(
        self,
        database: str | sqlalchemy.Engine,
        table: str,
        *,
        id: str | None,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        schema: str | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        if id is None:
            raise BadInput(
                f"rows of a database have no order of their own: give id=, the column of {table!r} "
                "that names each example once."
            )
        self.name = name or (f"{schema}.{table}" if schema else table)
        self._sa = needed("sqlalchemy", "reading a database", "sql")
        self._engine = self._connectable(database)
        self._reflected = self._reflect(table, schema)
        there, where = [c.name for c in self._reflected.columns], f"table {table!r}"
        chosen_features(there, [id], (), where)
        self._id = self._reflected.columns[id]
        names = chosen_features(there, features, {id, *without}, where)
        self.examples = self._read_ids(table, id)
        n = len(self.examples)
        super().__init__(n, names, where, allow_missing=allow_missing, kinds=kinds)

    def kind_of(self, name: str) -> str:
        kind = self._reflected.columns[name].type
        if isinstance(kind, self._sa.String):
            return "text"
        return "boolean" if isinstance(kind, self._sa.Boolean) else "number"

    def _connectable(self, database: str | sqlalchemy.Engine) -> sqlalchemy.Engine:
        if not isinstance(database, str):
            return database
        try:
            made: sqlalchemy.Engine = self._sa.create_engine(database)
            return made
        except (self._sa.exc.SQLAlchemyError, ImportError) as error:
            raise BadInput(f"this is no database: {redacted(str(error))}.") from error

    def _reflect(self, table: str, schema: str | None) -> sqlalchemy.Table:
        try:
            there = self._sa.inspect(self._engine).get_table_names(schema=schema)
            if table not in there:
                raise BadInput(
                    f"the database has no table {table!r}; it has "
                    f"{', '.join(map(repr, there[:8])) or 'none'}."
                )
            data = self._sa.MetaData(schema=schema)
            found: sqlalchemy.Table = self._sa.Table(table, data, autoload_with=self._engine)
            return found
        except self._sa.exc.SQLAlchemyError as error:
            raise BadInput(f"the database cannot be read: {redacted(str(error))}") from error

    def _read_ids(self, table: str, id: str) -> tuple[str, ...]:
        ids = [row[0] for row in self._run(self._sa.select(self._id).order_by(self._id))]
        texts = tuple(str(i) for i in ids)
        if None in ids or len(set(texts)) != len(texts):
            raise BadInput(
                f"column {id!r} of table {table!r} must name each example once; it has gaps or "
                "repeats. Choose the key of the table."
            )
        return texts

    def of_bits(self, names: Sequence[str]) -> list[bool]:
        """Of integers; what is declared real is taken for that."""
        sa, bits = self._sa, set[str]()
        columns = [self._reflected.columns[name] for name in names]
        unsure = [column for column in columns if isinstance(column.type, sa.Integer)]
        for start in range(0, len(unsure), _COLUMNS_AT_ONCE // 2):
            some = unsure[start : start + _COLUMNS_AT_ONCE // 2]
            ends = [f(c) for c in some for f in (sa.func.min, sa.func.max)]
            (row,) = self._run(sa.select(*ends))
            for j, column in enumerate(some):
                low, high = row[2 * j], row[2 * j + 1]
                if low is not None and low >= 0 and high <= 1:
                    bits.add(column.name)
        return [name in bits for name in names]

    def fetch(self, names: Sequence[str]) -> list[list[object]]:
        out: list[list[object]] = []
        for start in range(0, len(names), _COLUMNS_AT_ONCE):
            some = names[start : start + _COLUMNS_AT_ONCE]
            columns = [self._reflected.columns[name] for name in some]
            rows = self._run(self._sa.select(self._id, *columns).order_by(self._id))
            if tuple(str(row[0]) for row in rows) != self.examples:
                raise BadInput(
                    "the table has changed while it was read: its examples are not the same any "
                    "more. Learn on a snapshot, or make the source again."
                )
            for j in range(len(some)):
                out.append([np.nan if row[j + 1] is None else row[j + 1] for row in rows])
        return out

    def _run(self, statement: sqlalchemy.Select[Any]) -> list[sqlalchemy.Row[Any]]:
        try:
            with self._engine.connect() as connection:
                return list(connection.execute(statement))
        except self._sa.exc.SQLAlchemyError as error:
            raise BadInput(f"the database cannot be read: {redacted(str(error))}") from error


#: how ``thrifty.Source.from_sql`` knows a DuckDB file
URL = "duckdb:///"
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
#: one thread that keeps little of what it read takes no longer than many: measured on 10^7 rows
_LIMITS = {"memory_limit": "128MB", "threads": "1", "enable_external_access": "false"}


class DuckDBSource(ColumnSource):
    """A table of a DuckDB file; made by :meth:`thrifty.Source.from_sql`."""

    def __init__(
        self,
        database: str | sqlalchemy.Engine,
        table: str,
        *,
        id: str | None,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        schema: str | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        self.path = Path(str(database).removeprefix(URL))
        self._open: duckdb.DuckDBPyConnection | None = None
        self._from = self._find(schema or "main", table)
        described = self._run(f"SELECT column_name, column_type FROM (DESCRIBE {self._from})")
        self._types = {str(column): str(kind) for column, kind in described}
        there, where = list(self._types), f"table {table!r}"
        chosen_features(there, [] if id is None else [id], (), where)
        names = chosen_features(there, features, {*without, id or ""}, where)
        n = self._count(table)
        if id is not None:
            self.name = name or (f"{schema}.{table}" if schema else table)
            ids = self._run(f"SELECT {_quoted(id)} FROM {self._from} ORDER BY rowid")
            self.examples = checked_ids([i for (i,) in ids], n)
        super().__init__(n, names, str(self.path), allow_missing=allow_missing, kinds=kinds)

    def kind_of(self, name: str) -> str:
        kind = self._types[name]
        if kind.startswith(("VARCHAR", "ENUM")):
            return "text"
        if kind.removeprefix("U").startswith(_NUMBERS):
            return "number"
        return "boolean" if kind == "BOOLEAN" else kind

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

    def of_bits(self, names: Sequence[str]) -> list[bool]:
        """Most columns of numbers show on the first rows that they are no bits."""
        left = list(names)
        for where in ("WHERE rowid < 1000", ""):
            bits = "coalesce(bool_and({0} IS NOT NULL AND {0} IN (0, 1)), true)"
            each = ", ".join(bits.format(_quoted(name)) for name in left)
            found = self._run(f"SELECT {each} FROM {self._from} {where}")[0] if left else ()
            left = [name for name, yes in zip(left, found, strict=True) if yes]
        return [name in left for name in names]

    # -- values -------------------------------------------------------------------------------

    def numbers_of(self, features: Sequence[int], rows: Ints) -> Sequence[Floats]:
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
        module = needed("duckdb", "reading a DuckDB file", "frames")
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
