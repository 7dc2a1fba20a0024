"""Classes as labels: what the search for a table rests on.

A score is one statistic throughout: the score test (Rao, 1948) of a feature's points under the
card's prior (:mod:`thrifty.models.fits.points`), in which a trend counts most, a bend less, a gap
is a bin; over what chance gives on average. First it is taken against the shares of the classes,
then against a card of what was chosen. All of the rare class
comes first in the order of the rows. Rows of earlier tasks may stand for the common one.

The constants were chosen on nhanes, spam and yeast where nothing else is said of them
(docs/models.md, *Numbers, categories, gaps, more than two classes*).
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.models.evidence.score_tests import drift_score, score_tests
from thrifty.models.evidence.worth import Curve, Shape, curve_of
from thrifty.models.memory.controls import Controls, controls_of, remember_controls
from thrifty.models.memory.layers import Sketch, remember
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.purses.purse import Basket, rows_known
from thrifty.models.table import Table
from thrifty.typing import JsonLike

__all__ = ["ClassEvidence", "slimness"]

# A table of n cells has about sqrt(n) / slimness features, halving leaves twice as many, and while
# features wait at most slimness * sqrt(n) rows, where
#     slimness = min(_SLIM (n / _CELLS)^_POWER, _SLIMMEST), and _SLIM at least.
# The limit rests on thyroid0387 as well; that of small tables on made data, breast_cancer, wine,
# diabetes and digits (`python benchmarks/small_tables.py`).
_CELLS = 450.0
_SLIM = 2.0
_POWER = 0.5
_SLIMMEST = 7.0
#: and at most this part of the rows there are, where more than a few features are chosen. Chosen on
#: yeast, emotions and nhanes (docs/models.md, *Numbers, categories, gaps, more than two classes*)
_ROWS_OF_ALL = 0.5
#: the share of the bill that halving may take, rows of each class in the last look at most and in
#: the first one at least, how often features are halved (both set by hand), and the rows the table
#: begins with: a feature costs this share of what is left
_LOOKING, _MOST_LOOKS, _LEAST_LOOK, _MOST_ROUNDS, _START = 0.4, 75, 2, 3, 0.08
#: the table begins with this part of the most rows at least, and features and rows then compete for
#: the rest: 1 over the mean score, where that is more than chance, which is 1. Chosen on yeast,
#: spam and emotions, and changed after a look at cal500 and physionet_icu
_AT_FIRST = 0.25
#: how many of a task's features, the first bought, the memory calls useful. Set by hand
_USEFUL = 20
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


class ClassEvidence:
    """As :class:`.Evidence` says."""

    def __init__(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
        *,
        alone: bool = False,
    ) -> None:
        codes = np.asarray(labels.codes, dtype=np.int64)
        self.memory, self.rng, self.n_classes = memory, rng, labels.n_classes
        self.sizes = np.bincount(codes, minlength=labels.n_classes)
        self.categories = set(cells.categories)
        self.groups = labels.groups
        # whole rows beside those of earlier tasks were never measured
        self.controls, others = (None, 1.0) if alone else self._earlier_rows(cells)
        self.drift = False
        self.basket = Basket(cells, codes, allowance, rng, others, panels=not alone)
        self.shape = Shape(
            kinds=labels.n_classes,
            looking=_LOOKING,
            least_look=_LEAST_LOOK,
            most_looks=_MOST_LOOKS,
            most_rounds=_MOST_ROUNDS,
            start=_START,
            at_first=_AT_FIRST,
            rows_of_all=_ROWS_OF_ALL,
            width=lambda n: n**0.5 / slimness(n),
            whole=labels.n_classes == 2,
            said=f"two rows of each of {labels.n_classes} classes",
        )

    def _earlier_rows(self, cells: Cells) -> tuple[Controls | None, float]:
        """Rows of earlier tasks as controls, and how many others go with a rare row then.

        None where so many of the task's own rows are owned that others' rows are not needed: their
        labels are known. (thyroid0387_cost at 5 %, all labels on the same 1,500 rows: .760 with
        rows of earlier tasks beside them, .782 without.)
        """
        if self.n_classes != 2 or self.sizes.min() > _RARE * self.sizes.sum():
            return None, 1.0
        if rows_known(cells, _KNOWN) >= _PLENTY:
            return None, 1.0
        controls = controls_of(self.memory)
        looks = controls.looks(np.arange(cells.n_features)) if controls.n_rows else np.zeros(1)
        known = float(np.median(looks))
        if known < _FEWEST:
            return None, 1.0
        return controls, float(np.clip(1 - known / _PLENTY, _OTHERS, 1.0))

    def trust(self, features: Ints, looked: int) -> None:
        """Earlier rows are no controls where this task's others are not like them.

        The rows that were spared for them come first then in what is left of the order.
        """
        if self.controls is None:
            return
        drift = drift_score(
            self.basket, features, looked, self.n_classes, self.categories, self.controls
        )
        if drift > _DRIFT:
            self.controls, self.drift = None, True
            self.basket.even_out(looked)

    def scores(self, features: Ints, looked: int, present: Floats | None) -> Floats:
        return score_tests(
            self.basket, features, looked, self.n_classes, self.categories, present, self.controls
        )

    def seen(self, features: Ints, looked: int) -> Floats:
        own = np.full(len(features), float(looked))
        return own if self.controls is None else own + self.controls.looks(features)

    def present(self, features: Ints, rows: int) -> Curve:
        values, y, borrowed = self._rows_for(features, rows)
        categories = np.array([f in self.categories for f in features.tolist()])
        curve = curve_of(values, y, categories, self.n_classes, self._groups(rows, len(y)))
        if self.controls is None:
            return curve
        # a line for each own row and for each earlier one, NaN for those that were not used
        theirs = np.full((self.controls.n_rows, curve.p.shape[1]), np.nan)
        theirs[borrowed] = curve.p[rows:]
        return Curve(np.vstack([curve.p[:rows], theirs]), curve.loss, curve.fall, curve.by_rows)

    def rare(self, rows: int) -> int:
        return int(np.bincount(self.basket.codes[:rows], minlength=self.n_classes).min())

    def enough_rows(self, cells: float) -> float:
        """As many as a table is to have.

        With a cohort further rows outside the rare class add little, and features more. Rows of
        earlier tasks, known in part, are not worth that: without the task's own others
        thyroid0387 fell from .80 to .78 at 3 %, nhanes from 1.03 to 1.00 at 10 %.
        """
        enough = float(slimness(cells) * cells**0.5)
        if self.controls is None or self.controls.whole < _COHORT:
            return enough
        rare = float(self.sizes.min())
        return min(enough, rare + max(_MOST_OTHERS, _OTHERS * rare))

    def table(self, features: Ints, rows: int, looked: int) -> Table:
        values, y, borrowed = self._rows_for(features, rows)
        ours = np.bincount(y, minlength=self.n_classes)
        weights = (self.sizes / np.maximum(ours, 1))[y].astype(np.float64)
        bought = np.ones(values.shape, dtype=bool)
        at = np.append(self.basket.order[:rows], np.full(len(borrowed), -1))
        return Table(features, at, values, bought, weights, y, looked=looked)

    def lesson(self, table: Table) -> Lesson:
        kept = remember_controls(
            self.basket.columns, self.basket.codes, self.sizes, self.memory.tasks, self.rng
        )
        return Lesson(useful=table.features[:_USEFUL], controls=kept, sketches=self._sketches())

    def told(self, table: Table) -> JsonLike:
        return {"controls": int((table.rows < 0).sum()), "drift": self.drift}

    def _sketches(self) -> dict[int, Sketch]:
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

    def _rows_for(self, features: Ints, rows: int) -> tuple[Floats, Ints, Ints]:
        """Values and classes of the task's own rows, then of earlier ones; which of these."""
        values, y = self.basket.values(features, rows), self.basket.codes[:rows]
        if self.controls is None or not len(features):
            return values, y, np.zeros(0, dtype=np.int64)
        known = self.controls.known(features).mean(axis=1)
        borrowed = np.flatnonzero(known >= _KNOWN)[-_MOST_CONTROLS:]
        theirs = self.controls.filled(features, borrowed, np.random.default_rng(0))
        many = np.full(len(borrowed), int(self.sizes.argmax()))
        return np.vstack([values, theirs]), np.append(y, many), borrowed

    def _groups(self, rows: int, n: int) -> Ints | None:
        """Of the task's own rows, then of earlier ones, which belong to nobody."""
        if self.groups is None:
            return None
        apart = int(self.groups.max()) + 1 + np.arange(n - rows)
        return np.concatenate([self.groups[self.basket.order[:rows]], apart])


def slimness(cells: float) -> float:
    """Rows over features of a table, its root: small tables are to be square, large ones tall.

    >>> [round(slimness(n), 1) for n in (450, 4500, 45000)]
    [2.0, 6.3, 7.0]
    """
    return float(np.clip(_SLIM * (max(cells, 1.0) / _CELLS) ** _POWER, _SLIM, _SLIMMEST))
