"""``thrifty export``: everything a lifetime holds, as plain JSON or CSV."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cells.ledger.columns import read_column
from thrifty.cells.ledger.purchase import unpack_values
from thrifty.commands.opening import LifetimeName, StorePlace, open_lifetime
from thrifty.lifetime import Lifetime

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def export(
        store: StorePlace,
        out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
        cells: Annotated[
            bool, typer.Option(help="The values that were bought, as CSV, instead of the models.")
        ] = False,
        lifetime: LifetimeName = None,
    ) -> None:
        """Write family, representation, models and receipts as JSON; or the cells as CSV."""
        life = open_lifetime(store, lifetime)
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", newline="", encoding="utf-8") as target:
            if cells:
                rows = _cells(life)
                csv.writer(target).writerows([("example", "feature", "value"), *rows])
                typer.echo(f"{len(rows)} cells written to {out}.", err=True)
            else:
                json.dump(_everything(life), target, indent=1)
                typer.echo(f"{len(life)} tasks written to {out}.", err=True)


def _everything(life: Lifetime) -> dict[str, Any]:
    return {
        "family": life.family.to_dict(),
        "representation": life.representation.to_dict(),
        "tasks": [
            {
                **one.bill_row(),
                "receipt": one.receipt.to_dict(),
                "failure": None if one.failure is None else one.failure.message,
                "model": one.model.to_dict(),
            }
            for one in life.tasks
        ],
    }


def _cells(life: Lifetime) -> list[tuple[str, str, float]]:
    """Every value in the ledger, the latest where one was bought again."""

    def work(pages: Any) -> list[tuple[str, str, float]]:
        found: dict[tuple[int, int], tuple[float, float]] = {}
        for column in pages.columns():
            if column.kind != "feature":
                continue
            facts = read_column(column)
            for e, v, t in zip(facts.examples.tolist(), facts.values, facts.times):
                found[e, column.number] = (float(t), float(v))
        for purchase in pages.settled_after(0):
            values = unpack_values(purchase.answer, purchase.block)
            for i, e in enumerate(purchase.block.examples.tolist()):
                for j, f in enumerate(purchase.block.features.tolist()):
                    before = found.get((e, f), (-1.0, 0.0))
                    found[e, f] = max(before, (purchase.settled_at, float(values[i, j])))
        examples = sorted({e for e, _ in found})
        features = sorted({f for _, f in found})
        e_names = dict(zip(examples, pages.names("example", examples)))
        f_names = dict(zip(features, pages.names("feature", features)))
        return [(e_names[e], f_names[f], found[e, f][1]) for e, f in sorted(found)]

    return life.ledger.book.read(work)
