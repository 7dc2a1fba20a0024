"""Successive halving for numbers, categories and gaps; then what the model still lacks is bought.

1. Every feature is looked at on a few rows of each class; the half with the best scores is looked
   at on twice the rows, and so on (successive halving, Karnin, Koren and Somekh, ICML 2013) until
   few are left.
2. The best are bought on more rows, all of the rare class first. The card is fitted on them. The
   next purchase is the feature with the best score against what the card says of rows left out, or
   half as many rows again, whichever is expected to lower the log-loss more per price.
3. What is left of the bill buys further rows of the features that were chosen.

A score is one statistic throughout, the score test (:mod:`thrifty.models.buying.score_test`), first
against the shares of the classes, then against the present model.

The constants were chosen on nhanes, spam and yeast where nothing else is said of them
(docs/models.md, *Numbers, categories, gaps, more than two classes*; ``python benchmarks/models.py``
measures with them). "Set by hand": before 0.2, and not measured since.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.buying.policy import Bought
from thrifty.models.buying.purses import Basket, rows_known, to_pay
from thrifty.models.buying.score_test import drift_score, score_tests
from thrifty.models.buying.worth import curve_of, is_hopeless, judges_worth, still_falls, would_pay
from thrifty.models.memory.controls import Controls, controls_of, remember_controls
from thrifty.models.memory.layers import Sketch, remember
from thrifty.models.memory.memory import Lesson, Memory, PackedRows
from thrifty.models.table import Table

__all__ = ["Halving"]

# A table of n cells has about sqrt(n) / slimness features, halving leaves twice as many, and while
# features wait at most slimness * sqrt(n) rows, where
#     slimness = min(_SLIM (n / _CELLS)^_POWER, _SLIMMEST), and _SLIM at least.
# The limit rests on thyroid0387 as well; that of small tables on made data, breast_cancer, wine,
# diabetes and digits (`python benchmarks/small_tables.py`).
_CELLS = 450.0
_SLIM = 2.0
_POWER = 0.5
_SLIMMEST = 7.0
#: the table begins with this part of the most rows at least, and features and rows then compete for
#: the rest: 1 over the mean score, where that is more than chance, which is 1. Chosen on yeast,
#: spam and emotions, and changed after a look at cal500 and physionet_icu
_AT_FIRST = 0.25
#: features are halved so often at most. Set by hand before 0.2; not measured since
_MOST_ROUNDS = 3
#: how many of a task's features, the first bought, the memory calls useful. Set by hand
_USEFUL = 20
#: a first score counts up to 1 + this times where every earlier task found the feature useful. Set
#: by hand
_AGAIN = 1.0
#: features bought together: 1, and one more for so many that are chosen. Set by hand
_PER_BATCH = 4
#: rows are bought by this part of those there are. Set by hand
_MORE_ROWS = 0.5
#: what is free counts as this part of the mean price: it is worth a look whatever its score
_FREE = 1e-3
#: of the cells, what may be values where rows are bought whole instead of columns chosen, and the
#: features there may be then. Set on support2 with 93 % gaps, one label, one seed (python
#: benchmarks/gaps.py); no set of benchmarks/models.py has so many gaps
_THERE, _FEW_FEATURES = 0.35, 150
#: rows of earlier tasks are controls where the rare class has at most this share; chosen on nhanes
#: and thyroid0387
_RARE = 0.2
#: and half of the features are known on so many of them. Set beforehand, not measured
_FEWEST = 20.0
#: where on so many, the fewest others are bought. Set beforehand
_PLENTY = 150.0
#: others that are bought for a rare row then. Set beforehand
_OTHERS = 0.25
#: a drift score, 1 by chance, from which on the population has moved: nhanes, cal500 and yeast have
#: 1.0 to 1.1, made data 0.7 to 1.5, and 2.4 to 3.2 where features moved by a standard deviation
_DRIFT = 2.3
#: of the chosen features, what must be known of a control row. Set beforehand
_KNOWN = 0.6
#: control rows at most. Set beforehand
_MOST_CONTROLS = 600
#: whole rows from which on a cohort spares others. Chosen on nhanes and thyroid0387_cost
_COHORT = 150
#: others that a task buys at most then while features wait. Chosen on the same two sets
_MOST_OTHERS = 100.0


@dataclass(frozen=True)
class Halving:
    """Successive halving: a way to buy a table of any kinds of features.

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
        search = _Search(self, cells, codes, labels.n_classes, allowance, rng, memory)
        search.groups = labels.groups
        search.halve()
        search.check_values()
        if search.mostly_gaps():
            search.take_rows_whole()
        else:
            search.collect()
        table = search.table()
        lesson = Lesson(
            useful=table.features[:_USEFUL],
            controls=search.rows_to_keep(),
            sketches=search.sketches(),
        )
        borrowed = int((table.rows < 0).sum())
        info = {"way": "halving", "controls": borrowed, "drift": search.drift}
        return Bought(table, lesson, info)


class _Search:
    """One task: what is bought, what is still a candidate, what was chosen."""

    def __init__(
        self,
        how: Halving,
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
        self.prices = np.maximum(self.prices, _FREE * float(self.prices.mean()))
        self.categories = cells.categories
        self.rng, self.memory = rng, memory
        self.alive = np.arange(cells.n_features)
        self.rounds, self.first = self._looks(allowance)
        self.controls, others = self._earlier_rows()
        self.basket = Basket(cells, codes, allowance, rng, others, panels=True)
        self.useful = memory.usefulness(cells.n_features) / max(memory.tasks, 1)
        self.chosen: list[int] = []
        self.looked, self.rows, self.drift = 0, 0, False
        #: of all rows of the task, where some belong together
        self.groups: Ints | None = None
        self.judges = judges_worth(cells)
        # of the present model: how far the loss fell, and would fall with half as many rows again
        self.fall, self.by_more_rows = 0.0, np.inf
        self.losses: list[float] = []
        self.mean_score = 1.0  # in the first look

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
        rounds = int(np.clip(np.log2(max(n, 1) / (2.0 * max(wanted, 1.0))), 0, _MOST_ROUNDS))
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
                self.mean_score = float(self._scores(self.alive, None).mean())
            if level < rounds:
                found = self._scores(self.alive, None)
                keep = max(1, -(-len(self.alive) // 2))
                self.alive = self.alive[np.argsort(-found, kind="stable")[:keep]]

    def _trust_controls(self) -> None:
        """Earlier rows are no controls where this task's others are not like them.

        The rows that were spared for them come first then in what is left of the order.
        """
        if self.controls is None:
            return
        drift = drift_score(
            self.basket,
            self.alive,
            self.looked,
            self.n_classes,
            set(self.categories),
            self.controls,
        )
        if drift > _DRIFT:
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

    def mostly_gaps(self) -> bool:
        """Whether what was looked at is mostly gaps, of which nobody is to choose by single looks.

        A handful of values says nothing of a column, and one that is led costs next to nothing.
        """
        known = [~np.isnan(column) for column in self.basket.columns.values()]
        if not known or self.judges or self.n_classes != 2 or len(self.prices) > _FEW_FEATURES:
            return False
        return float(np.mean([there.mean() for there in known])) <= _THERE

    def take_rows_whole(self) -> None:
        """All features on as many rows as can be had; what is missing together is asked once."""
        scores = self._scores(self.alive, None)
        first = self.alive[np.argsort(-scores, kind="stable")].tolist()
        rest = sorted(set(range(len(self.prices))) - set(first))
        self.chosen = first + rest
        self.rows = min(self.basket.bought(f) for f in self.chosen)
        while self._buy_rows(len(self.basket.codes)):
            pass

    def collect(self) -> None:
        """Buy a feature where the present model is wrong, or more rows: whichever pays more."""
        for f in self.basket.leads:  # bought only where its panel is there
            self.prices[f] *= self.basket.asked(f)
        if not self.looked:
            self._afford_something()
        mean = float(self.prices[self.alive].mean())
        n = self.basket.left / max(mean, 1e-12)
        rows, enough = self.how.start * n, self._enough_rows(n)
        first = float(np.clip(1 / max(self.mean_score, 1e-9), _AT_FIRST, 1.0))
        self.rows = int(np.clip(min(rows, first * enough), self.looked, len(self.basket.codes)))
        waiting, present, by_rows = self.alive, None, 0.0
        while True:
            scores = self._scores(waiting, present)
            if self.judges and (self._hopeless() or not still_falls(self.losses, self.fall)):
                break
            by_feature = self._gain_of_features(waiting, scores)
            took = 0
            if self.rows < enough and (not len(waiting) or by_feature.max() < max(by_rows, 0.0)):
                took = self._buy_rows(int(enough))
            if not took:
                waiting, took = self._buy_features(waiting, scores / self.prices[waiting])
            if not took:
                break
            present, by_rows = self._present()
        self._spend_the_rest()

    def _enough_rows(self, cells: float) -> float:
        """How many rows a table of so many cells has at most while features wait.

        With a cohort further rows outside the rare class add little, and features more. Rows of
        earlier tasks, known in part, are not worth that: without the task's own others
        thyroid0387 fell from .80 to .78 at 3 %, nhanes from 1.03 to 1.00 at 10 %.
        """
        enough = float(slimness(cells) * cells**0.5)
        if self.controls is None or self.controls.whole < _COHORT:
            return enough
        rare = float(self.sizes.min())
        return min(enough, rare + max(_MOST_OTHERS, _OTHERS * rare))

    def _gain_of_features(self, waiting: Ints, scores: Floats) -> Floats:
        """Expected fall of the log-loss per price of buying each on the rows of the table.

        Half of what the score test shows beyond chance, which is 1. (Taking off the luck of the
        best of so many as well left two or three features on all rows: spam fell from .98 to .84.)
        """
        prices = self.prices[waiting] * self.rows
        n = self.looked + (0 if self.controls is None else self.controls.looks(waiting))
        return np.asarray((scores - 1.0) / (2.0 * n) / np.maximum(prices, 1e-12))

    def _hopeless(self) -> bool:
        """Whether there is nothing to be learned, as far as much that was bought can tell."""
        rare = int(np.bincount(self.basket.codes[: self.rows], minlength=self.n_classes).min())
        return is_hopeless(self.losses, self.fall, rare)

    def _buy_features(self, waiting: Ints, worth: Floats) -> tuple[Ints, int]:
        """The best few that can be paid for, on the rows of the table."""
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
        wanted = min(int((1 + _MORE_ROWS) * self.rows) + 1, most, len(self.basket.codes))
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
        while not self.judges or would_pay(self.by_more_rows, self.fall, self._hopeless()):
            if not self._buy_rows(len(self.basket.codes)):
                break
            if self.judges:
                self._present()
        self.rows = self.basket.take_free(np.array(self.chosen, dtype=np.int64), self.rows)

    def table(self) -> Table:
        """The chosen features on the rows that all of them were bought on."""
        features = np.array(self.chosen, dtype=np.int64)
        values, y, borrowed = self._rows_for(features)
        ours = np.bincount(y, minlength=self.n_classes)
        weights = (self.sizes / np.maximum(ours, 1))[y]
        bought = np.ones(values.shape, dtype=bool)
        rows = np.append(self.basket.order[: self.rows], np.full(len(borrowed), -1))
        return Table(
            features, rows, values, bought, weights.astype(np.float64), y, looked=self.looked
        )

    def _scores(self, features: Ints, present: Floats | None) -> Floats:
        """The score test of each on the rows that were looked at."""
        found = score_tests(
            self.basket,
            features,
            self.looked,
            self.n_classes,
            set(self.categories),
            present,
            self.controls,
        )
        if present is None:  # what was useful before is believed sooner
            found *= 1.0 + _AGAIN * self.useful[features]
        return found

    def sketches(self) -> dict[int, Sketch]:
        """What the memory keeps of the values that were seen."""
        found = {}
        for f, column in self.basket.columns.items():
            y = self.basket.codes[: len(column)]
            ours = np.bincount(y, minlength=self.n_classes)
            if (ours[self.sizes > 0] == 0).any():
                continue  # a look at the rare class alone says nothing of all rows
            weights = (self.sizes / np.maximum(ours, 1))[y]
            found[f] = remember(self.memory.sketch(f), column, weights)
        return found

    def rows_to_keep(self) -> dict[int, PackedRows]:
        """Rows that later tasks may take for controls."""
        basket = self.basket
        return remember_controls(
            basket.columns, basket.codes, self.sizes, self.memory.tasks, self.rng
        )

    def _rows_for(self, features: Ints) -> tuple[Floats, Ints, Ints]:
        """Values and classes of the task's own rows, then of earlier ones; which of these."""
        values, y = self.basket.values(features, self.rows), self.basket.codes[: self.rows]
        if self.controls is None or not len(features):
            return values, y, np.zeros(0, dtype=np.int64)
        known = self.controls.known(features).mean(axis=1)
        borrowed = np.flatnonzero(known >= _KNOWN)[-_MOST_CONTROLS:]
        theirs = self.controls.filled(features, borrowed, np.random.default_rng(0))
        many = np.full(len(borrowed), int(self.sizes.argmax()))
        return np.vstack([values, theirs]), np.append(y, many), borrowed

    def _present(self) -> tuple[Floats, float]:
        """What the chosen features say of every row, out of fold; what further rows would gain.

        A card from a third of the rows loses more than one from two thirds; where the excess goes
        with one over the rows, half as many rows again gain 2/9 of that difference.
        """
        features = np.array(self.chosen, dtype=np.int64)
        values, y, borrowed = self._rows_for(features)
        categories = np.array([f in self.categories for f in self.chosen])
        curve = curve_of(values, y, categories, self.n_classes, self._groups(len(y)))
        self.fall, self.by_more_rows = curve.fall, curve.by_rows
        self.losses.append(curve.loss)
        more = min(_MORE_ROWS * self.rows, len(self.basket.codes) - self.rows)
        price = more * float(self.prices[features].sum())
        gain = curve.by_rows * more / (_MORE_ROWS * self.rows)
        return self._by_row(curve.p, borrowed), (gain / price if price > 0 else 0.0)

    def _groups(self, n: int) -> Ints | None:
        """Of the task's own rows, then of earlier ones, which belong to nobody."""
        if self.groups is None:
            return None
        apart = int(self.groups.max()) + 1 + np.arange(n - self.rows)
        return np.concatenate([self.groups[self.basket.order[: self.rows]], apart])

    def _by_row(self, found: Floats, borrowed: Ints) -> Floats:
        """A line for each own row and for each earlier one, NaN for those that were not used."""
        if self.controls is None:
            return found
        theirs = np.full((self.controls.n_rows, found.shape[1]), np.nan)
        theirs[borrowed] = found[self.rows :]
        return np.vstack([found[: self.rows], theirs])

    def _afford_something(self) -> None:
        """Too little money to look at every feature: look at as many as it pays for."""
        k = 2 * self.n_classes
        order = self.rng.permutation(self.alive)
        if self.prices[order[0]] * k > self.basket.left:  # not even the first: the cheapest then
            order = order[np.argsort(self.prices[order], kind="stable")]
        costs = np.cumsum(self.prices[order]) * k * 2
        fits = max(1, int(np.searchsorted(costs, self.basket.left, side="right")))
        self.alive = np.sort(order[:fits])
        if self.basket.buy(self.alive, k):
            self.looked = k
        elif not self.basket.columns:
            raise BadInput(
                f"a first look at {k} rows of one feature costs more than what may be spent, "
                f"{self.basket.left:g}: raise spend= or the budget."
            )


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
