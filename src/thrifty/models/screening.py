"""Buying numbers, categories and gaps: halve the features, then buy what the model still lacks.

1. Every feature is looked at on a few rows of each class; the half that tells the classes apart
   best is looked at on twice the rows, and so on (successive halving, Karnin, Koren and Somekh,
   ICML 2013) until few are left.
2. The best are bought on more rows, all of the rare class first. The card is fitted on them, and
   the next features are those that tell most about what it gets wrong on rows left out.
3. What is left of the bill buys further rows of the features that were chosen.

How well a feature tells classes apart is one statistic throughout: the score test of its points
under the card's prior (:mod:`thrifty.models.points`), in which a trend counts most, a bend less, a
gap is a bin. First against the shares of the classes, then against the present model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells
from thrifty.models.basket import Basket
from thrifty.models.bins import make_bins
from thrifty.models.memory import Lesson, Memory
from thrifty.models.points import Design, oof_scores
from thrifty.models.policy import Bought
from thrifty.models.shrunk import fit_intercepts, softmax
from thrifty.models.stack import folds_by_class
from thrifty.models.table import Table
from thrifty.trees.labels import Labels

__all__ = ["Screening"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Screening:
    """A way to buy a table of any kinds of features.

    Parameters
    ----------
    looking : the share of the bill that halving may take
    most_looks : rows of each class in the last look, at most
    spread : rows of the table for each root of its cells: more rows, fewer features
    """

    looking: float = 0.4
    most_looks: int = 75
    spread: float = 6.0

    def buy(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        codes = np.asarray(labels.codes, dtype=np.int64)
        hunt = _Hunt(self, cells, codes, labels.n_classes, allowance, rng)
        hunt.halve()
        hunt.collect()
        table = hunt.table()
        return Bought(table, Lesson(useful=table.features[:20]), {"way": "screening"})


class _Hunt:
    """One task: what is bought, what is still a candidate, what was chosen."""

    def __init__(
        self,
        how: Screening,
        cells: Cells,
        codes: Ints,
        n_classes: int,
        allowance: float,
        rng: np.random.Generator,
    ) -> None:
        self.how, self.cells, self.n_classes = how, cells, n_classes
        self.basket = Basket(cells, codes, allowance, rng)
        self.sizes = np.bincount(codes, minlength=n_classes)
        self.prices = np.asarray(cells.prices, dtype=np.float64)
        self.categories = cells.categories
        self.rng = rng
        self.alive = np.arange(cells.n_features)
        self.chosen: list[int] = []
        self.looked, self.rows = 0, 0

    def halve(self) -> None:
        """Look at ever fewer features on ever more rows."""
        k, n = self.n_classes, len(self.alive)
        unit = float(self.prices.sum())  # all features on one row
        rounds = int(np.clip(np.log2(max(n, 1) / (2.0 * self._wanted(self.basket.left))), 0, 3))
        money = self.how.looking * self.basket.left
        first = int(money / unit / (k * (1 + rounds / 2)))
        first = int(np.clip(first, 2, max(2, self.how.most_looks // 2**rounds)))
        for level in range(rounds + 1):
            upto = min(k * first * 2**level, len(self.basket.codes))
            if not self.basket.buy(self.alive, upto):
                break
            self.looked = upto
            if level < rounds:
                found = self._tells(self.alive, None)
                keep = max(1, -(-len(self.alive) // 2))
                self.alive = self.alive[np.argsort(-found, kind="stable")[:keep]]

    def collect(self) -> None:
        """Buy features on many rows, the next where the present model is wrong."""
        if not self.looked:
            self._afford_something()
        wanted = self._wanted(self.basket.left)
        mean = float(self.prices[self.alive].mean())
        rows = self.basket.left / max(mean, 1e-12) / wanted + self.looked
        self.rows = int(np.clip(rows, self.looked, len(self.basket.codes)))
        waiting = self.alive
        present: Floats | None = None
        while len(waiting):
            worth = self._tells(waiting, present) / self.prices[waiting] ** 0.5
            batch = max(1, len(self.chosen) // 3)
            took = 0
            for f in waiting[np.argsort(-worth, kind="stable")].tolist():
                if took < batch and self.basket.buy(np.array([f]), self.rows):
                    self.chosen.append(f)
                    took += 1
            if not took:
                break
            waiting = waiting[~np.isin(waiting, self.chosen)]
            present = self._present()
        if not self.chosen:
            self.chosen = [int(self.alive[0])]
            self.rows = self.basket.bought(self.chosen[0])
        features = np.array(self.chosen, dtype=np.int64)
        upto = self.basket.most_rows(features, self.rows, len(self.basket.codes))
        if upto > self.rows and self.basket.buy(features, upto):
            self.rows = upto

    def table(self) -> Table:
        """The chosen features on the rows that all of them were bought on."""
        features = np.array(self.chosen, dtype=np.int64)
        values = self.basket.values(features, self.rows)
        y = self.basket.codes[: self.rows]
        ours = np.bincount(y, minlength=self.n_classes)
        weights = (self.sizes / np.maximum(ours, 1))[y]
        bought = np.ones(values.shape, dtype=bool)
        rows = self.basket.order[: self.rows]
        return Table(features, rows, values, bought, weights.astype(np.float64), y)

    def _wanted(self, money: float) -> float:
        """How many features the table should have: the root of its cells over the spread."""
        cells = money / max(float(self.prices[self.alive].mean()), 1e-12)
        wide = cells**0.5 / self.how.spread
        least = cells / len(self.basket.codes)  # rows run out before money does
        return float(np.clip(max(wide, least), 1.0, len(self.alive)))

    def _tells(self, features: Ints, present: Floats | None) -> Floats:
        """The score test of each feature on the rows that were looked at."""
        y = self.basket.codes[: self.looked]
        if present is None:
            shares = np.bincount(y, minlength=self.n_classes) / max(len(y), 1)
            present = np.tile(shares, (len(y), 1))
        p = present[: self.looked]
        wrong, noise = np.eye(self.n_classes)[y] - p, p * (1 - p)
        ones = np.ones(len(y))
        found = np.zeros(len(features))
        for i, f in enumerate(features.tolist()):
            column = self.basket.columns[f][: self.looked]
            bins = make_bins(column, ones, max_bins=8, category=f in self.categories)
            basis = bins.basis()
            if basis.shape[1]:
                part = basis[bins.codes(column)]
                chance = float(((part**2).T @ noise).sum())
                found[i] = float(((part.T @ wrong) ** 2).sum()) / max(chance, 1e-12)
        return found

    def _present(self) -> Floats:
        """What the chosen features say of every row of the table, out of fold."""
        features = np.array(self.chosen, dtype=np.int64)
        values = self.basket.values(features, self.rows)
        y, ones = self.basket.codes[: self.rows], np.ones(self.rows)
        folds = folds_by_class(y, np.random.default_rng(0))
        if folds is None:
            return np.tile(np.bincount(y, minlength=self.n_classes) / len(y), (len(y), 1))
        categories = np.array([f in self.categories for f in self.chosen])
        design = Design.of(values, ones, categories, 8)
        scores = oof_scores(design, y, self.n_classes, ones, 1.0, folds)
        return softmax(scores + fit_intercepts(scores, y, ones))

    def _afford_something(self) -> None:
        """Too little money to look at every feature: look at as many as it pays for."""
        k = 2 * self.n_classes
        order = self.rng.permutation(self.alive)
        costs = np.cumsum(self.prices[order]) * k * 2
        fits = max(1, int(np.searchsorted(costs, self.basket.left, side="right")))
        self.alive = np.sort(order[:fits])
        if self.basket.buy(self.alive, k):
            self.looked = k
