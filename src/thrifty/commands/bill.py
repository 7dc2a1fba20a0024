"""``thrifty show``, ``bill`` and ``resolve``: what was learned, what it cost, what is open."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thrifty.cells import Balance, OpenPurchase
from thrifty.commands.options import (
    AsJson,
    LifetimeName,
    StorePlace,
    money,
    open_lifetime,
    print_json,
    say,
)
from thrifty.errors import BadInput
from thrifty.lifetime.bill import COLUMNS
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.lifetime import Lifetime
from thrifty.typing import Fields
from thrifty.untrusted import readable, visible


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    def show(
        store: StorePlace,
        task: Annotated[
            str | None, typer.Argument(help="The name of the task; none: all are listed.")
        ] = None,
        lifetime: LifetimeName = None,
        as_json: AsJson = False,
    ) -> None:
        """List the learned tasks; or show a task: what it cost, how good it is, its model."""
        life = open_lifetime(store, lifetime)
        if task is None:
            _list_tasks(life, as_json)
        else:
            _show_task(life, task, as_json)

    @app.command()
    def bill(store: StorePlace, lifetime: LifetimeName = None, as_json: AsJson = False) -> None:
        """What each task bought, reused and cost; what is spent and reserved in all."""
        life = open_lifetime(store, lifetime)
        rows, balance, waiting = life._bill_rows(), life.balance(), life.ledger.open_purchases()
        if as_json:
            tasks = {"tasks": rows[: len(life)], "beside": rows[len(life) :]}
            doubt = {"in_doubt": [p.to_dict() for p in waiting]}
            print_json({**tasks, **balance.to_dict(), **doubt})
            return
        Console().print(_table(rows))
        for line in _lines(balance):
            say(line)
        if balance.reserved or waiting:
            say(f"reserved {money(balance.reserved, balance.currency)}")
            place = life.ledger.book.place
            say(f"{len(waiting)} purchases wait for you: thrifty resolve {place}")

    @app.command()
    def resolve(
        store: StorePlace,
        purchase: Annotated[
            int | None, typer.Argument(help="Its number; without it, they are listed.")
        ] = None,
        billed: Annotated[
            bool | None, typer.Option("--billed/--not-billed", help="What the provider says.")
        ] = None,
        values: Annotated[
            Path | None,
            typer.Option(help="CSV with the values: a header of features, a row per example id."),
        ] = None,
        cost: Annotated[
            str | None,
            typer.Option(help="What was billed, such as '3.25 EUR'; else as said, or reserved."),
        ] = None,
        everything: Annotated[
            str | None,
            typer.Option("--all", metavar="billed|not-billed", help="The same for all of them."),
        ] = None,
        lifetime: LifetimeName = None,
        as_json: AsJson = False,
    ) -> None:
        """List open purchases, or say what became of one, or of all.

        Look the purchase up at the provider. --not-billed frees its money; --billed --values FILE
        stores what was bought; --billed alone gives it up, and its cells may be bought again.
        --all billed and --all not-billed say so of every purchase that is listed.
        """
        if everything is not None and (purchase, billed, values, cost) != (None,) * 4:
            raise BadInput(
                "--all is for all purchases: give no number, no --billed, no --values, no --cost."
            )
        if everything not in (None, "billed", "not-billed"):
            raise BadInput(f"--all must be billed or not-billed; got {everything!r}.")
        write = purchase is not None or everything is not None
        life = open_lifetime(store, lifetime, write=write)
        waiting = life.ledger.open_purchases()
        if everything is not None:
            for p in waiting:
                life.ledger.resolve(p.id, everything)
            said = f"{len(waiting)} purchases resolved as {everything}"
            _say(life, [p.id for p in waiting], said, as_json)
        elif purchase is None:
            if as_json:
                print_json([p.to_dict() for p in waiting])
            else:
                say("\n".join(_listing(waiting, life.ledger.book.place)))
        elif billed is None:
            raise BadInput("say what became of it: --billed or --not-billed.")
        else:
            chosen = next((p for p in waiting if p.id == purchase), None)
            table = read_values(values, chosen) if values and chosen else None
            life.ledger.resolve(purchase, "billed" if billed else "not-billed", table, cost)
            _say(life, purchase, f"purchase {purchase} resolved", as_json)


# -- show ----------------------------------------------------------------------------------------


def _list_tasks(life: Lifetime, as_json: bool) -> None:
    """In the order of learning."""
    tasks = [(one.name, one.route, one.receipt) for one in life.tasks]
    if as_json:
        listed = [{"task": name, "route": route, "cost": r.cost} for name, route, r in tasks]
        print_json(listed)
        return
    for name, route, receipt in tasks:
        say(f"{name}\t{route}\t{money(receipt.cost, receipt.currency)}")


def _show_task(life: Lifetime, task: str, as_json: bool) -> None:
    shown = life[task]
    if not as_json:
        say(shown.show())
        return
    print_json(in_full(next(one for one in life.tasks if one.name == task)))


def in_full(learned: Learned) -> Fields:
    """A learned task as plain data."""
    failure = None if learned.failure is None else learned.failure.message
    bill = {**learned.bill_row(), "failure": failure, "receipt": learned.receipt.to_dict()}
    return {**bill, "model": learned.model.to_dict()}


# -- bill ----------------------------------------------------------------------------------------


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


# -- resolve -------------------------------------------------------------------------------------


def _say(life: Lifetime, resolved: int | list[int], words: str, as_json: bool) -> None:
    """What was resolved, and what is spent and reserved after it."""
    balance = life.balance()
    if as_json:
        said = {"spent": balance.spent, "reserved": balance.reserved, "over": balance.over}
        print_json({"resolved": resolved, **said})
        return
    over = f"; {money(balance.over, balance.currency)} owed beyond the prices"
    say(
        f"{words}; {money(balance.spent, balance.currency)} spent and "
        f"{money(balance.reserved, balance.currency)} reserved{over if balance.over else ''}."
    )


def _listing(waiting: list[OpenPurchase], store: str) -> list[str]:
    if not waiting:
        return ["no purchase waits for you."]

    def some(names: tuple[str, ...]) -> str:
        return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")

    lines = []
    for p in waiting:
        lines += [str(p), f"  task {p.task or '(prediction)'}, key {p.key}"]
        lines += [f"  examples {some(p.examples)}", f"  features {some(p.features)}"]
    first = waiting[0].id
    lines += [
        "Look them up at the provider, then type one of",
        f"  thrifty resolve {store} {first} --not-billed",
        f"  thrifty resolve {store} {first} --billed --values FILE.csv",
        f"  thrifty resolve {store} {first} --billed        (give the values up)",
        "and --cost 'AMOUNT EUR' where the provider billed something else",
    ]
    if len(waiting) > 1:
        lines.append(f"  thrifty resolve {store} --all not-billed   (the same for all of them)")
    return lines


def read_values(path: Path, purchase: OpenPurchase) -> list[list[object]]:
    """The values of a purchase from a CSV: first column the example, then a column per feature."""
    with readable(f"the file {path}", BadInput):
        try:
            rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        except csv.Error as error:
            raise BadInput(f"{path} is not CSV: {error}.") from error
        except OSError as error:
            raise BadInput(f"the file {path} cannot be read: {error.strerror}.") from error
        if not rows:
            raise BadInput(f"{path} is empty.")
        header, body = rows[0][1:], {row[0]: row[1:] for row in rows[1:] if row}
        lacking = [f for f in purchase.features if f not in header]
        lacking += [e for e in purchase.examples if e not in body]
        if lacking:
            raise BadInput(f"{path} lacks {lacking[0]!r} ({len(lacking)} names are missing).")
        at = [header.index(f) for f in purchase.features]
        try:
            return [[_cell(body[e][j]) for j in at] for e in purchase.examples]
        except IndexError as error:
            raise BadInput(f"{path} must hold a value for each example and feature.") from error


def _cell(text: str) -> object:
    """A number, or the word of a category."""
    try:
        return float(text)
    except ValueError:
        return text
