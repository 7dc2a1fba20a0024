"""``thrifty resolve``: what became of a purchase that nobody knows the end of."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from thrifty.cells import OpenPurchase
from thrifty.commands.opening import (
    AsJson,
    LifetimeName,
    StorePlace,
    money,
    open_lifetime,
    print_json,
    visible,
)
from thrifty.errors import BadInput
from thrifty.lifetime import Lifetime
from thrifty.untrusted import readable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

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
        """List the purchases whose end is open, or say what became of one, or of all.

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
            _resolve_all(life, waiting, everything, as_json)
            return
        if purchase is None:
            if as_json:
                print_json([p.to_dict() for p in waiting])
            for line in [] if as_json else _listing(waiting, life.ledger.book.place):
                typer.echo(visible(line))
            return
        if billed is None:
            raise BadInput("say what became of it: --billed or --not-billed.")
        _resolve_one(life, waiting, purchase, billed, values, cost)
        _say(life, purchase, f"purchase {purchase} resolved", as_json)


def _resolve_one(
    life: Lifetime,
    waiting: list[OpenPurchase],
    purchase: int,
    billed: bool,
    values: Path | None,
    cost: str | None,
) -> None:
    chosen = next((p for p in waiting if p.id == purchase), None)
    table = None
    if values is not None and chosen is not None:
        table = read_values(values, chosen)
    life.ledger.resolve(purchase, "billed" if billed else "not-billed", table, cost)


def _resolve_all(life: Lifetime, waiting: list[OpenPurchase], outcome: str, as_json: bool) -> None:
    for p in waiting:
        life.ledger.resolve(p.id, outcome)
    ids = [p.id for p in waiting]
    _say(life, ids, f"{len(waiting)} purchases resolved as {outcome}", as_json)


def _say(life: Lifetime, resolved: int | list[int], words: str, as_json: bool) -> None:
    """What was resolved, and what is spent and reserved after it."""
    balance = life.balance()
    if as_json:
        said = {"spent": balance.spent, "reserved": balance.reserved, "over": balance.over}
        print_json({"resolved": resolved, **said})
        return
    over = f"; {money(balance.over, balance.currency)} owed beyond the prices"
    typer.echo(
        f"{words}; {money(balance.spent, balance.currency)} spent and "
        f"{money(balance.reserved, balance.currency)} reserved{over if balance.over else ''}."
    )


def _listing(waiting: list[OpenPurchase], store: str) -> list[str]:
    if not waiting:
        return ["no purchase waits for you."]
    lines = []
    for p in waiting:
        lines.append(str(p))
        lines.append(f"  task {p.task or '(prediction)'}, key {p.key}")
        shown = ", ".join(p.examples[:5]) + (", ..." if len(p.examples) > 5 else "")
        lines.append(f"  examples {shown}")
        shown = ", ".join(p.features[:5]) + (", ..." if len(p.features) > 5 else "")
        lines.append(f"  features {shown}")
    first = waiting[0].id
    lines.append("Look them up at the provider, then type one of")
    lines.append(f"  thrifty resolve {store} {first} --not-billed")
    lines.append(f"  thrifty resolve {store} {first} --billed --values FILE.csv")
    lines.append(f"  thrifty resolve {store} {first} --billed        (give the values up)")
    lines.append("and --cost 'AMOUNT EUR' where the provider billed something else")
    if len(waiting) > 1:
        lines.append(f"  thrifty resolve {store} --all not-billed   (the same for all of them)")
    return lines


def read_values(path: Path, purchase: OpenPurchase) -> list[list[object]]:
    """The values of a purchase from a CSV: first column the example, then a column per feature."""
    with readable(f"the file {path}", BadInput):
        return _values(path, purchase)


def _values(path: Path, purchase: OpenPurchase) -> list[list[object]]:
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
    except (ValueError, IndexError) as error:
        raise BadInput(
            f"{path} must hold a number for each example and feature: {error}."
        ) from error


def _cell(text: str) -> object:
    """A number, or the word of a category."""
    try:
        return float(text)
    except ValueError:
        return text
