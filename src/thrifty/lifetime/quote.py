"""A dry run: what a task would cost if it is reused, and what if it is learned from scratch.

Not a cell is bought for it, and no provider is called. Families that stop where their money ends
rehearse the task: the family learns it as it would, with its labels, prices, budget and all that is
owned by now, from a provider that answers what is drawn. The values tell the label a little, each
feature as much as any other, so that the rehearsal stops where a hard task would: what a family
spends is ruled by what it may spend far more than by what it finds. With ``spend=`` a real task
costs what its rehearsal did, within a few percent (`python benchmarks/quotes.py`); without, it may
stop far sooner.

For the others, what is certain before buying is said as an
upper limit; what is likely comes from the lifetime's own receipts, scaled to the new task: reused
tasks by their cells per example (by their cells alone under ``Tested``, whose bill does not grow
with the examples), tasks from scratch by their share of the whole table. Before any task was reused
the stored metafeatures themselves give an estimate. Whether a task *can* be reused is known only by
trying; the share of the last tasks that were is in the quote.

Nothing that costs is bought without a limit that a person set: where cells cost money, a task needs
``spend=`` or a budget, and the error that says so holds the quote. Of cells that have no price a
tenth is read, and one line says so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from thrifty.attempt import Expected, Route
from thrifty.cells import Budget, Cells, Ledger, Receipt, Source
from thrifty.cells.prices.money import amount_text, minor_units, to_units
from thrifty.cells.prices.price_list import PriceList, PricesLike
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources.array import ArraySource
from thrifty.cells.sources.callable import CallableSource
from thrifty.checks import warn_user
from thrifty.errors import DefaultShare, LimitNeeded
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.lifetime.state import LifetimeState
from thrifty.lifetime.transaction import OpenTask, TaskOptions, Transactions
from thrifty.protocol import AnyFamily, Representation, traits_of
from thrifty.stores import MemoryStore
from thrifty.typing import Floats, Ints, Json, KindsLike, LabelsLike, TableLike


@dataclass(frozen=True, slots=True)
class Quote:
    """What a task would cost; None where nothing is known yet.

    Attributes
    ----------
    reuse_cells, reuse_cost : int or None and float or None
        likely, if the representation is enough
    reuse_cells_at_most : int or None
        never more, if it is enough
    scratch_cells, scratch_cost : int and float
        likely, if it is not
    scratch_cells_at_most, scratch_cost_at_most : int and float
        every cell that is not owned yet
    reuse_rate : float or None
        the share of the latest tasks that were reused
    basis : str
        where the likely numbers come from
    currency : str
        of the costs; "" where the prices have none
    spend : float or None
        what the task may spend, in the unit of the prices, as far as that was said
    calls : int or None
        to the provider, likely; 0 where cells are read from a table, None where nobody knows
    minutes : float or None
        likely, calls included where it is known how long one takes
    seconds_a_call : float or None
        as calls to this provider have taken so far; None where there were none
    cost_if_hopeless : float or None
        where nothing was said on what to spend: what it costs if the features tell nothing of the
        label; a task that is learned costs between this and ``cost``, mostly ``cost``

    See Also
    --------
    thrifty.Lifetime.quote : what gives it
    thrifty.results.Receipt : what it cost in the end

    Notes
    -----
    ``cells`` and ``cost`` are what is likely, whichever way the task is learned.

    Cells that are owned cost nothing and are in none of these numbers.

    Examples
    --------
    >>> import thrifty
    >>> X = np.random.default_rng(0).random((200, 5))
    >>> quote = thrifty.Lifetime(prices=2).quote("ill", X, X[:, 1] > 0.5, spend=400)
    >>> quote.cost <= 400
    True
    """

    task: str
    reuse_cells: int | None
    reuse_cost: float | None
    reuse_cells_at_most: int | None
    scratch_cells: int
    scratch_cost: float
    scratch_cells_at_most: int
    scratch_cost_at_most: float
    reuse_rate: float | None
    basis: str
    currency: str = ""
    spend: float | None = None
    calls: int | None = None
    minutes: float | None = None
    seconds_a_call: float | None = None
    rehearsed: bool = False
    cost_if_hopeless: float | None = None

    @property
    def cells(self) -> int:
        """Cells that are likely to be bought."""
        return self.scratch_cells if self._from_scratch else (self.reuse_cells or 0)

    @property
    def cost(self) -> float:
        """What they are likely to cost."""
        return self.scratch_cost if self._from_scratch else (self.reuse_cost or 0.0)

    @property
    def _from_scratch(self) -> bool:
        return self.rehearsed or self.reuse_cells is None or (self.reuse_rate or 0.0) < 0.5

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {**asdict(self), "cells": self.cells, "cost": self.cost}

    def __str__(self) -> str:
        if self.rehearsed:
            return self._rehearsal_text()
        unit = f" {self.currency}" if self.currency else ""
        lines = [f"{self.task}: nothing bought yet"]
        if self.reuse_cells is None:
            lines.append("  reused        unknown")
        else:
            most = self.reuse_cells_at_most
            limit = "" if most is None else f", at most {most:,} cells"
            lines.append(
                f"  reused        about {self.reuse_cells:,} cells, {self.reuse_cost:,.2f}{unit}"
                f"{limit}"
            )
        lines.append(
            f"  from scratch  about {self.scratch_cells:,} cells, {self.scratch_cost:,.2f}{unit}, "
            f"at most {self.scratch_cells_at_most:,} cells, "
            f"{self.scratch_cost_at_most:,.2f}{unit}"
        )
        if self.reuse_rate is not None:
            lines.append(f"  {self.reuse_rate:.0%} of the latest tasks were reused")
        return "\n".join([*lines, f"  {self.basis}"])

    def _rehearsal_text(self) -> str:
        unit = f" {self.currency}" if self.currency else ""
        limit = "" if self.spend is None else ", what it may spend"
        lines = [
            f"{self.task}: nothing bought yet",
            f"  about {self.scratch_cells:,} cells, {self.scratch_cost:,.2f}{unit}; at most "
            f"{self.scratch_cost_at_most:,.2f}{unit}{limit}",
        ]
        if self.cost_if_hopeless is not None:
            lines.append(
                f"  from {self.cost_if_hopeless:,.2f}{unit}, where there is nothing to be learned"
            )
        if self.calls:
            took = self.seconds_a_call
            each = "of which none was made yet" if took is None else f"about {took:.2g} s each"
            lines.append(f"  about {self.calls:,} calls, {each}")
        if self.minutes is not None:
            told = f"{self.minutes:.1f} minutes" if self.minutes >= 0.1 else "a few seconds"
            without = self.calls and self.seconds_a_call is None
            lines.append(f"  about {told}{' beside the calls' if without else ''}")
        return "\n".join([*lines, f"  {self.basis}"])


class Quotes:
    """What the tasks of one lifetime would cost."""

    def __init__(self, state: LifetimeState, transactions: Transactions) -> None:
        self._state, self._transactions = state, transactions

    def quote(self, name: str, X: TableLike, y: LabelsLike, said: TaskOptions) -> Quote:
        """Of a task that is not learned yet; see :meth:`thrifty.Lifetime.quote`."""
        state = self._state
        state.refresh()
        state.must_be_new(name)
        task = self._transactions.open_task(name, X, y, said, to_buy=False)
        return self.of(task)

    def of(self, task: OpenTask) -> Quote:
        """Of a task that was opened."""
        family, known = self._state.family, self._state.now.representation
        one_class = getattr(task.labels, "n_classes", None) == 1
        if traits_of(family).stops_anywhere and not one_class:
            return self._rehearsed(task)
        latest = list(self._state.tasks.values())[-100:]
        history = [(one.route, one.receipt) for one in latest]
        expected = family.expected_cells(known, task.cells)
        return _by_history(task.name, expected, len(known), history, task.cells, one_class)

    def _rehearsed(self, task: OpenTask) -> Quote:
        """Of a family that stops where its money ends."""
        cells, state = task.cells, self._state
        most, rest = _the_rest(cells)
        allowed = getattr(state.family, "allowance", None)
        limits = [cells.allowance, None if allowed is None else allowed(cells)]
        limit = min([rest, *(x for x in limits if x is not None)])
        least, told = None, task.source if isinstance(task.source, CallableSource) else None
        if not _is_large(cells.n_examples * cells.n_features):
            prices = self._transactions.prices_of(task.source, task.features)
            given = state.family, state.now.representation, task, prices, cells.spend
            found = _rehearse(*given)
            if cells.spend is None:  # it stops by itself: where there is nothing to learn, soonest
                least = _rehearse(*given, tells=0.0)
            basis = "rehearsed on made-up values, with these labels, prices and all that is owned"
        else:
            found, told = _Rehearsed(round((limit / rest if rest else 1.0) * most), limit), None
            basis = "all that may be spent, at the mean price: too large to be rehearsed"
        basis += "" if cells.spend is not None else "; it stops sooner where more would not pay"
        # a table may be cheaper than its rehearsal, never more expensive than what may be spent
        cost = min(found.cost, limit)
        seconds = self._seconds_a_call(task.source)
        n = found.calls if told is not None else 0
        waits = 0.0 if told is None else _seconds_of_calls(n, told, seconds)
        return Quote(
            task=task.name,
            reuse_cells=None,
            reuse_cost=None,
            reuse_cells_at_most=None,
            scratch_cells=min(found.cells, most),
            scratch_cost=cost,
            scratch_cells_at_most=most,
            scratch_cost_at_most=limit,
            reuse_rate=None,
            basis=basis,
            currency=cells.currency,
            spend=cells.spend,
            calls=n,
            minutes=(found.seconds + waits) / 60,
            seconds_a_call=seconds,
            rehearsed=True,
            cost_if_hopeless=None if least is None else min(least.cost, cost),
        )

    def _seconds_a_call(self, source: Source) -> float | None:
        """How long calls to this provider have taken, as far as the ledger knows."""
        if not isinstance(source, CallableSource):
            return None
        latest = self._state.ledger.book.read(lambda pages: pages.latest(100))
        took = [
            one.settled_at - one.created_at
            for one in latest
            if one.provider == source.name and one.status == "settled"
        ]
        return float(np.median(took)) if took else None


def _seconds_of_calls(n: int, source: CallableSource, each: float | None) -> float:
    """How long so many calls take, side by side and no faster than the provider allows."""
    limits = source.limits
    waits = 0.0 if limits.per_second is None else n / limits.per_second
    return max((each or 0.0) * n / limits.concurrency, waits)


def _by_history(
    name: str,
    expected: Expected,
    known: int,
    history: Sequence[tuple[Route, Receipt]],
    cells: Cells,
    one_class: bool,
) -> Quote:
    """As earlier tasks went; nothing is asked of the reader but its prices."""
    if one_class:
        basis = "one class: a single leaf"
        return Quote(name, 0, 0.0, 0, 0, 0.0, 0, 0.0, _rate(history), basis, cells.currency)
    most, most_cost = _the_rest(cells)
    missing = most / (cells.n_examples * cells.n_offered or 1)
    reuse, reuse_price, basis = _reuse(expected, known, history, cells)
    limit = None
    if expected.reused_at_most is not None and known:
        limit = int(min(cells.n_offered, expected.reused_at_most) * cells.n_examples)
        limit = min(limit, most)
    if reuse is not None:
        reuse = min(round(reuse * missing), most if limit is None else limit)
    share, scratch_basis = _scratch_share(expected, history)
    scratch = round(share * most)
    return Quote(
        task=name,
        reuse_cells=reuse,
        reuse_cost=None if reuse is None else reuse * reuse_price,
        reuse_cells_at_most=limit,
        scratch_cells=scratch,
        scratch_cost=scratch * most_cost / most if most else 0.0,
        scratch_cells_at_most=most,
        scratch_cost_at_most=most_cost,
        reuse_rate=_rate(history),
        basis=f"reused: {basis}; from scratch: {scratch_basis}",
        currency=cells.currency,
    )


def _the_rest(cells: Cells) -> tuple[int, float]:
    """All that is not owned: cells, and their price; of very large tables, that at most."""
    whole = cells.n_examples * cells.n_offered
    most = whole - cells.meter.owned.count(cells.offered)
    if _is_large(whole):
        return most, cells.n_examples * to_units(cells.price_of_an_example()) if most else 0.0
    return most, cells.price_of(*_every(cells)) if most else 0.0


def _is_large(n_cells: int) -> bool:
    """Too large to be rehearsed, or priced one by one with what is owned of it."""
    return n_cells > 5_000_000


def _every(cells: Cells) -> tuple[Ints, Ints]:
    return np.arange(cells.n_examples), np.arange(cells.n_features)


def _rate(history: Sequence[tuple[Route, Receipt]]) -> float | None:
    latest = history[-10:]
    return sum(route == "reused" for route, _ in latest) / len(latest) if latest else None


def _of_route(history: Sequence[tuple[Route, Receipt]], reused: bool) -> list[Receipt]:
    return [receipt for route, receipt in history if (route == "reused") == reused][-10:]


def _reuse(
    expected: Expected, known: int, history: Sequence[tuple[Route, Receipt]], cells: Cells
) -> tuple[int | None, float, str]:
    """Likely cells, the price of one, and where that comes from."""
    receipts = _of_route(history, reused=True)
    if receipts:
        looked_at = np.array([r.cells + r.reused_cells for r in receipts], dtype=np.float64)
        if expected.grows_with_examples:
            looked_at *= cells.n_examples / np.array([r.n_examples for r in receipts])
        bought = sum(r.cells for r in receipts)
        price = sum(r.cost for r in receipts) / bought if bought else float(cells.prices.mean())
        return round(float(looked_at.mean())), price, f"as the last {len(receipts)} reused tasks"
    if not known:
        return None, 0.0, "impossible, the representation is empty"
    if expected.reused is None:
        return None, 0.0, "no task was reused yet"
    features = list(expected.reused_features) or slice(None)
    price = float(cells.prices[features].mean())
    return round(expected.reused * cells.n_examples), price, "from the stored metafeatures alone"


def _scratch_share(
    expected: Expected, history: Sequence[tuple[Route, Receipt]]
) -> tuple[float, str]:
    """The share of the table that scratch is likely to buy."""
    if expected.buys_everything:
        return 1.0, "every cell"
    receipts = _of_route(history, reused=False)
    if not receipts:
        return 1.0, "every cell, until a task has shown better"
    shares = [(r.cells + r.reused_cells) / (r.n_examples * r.n_features) for r in receipts]
    return float(np.mean(shares)), f"as the last {len(receipts)} tasks that were not reused"


def refuse_without_limit(
    task: OpenTask, verb: str, names: Sequence[str], quote: Quote | None = None
) -> None:
    """Say what a task would cost, where nobody has said what it may.

    ``verb``: ``learn`` or ``update``. ``quote``: what is likely; None: only the most is told.
    """
    if task.limited_by != "nobody":
        return
    cells = task.cells
    most = cells.price_of(*_every(cells))
    if not most:
        return  # all of it is owned

    def money(amount: float) -> str:
        return amount_text(minor_units(round(amount, 2)), cells.currency)

    name = repr(names[0] if len(names) == 1 else list(names))
    likely = "" if quote is None else f"about {money(quote.cost)}, "
    todo = (
        f"give the lifetime a budget, Lifetime(..., budget=thrifty.Budget(total={money(most)!r}))"
    )
    if quote is None or quote.rehearsed:  # a family that stops where its money ends
        call = f"life.learn({name}, X, y" if verb == "learn" else f"life[{name}].update(X, y"
        some = f"{call}, spend='10 %')"
        todo = f"Say spend=, for instance {some} for at most {money(most / 10)}, or {todo}"
    else:
        todo = f"G{todo[1:]}"
    raise LimitNeeded(
        f"{name} would cost {likely}at most {money(most)}, and no limit was given; nothing "
        f"was bought. {todo}.",
        quote,
    )


def say_share(task: OpenTask, names: Sequence[str]) -> None:
    """One line on how much is read where nobody said."""
    cells = task.cells
    most, whole = cells.spend or 0, cells.n_examples * cells.n_offered
    if most >= whole:
        return
    warn_user(
        f"{', '.join(names)}: no limit was given, so at most {most:,.0f} of {whole:,} cells are "
        f"read ({most / whole:.0%}). spend='100 %', or any other share, changes that.",
        DefaultShare,
    )


@dataclass(frozen=True, slots=True)
class _Rehearsed:
    """What the rehearsal of a task bought, in how many calls, and how long it computed."""

    cells: int
    cost: float
    calls: int = 0
    seconds: float = 0.0


def _rehearse(
    family: AnyFamily,
    representation: Representation,
    task: OpenTask,
    prices: PricesLike,
    spend: float | None,
    tells: float = 0.4,
) -> _Rehearsed:
    """Learn a task that was opened, from made-up values, in a ledger of its own.

    ``tells``: how far the mean of a number moves between two classes, in its standard deviations,
    set by hand; of 0 nothing is learned, and a family that stops where more would not pay stops as
    soon as it ever does.
    """
    allowed, currency = task.cells.allowance, task.cells.currency
    ledger = Ledger(MemoryStore().book("rehearsal", {}, {}), None)
    drawn = _Drawn(task, tells)
    played: Source
    if isinstance(task.source, CallableSource):
        played = actor = _Actor(task.source, drawn)
        _own(task, actor, ledger, prices)
        actor.calls = 0
    else:
        played = drawn.table()
    if allowed is not None and spend is None:
        left = f"{allowed:.6f} {currency}" if currency else allowed
        ledger.budget = Budget(per_task=left)
    cells = Cells(
        played,
        prices,
        owned=task.owned,  # of a table; an actor's are in the ledger
        ledger=ledger,
        task="rehearsal",
        spend=spend,
        match=task.features.match,
    )
    cells.row_seed = task.cells.row_seed
    begun = time.perf_counter()
    family.use_rep(representation, cells, task.labels)
    receipt, calls = cells.receipt(), getattr(played, "calls", 0)
    return _Rehearsed(receipt.cells, receipt.cost, calls, time.perf_counter() - begun)


class _Drawn:
    """Made-up values of the task's features, each of its own kind."""

    def __init__(self, task: OpenTask, tells: float) -> None:
        self.source, self._tells = task.source, tells * _lean(task.labels)
        self._random = np.random.default_rng(0)

    def column(self, f: int, rows: Ints) -> Floats:
        """A feature on these rows: the place of its word, 0 or 1, or a number."""
        lean = self._tells[rows]
        if f in self.source.categories:
            n_words = max(len(self.source.categories[f]), 1)
            return self._random.integers(n_words, size=len(rows)).astype(np.float64)
        sign = 1 if f % 2 else -1
        if self.source.boolean[f]:
            often = 0.1  # it is 1 of so many; set by hand
            odds = often / (1 - often) * np.exp(2 * sign * lean)
            return (self._random.random(len(rows)) < odds / (1 + odds)).astype(np.float64)
        return self._random.normal(size=len(rows)) + sign * lean

    def table(self) -> ArraySource:
        """All of it, in place of a table."""
        played = self.source
        every = np.arange(played.n_examples)
        columns = [self.column(f, every) for f in range(played.n_features)]
        made = ArraySource(np.column_stack(columns), played.feature_names, allow_missing=True)
        made.categories, made.present = dict(played.categories), played.present
        made.boolean[:] = played.boolean
        return made


class _Actor(CallableSource):
    """Plays the task's provider: the same examples, features, kinds, prices and limits."""

    def __init__(self, played: CallableSource, drawn: _Drawn) -> None:
        self._played, self._drawn = played, drawn
        super().__init__(
            self._answer,
            examples=played.examples,
            features=played.feature_names,
            boolean=[n for n, is_one in zip(played.feature_names, played.boolean) if is_one],
            kinds=_kinds(played),
            name="rehearsal",
            allow_missing=True,
            limits=replace(played.limits, per_second=None, concurrency=1),
        )
        self.prices = played.prices
        self._rows = {id: row for row, id in enumerate(played.examples)}
        self._columns = {name: f for f, name in enumerate(played.feature_names)}
        self.calls = 0

    def tariff(self, prices: PriceList) -> Tariff:
        """As the one it plays has it: a question costs by its text."""
        return self._played.tariff(prices)

    def _answer(self, ids: Sequence[object], names: Sequence[str]) -> list[list[object]]:
        self.calls += 1
        rows = np.array([self._rows[str(id)] for id in ids])
        return [list(row) for row in zip(*(self._words(self._columns[n], rows) for n in names))]

    def _words(self, f: int, rows: Ints) -> list[object]:
        drawn = self._drawn.column(f, rows).tolist()
        words = self.categories.get(f)
        return drawn if words is None else [words[int(place)] for place in drawn]


def _kinds(played: Source) -> KindsLike:
    """Categories as they can be answered; of all others the kind is known."""
    names = played.feature_names
    return {
        names[f]: list(words) if words else "number" for f, words in played.categories.items()
    } or None


def _lean(labels: object) -> Floats:
    """What of each row the values may tell: its class, or how large its number is."""
    if isinstance(labels, Numbers):
        order = np.argsort(np.argsort(labels.values))
        return np.asarray(2 * order / max(len(order) - 1, 1) - 1)
    assert isinstance(labels, Labels), "Models reads classes and numbers"
    codes = labels.codes.astype(np.float64)
    return np.asarray(codes - codes.mean())


def _own(task: OpenTask, actor: _Actor, ledger: Ledger, prices: PricesLike) -> None:
    """What is owned of the task's rows by now is owned in the rehearsal too."""
    cells = task.cells
    cells.price_of(*_every(cells))  # looks up what is owned of a source that costs
    owned = cells.meter.owned
    if not owned.everything and not owned.count():
        return
    reader = Cells(actor, prices, ledger=ledger, task="before", match=None)
    columns = np.arange(actor.n_features)
    if owned.everything:
        reader.get(np.arange(actor.n_examples), columns)
        return
    bits = np.unpackbits(owned.bitmap.view(np.uint8), axis=1, bitorder="little")
    rows_of = {f: np.flatnonzero(bits[f, : actor.n_examples]) for f in columns.tolist()}
    alike: dict[bytes, list[int]] = {}
    for f, rows in rows_of.items():
        alike.setdefault(rows.tobytes(), []).append(f)
    for features in alike.values():
        if len(rows_of[features[0]]):
            reader.get(rows_of[features[0]], features)
