"""Buying numbers, categories and gaps: halve the features, then buy what the model still lacks.

1. Every feature is looked at on a few rows of each class; the half that tells the classes apart
   best is looked at on twice the rows, and so on (successive halving, Karnin, Koren and Somekh,
   ICML 2013) until few are left.
2. The best are bought on more rows, all of the rare class first. The card is fitted on them. The
   next purchase is the feature that tells most about what the card gets wrong on rows left out, or
   half as many rows again, whichever is expected to lower the log-loss more per price.
3. What is left of the bill buys further rows of the features that were chosen.

How well a feature tells classes apart is one statistic throughout (:mod:`thrifty.models.buying.score_test`),
first against the shares of the classes, then against the present model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.buying.basket import Basket
from thrifty.models.buying.owned import rows_known
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.score_test import how_strange, how_telling
from thrifty.models.buying.to_pay import to_pay
from thrifty.models.buying.worth import curve_of, judges_worth, still_falls, would_pay
from thrifty.models.memory.controls import Controls, controls_of, remember_controls
from thrifty.models.memory.layers import Spread
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.memory.sketches import remember
from thrifty.models.table import Table
from thrifty.typing import Json

__all__ = ["Screening"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a table of n cells has about sqrt(n) / slimness features, halving leaves twice as many, and while
#: features wait at most slimness * sqrt(n) rows; slimness is the second at the first number of
#: cells, goes with a power of them, and is at most the last
_CELLS, _SLIM, _POWER, _SLIMMEST = 450.0, 2.0, 0.5, 7.0
#: of the most rows, with how many the table begins at least, and features and rows then compete
#: for the rest: 1 over what features tell on average, where that is more than chance, which is 1
_AT_FIRST = 0.25
#: how many of a task's features, the first bought, the memory calls useful, and how much more
#: believed a feature is that every earlier task found useful
_USEFUL, _AGAIN = 20, 1.0
#: rows of earlier tasks are controls where the rare class has at most this share, and half of the
#: features are known on so many; where on so many more, this many others are bought a rare row
_RARE, _FEWEST, _PLENTY, _OTHERS = 0.2, 20.0, 150.0, 0.25
#: where features tell this task's others from earlier rows so well on average, 1 by chance, the
#: population has moved
_STRANGE = 2.3
#: of the chosen features, what must be known of an earlier row; and the most of them
_KNOWN, _LENT = 0.6, 600
#: with a cohort of so many whole rows, others that a task buys at most while features wait
_COHORT, _MOST_OTHERS = 150, 100.0


@dataclass(frozen=True)
class Screening:
    """A way to buy a table of any kinds of features.

    Parameters
    ----------
    looking : float
        the share of the bill that halving may take
    most_looks : int
        rows of each class in the last look, at most
    start : float
        rows of the table at first: on so many a feature costs this share of what is left
    """

    looking: float = 0.4
    most_looks: int = 75
    start: float = 0.08

    def buy(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        codes = np.asarray(labels.codes, dtype=np.int64)
        _check_allowance(cells, labels.n_classes, allowance)
        hunt = _Hunt(self, cells, codes, labels.n_classes, allowance, rng, memory)
        hunt.halve()
        hunt.check_values()
        hunt.collect()
        table = hunt.table()
        lesson = Lesson(
            useful=table.features[:_USEFUL], notes=hunt.notes(), spreads=hunt.spreads()
        )
        lent = int((table.rows < 0).sum())
        info = {"way": "screening", "controls": lent, "drift": hunt.drift}
        return Bought(table, lesson, info)


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
        memory: Memory,
    ) -> None:
        self.how, self.cells, self.n_classes = how, cells, n_classes
        self.sizes = np.bincount(codes, minlength=n_classes)
        self.prices = np.asarray(cells.shared_prices, dtype=np.float64)
        # what is free is worth a look whatever it tells
        self.prices = np.maximum(self.prices, 1e-3 * float(self.prices.mean()))
        self.categories = cells.categories
        self.rng, self.memory = rng, memory
        self.alive = np.arange(cells.n_features)
        self.rounds, self.first = self._looks(allowance)
        self.controls, others = self._earlier_rows()
        self.basket = Basket(cells, codes, allowance, rng, others)
        self.useful = memory.usefulness(cells.n_features) / max(memory.tasks, 1)
        self.chosen: list[int] = []
        self.looked, self.rows, self.drift = 0, 0, False
        self.judges = judges_worth(cells)
        # of the present model: how far the loss fell, and would fall with half as many rows again
        self.fall, self.by_more_rows = 0.0, np.inf
        self.losses: list[float] = []
        self.told = 1.0  # how well features tell the classes apart in the first look, on average

    def _earlier_rows(self) -> tuple[Controls | None, float]:
        """Rows of earlier tasks as controls, and how many others go with a rare row then."""
        if self.n_classes != 2 or self.sizes.min() > _RARE * self.sizes.sum():
            return None, 1.0
        if self._owns_enough():
            return None, 1.0
        controls = controls_of(self.memory)
        known = float(np.median(controls.looks(self.alive))) if controls.n_rows else 0.0
        if known < _FEWEST:
            return None, 1.0
        return controls, float(np.clip(1 - known / _PLENTY, _OTHERS, 1.0))

    def _owns_enough(self) -> bool:
        """Whether so many of the task's own rows are owned that others' rows are not needed.

        Their labels are known. (thyroid0387_cost at 5 %, all labels on the same 1,500 rows: .760
        with rows of earlier tasks beside them, .782 without.)
        """
        return rows_known(self.cells, _KNOWN) >= _PLENTY

    def _looks(self, allowance: float) -> tuple[int, int]:
        """How often the features are halved, and rows of each class in the first look."""
        n, unit = len(self.alive), float(self.prices.sum())  # all features on one row
        cells = allowance * n / unit
        wanted = cells**0.5 / slimness(cells)
        rounds = int(np.clip(np.log2(max(n, 1) / (2.0 * max(wanted, 1.0))), 0, 3))
        first = int(self.how.looking * allowance / unit / (self.n_classes * (1 + rounds / 2)))
        return rounds, int(np.clip(first, 2, max(2, self.how.most_looks // 2**rounds)))

    def halve(self) -> None:
        """Look at ever fewer features on ever more rows."""
        k, rounds, first = self.n_classes, self.rounds, self.first
        for level in range(rounds + 1):
            upto = min(k * first * 2**level, len(self.basket.codes))
            if not self.basket.buy(self.alive, upto):
                break
            self.looked = upto
            if level == 0:
                self._trust_controls()
                self.told = float(self._tells(self.alive, None).mean())
            if level < rounds:
                found = self._tells(self.alive, None)
                keep = max(1, -(-len(self.alive) // 2))
                self.alive = self.alive[np.argsort(-found, kind="stable")[:keep]]

    def _trust_controls(self) -> None:
        """Earlier rows are no controls where this task's others are not like them.

        The rows that were spared for them come first then in what is left of the order.
        """
        if self.controls is None:
            return
        strange = how_strange(
            self.basket, self.alive, self.looked, self.n_classes, set(self.categories),
            self.controls,
        )  # fmt: skip
        if strange > _STRANGE:
            self.controls, self.drift = None, True
            self.basket.even_out(self.looked)

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
        if not self.looked:
            self._afford_something()
        mean = float(self.prices[self.alive].mean())
        n = self.basket.left / max(mean, 1e-12)
        rows, enough = self.how.start * n, self._enough_rows(n)
        first = float(np.clip(1 / max(self.told, 1e-9), _AT_FIRST, 1.0))
        self.rows = int(np.clip(min(rows, first * enough), self.looked, len(self.basket.codes)))
        waiting, present, by_rows = self.alive, None, 0.0
        while True:
            tells = self._tells(waiting, present)
            if self.judges and not still_falls(self.losses, self.fall):
                break
            by_feature = self._gain_of_features(waiting, tells)
            took = 0
            if self.rows < enough and (not len(waiting) or by_feature.max() < max(by_rows, 0.0)):
                took = self._buy_rows(int(enough))
            if not took:
                waiting, took = self._buy_features(waiting, tells / self.prices[waiting])
            if not took:
                break
            present, by_rows = self._present()
        self._spend_the_rest()

    def _enough_rows(self, cells: float) -> float:
        """How many rows a table of so many cells has at most while features wait.

        With a cohort further rows outside the rare class tell little, and features more. Rows of
        earlier tasks, known in part, are not worth that: without the task's own others
        thyroid0387 fell from .80 to .78 at 3 %, nhanes from 1.03 to 1.00 at 10 %.
        """
        enough = float(slimness(cells) * cells**0.5)
        if self.controls is None or self.controls.whole < _COHORT:
            return enough
        rare = float(self.sizes.min())
        return min(enough, rare + max(_MOST_OTHERS, _OTHERS * rare))

    def _gain_of_features(self, waiting: Ints, tells: Floats) -> Floats:
        """Expected fall of the log-loss per price of buying each on the rows of the table.

        Half of what the score test shows beyond chance, which is 1. (Taking off the luck of the
        best of so many as well left two or three features on all rows: spam fell from .98 to .84.)
        """
        prices = self.prices[waiting] * self.rows
        n = self.looked + (0 if self.controls is None else self.controls.looks(waiting))
        return np.asarray((tells - 1.0) / (2.0 * n) / np.maximum(prices, 1e-12))

    def _buy_features(self, waiting: Ints, worth: Floats) -> tuple[Ints, int]:
        """The best few that can be paid for, on the rows of the table."""
        took, batch = 0, 1 + len(self.chosen) // 4
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
        wanted = min(int(1.5 * self.rows) + 1, most, len(self.basket.codes))
        upto = self.basket.most_rows(features, self.rows, wanted)
        if upto <= self.rows or not self.basket.buy(features, upto):
            return 0
        more, self.rows = upto - self.rows, upto
        return more

    def _spend_the_rest(self) -> None:
        """What is left buys rows of what was chosen; while they pay, where nothing was said."""
        if not self.chosen:
            self.chosen = [int(self.alive[0])]
            self.rows = self.basket.bought(self.chosen[0])
        while would_pay(self.by_more_rows, self.fall) or not self.judges:
            if not self._buy_rows(len(self.basket.codes)):
                break
            if self.judges:
                self._present()
        self.rows = self.basket.take_free(np.array(self.chosen, dtype=np.int64), self.rows)

    def table(self) -> Table:
        """The chosen features on the rows that all of them were bought on."""
        features = np.array(self.chosen, dtype=np.int64)
        values, y, lent = self._rows_for(features)
        ours = np.bincount(y, minlength=self.n_classes)
        weights = (self.sizes / np.maximum(ours, 1))[y]
        bought = np.ones(values.shape, dtype=bool)
        rows = np.append(self.basket.order[: self.rows], np.full(len(lent), -1))
        return Table(
            features, rows, values, bought, weights.astype(np.float64), y, looked=self.looked
        )

    def _tells(self, features: Ints, present: Floats | None) -> Floats:
        """How well each tells the classes apart on the rows that were looked at."""
        found = how_telling(
            self.basket, features, self.looked, self.n_classes, set(self.categories), present,
            self.controls,
        )  # fmt: skip
        if present is None:  # what was useful before is believed sooner
            found *= 1.0 + _AGAIN * self.useful[features]
        return found

    def spreads(self) -> dict[int, Spread]:
        """What the memory keeps of the values that were seen."""
        found = {}
        for f, column in self.basket.columns.items():
            y = self.basket.codes[: len(column)]
            ours = np.bincount(y, minlength=self.n_classes)
            if (ours[self.sizes > 0] == 0).any():
                continue  # a look at the rare class alone says nothing of all rows
            weights = (self.sizes / np.maximum(ours, 1))[y]
            found[f] = remember(self.memory.spread(f), column, weights)
        return found

    def notes(self) -> Json:
        """Rows that later tasks may take for controls."""
        return remember_controls(self.basket, self.sizes, self.memory, self.rng)

    def _rows_for(self, features: Ints) -> tuple[Floats, Ints, Ints]:
        """Values and classes of the task's own rows, then of earlier ones; which of these."""
        values, y = self.basket.values(features, self.rows), self.basket.codes[: self.rows]
        if self.controls is None or not len(features):
            return values, y, np.zeros(0, dtype=np.int64)
        lent = np.flatnonzero(self.controls.known(features).mean(axis=1) >= _KNOWN)[-_LENT:]
        theirs = self.controls.filled(features, lent, np.random.default_rng(0))
        many = np.full(len(lent), int(self.sizes.argmax()))
        return np.vstack([values, theirs]), np.append(y, many), lent

    def _present(self) -> tuple[Floats, float]:
        """What the chosen features say of every row, out of fold; what further rows would gain.

        A card from a third of the rows loses more than one from two thirds; where the excess goes
        with one over the rows, half as many rows again gain 2/9 of that difference.
        """
        features = np.array(self.chosen, dtype=np.int64)
        values, y, lent = self._rows_for(features)
        categories = np.array([f in self.categories for f in self.chosen])
        curve = curve_of(values, y, categories, self.n_classes)
        self.fall, self.by_more_rows = curve.fall, curve.by_rows
        self.losses.append(curve.loss)
        more = min(0.5 * self.rows, len(self.basket.codes) - self.rows)
        price = more * float(self.prices[features].sum())
        gain = curve.by_rows * more / (0.5 * self.rows)
        return self._spread(curve.p, lent), (gain / price if price > 0 else 0.0)

    def _spread(self, found: Floats, lent: Ints) -> Floats:
        """A line for each own row and for each earlier one, NaN for those that were not used."""
        if self.controls is None:
            return found
        theirs = np.full((self.controls.n_rows, found.shape[1]), np.nan)
        theirs[lent] = found[self.rows :]
        return np.vstack([found[: self.rows], theirs])

    def _afford_something(self) -> None:
        """Too little money to look at every feature: look at as many as it pays for."""
        k = 2 * self.n_classes
        order = self.rng.permutation(self.alive)
        costs = np.cumsum(self.prices[order]) * k * 2
        fits = max(1, int(np.searchsorted(costs, self.basket.left, side="right")))
        self.alive = np.sort(order[:fits])
        if self.basket.buy(self.alive, k):
            self.looked = k


def slimness(cells: float) -> float:
    """Rows over features of a table, its root: small tables are to be square, large ones tall.

    >>> [round(slimness(n), 1) for n in (450, 4500, 45000)]
    [2.0, 6.3, 7.0]
    """
    return float(np.clip(_SLIM * (max(cells, 1.0) / _CELLS) ** _POWER, _SLIM, _SLIMMEST))


def _check_allowance(cells: Cells, n_classes: int, allowance: float) -> None:
    """A first look is two rows of every class on the cheapest feature, and on as many others."""
    prices = np.asarray(cells.prices, dtype=np.float64)
    least = 2 * n_classes * (float(prices.min()) + float(prices.mean()))
    whole = float(prices.sum()) * cells.n_examples
    if allowance < min(least, whole) and allowance < to_pay(cells):
        raise BadInput(
            f"a first look needs two rows of each of {n_classes} classes on some features, at "
            f"least {least:g}; what may be spent is {allowance:g}. Raise spend= or the budget."
        )

