"""Cells from a table of a database, through SQLAlchemy Core.

Names of tables and columns are checked against the reflected schema and then handed to SQLAlchemy,
which quotes them: no statement is put together from text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.answers import redacted
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.columnar import ColumnSource, chosen_features, told_boolean
from thrifty.cells.sources.duckdb_file import URL, DuckDBSource
from thrifty.cells.sources.kinds import ToldKind, read_kinds
from thrifty.errors import BadInput, ThriftyError
from thrifty.typing import KindsLike

if TYPE_CHECKING:
    import sqlalchemy

__all__ = ["SqlSource", "sql_source"]

_COLUMNS_AT_ONCE = 500


class SqlSource(ColumnSource):
    """A table of a database; made by :meth:`Source.from_sql`."""

    def __init__(
        self,
        database: str | sqlalchemy.Engine,
        table: str,
        *,
        id: str,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        boolean: bool | Collection[str] | None = None,
        schema: str | None = None,
        name: str | None = None,
        allow_missing: bool = False,
        kinds: KindsLike = None,
    ) -> None:
        self.name = name or (f"{schema}.{table}" if schema else table)
        self._sa = _sqlalchemy()
        self._engine = self._connectable(database)
        self._reflected = self._reflect(table, schema)
        there = [c.name for c in self._reflected.columns]
        chosen_features(there, [id], (), f"table {table!r}")
        self._id = self._reflected.columns[id]
        names = chosen_features(there, features, {id, *without}, f"table {table!r}")
        self.examples = self._read_ids(table, id)
        said = read_kinds(kinds, names)
        text = [i for i, name in enumerate(names) if self._is_category(name, said.get(name))]
        told = told_boolean(boolean, names)
        of_bits = told if told is not None else self._kinds(names)
        for i, name in enumerate(names):
            if name in said:
                of_bits[i] = said[name] == "boolean"
        super().__init__(
            len(self.examples), names, of_bits, allow_missing=allow_missing, told=said, text=text
        )

    def _is_category(self, name: str, said: ToldKind | None) -> bool:
        """Columns of text are categories, unless something else was said."""
        if said is not None:
            return said == "category" or isinstance(said, tuple)
        return isinstance(self._reflected.columns[name].type, self._sa.String)

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

    def _kinds(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Columns declared Boolean, and integers that are 0 or 1 throughout."""
        sa, out = self._sa, np.zeros(len(names), dtype=np.bool_)
        unsure = []
        for i, name in enumerate(names):
            kind = self._reflected.columns[name].type
            out[i] = isinstance(kind, sa.Boolean)
            if isinstance(kind, sa.Integer):
                unsure.append(i)
        for start in range(0, len(unsure), _COLUMNS_AT_ONCE // 2):
            some = unsure[start : start + _COLUMNS_AT_ONCE // 2]
            columns = [self._reflected.columns[names[i]] for i in some]
            ends = [f(c) for c in columns for f in (sa.func.min, sa.func.max)]
            (row,) = self._run(sa.select(*ends))
            for j, i in enumerate(some):
                low, high = row[2 * j], row[2 * j + 1]
                out[i] = low is not None and low >= 0 and high <= 1
        return out

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


def sql_source(
    database: str | sqlalchemy.Engine, table: str, *, id: str | None, **how: Unpack[_How]
) -> Source:
    """A table of a database, or of a DuckDB file, which needs no ids."""
    if isinstance(database, str) and database.startswith(URL):
        return DuckDBSource(database.removeprefix(URL), table, id=id, **how)
    if id is None:
        raise BadInput(
            f"rows of a database have no order of their own: give id=, the column of {table!r} "
            "that names each example once."
        )
    return SqlSource(database, table, id=id, **how)


class _How(TypedDict):
    """What else may be said of a table."""

    features: Sequence[str] | None
    without: Collection[str]
    boolean: bool | Collection[str] | None
    schema: str | None
    name: str | None
    allow_missing: bool
    kinds: KindsLike


def _sqlalchemy() -> ModuleType:
    try:
        import sqlalchemy
    except ImportError as error:
        raise ThriftyError(
            "reading a database needs the package sqlalchemy. Type: pip install 'thrifty[sql]'"
        ) from error
    return sqlalchemy
