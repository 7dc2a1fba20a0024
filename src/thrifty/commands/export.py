"""``thrifty export``: everything a lifetime holds, as plain JSON or CSV."""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from thrifty.cells.ledger.compacted import compact_all, read_column
from thrifty.commands.opening import LifetimeName, StorePlace, open_lifetime
from thrifty.errors import BadParameter
from thrifty.lifetime import Lifetime
from thrifty.serving import serving_model
from thrifty.stores.pages import SqlPages
from thrifty.typing import Json

__all__ = ["register"]

T = TypeVar("T")

#: how a cell begins that a spreadsheet takes for a formula
_RUN = ("=", "+", "-", "@", "\t", "\r", "\n")
_HEAD = ("source", "example", "feature", "value", "bought_at", "lifetime", "task")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def export(
        store: StorePlace,
        out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
        cells: Annotated[
            bool, typer.Option(help="The values that were bought, as CSV, instead of the models.")
        ] = False,
        task: Annotated[
            str | None,
            typer.Option(help="One task's model for serving: JSON that needs no Thrifty."),
        ] = None,
        lifetime: LifetimeName = None,
    ) -> None:
        """Write family, representation, models and receipts as JSON; or the cells as CSV.

        With --task: one model alone, in a form that twenty lines predict from (docs/serving.md).
        """
        if cells and task is not None:
            raise BadParameter("give --cells or --task: the cells of a store, or a task's model.")
        life = open_lifetime(store, lifetime, write=cells, whole_store=cells)
        served = None if task is None else {"task": task, **serving_model(life[task])}
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", newline="", encoding="utf-8") as target:
            if cells:
                rows = _cells(life)
                csv.writer(target).writerows([_HEAD, *map(_as_text, rows)])
                typer.echo(f"{len(rows)} cells written to {out}.", err=True)
            elif served is not None:
                json.dump(served, target)
                typer.echo(f"the model of {task!r} written to {out}.", err=True)
            else:
                json.dump(_everything(life), target, indent=1)
                typer.echo(f"{len(life)} tasks written to {out}.", err=True)


def _as_text(row: Sequence[object]) -> list[object]:
    """What a spreadsheet would run stands behind an apostrophe, which makes it text."""
    return [f"'{v}" if isinstance(v, str) and v.startswith(_RUN) else v for v in row]


def _everything(life: Lifetime) -> Json:
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


def _cells(life: Lifetime) -> list[tuple[object, ...]]:
    """Every value in the store, the latest where one was bought again; who bought it, and when."""

    def work(pages: SqlPages) -> list[tuple[object, ...]]:
        compact_all(pages)
        bought = _buyers(pages)
        at_time = _bookings(pages)
        features, words, rows = pages.sources_of("feature"), pages.words(), []
        for column in pages.columns("feature"):
            source, feature = features[column.number]
            facts = read_column(column)
            names = pages.names("example", facts.examples.tolist())
            for e, name, v, t in zip(facts.examples.tolist(), names, facts.values, facts.times):
                lifetime, task = bought.get((column.number, e)) or at_time.get(float(t), ("", ""))
                when = datetime.fromtimestamp(float(t), UTC).isoformat(timespec="seconds")
                said = _value(float(v), words.get(column.number, ()))
                rows.append((source, name, feature, said, when, lifetime, task))
        return sorted(rows, key=lambda row: row[:3])

    # compacted inside, and given up: a look changes nothing
    rows: list[tuple[object, ...]] = _rolled_back(life, work)
    return rows


def _value(value: float, words: Sequence[str]) -> object:
    """A category by its word."""
    return words[int(value)] if words and 0 <= value < len(words) else value


def _rolled_back(life: Lifetime, work: Callable[[SqlPages], T]) -> T:
    found: list[T] = []

    class Done(Exception):
        pass

    def look(pages: SqlPages) -> None:
        found[:] = [work(pages)]
        raise Done

    with contextlib.suppress(Done):
        life.ledger.book.write(look)
    return found[0]


def _buyers(pages: SqlPages) -> dict[tuple[int, int], tuple[str, str]]:
    """Who bought each cell from a provider: (lifetime, task), the latest purchase."""
    lifetimes = {id: str(name) for id, name in pages._run("SELECT id, name FROM lifetimes")}
    found = {}
    for p in pages.all_settled():
        for f in p.block.features.tolist():
            for e in p.block.examples.tolist():
                found[f, e] = (str(lifetimes[p.lifetime]), p.task)
    return found


def _bookings(pages: SqlPages) -> dict[float, tuple[str, str]]:
    """Tasks and predictions on tables, by the moment at which they were booked."""
    tasks = pages._run(  # of stores that kept no bookings
        "SELECT t.learned_at, l.name, t.name FROM tasks t JOIN lifetimes l ON l.id = t.lifetime"
    )
    kept = {float(at): (str(life), str(task)) for at, life, task in tasks}
    return {**kept, **pages.bookings()}
