"""Buying where asking itself costs, whatever is asked: the tokens of a text, a visit, a draw.

Every further call about a row pays for the row again. So each row is asked once: all features on a
few rows of each class, a pilot; then the features with the best score tests, together, on as many
further rows as the money lasts for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.purses import Basket
from thrifty.models.buying.score_test import score_tests
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.table import Table

__all__ = ["FewCalls"]

#: how many of a task's features the memory calls useful; as in :mod:`.halving`
_USEFUL = 20
#: a score counts up to 1 + this times where every earlier task found the feature useful; as there
_AGAIN = 1.0


@dataclass(frozen=True)
class FewCalls:
    """Ask everything about a few rows, then little about many, each row once.

    The three numbers were set by hand before 0.2; ``python benchmarks/questions.py`` measures the
    way with them.

    Parameters
    ----------
    pilot : float
        the share of the bill for the rows of which everything is asked
    width : float
        features of the second part, for each root of the cells that it could buy
    most : int
        features of the second part at most
    """

    pilot: float = 0.5
    width: float = 0.7
    most: int = 300

    def buy(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        codes = np.asarray(labels.codes, dtype=np.int64)
        basket = Basket(cells, codes, allowance, rng)
        every = np.arange(cells.n_features)
        looked = self._look(basket, every, labels.n_classes, allowance)
        scores = score_tests(basket, every, looked, labels.n_classes, set(cells.categories))
        often = memory.usefulness(len(every)) / max(memory.tasks, 1)
        scores *= 1.0 + _AGAIN * often
        ranked = np.argsort(-scores, kind="stable")
        chosen = ranked[: self._how_many(cells, basket.left)]
        rows = self._further(basket, chosen, looked)
        table = _table(basket, chosen, rows, np.bincount(codes, minlength=labels.n_classes))
        lesson = Lesson(useful=chosen[:_USEFUL])
        return Bought(table, lesson, {"way": "few calls", "pilot rows": looked})

    def _look(self, basket: Basket, every: Ints, n_classes: int, allowance: float) -> int:
        """Everything about as many rows as the pilot's share pays for; two a class at least."""
        least = min(2 * n_classes, len(basket.codes))
        price = basket.price(every, least)
        if price > allowance + 1e-9:
            raise BadInput(
                f"spend={allowance:g} is too small for a first look at {len(every)} features; the "
                f"smallest useful is {price:g}, two rows of each class."
            )
        kept = allowance - max(self.pilot * allowance, price)
        basket.left -= kept
        rows = self._further(basket, every, 0)
        basket.left += kept
        return rows

    def _further(self, basket: Basket, chosen: Ints, rows: int) -> int:
        """As many further rows as can be paid for; again while calls cost less than they might."""
        while True:
            upto = basket.most_rows(chosen, rows, len(basket.codes))
            if upto == rows or not basket.buy(chosen, upto):
                return rows
            rows = upto

    def _how_many(self, cells: Cells, left: float) -> int:
        """Features of the second part: a further row is a call and the margins of so many."""
        row = float(cells.shared_prices.sum()) - sum(fee for fee, _ in cells.fees)
        margin = max(row / cells.n_features, 1e-12)
        wanted = self.width * (left / margin) ** 0.5
        return int(np.clip(wanted, 1, min(self.most, cells.n_features)))


def _table(basket: Basket, chosen: Ints, rows: int, sizes: Ints) -> Table:
    y = basket.codes[:rows]
    ours = np.bincount(y, minlength=len(sizes))
    weights = (sizes / np.maximum(ours, 1))[y].astype(np.float64)
    values = basket.values(chosen, rows)
    bought = np.ones(values.shape, dtype=bool)
    return Table(chosen.astype(np.int64), basket.order[:rows], values, bought, weights, y)
