"""Numbers as labels: what the search for a table rests on.

Rows are drawn alike: they stand in one random order in which low and high labels take turns, so
that any beginning of it has y spread as all rows have it. A score is the score test of a feature's
points for squared errors: first against the mean, then against what a model of the chosen ones
leaves over on rows left out. For choosing, labels are clipped to their first and last hundredth.

The constants were chosen on diabetes, linear100, friedman60 and friedman110 at 5 and 10 %, two to
six seeds, where nothing else is said of them (docs/models.md, *Numbers as labels*).
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.numbers import Numbers
from thrifty.models.evidence.worth import BY_HALF_AS_MANY, Curve, Shape
from thrifty.models.fits.bins import make_bins
from thrifty.models.fits.folds import folds_in_turn
from thrifty.models.fits.number_mixture import Additive
from thrifty.models.fits.points import Design
from thrifty.models.memory.layers import remember
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.purses.purse import Basket
from thrifty.models.table import Table
from thrifty.typing import JsonLike

__all__ = ["NumberEvidence"]

#: groups of labels that take turns in the order of the rows. Set by hand
_GROUPS = 5
#: labels are clipped to these quantiles for choosing. Set by hand
_CLIPPED = (0.01, 0.99)
#: the share of the bill that halving may take, rows of the last look at most and of the first one
#: at least (set by hand), how often features are halved, and the rows the table begins with: a
#: feature costs this share of what is left
_LOOKING, _MOST_LOOKS, _LEAST_LOOK, _MOST_ROUNDS, _START = 0.6, 150, 8, 4, 0.12
#: a table of n cells has about sqrt(n) / 4 features; halving leaves twice as many (friedman110 at
#: 5 %: .82, with four times fewer features .70)
_WIDTH = 4.0
#: rows that the table has at most for each root of its cells while features wait
_SLIM = 7.0
#: features that a model may have where all are bought. As in the wide way; not measured here
_MOST = 300
#: bins of a feature at most; as for classes
_BINS = 8
#: folds on which the present model is judged: points of a third and of two thirds of the rows
_FOLDS = 3
#: rows that each fold must have for it. Set by hand
_LEAST_IN_FOLD = 3
#: of the rows, what counts as rare: a quarter are the lowest, another the highest
_RARE = 4
#: how many of a task's features the memory calls useful. As for classes
_USEFUL = 20


class NumberEvidence:
    """As :class:`.Evidence` says."""

    def __init__(
        self,
        cells: Cells,
        labels: Numbers,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> None:
        y = labels.values
        self.cells, self.memory, self.groups = cells, memory, labels.groups
        turns = np.argsort(np.argsort(y, kind="stable")) * _GROUPS // len(y)
        self.basket = Basket(cells, turns.astype(np.int64), allowance, rng, panels=True)
        self.y = y[self.basket.order]
        self.clipped = np.clip(self.y, *np.quantile(y, _CLIPPED))
        self.shape = Shape(
            kinds=1,
            said=f"{_LEAST_LOOK} rows",
            looking=_LOOKING,
            least_look=_LEAST_LOOK,
            most_looks=_MOST_LOOKS,
            most_rounds=_MOST_ROUNDS,
            start=_START,
            width=lambda n: n**0.5 / _WIDTH,
            most_features=_MOST,
        )

    def trust(self, features: Ints, looked: int) -> None:
        """Nothing is believed beforehand."""

    def scores(self, features: Ints, looked: int, present: Floats | None) -> Floats:
        y = self.clipped[:looked]
        wrong = y - (y.mean() if present is None else present[:looked])
        variance = max(float((wrong**2).mean()), 1e-300)
        ones, found = np.ones(len(y)), np.zeros(len(features))
        for i, f in enumerate(features.tolist()):
            column = self.basket.columns[f][:looked]
            bins = make_bins(column, ones, max_bins=_BINS, category=f in self.cells.categories)
            basis = bins.basis()
            if basis.shape[1]:
                part = basis[bins.codes(column)]
                found[i] = float(((wrong @ part) ** 2).sum()) / (float((part**2).sum()) * variance)
        return found

    def seen(self, features: Ints, looked: int) -> Floats:
        return np.full(len(features), float(max(looked, 1)))

    def present(self, features: Ints, rows: int) -> Curve:
        """From points of a third and of two thirds of the rows."""
        values, y = self.basket.values(features, rows), self.clipped[:rows]
        found = np.full(len(y), y.mean())
        if len(y) < _FOLDS * _LEAST_IN_FOLD or y.min() == y.max():
            return Curve(found, 0.0, 0.0, 0.0)
        named = np.array([f in self.cells.categories for f in features.tolist()])
        design = Design.of(values, np.ones(len(y)), named, _BINS)
        together = None if self.groups is None else self.groups[self.basket.order[:rows]]
        folds = folds_in_turn(len(y), _FOLDS, together)
        from_one = np.zeros(_FOLDS)
        for fold in range(_FOLDS):
            rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            found[out] = _points(design, rest, y).predict(values[out])
            few = _points(design, out, y).predict(values[rest])
            from_one[fold] = ((few - y[rest]) ** 2).mean()
        from_two = float(((found - y) ** 2).mean())
        worse = 0.5 * np.log(max(float(from_one.mean()), 1e-300) / max(from_two, 1e-300))
        whole = max(float(((y - y.mean()) ** 2).mean()), 1e-300)
        fall = 0.5 * np.log(whole / max(from_two, 1e-300))
        return Curve(found, -fall, fall, BY_HALF_AS_MANY * worse)

    def rare(self, rows: int) -> int:
        return rows // _RARE

    def enough_rows(self, cells: float) -> float:
        return float(_SLIM * cells**0.5)

    def table(self, features: Ints, rows: int, looked: int) -> Table:
        values = self.basket.values(features, rows)
        weights = np.full(rows, len(self.y) / max(rows, 1))
        bought = np.ones(values.shape, dtype=bool)
        return Table(features, self.basket.order[:rows], values, bought, weights, self.y[:rows])

    def lesson(self, table: Table) -> Lesson:
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
            table.features[:_USEFUL],
            sketches=sketches,
        )

    def told(self, table: Table) -> JsonLike:
        return {}


def _points(design: Design, rows: Ints, y: Floats) -> Additive:
    return Additive.fit(design, rows, y[rows], np.ones(len(rows)))
