"""A dry run: what a task would cost if it is reused, and what if it is learned from scratch.

Not a cell is bought for it, and no provider is called. Families that stop where their money ends
rehearse the task (:mod:`thrifty.lifetime.rehearsal`): cells, money, calls, and minutes as long as
calls to the same provider have taken. For the others, what is certain before buying is said as an
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

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from thrifty.attempt import Expected, Route
from thrifty.cells import Cells, Receipt
from thrifty.cells.prices.money import amount_text, minor_units, to_units
from thrifty.errors import DefaultShare, LimitNeeded
from thrifty.lifetime.booking import DEFAULT_SHARE, OpenTask
from thrifty.lifetime.rehearsal import Rehearsed
from thrifty.protocol import AnyFamily, Representation
from thrifty.typing import Json

__all__ = [
    "CallsSoFar",
    "Quote",
    "quote_rehearsed",
    "quote_task",
    "refuse_without_limit",
    "say_share",
]

#: estimates look at this many tasks of a route, the latest ones
_LATEST = 10
#: cells whose price is worked out one by one, with what is owned of them
_LARGE = 5_000_000


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

    ``cells`` and ``cost`` are what is likely, whichever way the task is learned.

    Cells that are owned cost nothing and are in none of these numbers.
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


def quote_rehearsed(
    name: str,
    cells: Cells,
    spend: float | None,
    found: Rehearsed | None,
    calls: CallsSoFar,
    least: Rehearsed | None = None,
) -> Quote:
    """The quote of a family that stops where its money ends; None: too large to rehearse."""
    whole = cells.n_examples * cells.n_offered
    most = whole - cells.meter.owned.count(cells.offered)
    rest = _price_of_the_rest(cells, whole) if most else 0.0
    limit = min(rest, *(x for x in (cells.allowance, calls.allowance) if x is not None))
    basis = "rehearsed on made-up values, with these labels, prices and all that is owned"
    if found is None:
        share = limit / rest if rest else 1.0
        found = Rehearsed(round(share * most), limit, 0, 0.0)
        basis = "all that may be spent, at the mean price: too large to be rehearsed"
        calls = replace(calls, is_paid=False)
    basis += "" if spend is not None else "; it stops sooner where more would not pay"
    # a table may be cheaper than its rehearsal, never dearer than what may be spent
    cost = min(found.cost, limit)
    minutes, n = found.seconds / 60, found.calls if calls.is_paid else 0
    if n:
        minutes += calls.minutes_of(n)
    return Quote(
        task=name,
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
        spend=spend,
        calls=n,
        minutes=minutes,
        seconds_a_call=calls.seconds,
        rehearsed=True,
        cost_if_hopeless=None if least is None else min(least.cost, cost),
    )


@dataclass(frozen=True, slots=True)
class CallsSoFar:
    """What is known of a provider's calls, and what a task may spend where nothing was said."""

    is_paid: bool = False
    seconds: float | None = None
    concurrency: int = 1
    per_second: float | None = None
    allowance: float | None = None

    def minutes_of(self, n: int) -> float:
        """How long so many calls take.

        >>> CallsSoFar(True, seconds=3.0, concurrency=2).minutes_of(40)
        1.0
        """
        waits = 0.0 if self.per_second is None else n / self.per_second
        return max((self.seconds or 0.0) * n / self.concurrency, waits) / 60


def quote_task(
    name: str,
    family: AnyFamily,
    representation: Representation,
    history: Sequence[tuple[Route, Receipt]],
    cells: Cells,
    n_classes: int | None,
) -> Quote:
    """The quote for a task whose door is ``cells``; nothing is asked of that door but its prices.

    ``n_classes`` is None for families that do not learn classes.
    """
    if n_classes == 1:
        return Quote(
            name, 0, 0.0, 0, 0, 0.0, 0, 0.0, _rate(history), "one class: a single leaf",
            cells.currency,
        )  # fmt: skip
    whole = cells.n_examples * cells.n_offered
    most = whole - cells.meter.owned.count(cells.offered)
    most_cost = _price_of_the_rest(cells, whole) if most else 0.0
    missing = most / whole if whole else 0.0
    expected = family.expected_cells(representation, cells)
    reuse, reuse_price, basis = _reuse(expected, len(representation), history, cells)
    limit = None
    if expected.reused_at_most is not None and len(representation):
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


def _price_of_the_rest(cells: Cells, whole: int) -> float:
    """What everything costs that is not owned; of very large tables, what it costs at most."""
    if whole > _LARGE:
        return cells.n_examples * to_units(cells.price_of_an_example())
    return cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))


def _rate(history: Sequence[tuple[Route, Receipt]]) -> float | None:
    latest = history[-_LATEST:]
    return sum(route == "reused" for route, _ in latest) / len(latest) if latest else None


def _of_route(history: Sequence[tuple[Route, Receipt]], reused: bool) -> list[Receipt]:
    return [receipt for route, receipt in history if (route == "reused") == reused][-_LATEST:]


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
    most = cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))
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
        f"{name} would cost {likely}at most {money(most)}, and nobody has said how much may be "
        f"spent; nothing was bought. {todo}.",
        quote,
    )


def say_share(task: OpenTask, names: Sequence[str], stacklevel: int) -> None:
    """One line on how much is read where nobody said."""
    cells = task.cells
    whole = cells.n_examples * cells.n_offered
    warnings.warn(
        f"{', '.join(names)}: at most {cells.spend or 0:,.0f} of {whole:,} cells are read, "
        f"{DEFAULT_SHARE:.0%}, as nobody said how many. spend='100 %', or any share, says "
        "otherwise (told once).",
        DefaultShare,
        stacklevel=stacklevel,
    )
