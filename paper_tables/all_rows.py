"""Every row of both tables, by name, and what a theorem asks of a grid."""

from __future__ import annotations

from collections.abc import Mapping

from paper_tables.point import Grid
from paper_tables.row import Row
from paper_tables.table_1 import TREE_ROWS
from paper_tables.table_1_powers import POWER_ROWS
from paper_tables.table_2 import UNRELATED_ROWS
from thrifty.errors import BadParameter

__all__ = ["ROWS", "check_grid", "chosen_rows", "row_named"]

ROWS: Mapping[str, Row] = {row.key: row for row in (*TREE_ROWS, *POWER_ROWS, *UNRELATED_ROWS)}


def row_named(key: str) -> Row:
    """The row of that name.

    >>> row_named("trees").theory
    'S (K N + m K d)'
    """
    if key not in ROWS:
        raise BadParameter(f"a row must be one of {sorted(ROWS)}; got {key!r}.")
    return ROWS[key]


def chosen_rows(table: str) -> tuple[Row, ...]:
    """The rows of table "1", "2" or "all".

    >>> len(chosen_rows("1")) < len(chosen_rows("all"))
    True
    """
    if table not in ("1", "2", "all"):
        raise BadParameter(f"table must be '1', '2' or 'all'; got {table!r}.")
    return tuple(row for row in ROWS.values() if table in ("all", str(row.table)))


def check_grid(row: Row, grid: Grid) -> None:
    """Raise where a point does not satisfy the conditions of the row's theorem."""
    for point in grid.points:
        for condition in row.conditions(point):
            if not condition.holds:
                raise BadParameter(
                    f"row {row.key!r} at {point}: its theorem needs {condition.says}. Change the "
                    "grid there."
                )
