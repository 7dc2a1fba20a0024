"""``thrifty quote``: what the tasks of a file would cost; nothing is bought, nobody is called."""

from __future__ import annotations

from pathlib import Path

import typer

from thrifty.commands.learn import make_family
from thrifty.commands.opening import AsJson, print_json, said_plainly, visible
from thrifty.commands.table_options import (
    Duplicates,
    GapCodes,
    GapsKnown,
    IdColumn,
    KindsOf,
    Labels,
    NoFeatures,
    OnlyFeatures,
    OnlyTasks,
    OtherStore,
    Spend,
    TaskFilePath,
)
from thrifty.commands.task_file import TaskFile, read_any_file
from thrifty.commands.task_source import Knowledge, open_source
from thrifty.errors import BadInput
from thrifty.lifetime import Lifetime
from thrifty.lifetime.quote import Quote
from thrifty.stores.reading import open_to_read

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def quote(
        file: TaskFilePath,
        label: Labels = None,
        id: IdColumn = None,
        feature: OnlyFeatures = None,
        without: NoFeatures = None,
        spend: Spend = None,
        na: GapCodes = None,
        kinds: KindsOf = None,
        duplicates: Duplicates = None,
        gaps_known: GapsKnown = False,
        store: OtherStore = None,
        task: OnlyTasks = None,
        as_json: AsJson = False,
    ) -> None:
        """Say what tasks would cost: cells, money, calls, minutes. Nothing is bought or written.

        With a table: thrifty quote patients.csv --label diabetes --id patient --spend "5 %".
        """
        spec = read_any_file(
            file, label or (), id=id, features=feature or (), without=without or (), spend=spend,
            na=na or (), kinds=kinds or (), duplicates=duplicates, gaps_known=gaps_known,
        )  # fmt: skip
        with said_plainly():
            quotes = _quotes(spec, store or spec.store, task or [])
        if as_json:
            print_json([one.to_dict() for one in quotes])
        else:
            typer.echo(visible("\n".join(map(str, quotes))))


def _quotes(spec: TaskFile, where: str, only: list[str]) -> list[Quote]:
    if not spec.tasks:
        raise BadInput(
            "the file names no tasks to quote: list them under tasks:, or name the columns of a "
            "table with --label."
        )
    unknown = sorted(set(only) - {task.name for task in spec.tasks})
    if unknown:
        raise BadInput(f"the file has no task {unknown[0]!r}.")
    life = _lifetime(spec, where)
    opened = open_source(spec, Knowledge(life.kinds, na=life.na))
    wanted = [task for task in spec.tasks if not only or task.name in only]
    learned = [task.name for task in wanted if task.name in life]
    if len(learned) == len(wanted):
        raise BadInput(f"{', '.join(learned)}: learned before, there is nothing left to quote.")
    return [
        life.quote(task.name, opened.source, opened.labels(task), spend=task.spend)
        for task in wanted
        if task.name not in life
    ]


def _lifetime(spec: TaskFile, where: str) -> Lifetime:
    """The lifetime as it is in its store, which is only read; one in memory where none is yet."""
    if "://" not in where and not Path(where).is_file():
        return Lifetime(make_family(spec), prices=spec.prices, budget=spec.budget, progress=False)
    store = open_to_read(where)
    if spec.lifetime not in store.lifetimes():
        return Lifetime(make_family(spec), prices=spec.prices, budget=spec.budget, progress=False)
    life = Lifetime.open(store, name=spec.lifetime, progress=False)
    life.suppose(prices=spec.prices, budget=spec.budget)
    return life
