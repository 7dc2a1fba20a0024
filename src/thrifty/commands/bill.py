"""``thrifty bill``: what each task cost, and what is still open."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thrifty.cells import Balance
from thrifty.commands.opening import (
    AsJson,
    LifetimeName,
    StorePlace,
    money,
    open_lifetime,
    print_json,
    visible,
)
from thrifty.lifetime.bill_columns import COLUMNS
from thrifty.typing import Fields

__all__ = ["register"]

_ROUTES = ("reused", "screened", "scratch")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def bill(store: StorePlace, lifetime: LifetimeName = None, as_json: AsJson = False) -> None:
        """What each task bought, reused, avoided and cost; what is spent and reserved in all."""
        life = open_lifetime(store, lifetime)
        rows = life.bill_rows()
        balance, waiting = life.balance(), life.ledger.open_purchases()
        if as_json:
            print_json(
                {
                    "tasks": [row for row in rows if row["route"] in _ROUTES],
                    "beside": [row for row in rows if row["route"] not in _ROUTES],
                    **balance.to_dict(),
                    "in_doubt": [p.to_dict() for p in waiting],
                }
            )
            return
        Console().print(_table(rows))
        for line in _lines(balance):
            typer.echo(line)
        if balance.reserved or waiting:
            typer.echo(f"reserved {money(balance.reserved, balance.currency)}")
            place = life.ledger.book.place
            typer.echo(f"{len(waiting)} purchases wait for you: thrifty resolve {place}")


def _lines(balance: Balance) -> list[str]:
    """What was spent, of what, and what is left."""

    def said(amount: float) -> str:
        return money(amount, balance.currency)

    lines = [f"spent {said(balance.spent)}"]
    if balance.predictions:
        lines[0] += f": {said(balance.learning)} on learning, "
        lines[0] += f"{said(balance.predictions)} on predictions"
    if balance.everything_cells:
        lines.append(
            f"everything: {balance.everything_cells:,} distinct cells for "
            f"{said(balance.everything)}; {said(balance.saved)} saved"
        )
    if balance.over:
        lines.append(f"billed beyond the prices, and owed, {said(balance.over)}")
    if balance.left is not None:
        lines.append(f"left of the budget {said(balance.left)}")
    return lines


def _table(rows: list[Fields]) -> Table:
    table = Table(box=None)
    columns = [
        column
        for column in COLUMNS
        if column.in_terminal and (not column.only_where_some or any(r[column.name] for r in rows))
    ]
    table.add_column("task")
    table.add_column("route")
    for column in columns:
        table.add_column(column.name, justify="right")
    for row in rows:
        said = [
            money(row[column.name], "") if column.is_money else f"{row[column.name]:,}"
            for column in columns
        ]
        table.add_row(escape(visible(row["task"])), escape(visible(row["route"])), *said)
    return table
