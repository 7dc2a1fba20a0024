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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

import numpy as np

from thrifty.attempt import Expected
from thrifty.cells import Budget, Cells, Ledger, Receipt, Source
from thrifty.cells.prices.money import amount_text, minor_units, to_units
from thrifty.cells.prices.price_list import PriceList, PricesLike
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources.array import ArraySource
from thrifty.cells.sources.callable import CallableSource
from thrifty.checks import warn_user
from thrifty.errors import DefaultShare, LimitNeeded
from thrifty.labels import Labels
from thrifty.lifetime.state import LifetimeState
from thrifty.lifetime.transaction import OpenTask
from thrifty.protocol import traits_of
from thrifty.stores import MemoryStore
from thrifty.typing import Floats, Ints, Json


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
    scratch_cells: int
    scratch_cost: float
    scratch_cells_at_most: int
    scratch_cost_at_most: float
    basis: str
    currency: str = ""
    reuse_cells: int | None = None
    reuse_cost: float | None = None
    reuse_cells_at_most: int | None = None
    reuse_rate: float | None = None
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
        unit = f" {self.currency}" if self.currency else ""

        def about(cells: int, cost: float | None) -> str:
            return f"about {cells:,} cells, {cost or 0.0:,.2f}{unit}"

        scratch = about(self.scratch_cells, self.scratch_cost)
        most = f"{self.scratch_cost_at_most:,.2f}{unit}"
        lines = [f"{self.task}: nothing bought yet"]
        if self.rehearsed:
            limit = "" if self.spend is None else ", what it may spend"
            lines.append(f"  {scratch}; at most {most}{limit}")
        else:
            reused, at_most = "unknown", self.reuse_cells_at_most
            if self.reuse_cells is not None:
                reused = about(self.reuse_cells, self.reuse_cost)
                reused += "" if at_most is None else f", at most {at_most:,} cells"
            lines.append(f"  reused        {reused}")
            every = f"at most {self.scratch_cells_at_most:,} cells, {most}"
            lines.append(f"  from scratch  {scratch}, {every}")
        if self.cost_if_hopeless is not None:
            least = f"{self.cost_if_hopeless:,.2f}{unit}"
            lines.append(f"  from {least}, where there is nothing to be learned")
        took = self.seconds_a_call
        if self.calls:
            each = "of which none was made yet" if took is None else f"about {took:.2g} s each"
            lines.append(f"  about {self.calls:,} calls, {each}")
        if self.minutes is not None:
            told = f"{self.minutes:.1f} minutes" if self.minutes >= 0.1 else "a few seconds"
            lines.append(f"  about {told}{' beside the calls' if self.calls and not took else ''}")
        if self.reuse_rate is not None:
            lines.append(f"  {self.reuse_rate:.0%} of the latest tasks were reused")
        return "\n".join([*lines, f"  {self.basis}"])


def quote_of(state: LifetimeState, task: OpenTask) -> Quote:
    """Of a task that was opened."""
    one_class = getattr(task.labels, "n_classes", None) == 1
    if traits_of(state.family).stops_anywhere and not one_class:
        return _rehearsed(state, task)
    return _by_history(state, task, one_class)


def _rehearsed(state: LifetimeState, task: OpenTask) -> Quote:
    """Of a family that stops where its money ends."""
    cells, source = task.cells, task.source
    most, rest = _the_rest(cells)
    allowed = getattr(state.family, "allowance", None)
    limits = [cells.allowance, None if allowed is None else allowed(cells)]
    limit = min([rest, *(x for x in limits if x is not None)])
    least, calls, waits, took = None, 0, 0.0, None
    if isinstance(source, CallableSource):
        took = _seconds_a_call(state, source)
    if not _is_large(cells.n_examples * cells.n_features):
        found, played, seconds = _rehearse(state, task)
        n_cells, cost = found.cells, found.cost
        if cells.spend is None:  # it stops by itself: where there is nothing to learn, soonest
            least = _rehearse(state, task, tells=0.0)[0].cost
        if isinstance(source, CallableSource):
            calls, allows = getattr(played, "calls", 0), source.limits
            # side by side, and no faster than the provider allows
            waits = (took or 0.0) * calls / allows.concurrency
            waits = max(waits, calls / (allows.per_second or np.inf))
        basis = "rehearsed on made-up values, with these labels, prices and all that is owned"
    else:
        n_cells, cost, seconds = round((limit / rest if rest else 1.0) * most), limit, 0.0
        basis = "all that may be spent, at the mean price: too large to be rehearsed"
    basis += "" if cells.spend is not None else "; it stops sooner where more would not pay"
    # a table may be cheaper than its rehearsal, never more expensive than what may be spent
    cost = min(cost, limit)
    return Quote(
        task=task.name,
        scratch_cells=min(n_cells, most),
        scratch_cost=cost,
        scratch_cells_at_most=most,
        scratch_cost_at_most=limit,
        basis=basis,
        currency=cells.currency,
        spend=cells.spend,
        calls=calls,
        minutes=(seconds + waits) / 60,
        seconds_a_call=took,
        rehearsed=True,
        cost_if_hopeless=None if least is None else min(least, cost),
    )


def _seconds_a_call(state: LifetimeState, source: CallableSource) -> float | None:
    """How long calls to this provider have taken, as far as the ledger knows."""
    latest = state.ledger.book.read(lambda pages: pages.latest(100))
    took = [
        one.settled_at - one.created_at
        for one in latest
        if one.provider == source.name and one.status == "settled"
    ]
    return float(np.median(took)) if took else None


def _by_history(state: LifetimeState, task: OpenTask, one_class: bool) -> Quote:
    """As earlier tasks went; nothing is asked of the reader but its prices."""
    cells, known = task.cells, len(state.now.representation)
    history = list(state.tasks.values())[-100:]
    latest = [one.route == "reused" for one in history[-10:]]
    rate = sum(latest) / len(latest) if latest else None
    if one_class:
        basis = "one class: a single leaf"
        return Quote(task.name, 0, 0.0, 0, 0.0, basis, cells.currency, 0, 0.0, 0, rate)
    expected = state.family.expected_cells(state.now.representation, cells)
    most, most_cost = _the_rest(cells)
    missing = most / (cells.n_examples * cells.n_offered or 1)
    reused = [one.receipt for one in history if one.route == "reused"][-10:]
    others = [one.receipt for one in history if one.route != "reused"][-10:]
    reuse, reuse_price, basis = _reuse(expected, known, reused, cells)
    limit = None
    if expected.reused_at_most is not None and known:
        limit = int(min(cells.n_offered, expected.reused_at_most) * cells.n_examples)
        limit = min(limit, most)
    if reuse is not None:
        reuse = min(round(reuse * missing), most if limit is None else limit)
    # the share of the table that scratch is likely to buy
    share, scratch_basis = 1.0, "every cell, until a task has shown better"
    if expected.buys_everything:
        scratch_basis = "every cell"
    elif others:
        shares = [(r.cells + r.reused_cells) / (r.n_examples * r.n_features) for r in others]
        share = float(np.mean(shares))
        scratch_basis = f"as the last {len(others)} tasks that were not reused"
    scratch = round(share * most)
    return Quote(
        task=task.name,
        scratch_cells=scratch,
        scratch_cost=scratch * most_cost / most if most else 0.0,
        scratch_cells_at_most=most,
        scratch_cost_at_most=most_cost,
        basis=f"reused: {basis}; from scratch: {scratch_basis}",
        currency=cells.currency,
        reuse_cells=reuse,
        reuse_cost=None if reuse is None else reuse * reuse_price,
        reuse_cells_at_most=limit,
        reuse_rate=rate,
    )


def _the_rest(cells: Cells) -> tuple[int, float]:
    """All that is not owned: cells, and their price; of very large tables, that at most."""
    whole = cells.n_examples * cells.n_offered
    most = whole - cells.meter.owned.count(cells.offered)
    if not most:
        return 0, 0.0
    if _is_large(whole):
        return most, cells.n_examples * to_units(cells.price_of_an_example())
    return most, cells.price_of(*_every(cells))


def _is_large(n_cells: int) -> bool:
    """Too large to be rehearsed, or priced one by one with what is owned of it."""
    return n_cells > 5_000_000


def _every(cells: Cells) -> tuple[Ints, Ints]:
    return np.arange(cells.n_examples), np.arange(cells.n_features)


def _reuse(
    expected: Expected, known: int, receipts: Sequence[Receipt], cells: Cells
) -> tuple[int | None, float, str]:
    """Likely cells, the price of one, and where that comes from; as the latest reused tasks."""
    if receipts:
        asked = np.array([r.cells + r.reused_cells for r in receipts], dtype=np.float64)
        if expected.grows_with_examples:
            asked *= cells.n_examples / np.array([r.n_examples for r in receipts])
        bought = sum(r.cells for r in receipts)
        price = sum(r.cost for r in receipts) / bought if bought else float(cells.prices.mean())
        return round(float(asked.mean())), price, f"as the last {len(receipts)} reused tasks"
    if not known:
        return None, 0.0, "impossible, the representation is empty"
    if expected.reused is None:
        return None, 0.0, "no task was reused yet"
    features = list(expected.reused_features) or slice(None)
    price = float(cells.prices[features].mean())
    return round(expected.reused * cells.n_examples), price, "from the stored metafeatures alone"


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


def _rehearse(
    state: LifetimeState, task: OpenTask, tells: float = 0.4
) -> tuple[Receipt, Source, float]:
    """Learn a task that was opened, from made-up values, in a ledger of its own.

    ``tells``: how far the mean of a number moves between two classes, in its standard deviations,
    set by hand; of 0 nothing is learned, and a family that stops where more would not pay stops as
    soon as it ever does. Returns what it bought, who played the source, and the seconds it took.
    """
    allowed, currency, spend = task.cells.allowance, task.cells.currency, task.cells.spend
    ledger = Ledger(MemoryStore().book("rehearsal", {}, {}), None)
    column, played = _drawn_by(task, tells), task.source
    prices = state.prices_of(task.source, task.features.needed(task.source))
    if isinstance(task.source, CallableSource):
        played = actor = _Actor(task.source, column)
        _own(task, actor, ledger, prices)
        actor.calls = 0
    else:
        played = _drawn_table(task.source, column)
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
    state.family.use_rep(state.now.representation, cells, task.labels)
    return cells.receipt(), played, time.perf_counter() - begun


def _drawn_by(task: OpenTask, tells: float) -> Drawn:
    """Draws values of a feature on some rows: the place of its category, 0 or 1, or a number."""
    source, leans, random = task.source, tells * _lean(task.labels), np.random.default_rng(0)

    def column(f: int, rows: Ints) -> Floats:
        lean = leans[rows] if f % 2 else -leans[rows]
        if f in source.categories:
            n_places = max(len(source.categories[f]), 1)
            return random.integers(n_places, size=len(rows)).astype(np.float64)
        if source.boolean[f]:
            often = 0.1  # it is 1 of so many; set by hand
            odds = often / (1 - often) * np.exp(2 * lean)
            return (random.random(len(rows)) < odds / (1 + odds)).astype(np.float64)
        return random.normal(size=len(rows)) + lean

    return column


def _drawn_table(played: Source, column: Drawn) -> ArraySource:
    """All of it, in place of a table."""
    every = np.arange(played.n_examples)
    columns = [column(f, every) for f in range(played.n_features)]
    made = ArraySource(np.column_stack(columns), played.feature_names, allow_missing=True)
    made.categories, made.present = dict(played.categories), played.present
    made.boolean[:] = played.boolean
    return made


class _Actor(CallableSource):
    """Plays the task's provider: the same examples, features, kinds, prices and limits."""

    def __init__(self, played: CallableSource, drawn: Drawn) -> None:
        self._played, self._drawn, names = played, drawn, played.feature_names
        kinds: dict[
            str, str | Sequence[str]
        ] = {  # categories as they can be answered; all kinds are known
            names[f]: list(some) if some else "number" for f, some in played.categories.items()
        }
        super().__init__(
            self._answer,
            examples=played.examples,
            features=names,
            boolean=[n for n, is_one in zip(names, played.boolean) if is_one],
            kinds=kinds or None,
            name="rehearsal",
            allow_missing=True,
            limits=replace(played.limits, per_second=None, concurrency=1),
        )
        self.prices = played.prices
        self._rows = {id: row for row, id in enumerate(played.examples)}
        self._columns = {name: f for f, name in enumerate(names)}
        self.calls = 0

    def tariff(self, prices: PriceList) -> Tariff:
        """As the one it plays has it: a question costs by its text."""
        return self._played.tariff(prices)

    def _answer(self, ids: Sequence[object], names: Sequence[str]) -> list[list[object]]:
        self.calls += 1
        rows = np.array([self._rows[str(id)] for id in ids])
        return [list(row) for row in zip(*(self._told(self._columns[n], rows) for n in names))]

    def _told(self, f: int, rows: Ints) -> list[object]:
        drawn = self._drawn(f, rows).tolist()
        categories = self.categories.get(f)
        return drawn if categories is None else [categories[int(place)] for place in drawn]


#: values of a feature, by its number, on some rows
Drawn: TypeAlias = Callable[[int, Ints], Floats]


def _lean(labels: object) -> Floats:
    """What of each row the values may tell: its class, or how large its number is."""
    assert isinstance(labels, Labels), "Models reads classes and numbers"
    if labels.numbers is not None:
        order = np.argsort(np.argsort(labels.numbers))
        return np.asarray(2 * order / max(len(order) - 1, 1) - 1)
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
    n = actor.n_examples
    if owned.everything:
        reader.get(np.arange(n), np.arange(actor.n_features))
        return
    bits = np.unpackbits(owned.bitmap.view(np.uint8), axis=1, bitorder="little")
    alike: dict[bytes, list[int]] = {}
    for f in range(actor.n_features):
        alike.setdefault(bits[f, :n].tobytes(), []).append(f)
    for features in alike.values():
        rows = np.flatnonzero(bits[features[0], :n])
        if len(rows):
            reader.get(rows, features)
