"""One order for several tasks: the largest sum of falls of their losses per price, step by step.

As :mod:`thrifty.models.asking.order`, over tables with the same features: gains of a feature are
summed over the tasks, each weighing what the user says, and the best two candidates are
cross-validated for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Floats
from thrifty.models.asking.order import ONE_AT_A_TIME, Order, OrderSearch, Price
from thrifty.models.fits.score_test import significant
from thrifty.models.table import Table

__all__ = ["find_joint_order"]

#: candidates that are cross-validated for all tasks; a matter of time, set by hand
COMPARED = 2


def find_joint_order(
    tables: Sequence[Table],
    weights: Sequence[float],
    price: Price,
    orders: Sequence[Sequence[int]] = (),
    *,
    compared: int = COMPARED,
    seed: int = 0,
) -> Order:
    """The order in which several tasks should ask together; tables have the same features.

    Parameters
    ----------
    weights : sequence of float
        what a fall of each task's loss counts
    compared : int
        how many of the best are cross-validated at each step; 1: the largest gain is taken
    """
    return _JointSearch(tables, weights, price, orders, compared, seed).run()


class _JointSearch:
    def __init__(
        self,
        tables: Sequence[Table],
        weights: Sequence[float],
        price: Price,
        orders: Sequence[Sequence[int]],
        compared: int,
        seed: int,
    ) -> None:
        self.searches = [OrderSearch(t, price, orders, None, 4, seed) for t in tables]
        self.weights, self.compared = weights, compared
        self.first = self.searches[0]
        self.present: list[Floats] = []

    def run(self) -> Order:
        first = self.first
        self._take(tuple(i for i in range(len(first.names)) if first.price([i]) <= 0))
        self.present = [s.probabilities(s.owned) for s in self.searches]
        while len(first.owned) < len(first.names):
            ranked = self._ranked()
            if len(first.steps) > ONE_AT_A_TIME:
                for step, _ in ranked:
                    left = tuple(i for i in step if i not in set(first.owned))
                    if left:
                        self._take(left)
                break
            self._take_best(ranked[: self.compared])
        return Order(first.named(), tuple(first.prices))

    def _take(self, step: tuple[int, ...]) -> None:
        self.first.take(step)
        for other in self.searches[1:]:
            other.owned.extend(step)

    def _ranked(self) -> list[tuple[tuple[int, ...], float]]:
        """Single features and orders with their summed gain per price^a, the best first."""
        total = np.zeros(len(self.first.names))
        for search, weight, present in zip(self.searches, self.weights, self.present):
            found = search.gains(present)
            shown = np.where(significant(found), found[:, 0], 1e-3 * np.maximum(found[:, 0], 0.0))
            total += weight * shown / search.table.weights.sum()
        owned = set(self.first.owned)
        wanted: list[tuple[int, ...]] = [(i,) for i in range(len(total)) if i not in owned]
        for order in self.first.orders:
            left = tuple(sorted((i for i in order if i not in owned), key=lambda i: -total[i]))
            if len(left) > 1:
                wanted.append(left)
        out = []
        for step in wanted:
            each = sorted((float(total[i]) for i in step), reverse=True)
            gain = each[0] + 0.5 * sum(each[1:])
            out.append((step, self.first.per_price(gain, self.first.price(step))))
        return sorted(out, key=lambda pair: -pair[1])

    def _take_best(self, ranked: Sequence[tuple[tuple[int, ...], float]]) -> None:
        best: tuple[float, tuple[int, ...], list[Floats]] | None = None
        for step, _ in ranked:
            said = [s.probabilities([*s.owned, *step]) for s in self.searches]
            fall = sum(
                weight * (s.loss(before) - s.loss(after))
                for s, weight, before, after in zip(self.searches, self.weights, self.present, said)
            )
            price = self.first.price(step)
            score = self.first.per_price(fall, price) if fall > 0 else fall
            if best is None or score > best[0]:
                best = score, step, said
        assert best is not None
        self._take(best[1])
        self.present = best[2]
