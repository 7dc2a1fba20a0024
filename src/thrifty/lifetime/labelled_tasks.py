"""A task whose labels are bought: rows are labelled within the money, then it is learned as usual.

Labels and cells are paid from the same amount, and compete for it. With n labels and cells worth c
whole rows the loss is about

    L(n, c) = L0 + A / n + B / c

A further label lowers it by A / n^2 for the price of a label, a further row of cells by B / c^2 for
that of a row. Both bring as much for their price where of each labelled row this part is read:

    c / n = square root of (B / A  x  price of a label / price of a row's cells)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Cells, Receipt, Source
from thrifty.cells.cells import open_cells
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.prices.money import to_units
from thrifty.cells.sources.oracle import Oracle
from thrifty.errors import BadInput, BadParameter, MixedCurrencies
from thrifty.lifetime.doors import Doors
from thrifty.lifetime.label_cells import LabelCells
from thrifty.lifetime.labelling import Labelled, draw_rows, free_table, unbiased_weights
from thrifty.typing import MoneyLike

__all__ = ["LabelledTask", "label_a_task", "part_read"]

#: B / A above. Chosen on surfaces L(n, c) of rcv1s1_500, spam, tox21_maccs and yeast, confirmed on
#: tmc2007_500, yahoo_arts_500, support2 and jester_items (docs/howto/answers.md)
_CELLS_TO_LABELS = 0.5
#: and the least part: with less of a row more labels tell nothing, on these sets
_LEAST_READ = 0.2
#: classes with fewer rows teach nothing and are left out
_LEAST = 2


@dataclass(frozen=True, eq=False)
class LabelledTask:
    """The rows that have labels, and what is left for their cells."""

    #: a label for each row, None where there is none
    y: list[object]
    labelled: Labelled
    #: for the cells; None: nothing was said, or they cost nothing
    spend: float | None
    receipt: Receipt
    by: str

    def on(self, receipt: Receipt) -> Receipt:
        """A task's receipt with its labels on it."""
        labels = self.receipt
        cost = receipt.cost + labels.cost
        line = (f"label by {self.by}", labels.cells, labels.cost)
        lines = (*receipt.lines, *([line] if labels.cells else []))
        return replace(receipt, cost=cost, lines=lines, currency=labels.currency)


def label_a_task(
    doors: Doors, name: str, source: Source, oracle: Oracle, spend: MoneyLike, seed: int | None
) -> LabelledTask:
    """Buy labels of rows that are worth it, within a part of the money."""
    cells = open_cells(
        source,
        doors.settings.prices,
        match=None,
        ledger=doors.ledger_for(source),
        task=name,
        to_buy=False,
    )
    price = to_units(cells.price_of_an_example())

    def door(most: float | None) -> LabelCells:
        return LabelCells(doors, oracle, source, name, name, spend=most, is_task=True)

    labels = door(None)
    _one_currency(cells, price, labels)
    every = np.arange(source.n_examples)

    def everything() -> float:
        return labels.cells.price_of(every, [0]) + price * len(every)

    most = read_spend(spend, labels.cells.currency, everything)
    if most is not None:
        labels = door(most)
    rows, weights = _draw(labels, cells, source, price, most, np.random.default_rng(seed))
    codes = labels.get(rows)
    rows, weights, codes = rows[codes >= 0], weights[codes >= 0], codes[codes >= 0]
    labelled = Labelled(rows, oracle.values(codes), weights)
    labelled = _with_enough_of_each(labelled, codes)
    receipt = labels.cells.receipt()
    left = None if most is None or not price else most if not source.free else most - receipt.cost
    y: list[object] = [None] * source.n_examples
    for row, label in zip(labelled.rows.tolist(), labelled.values.tolist()):
        y[row] = label
    return LabelledTask(y, labelled, left, receipt, oracle.name)


def _one_currency(cells: Cells, price: float, labels: LabelCells) -> None:
    mine, theirs = labels.cells.currency, cells.currency
    if price and mine != theirs:
        raise MixedCurrencies(
            f"labels are paid in {mine or 'units without a name'} and cells in "
            f"{theirs or 'units without a name'}. Where cells cost nothing say "
            "thrifty.Lifetime(prices=0), else give both in one currency."
        )


def _draw(
    labels: LabelCells,
    cells: Cells,
    source: Source,
    price: float,
    most: float | None,
    rng: np.random.Generator,
) -> tuple[Ints, np.ndarray]:
    before = labels.known_rows()
    n = source.n_examples
    known, codes = np.zeros(n, dtype=bool), np.full(n, -1, dtype=np.int64)
    known[before], codes[before] = True, labels.get(before)
    if most is None and labels.cells.allowance is None:
        raise BadParameter(
            "labels are bought for money: say how much this task may spend in all, for instance "
            "life.learn(name, X, oracle, spend='20 USD'), or give the lifetime a budget."
        )
    allowed = labels.cells.allowance if most is None else min(most, labels.cells.allowance or most)
    each = labels.cells.price_of(np.arange(n), [0]) / max(n - len(before), 1)
    share = 1.0 if not each else each / (each + part_read(each, price) * price)
    table = free_table(source, np.asarray(cells.prices))
    ask = _within(labels, float(allowed or 0.0) * share)
    pool = int((~known).sum())
    drawn, chances = draw_rows(known, codes, table, ask, pool, rng)
    weights = np.concatenate([np.zeros(len(before)), unbiased_weights(chances, pool)])
    return np.concatenate([before, drawn]), weights


def part_read(label: float, row: float) -> float:
    """The part of a row's cells to pay for, where a label and a whole row have these prices.

    >>> [part_read(label, 1.0) for label in (0.05, 0.5, 20.0)], part_read(1.0, 0.0)
    ([0.2, 0.5, 1.0], 1.0)
    """
    if row <= 0:
        return 1.0
    return min(1.0, max(_LEAST_READ, math.sqrt(_CELLS_TO_LABELS * label / row)))


def _within(labels: LabelCells, money: float) -> Callable[[Ints], Ints]:
    """Buys labels as far as the money goes."""
    spent = 0.0

    def ask(rows: Ints) -> Ints:
        nonlocal spent
        costs = spent + np.cumsum(labels.cells.row_costs(rows, [0]))
        fit = int(np.searchsorted(costs, money + 1e-9, side="right"))
        spent = float(costs[fit - 1]) if fit else spent
        return labels.get(rows[:fit])

    return ask


def _with_enough_of_each(labelled: Labelled, codes: Ints) -> Labelled:
    sizes = np.bincount(codes, minlength=1)
    kept = sizes[codes] >= _LEAST if len(codes) else np.zeros(0, dtype=bool)
    if len(np.unique(codes[kept])) < 2:
        seen = {str(v): int((labelled.values == v).sum()) for v in np.unique(labelled.values)}
        raise BadInput(
            f"{len(codes)} rows were labelled and a model needs {_LEAST} rows of two classes at "
            f"least; there are {seen}. Labels are kept: give more money, or known= rows of a rare "
            "class."
        )
    rows, values, weights = labelled.rows[kept], labelled.values[kept], labelled.weights[kept]
    return Labelled(rows, values, weights)
