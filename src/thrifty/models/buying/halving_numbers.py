"""Successive halving for numeric labels; then what the model still lacks is bought, then rows.

As for classes (:mod:`thrifty.models.buying.halving`), with two differences. Rows are drawn alike:
they stand in one random order in which low and high labels take turns, so that any beginning of it
has y spread as all rows have it. And a score is the score test of a feature's points for squared
errors: first against the mean, then against what the present model leaves over on rows left out.
For choosing, labels are clipped to their first and last hundredth.

The constants were chosen on diabetes, linear100, friedman60 and friedman110 at 5 and 10 %, two to
six seeds, where nothing else is said of them (docs/models.md, *Numbers as labels*; ``python
benchmarks/regression.py`` measures with them). "Set by hand": before 0.2, and not measured since.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.numbers import Numbers
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.purses import Basket, to_pay
from thrifty.models.buying.worth import (
    BY_HALF_AS_MANY,
    is_hopeless,
    judges_worth,
    still_falls,
    would_pay,
)
from thrifty.models.fits.bins import make_bins
from thrifty.models.fits.folds import folds_in_turn
from thrifty.models.fits.number_mixture import Additive
from thrifty.models.fits.points import Design
from thrifty.models.memory.layers import remember
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.table import Table

__all__ = ["HalvingNumbers"]

#: groups of labels that take turns in the order of the rows. Set by hand
_GROUPS = 5
#: labels are clipped to these quantiles for choosing. Set by hand
_CLIPPED = (0.01, 0.99)
#: rows of the smallest first look. Set by hand
_FIRST = 8
#: a table of n cells has about sqrt(n) / 4 features; halving leaves twice as many (friedman110 at
#: 5 %: .82, with four times fewer features .70)
_WIDTH = 4.0
#: features are halved so often at most
_MOST_ROUNDS = 4
#: features that a model may have where all are bought. As in :mod:`.wide`; not measured here
_MOST = 300
#: bins of a feature at most; as in :mod:`.score_test`
_BINS = 8
#: folds on which the present model is judged: points of a third and of two thirds of the rows
_FOLDS = 3
#: rows that each fold must have for it. Set by hand
_LEAST_IN_FOLD = 3
#: how many of a task's features the memory calls useful. As in :mod:`.halving`
_USEFUL = 20
#: a first score counts up to 1 + this times where every earlier task found the feature useful. As
#: there
_AGAIN = 1.0
#: features bought together: 1, and one more for so many that are chosen. As there
_PER_BATCH = 4
#: rows are bought by this part of those there are. As there
_MORE_ROWS = 0.5
#: what is free counts as this part of the mean price: it is worth a look whatever its score
_FREE = 1e-3


@dataclass(frozen=True)
class HalvingNumbers:
    """Successive halving: a way to buy a table whose labels are numbers.

    Parameters
    ----------
    looking : float
        the share of the bill that halving may take
    most_looks : int
        rows in the last look, at most
    start : float
        rows of the table at first: on so many a feature costs this share of what is left
    slimness : float
        rows that the table has at most for each root of its cells while features wait

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 40))
    >>> y = X[:, 3] - 2 * X[:, 7] + 0.1 * rng.normal(size=400)
    >>> bought = HalvingNumbers().buy(Cells(X), Numbers(y), Memory(), 1600.0, rng)
    >>> sorted(bought.table.features[:2].tolist()), bool(bought.table.bought.sum() <= 1600)
    ([3, 7], True)
    """

    looking: float = 0.6
    most_looks: int = 150
    start: float = 0.12
    slimness: float = 7.0

    def buy(
        self,
        cells: Cells,
        labels: Numbers,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        _check_allowance(cells, allowance)
        search = _NumberSearch(self, cells, labels.values, memory, allowance, rng)
        search.groups = labels.groups
        if not search.take_everything():
            search.halve()
            search.check_values()
            search.collect()
        return Bought(search.table(), search.lesson(), {"way": "numbers"})


class _NumberSearch:
    """One task: what is bought, what is still a candidate, what was chosen."""

    def __init__(
        self,
        how: HalvingNumbers,
        cells: Cells,
        y: Floats,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> None:
        self.how, self.cells, self.memory = how, cells, memory
        self.categories = cells.categories
        prices = np.asarray(cells.shared_prices, dtype=np.float64)
        self.prices = np.maximum(prices, _FREE * max(float(prices.mean()), 1e-9))
        groups = np.argsort(np.argsort(y, kind="stable")) * _GROUPS // len(y)
        self.basket = Basket(cells, groups.astype(np.int64), allowance, rng, panels=True)
        self.y = y[self.basket.order]
        low, high = np.quantile(y, _CLIPPED)
        self.clipped = np.clip(self.y, low, high)
        self.alive = np.arange(cells.n_features)
        often = memory.usefulness(cells.n_features)
        self.useful = often / max(memory.tasks, 1)
        self.chosen: list[int] = []
        self.looked, self.rows = 0, 0
        self.judges = judges_worth(cells)
        # of the present model: how far the loss fell, and would fall with half as many rows again
        self.fall, self.by_more_rows = 0.0, np.inf
        self.losses: list[float] = []
        #: of all rows of the task, where some belong together
        self.groups: Ints | None = None

    def take_everything(self) -> bool:
        """Where all cells can be paid for, have them; the model gets those with the best scores."""
        n = len(self.y)
        if self.judges or not self.basket.buy(self.alive, n):
            return False
        self.looked = self.rows = n
        self.check_values()
        order = np.argsort(-self._scores(self.alive, None), kind="stable")
        self.chosen = self.alive[order[:_MOST]].tolist()
        return True

    def halve(self) -> None:
        """Look at ever fewer features on ever more rows."""
        n, unit = len(self.alive), float(self.prices.sum())
        left = self.basket.left
        wanted = max((left * n / unit) ** 0.5 / _WIDTH, 1.0)
        rounds = int(np.clip(np.log2(n / (2.0 * wanted)), 0, _MOST_ROUNDS))
        first = int(self.how.looking * left / unit / (1 + rounds / 2))
        first = int(np.clip(first, _FIRST, max(_FIRST, self.how.most_looks // 2**rounds)))
        for level in range(rounds + 1):
            upto = min(first * 2**level, len(self.y))
            if not self.basket.buy(self.alive, upto):
                break
            self.looked = upto
            if level < rounds:
                keep = max(1, -(-len(self.alive) // 2))
                found = self._scores(self.alive, None)
                self.alive = self.alive[np.argsort(-found, kind="stable")[:keep]]
        if not self.looked:
            self._look_at_some()

    def _look_at_some(self) -> None:
        """Too little money to look at every feature: look at as many as half of it pays for."""
        order = np.random.default_rng(len(self.alive)).permutation(self.alive)
        costs = np.cumsum(self.prices[order]) * _FIRST * 2
        fits = max(1, int(np.searchsorted(costs, self.basket.left, side="right")))
        self.alive = np.sort(order[:fits])
        upto = self.basket.most_rows(self.alive, 0, min(_FIRST, len(self.y)))
        if self.basket.buy(self.alive, upto):
            self.looked = upto

    def check_values(self) -> None:
        """A look that found nothing but gaps is the end of it."""
        looks = self.basket.columns.values()
        if looks and all(np.isnan(column).all() for column in looks):
            raise BadInput(
                f"all values of all {len(looks)} features are missing on the {self.looked} rows "
                "that were looked at. Check what the source fills in, or bring other rows."
            )

    def collect(self) -> None:
        """Buy a feature where the present model is wrong, or more rows: whichever pays more."""
        for f in self.basket.leads:  # bought only where its panel is there
            self.prices[f] *= self.basket.asked(f)
        mean = float(self.prices[self.alive].mean())
        n = self.basket.left / mean
        enough = self.how.slimness * n**0.5
        self.rows = int(np.clip(min(self.how.start * n, enough), self.looked, len(self.y)))
        waiting, present, by_rows = self.alive, None, 0.0
        while True:
            scores = self._scores(waiting, present)
            if self.judges and (self._hopeless() or not still_falls(self.losses, self.fall)):
                break
            gain = (scores - 1.0) / (2.0 * max(self.looked, 1)) / (self.prices[waiting] * self.rows)
            took = 0
            if self.rows < enough and (not len(waiting) or gain.max() < max(by_rows, 0.0)):
                took = self._buy_rows(int(enough))
            if not took:
                waiting, took = self._buy_features(waiting, scores / self.prices[waiting])
            if not took:
                break
            present, by_rows = self._present()
        if not self.chosen:
            self.chosen = [int(self.alive[0])]
            self.rows = self.basket.bought(self.chosen[0])
        while not self.judges or would_pay(self.by_more_rows, self.fall, self._hopeless()):
            if not self._buy_rows(len(self.y)):
                break
            if self.judges:
                self._present()

    def _hopeless(self) -> bool:
        """Whether there is nothing to be learned, as far as much that was bought can tell."""
        rare = self.rows // 4
        return is_hopeless(self.losses, self.fall, rare)

    def _buy_features(self, waiting: Ints, worth: Floats) -> tuple[Ints, int]:
        took, batch = 0, 1 + len(self.chosen) // _PER_BATCH
        for f in waiting[np.argsort(-worth, kind="stable")].tolist():
            if took < batch and self.basket.buy(np.array([f]), self.rows):
                self.chosen.append(f)
                took += 1
        return waiting[~np.isin(waiting, self.chosen)], took

    def _buy_rows(self, most: int) -> int:
        """Half as many rows again for what was chosen, or as many as can be paid for."""
        if not self.chosen:
            return 0
        features = np.array(self.chosen, dtype=np.int64)
        wanted = min(int((1 + _MORE_ROWS) * self.rows) + 1, most, len(self.y))
        upto = self.basket.most_rows(features, self.rows, wanted)
        if upto <= self.rows or not self.basket.buy(features, upto):
            return 0
        more, self.rows = upto - self.rows, upto
        return more

    def _scores(self, features: Ints, present: Floats | None) -> Floats:
        """The score test of each feature on the rows that were looked at; 1 is chance."""
        y = self.clipped[: self.looked]
        wrong = y - (y.mean() if present is None else present[: self.looked])
        variance = max(float((wrong**2).mean()), 1e-300)
        ones, found = np.ones(len(y)), np.zeros(len(features))
        for i, f in enumerate(features.tolist()):
            column = self.basket.columns[f][: self.looked]
            bins = make_bins(column, ones, max_bins=_BINS, category=f in self.categories)
            basis = bins.basis()
            if basis.shape[1]:
                part = basis[bins.codes(column)]
                found[i] = float(((wrong @ part) ** 2).sum()) / (float((part**2).sum()) * variance)
        if present is None:  # what was useful before is believed sooner
            found *= 1.0 + _AGAIN * self.useful[features]
        return found

    def _present(self) -> tuple[Floats, float]:
        """What the chosen features say of every row, left out; what half as many rows would gain.

        Points from a third of the rows are further off than those from two thirds; where the
        excess goes with one over the rows, half as many rows again gain 2/9 of that difference.
        """
        features = np.array(self.chosen, dtype=np.int64)
        values = self.basket.values(features, self.rows)
        y = self.clipped[: self.rows]
        found = np.full(len(y), y.mean())
        if len(y) < _FOLDS * _LEAST_IN_FOLD or y.min() == y.max():
            return found, 0.0
        named = np.array([f in self.categories for f in self.chosen])
        design = Design.of(values, np.ones(len(y)), named, _BINS)
        rows = self.basket.order[: self.rows]
        together = None if self.groups is None else self.groups[rows]
        folds = folds_in_turn(len(y), _FOLDS, together)
        from_one = np.zeros(_FOLDS)
        for fold in range(_FOLDS):
            rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            found[out] = _points(design, rest, y).predict(values[out])
            few = _points(design, out, y).predict(values[rest])
            from_one[fold] = ((few - y[rest]) ** 2).mean()
        from_two = float(((found - y) ** 2).mean())
        worse = 0.5 * np.log(max(float(from_one.mean()), 1e-300) / max(from_two, 1e-300))
        more = min(_MORE_ROWS * self.rows, len(self.y) - self.rows)
        price = more * float(self.prices[features].sum())
        gain = BY_HALF_AS_MANY * worse * more / (_MORE_ROWS * self.rows)
        whole = max(float(((y - y.mean()) ** 2).mean()), 1e-300)
        self.fall = 0.5 * np.log(whole / max(from_two, 1e-300))
        self.by_more_rows = BY_HALF_AS_MANY * worse
        self.losses.append(-self.fall)
        return found, (gain / price if price > 0 else 0.0)

    def table(self) -> Table:
        """The chosen features on the rows that all of them were bought on."""
        features = np.array(self.chosen, dtype=np.int64)
        values = self.basket.values(features, self.rows)
        weights = np.full(self.rows, len(self.y) / max(self.rows, 1))
        bought = np.ones(values.shape, dtype=bool)
        rows = self.basket.order[: self.rows]
        return Table(features, rows, values, bought, weights, self.y[: self.rows])

    def lesson(self) -> Lesson:
        """What was seen of each feature: rows were drawn without regard to any class."""
        boolean = np.asarray(self.cells.boolean)
        seen = {f: c for f, c in self.basket.columns.items() if boolean[f] and len(c)}
        sketches = {
            f: remember(self.memory.sketch(f), column, np.ones(len(column)))
            for f, column in self.basket.columns.items()
            if not boolean[f]
        }
        return Lesson(
            np.array(list(seen), dtype=np.int64),
            np.array([len(column) for column in seen.values()], dtype=np.float64),
            np.array([column.sum() for column in seen.values()], dtype=np.float64),
            np.array(self.chosen[:_USEFUL], dtype=np.int64),
            sketches=sketches,
        )


def _points(design: Design, rows: Ints, y: Floats) -> Additive:
    return Additive.fit(design, rows, y[rows], np.ones(len(rows)))


def _check_allowance(cells: Cells, allowance: float) -> None:
    """A first look is 8 rows on the cheapest feature, and on one of middling price."""
    prices = np.asarray(cells.prices, dtype=np.float64)
    rows = min(_FIRST, cells.n_examples)
    least = rows * (float(prices.min()) + float(prices.mean()))
    if allowance < least - 1e-9 and allowance < to_pay(cells) - 1e-9:
        raise BadInput(
            f"a first look needs {rows} rows on some features; the smallest useful spend is "
            f"{least:g}; what may be spent is {allowance:g}. Raise spend= or the budget."
        )
