"""``thrifty learn`` and ``quote``: the tasks of a file, or labels of a table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

import thrifty
from thrifty.cells import Source
from thrifty.cells.ledger.ledger import Balance
from thrifty.cells.prices.price_list import as_price_list
from thrifty.commands.options import AsJson, OnlyTasks, money, note, print_json, said_plainly, say
from thrifty.commands.task_file import TaskFile, TaskSpec, reads_file
from thrifty.commands.task_source import Knowledge, open_source, say_other_name
from thrifty.errors import BadInput, ThriftyError
from thrifty.lifetime.learned import Learned, bought_for
from thrifty.lifetime.lifetime import Lifetime
from thrifty.lifetime.quote import Quote
from thrifty.lifetime.task import Version
from thrifty.powers.laws import laws_from_dict
from thrifty.protocol import AnyFamily
from thrifty.stores.base import open_to_read
from thrifty.stores.settings import Settings
from thrifty.trees.family import learner_from_dict
from thrifty.typing import Json
from thrifty.untrusted import readable

#: features that are listed by name before learning
_NAMED = 20
_FAMILIES = ("Models", "Trees", "Lists", "Monomials", "Polynomials")


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    @reads_file()
    def learn(
        spec: TaskFile,
        list_features: Annotated[
            bool, typer.Option("--list-features", help="List every feature, and buy nothing.")
        ] = False,
        task: OnlyTasks = None,
        update: Annotated[
            bool,
            typer.Option("--update", help="Go on with new rows of tasks that were learned before."),
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """Learn the tasks of a file. What is learned or paid for is kept: run it again to go on.

        With a table: thrifty learn patients.csv --label diabetes --id patient --spend "10 %".
        """
        with said_plainly():
            no_money_for_counted_cells(spec)
            if list_features:
                say("\n".join(open_source(spec).source.feature_names))
                return
            life = Lifetime(
                make_family(spec),
                store=spec.store,
                name=spec.lifetime,
                prices=spec.prices,
                budget=spec.budget,
                progress=False if as_json else None,
            )
            _Session(life, spec, as_json).run(task, update)

    @app.command()
    @reads_file("positive")
    def quote(spec: TaskFile, task: OnlyTasks = None, as_json: AsJson = False) -> None:
        """Say what tasks would cost: cells, money, calls, minutes. Nothing is bought or written.

        With a table: thrifty quote patients.csv --label diabetes --id patient --spend "5 %".
        """
        with said_plainly():
            life = _only_looked_at(no_money_for_counted_cells(spec))
            quotes = _quotes(life, spec, task)
        whole = _whole(life, quotes)
        if as_json:
            print_json({"tasks": [one.to_dict() for one in quotes], **whole})
        else:
            say("\n".join([*map(str, quotes), *_whole_lines(quotes, whole)]))


# -- learn ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Session:
    """One run of the command: what the file says is learned, and said."""

    life: Lifetime
    spec: TaskFile
    as_json: bool

    @property
    def at_once(self) -> bool:
        """Whether labels of a table share what is bought."""
        return self.spec.is_table and len(self.spec.tasks) > 1

    def say(self, text: str) -> None:
        if not self.as_json:
            note(text)

    def run(self, only: list[str] | None, update: bool) -> None:
        """Learn, and print what it came to, also where it ended early."""
        learned: list[Learned | Version] = []
        failed: ThriftyError | None = None
        before = self.life.balance().spent
        try:
            for one in self._learned(only, update):
                learned.append(one)
            if len(learned) > 1 and not self.at_once and (again := self.life.refit()):
                self.say(f"fitted again on what later tasks have bought: {', '.join(again)}")
        except ThriftyError as error:
            failed = error
        balance = self.life.balance()
        if self.as_json:
            said: Json = {"spent": balance.spent, "reserved": balance.reserved}
            said |= {"currency": balance.currency, "left": balance.left}
            failure = None if failed is None else str(failed)
            doubts = [p.id for p in self.life.ledger.open_purchases()]
            rows = [one.bill_row() for one in learned]
            print_json({"learned": rows, **said, "error": failure, "in_doubt": doubts})
            if failed is not None:
                raise typer.Exit(1)
            return
        if failed is None or balance.spent > before:
            self._say_balance(balance)
        if failed is not None:
            raise failed

    def _say_balance(self, balance: Balance) -> None:
        counted = "cells" if self.life.prices is None else ""
        unit = balance.currency or getattr(self.life.prices, "currency", counted)
        n, spent = len(self.life), money(balance.spent, unit)
        left = "" if balance.left is None else f", {money(balance.left, unit)} left"
        self.say(f"{n} {'task' if n == 1 else 'tasks'} learned, {spent} spent in all{left}.")

    def _learned(self, only: list[str] | None, update: bool) -> Iterator[Learned | Version]:
        life, spec = self.life, self.spec
        tasks = _wanted(spec, only, "learn")
        opened = open_source(spec, Knowledge.of_life(life))
        say_other_name(life, opened.source)
        state = life._state
        for label in state.labels_of(None) - set(state.now.features or ()):  # of whichever file
            if label in opened.source.feature_names:
                state.note_label(opened.source, label)
        labelled = state.labels_of(opened.source)
        self.say(features_line([f for f in opened.source.feature_names if f not in labelled]))
        new = []
        for task in tasks:
            if task.name in life and update:
                made = life[task.name].update(opened.source, opened.labels(task), spend=task.spend)
                self.say(f"{made}; {bought_for(made.receipt)}")
                yield made
            elif task.name in life:
                self.say(f"{task.name}: learned before (--update goes on with new rows)")
            else:
                new.append(task)
        if not new:
            return
        spend = self._asked_spend(new, opened.source)
        if self.at_once and len(new) > 1:
            names = [task.name for task in new]
            labels = {task.name: opened.labels(task) for task in new}
            positive = {task.name: task.positive for task in new if task.positive is not None}
            limit = new[0].spend or spend
            many = life.learn(names, opened.source, labels, spend=limit, positive=positive)
            for task in new:
                yield self._told(opened.source, task, many[task.name])
            return
        for task in new:
            limit, labels_of = task.spend or spend, opened.labels(task)
            one = life.learn(
                task.name, opened.source, labels_of, spend=limit, positive=task.positive
            )
            yield self._told(opened.source, task, one)

    def _asked_spend(self, tasks: Sequence[TaskSpec], source: Source) -> str | None:
        """On a terminal, what learning may cost, where cells have prices and nobody set a limit."""
        limited = self.life.budget is not None or all(task.spend is not None for task in tasks)
        if limited or self.as_json or not _on_a_terminal() or self.life.prices is None:
            return None
        prices = as_price_list(self.life.prices)
        if not prices.tariff(source.feature_names).marginal.any():
            return None
        whole = source.n_examples * prices.price(source.feature_names)
        currency = getattr(self.life.prices, "currency", "")
        self.say(f"Everything would cost {money(whole, currency)}.")
        said: str = typer.prompt('What may it cost at most, such as "300 EUR" or "5 %"?', err=True)
        return said

    def _told(self, source: Source, task: TaskSpec, learned: Learned) -> Learned:
        """A learned task, after lines about it; its column is no feature of later ones."""
        if task.label is not None:
            self.life._state.note_label(source, task.label)
        said = learned.summary()
        self.say(said.replace("\n", "\n  "))
        if "nothing beyond guessing" not in said:
            where, name = shlex.quote(self.spec.store), shlex.quote(learned.name)
            self.say(f"  next: thrifty predict NEW.csv --task {name} --store {where}")
        return learned


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def features_line(names: Sequence[str]) -> str:
    """Which columns are features: a column that tells the label must not be among them.

    >>> features_line(["age", "sex"])
    '2 features: age, sex (leave others out with --without, or without: in a task file)'
    """
    more = f" and {len(names) - _NAMED:,} more (all: --list-features)"
    more = more if len(names) > _NAMED else ""
    how = "(leave others out with --without, or without: in a task file)"
    return f"{len(names):,} features: {', '.join(names[:_NAMED])}{more} {how}"


def _wanted(spec: TaskFile, only: list[str] | None, verb: str) -> list[TaskSpec]:
    """The tasks of a file that were named; all where none was."""
    if not spec.tasks and spec.is_table:
        columns = ", ".join(map(repr, open_source(spec).source.feature_names[:_NAMED]))
        raise BadInput(f"say which column to {verb} with --label; there are {columns}.")
    if not spec.tasks:
        raise BadInput(f"the file names no tasks to {verb}: list them under tasks:.")
    unknown = sorted(set(only or ()) - {task.name for task in spec.tasks})
    if unknown:
        raise BadInput(f"the file has no task {unknown[0]!r}.")
    return [task for task in spec.tasks if not only or task.name in only]


# -- quote ---------------------------------------------------------------------------------------


def _only_looked_at(spec: TaskFile) -> Lifetime:
    """The lifetime as it is in its store, which is only read; one in memory where none is yet."""
    there = "://" in spec.store or Path(spec.store).is_file()
    store = open_to_read(spec.store) if there else None
    if store is None or spec.lifetime not in store.lifetimes():
        return Lifetime(make_family(spec), prices=spec.prices, budget=spec.budget, progress=False)
    life = Lifetime.open(store, name=spec.lifetime, progress=False)
    life._state.suppose(Settings(spec.prices, spec.budget))
    return life


def no_money_for_counted_cells(spec: TaskFile) -> TaskFile:
    """A budget in a currency says nothing where cells have no price: 10 EUR are no ten cells."""
    money = "" if spec.budget is None else spec.budget.limits("").currency
    if money and spec.prices is None:
        life = _only_looked_at(replace(spec, budget=None))
        if life.prices is None and not life.balance().currency:
            raise BadInput(
                f"the budget is in {money}, and no cell has a price: give prices, prices: in a "
                "task file, or the budget in cells, --budget 500."
            )
    return spec


def _quotes(life: Lifetime, spec: TaskFile, only: list[str] | None) -> list[Quote]:
    tasks = _wanted(spec, only, "quote")
    opened = open_source(spec, Knowledge.of_life(life))
    new = [task for task in tasks if task.name not in life]
    if not new:
        names = ", ".join(task.name for task in tasks)
        raise BadInput(f"{names}: learned before, there is nothing left to quote.")
    return [
        life.quote(task.name, opened.source, opened.labels(task), spend=task.spend) for task in new
    ]


def _whole(life: Lifetime, quotes: Sequence[Quote]) -> Json:
    """All tasks together: what one buys the next ones own, and no cell is bought twice."""
    every = max(one.scratch_cost_at_most for one in quotes)
    limited = all(one.spend is not None for one in quotes)
    most = sum(one.scratch_cost_at_most for one in quotes) if limited else every
    left = life.balance().left
    most = most if left is None else min(most, left)
    return {
        "cost": min(sum(one.cost for one in quotes), most),
        "cost_at_most": most,
        "currency": quotes[0].currency,
        "budget_left": left,
    }


def _whole_lines(quotes: Sequence[Quote], whole: Json) -> Iterator[str]:
    def said(key: str) -> str:
        return money(float(str(whole[key])), str(whole["currency"]))

    if len(quotes) > 1:
        yield f"all {len(quotes)} tasks: about {said('cost')}, at most {said('cost_at_most')}"
        yield "  cells that one task buys the next ones own"
    if whole["budget_left"] is not None:
        wanted = sum(one.cost for one in quotes)
        yield f"left of the budget: {said('budget_left')}"
        if wanted > float(str(whole["budget_left"])):
            yield "  not enough for each on its own: raise it with --budget, or lower --spend"


# -- families ------------------------------------------------------------------------------------


def make_family(file: TaskFile) -> AnyFamily:
    """The family that a task file names, with its parameters."""
    given = dict(file.family)
    name = given.pop("name", "Models")
    if name not in _FAMILIES:
        raise BadInput(f"the family must be {', '.join(_FAMILIES)}; got {name!r}.")
    if name == "Models" and given.get("estimator") is not None:
        raise BadInput(
            "a task file cannot name an estimator, for a file runs no code: leave it out, or learn "
            "from Python with thrifty.Models(estimator)."
        )
    with readable(f"the family {name}", BadInput):
        if "learner" in given:  # Race, or {name: Race, gain: gini}
            said = given["learner"]
            said = {"name": said} if isinstance(said, str) else dict(said)
            kind = type(learner_from_dict({"learner": said.pop("name", None)}))
            given["learner"] = _made(kind, said)
        if "distribution" in given:
            given["distribution"] = laws_from_dict(given["distribution"])
        made: AnyFamily = _made(getattr(thrifty, name), given)
        return made


def _made(kind: type, given: Json) -> Any:
    known = signature(kind).parameters
    unknown = sorted(set(given) - set(known))
    if unknown:
        has = ", ".join(sorted(known))
        raise BadInput(f"{kind.__name__} has no parameter {unknown[0]!r}; it has {has}.")
    return kind(**given)
