"""What looks cost, in bits: the price of a cell where it is compared with what it may explain.

All the features of one example are worth so many bits (:mod:`thrifty.trees.verified.
value_of_looks`), and each has its part of that by its price. Where features are sold by themselves,
a look costs its cells, and a fee on rows where it was not paid for another feature. Where orders
fill several features a look costs its margin, row by row, as the door says it: nothing where an
order for something else has filled it, or where another bit of the same cell was read.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Door
from thrifty.cells.prices.money import to_units

__all__ = ["LookPrices", "Margins", "SinglePrices", "Span", "look_prices"]


class Span(Protocol):
    """A node's rows, those of class c from ``starts[c]`` on, and how many were looked at."""

    rows: Ints
    starts: Ints
    looked: Ints


class LookPrices(Protocol):
    """What looks cost.

    ``least`` is the price of the cheapest cell: what cannot explain so much is not worth judging.
    """

    least: float

    def cost(self, node: Span, to: Ints) -> Floats:
        """What looking at each feature alone up to row ``to[c, f]`` costs: (features,)."""

    def bought(self, rows: list[Ints]) -> None:
        """Something was bought on these rows, in several requests."""

    def worth_looking(self, node: Span, to: Ints, worth: Floats) -> Ints:
        """Features whose looks, worth so much each, pay: alone, or several in one order."""


def look_prices(cells: Door, worth: float) -> LookPrices:
    """The prices of a door, scaled so that all features of one example are worth so many bits."""
    return Margins(cells, worth) if cells.sells_together else SinglePrices(cells, worth)


class SinglePrices:
    """Features that are sold by themselves, and fees."""

    def __init__(self, cells: Door, worth: float) -> None:
        own, fees = _own_and_fees(cells)
        total = float(own.sum()) + sum(fee for fee, _ in fees)
        scale = worth / total if total > 0 else 0.0
        self.each = own * scale
        self.fees = [(fee * scale, features) for fee, features in fees]
        self.least = float(self.each.min())

    def cost(self, node: Span, to: Ints) -> Floats:
        """A fee is not due on rows where it was paid for another feature."""
        cost = self.each * (to - node.looked).sum(axis=0)
        for fee, features in self.fees:
            paid = node.looked[:, features].max(axis=1)
            cost[features] += fee * np.maximum(to[:, features] - paid[:, None], 0).sum(axis=0)
        return np.asarray(cost)

    def bought(self, rows: list[Ints]) -> None:
        """What is owned is known from what was looked at."""

    def worth_looking(self, node: Span, to: Ints, worth: Floats) -> Ints:
        """Each by itself: nothing becomes cheaper by company but fees, which are paid soon."""
        return np.flatnonzero(worth > self.cost(node, to))


def _own_and_fees(cells: Door) -> tuple[Floats, list[tuple[float, Ints]]]:
    own = np.array(cells.prices, dtype=np.float64)
    fees = [(fee, np.array(features)) for fee, features in cells.fees]
    for fee, features in fees:
        own[features] -= fee
    return np.maximum(own, 0.0), fees


class Margins:
    """Features that orders fill: what each costs on each row, as things stand."""

    def __init__(self, cells: Door, worth: float) -> None:
        self.cells = cells
        whole = to_units(cells.price_of_an_example())
        self.scale = worth / whole if whole > 0 else 0.0
        own, _ = _own_and_fees(cells)
        self.least = float(own.min()) * self.scale
        self.each = own * self.scale
        #: features whose price depends on what else is owned; bits of one cell have one margin
        self.tied = np.flatnonzero(cells.depends)
        _, first, at = np.unique(cells.cell_of(self.tied), return_index=True, return_inverse=True)
        self.one_of, self.cell = self.tied[first], at.ravel()
        self.of = np.zeros((len(self.one_of), cells.n_examples), dtype=np.float32)
        self.orders = [np.array(members) for members in cells.orders]
        self.bought([np.arange(cells.n_examples)])

    def cost(self, node: Span, to: Ints) -> Floats:
        """The margins of the rows from those looked at up to ``to``."""
        cost = self.each * (to - node.looked).sum(axis=0)
        summed = np.zeros((len(self.one_of), len(node.rows) + 1))
        np.cumsum(self.of[:, node.rows], axis=1, out=summed[:, 1:])
        start = node.starts[:, None]
        upto, since = start + to[:, self.tied], start + node.looked[:, self.tied]
        spans = summed[self.cell, upto] - summed[self.cell, since]
        cost[self.tied] = np.maximum(spans.sum(axis=0), 0.0)
        return np.asarray(cost)

    def bought(self, rows: list[Ints]) -> None:
        """Ask again what cells cost there."""
        if rows:
            at = np.unique(np.concatenate(rows))
            self.of[:, at] = (self.cells.margins(at, self.one_of) * self.scale).T

    def worth_looking(self, node: Span, to: Ints, worth: Floats) -> Ints:
        """Those worth it alone, and the members of orders that are worth more than the order.

        The bits of one cell are worth what the best of them is.
        """
        alone = self.cost(node, to)
        found = worth > alone
        for members in self.orders:
            some = members[worth[members] > 0]
            if found[some].all():
                continue
            cells, which = np.unique(self.cells.cell_of(some), return_inverse=True)
            best = np.zeros(len(cells))
            np.maximum.at(best, which.ravel(), worth[some])
            # An order costs no less than the dearest of its members does alone.
            if best.sum() > alone[some].max() and best.sum() > self._together(node, to, some):
                found[some] = True
        return np.flatnonzero(found)

    def _together(self, node: Span, to: Ints, features: Ints) -> float:
        """What these looks cost at once, features that look at the same rows in one request."""
        total = 0.0
        for c, start in enumerate(node.starts.tolist()):
            spans = np.stack([node.looked[c, features], to[c, features]])
            for low, high in np.unique(spans, axis=1).T.tolist():
                if high > low:
                    some = features[(spans[0] == low) & (spans[1] == high)]
                    total += self.cells.price_of(node.rows[start + low : start + high], some)
        return total * self.scale
