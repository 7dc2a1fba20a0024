"""``thrifty learn``: learn the tasks of a file; run again, it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Annotated, Any

import typer
from rich.console import Console

from thrifty.cells import Source
from thrifty.commands.opening import AsJson, money, print_json, said_plainly, visible
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
from thrifty.commands.task_file import TaskFile, TaskSpec, read_any_file
from thrifty.commands.task_source import Knowledge, open_source
from thrifty.errors import BadInput, StoreError, ThriftyError
from thrifty.lifetime import Learned, Lifetime
from thrifty.lifetime.versions import Version
from thrifty.protocol import AnyFamily
from thrifty.stores.families import family_from_dict
from thrifty.trees.learners import learner_from_dict
from thrifty.typing import Json
from thrifty.untrusted import readable

__all__ = ["features_line", "make_family", "register"]

#: features that are listed by name before learning
_NAMED = 20


def make_family(file: TaskFile) -> AnyFamily:
    """The family that a task file names, with its parameters."""
    given = dict(file.family)
    name = given.pop("name", "Models")
    with readable(f"the family {name}", BadInput):
        made: AnyFamily = _made(name, given)
        return made


def _made(name: str, given: Json) -> AnyFamily:
    try:
        return family_from_dict({"family": name, **_complete(name, given)})
    except StoreError as error:
        raise BadInput(f"the family {name} cannot be made: {error.__cause__}.") from error


def _complete(name: str, given: Json) -> Json:
    """A file names some parameters; the rest are the family's own."""
    from thrifty import models, powers, trees

    homes = (models, trees, powers)
    made = next((getattr(home, name) for home in homes if hasattr(home, name)), None)
    if made is None:
        raise BadInput(
            f"the family must be Models, Trees, Lists, Monomials or Polynomials; got {name!r}."
        )
    if name in ("Monomials", "Polynomials"):
        return given
    if name == "Models" and given.get("estimator") is not None:
        raise BadInput(
            "a task file cannot name an estimator, for a file runs no code: leave it out, or learn "
            "from Python with thrifty.Models(estimator)."
        )
    if "learner" in given:
        given["learner"] = _learner(given["learner"])
    return _with_defaults(name, made().to_dict(), given, "family")


def _learner(said: Any) -> Json:
    """``learner: Race``, or ``learner: {name: Race, gain: gini}``."""
    given = {"name": said} if isinstance(said, str) else dict(said)
    name = given.pop("name", None)
    defaults = learner_from_dict({"learner": name}).to_dict()
    return {"learner": name, **_with_defaults(str(name), defaults, given, "learner")}


def _with_defaults(name: str, defaults: Json, given: Json, kind: str) -> Json:
    known = {key: value for key, value in defaults.items() if key != kind}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise BadInput(
            f"{name} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}."
        )
    return {**known, **given}


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def learn(
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
        list_features: Annotated[
            bool, typer.Option("--list-features", help="List every feature, and buy nothing.")
        ] = False,
        store: OtherStore = None,
        task: OnlyTasks = None,
        update: Annotated[
            bool,
            typer.Option("--update", help="Go on with new rows of tasks that were learned before."),
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """Learn the tasks of a file. What is learned or paid for is kept: run it again to go on.

        With a table: thrifty learn patients.csv --label diabetes --id patient.
        """
        spec = read_any_file(
            file, label or (), id=id, features=feature or (), without=without or (), spend=spend,
            na=na or (), kinds=kinds or (), duplicates=duplicates, gaps_known=gaps_known,
        )  # fmt: skip
        with said_plainly():
            if list_features:
                typer.echo(visible("\n".join(open_source(spec).source.feature_names)))
            else:
                at_once = len(label or ()) > 1
                _learn_and_tell(spec, store, task, as_json, update, at_once)


def _learn_and_tell(
    spec: TaskFile,
    store: str | None,
    tasks: list[str] | None,
    as_json: bool,
    update: bool,
    at_once: bool,
) -> None:
    """Learn what the file says, and print what it came to, also where it ended early."""
    console = Console(stderr=True, quiet=as_json)
    learned: list[Learned | Version] = []
    life = Lifetime(
        make_family(spec),
        store=store or spec.store,
        name=spec.lifetime,
        prices=spec.prices,
        budget=spec.budget,
        progress=False if as_json else None,
    )
    failed: ThriftyError | None = None
    try:
        for one in _learn_all(life, spec, tasks, console, update, at_once):
            learned.append(one)
        again = life.refit()
        if again and not at_once:
            console.print(f"fitted again on what is owned now: {', '.join(again)}", highlight=False)
    except ThriftyError as error:
        failed = error
    _tell(life, learned, failed, console, as_json)
    if failed is not None:
        if as_json:
            raise typer.Exit(1)
        raise failed


def _tell(
    life: Lifetime,
    learned: list[Learned | Version],
    failed: ThriftyError | None,
    console: Console,
    as_json: bool,
) -> None:
    balance = life.balance()
    if as_json:
        print_json(
            {
                "learned": [one.bill_row() for one in learned],
                "spent": balance.spent,
                "reserved": balance.reserved,
                "currency": balance.currency,
                "error": None if failed is None else str(failed),
                "in_doubt": [p.id for p in life.ledger.open_purchases()],
            }
        )
    else:
        spent = money(balance.spent, balance.currency)
        tasks = "task" if len(life) == 1 else "tasks"
        console.print(f"{len(life)} {tasks} learned, {spent} spent in all.", highlight=False)


def features_line(names: Sequence[str]) -> str:
    """Which columns are features: a column that tells the label must not be among them.

    >>> features_line(["age", "sex"])
    '2 features: age, sex (leave others out with --without, or without: in a task file)'
    """
    more = f" and {len(names) - _NAMED:,} more (all: --list-features)"
    more = more if len(names) > _NAMED else ""
    listed = ", ".join(names[:_NAMED])
    how = "(leave others out with --without, or without: in a task file)"
    return visible(f"{len(names):,} features: {listed}{more} {how}")


def _name_features(console: Console, columns: Sequence[str], labels: Set[str]) -> None:
    """Say what will be bought, and which columns will not since they were learned before."""
    features = [name for name in columns if name not in labels]
    console.print(features_line(features), highlight=False, markup=False)
    learned = [name for name in columns if name in labels]
    if learned:
        told = visible(f"no features, since learned: {', '.join(learned)}")
        console.print(told, highlight=False, markup=False, soft_wrap=True)


def _learn_all(
    life: Lifetime,
    spec: TaskFile,
    only: list[str] | None,
    console: Console,
    update: bool,
    at_once: bool,
) -> Iterator[Learned | Version]:
    if not spec.tasks:
        raise BadInput(
            "the file names no tasks to learn: list them under tasks:, or name the columns of a "
            "table with --label."
        )
    unknown = sorted(set(only or ()) - {task.name for task in spec.tasks})
    if unknown:
        raise BadInput(f"the file has no task {unknown[0]!r}.")
    opened = open_source(spec, Knowledge(life.kinds, na=life.na))
    _name_features(console, opened.source.feature_names, life.labels_of(opened.source))
    wanted = []
    for task in spec.tasks:
        if only and task.name not in only:
            continue
        if task.name in life and not update:
            more = "learned before (--update goes on with new rows)"
            console.print(f"{task.name}: {more}", highlight=False)
            continue
        if task.name in life:
            made = life.update(task.name, opened.source, opened.labels(task), spend=task.spend)
            cost = money(made.receipt.cost, made.receipt.currency)
            told = f"{made}; {made.receipt.cells} cells for {cost}"
            console.print(told, highlight=False, markup=False)
            yield made
            continue
        wanted.append(task)
    if at_once and len(wanted) > 1:
        names = [task.name for task in wanted]
        labels = {task.name: opened.labels(task) for task in wanted}
        many = life.learn(names, opened.source, labels, spend=wanted[0].spend)
        for task in wanted:
            yield _told(life, opened.source, task, many[task.name], console)
        return
    for task in wanted:
        one = life.learn(task.name, opened.source, opened.labels(task), spend=task.spend)
        yield _told(life, opened.source, task, one, console)


def _told(
    life: Lifetime, source: Source, task: TaskSpec, learned: Learned, console: Console
) -> Learned:
    """A learned task, after a line about it; its column is no feature of later ones."""
    if task.label is not None:
        life.note_label(source, task.label)
    receipt = learned.receipt
    cost = money(receipt.cost, receipt.currency)
    console.print(
        f"{task.name}: {learned.route}, {receipt.cells} cells for {cost}, "
        f"{receipt.reused_cells} reused, {receipt.avoided_cells} avoided",
        highlight=False,
    )
    return learned
