"""The one fit: a stack of parts on the same bought cells.

- *Adaptive ridge* over values, steps and gaps, on all cells (:mod:`.adaptive_ridge`); as points it
  is the scorecard that people read.
- *Extra trees*, a *random forest* (:mod:`.tree_ensembles`) and *kernel ridge*
  (:mod:`.kernel_ridge`) on the block without holes: features and rows that were bought together.

Every part says log-odds (numbers: the number). Held-out rows, three folds, stretch each part, give
it a share by how much of the variance it explains, make the mean's probabilities honest (Platt,
1999) and measure it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.errors import BadInput
from thrifty.models.fits.adaptive_ridge import fit_ridge, fit_ridge_of_rates
from thrifty.models.fits.calibration import SPREAD, fit_intercepts, fit_slope, softmax
from thrifty.models.fits.columns import Columns
from thrifty.models.fits.folds import FOLDS, make_folds
from thrifty.models.fits.kernel_ridge import KernelRidge, fit_kernel, kernel_from_dict, takes
from thrifty.models.fits.quality import Quality, quality_from_dict, quality_on
from thrifty.models.fits.tree_ensembles import (
    TANGENT,
    TreeSum,
    add_up,
    as_targets,
    grow_forest,
    is_boolean,
    tree_sum_from_dict,
)
from thrifty.models.scorecard import CategoryNames, Points, Scorecard, points_from_dict
from thrifty.models.table import Table
from thrifty.typing import AnyArray, Floats, Ints, Json, JsonLike

_FORESTS = ("forest", "searched")
#: rows of the rarest class, or of numbers, without which there is the ridge alone
_FEW, _FEW_NUMBERS = 4, 12
#: trees of each forest, and of one that judges held-out rows: twice as many gain .001
#: (docs/research, Forests), half as many lose .002 to .004 of log loss
_TREES, _FEWER_TREES = 32, 12
#: without held-out rows a forest's tangents are stretched by about what these ask for as a rule
_QUICK_STRETCH = 1.5
#: shares go with this power of what a part explains: 0, equal shares, loses .006 at 20 % on eight
#: dense sets
_POWER = 2.0
#: explained variance is no less than this when shares are found: few rows say it badly
_LEAST = 0.02


class Scores:
    """What is said by scores: of classes their log-odds, or a number."""

    classes_: Ints
    #: its quality was looked for when it was fitted
    measured = True

    def scores(self, values: Floats) -> Floats:
        """(rows, c) log-odds; c is 1 for two classes, and for numbers."""
        raise NotImplementedError

    def predict_proba(self, values: Floats) -> Floats:
        """Probabilities, a column per class; NaN for gaps."""
        return softmax(self.scores(np.asarray(values, dtype=np.float64)))

    def predict(self, values: Floats) -> Floats | Ints:
        """The most likely class, or the number."""
        if not len(self.classes_):
            return self.scores(np.asarray(values, dtype=np.float64))[:, 0]
        likely: Ints = self.classes_[self.predict_proba(values).argmax(axis=1)]
        return likely


@dataclass(frozen=True, eq=False)
class Stack(Scores):
    """What was fitted: parts, their shares, and what makes the mean honest.

    Attributes
    ----------
    classes_ : array of int
        codes of the classes; empty for numbers
    ridge, trees, kernel : object
        the parts: points, a sum of the trees of both forests, and a kernel model; the last two
        or None
    shares : tuple of float
        of ridge, trees and kernel
    slope, intercepts : float and array of float
        of the mean's log-odds
    quality : Quality or None
        measured on held-out rows; None where there were too few
    error : float
        of numbers: root mean square on held-out rows
    """

    classes_: Ints
    ridge: Points
    trees: TreeSum | None
    kernel: KernelRidge | None
    shares: tuple[float, float, float]
    slope: float
    intercepts: Floats
    quality: Quality | None = None
    error: float = np.nan

    def scores(self, values: Floats) -> Floats:
        """(rows, c) log-odds; c is 1 for two classes, and for numbers."""
        found = np.zeros((len(values), len(self.intercepts)))
        for part, share in zip((self.ridge, self.trees, self.kernel), self.shares):
            if part is not None and share > 0:
                found += share * part.scores(values)
        return self.slope * found + self.intercepts

    def summary(self) -> str:
        """What it is, in a sentence."""
        _, trees, kernel = self.shares
        n = 0 if self.trees is None else len(self.trees.roots)
        others = [f"{n:,} trees ({trees:.0%})"] if n and trees else []
        others += [f"a kernel model ({kernel:.0%})"] if kernel else []
        if not others:
            return "A scorecard: add up the points."
        share = f"{self.shares[0]:.0%}"
        beside = ", ".join(others)
        said = f"An ensemble of a scorecard (shown) and {beside}. The scorecard is {share} of it."
        return said.replace("%", " %")

    def scorecard(
        self, names: Sequence[str], words: CategoryNames, classes: Sequence[Hashable]
    ) -> Scorecard:
        """The ridge as a scorecard."""
        return self.ridge.card(names, words, [classes[code] for code in self.classes_.tolist()])

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "model": "Stack 3",
            "classes": self.classes_.tolist(),
            "ridge": self.ridge.to_dict(),
            "trees": None if self.trees is None else self.trees.to_dict(),
            "kernel": None if self.kernel is None else self.kernel.to_dict(),
            "shares": list(self.shares),
            "slope": self.slope,
            "intercepts": self.intercepts.tolist(),
            "quality": None if self.quality is None else self.quality.to_dict(),
            "error": None if np.isnan(self.error) else self.error,
        }


def stack_from_dict(data: JsonLike) -> Stack:
    """The inverse of :meth:`Stack.to_dict`."""
    ridge = points_from_dict(data["ridge"])
    trees, kernel, error = data["trees"], data["kernel"], data["error"]
    first, second, third = map(float, data["shares"])
    return Stack(
        np.array(data["classes"], dtype=np.int64),
        ridge,
        None if trees is None else tree_sum_from_dict(trees),
        None if kernel is None else kernel_from_dict(kernel, len(ridge.bins)),
        (first, second, third),
        float(data["slope"]),
        np.array(data["intercepts"], dtype=np.float64),
        quality_from_dict(data["quality"]),
        np.nan if error is None else float(error),
    )


def fit_stack(table: Table, seed: int = 0) -> tuple[Stack, Floats | None]:
    """Fit all parts, and say of every row what would be said had it been left out.

    What is said: probabilities (rows, classes), or numbers (rows, 1); None with too few rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> table = Table(np.arange(3), np.arange(300), X, np.ones(X.shape, bool), np.ones(300), y)
    >>> model, held_out = fit_stack(table)
    >>> float((model.predict(X) == y).mean()) > 0.95, held_out.shape
    (True, (300, 2))
    """
    return fit_stacks([table], seed)[0]


def fit_stacks(tables: Sequence[Table], seed: int = 0) -> list[tuple[Stack, Floats | None]]:
    """A stack for each of several labels; those of the same rows and cells share what they can."""
    fits = [_Fit(table, seed) for table in tables]
    for some in _alike(fits):
        _fit_together(some, seed)
    return [fit.stack() for fit in fits]


def fit_quickly(tables: Sequence[Table], seed: int = 0) -> list[Stack]:
    """The same parts with fixed shares and no held-out rows: for who scales it on others.

    The kernel is left out: a model is fitted for every length of an order.
    """
    fits = [_Fit(table, seed) for table in tables]
    for some in _alike(fits):
        _grow_all(some, seed)
    return [fit.quick_stack() for fit in fits]


def _alike(fits: Sequence[_Fit]) -> list[list[_Fit]]:
    """Labels of the same kind on the same cells; what is believed of rates is of one label."""
    found: dict[object, list[_Fit]] = {}
    for i, fit in enumerate(fits):
        table = fit.table
        cells = (table.rows.tobytes(), table.features.tobytes(), table.bought.tobytes())
        alone = i if fit.of_rates else -1
        weights = np.round(fit.weights, 12).tobytes()  # the same but for a sum's last bits
        key = (bool(fit.n_classes), *cells, weights, alone)
        found.setdefault(key, []).append(fit)
    return list(found.values())


def _places(fits: Sequence[_Fit]) -> Iterator[tuple[_Fit, slice]]:
    """Each label, and where its scores stand in those of all."""
    end = 0
    for fit in fits:
        yield fit, slice(end, end := end + fit.width)


def _ridges(fits: Sequence[_Fit], rows: Ints) -> Points:
    """The ridge of labels on the same cells, of some rows."""
    one = fits[0]
    values, bought, weights = one.table.values[rows], one.table.bought[rows], one.weights[rows]
    if one.of_rates:
        assert one.table.background is not None
        return fit_ridge_of_rates(values, bought, one.y[rows], weights, one.table.background)
    ys, sizes = [fit.y[rows] for fit in fits], [fit.n_classes for fit in fits]
    return fit_ridge(values, bought, ys, sizes, weights, one.categories)


def _grow_all(fits: Sequence[_Fit], seed: int) -> tuple[Floats, dict[str, Floats]]:
    """Ridges and forests of labels on the same cells, of all rows; the rest as :func:`_grow`."""
    one = fits[0]
    ridge = _ridges(fits, np.arange(len(one.y)))
    for fit, mine in _places(fits):
        fit.ridge = ridge.of_labels(mine)
    fits = [fit for fit in fits if fit.grows]
    if not fits:
        return np.zeros(0), {}
    forests, told, outside = _grow(fits, np.arange(len(one.rows)), seed)
    for fit, mine in _places(fits):
        fit.trees = {part: trees.of_labels(mine) for part, trees in forests.items()}
    return told, {} if one.groups is not None else outside  # others of its group saw a row


def _fit_together(fits: Sequence[_Fit], seed: int) -> None:
    """All parts of labels on the same cells, of all rows and of all but each fold."""
    told, outside = _grow_all(fits, seed)
    fits = [fit for fit in fits if fit.grows]
    if not fits:
        return
    one = fits[0]
    # one label has folds by its classes; several share folds that mind groups alone
    folds = fits[0].folds
    if len(fits) > 1:
        folds = make_folds(len(one.rows), FOLDS, seed, None, one.groups)
    for fit in fits:
        fit.folds = folds
    if folds is None:
        return
    for fit, mine in _places(fits):
        for part, said in outside.items():
            fit.note(part, np.arange(len(one.rows)), said[:, mine])
    unseen = [part for part in one.forests if part not in outside]
    for k in range(FOLDS):
        _hold_out(fits, np.flatnonzero(folds != k), np.flatnonzero(folds == k), seed, unseen)
    if takes(len(one.rows)) and one.groups is None and not one.of_rates:
        _fit_kernels(fits, told)


def _grow(
    fits: Sequence[_Fit], rows: Ints, seed: int,
    parts: Collection[str] = _FORESTS, trees: int = _TREES,
) -> tuple[dict[str, TreeSum], Floats, dict[str, Floats]]:  # fmt: skip
    """Forests of labels on some rows of their block, and what features told them.

    Last, where trees have bootstrap samples, what those say that did not see a row.
    """
    one = fits[0]
    values, weights = one.block[rows], one.weights[one.rows][rows]
    ys, sizes = [fit.y[fit.rows][rows] for fit in fits], [fit.n_classes for fit in fits]
    found, outside, told = {}, {}, np.zeros(values.shape[1])
    for part in [part for part in one.forests if part in parts]:
        found[part], of_part, said = grow_forest(
            values, ys, sizes, weights, one.categories[one.columns], seed, trees,
            searched=part == "searched",
        )  # fmt: skip
        told += of_part / len(one.forests)
        if said is not None:
            outside[part] = said
    return found, told, outside


def _hold_out(
    fits: Sequence[_Fit], rest: Ints, out: Ints, seed: int, parts: Collection[str]
) -> None:
    """What ridges and some forests of the rest say of rows of the block that were left out."""
    fits = [fit for fit in fits if fit.is_told(rest)]
    if not fits:
        return
    one = fits[0]
    grown, _, _ = _grow(fits, rest, seed, parts, _FEWER_TREES)
    said = {part: trees.scores(one.block[out]) for part, trees in grown.items()}
    others = np.ones(len(one.y), dtype=bool)
    others[one.rows[out]] = False
    if one.groups is not None and one.table.groups is not None:
        # rows outside the block may belong to those left out
        others &= ~np.isin(one.table.groups, one.groups[out])
    said["ridge"] = _ridges(fits, np.flatnonzero(others)).scores(one.table.values[one.rows[out]])
    for fit, mine in _places(fits):
        for part, scores in said.items():
            fit.note(part, out, scores[:, mine])


def _fit_kernels(fits: Sequence[_Fit], told: Floats) -> None:
    """One kernel for all labels; each row is left out alone."""
    one = fits[0]
    columns = Columns.of(one.block, one.categories[one.columns])
    if not len(columns.feature):
        return
    targets = as_targets([fit.y[fit.rows] for fit in fits], [fit.n_classes for fit in fits])
    kernel, held_out = fit_kernel(columns, columns.matrix(one.block), told, targets)
    times = TANGENT if one.n_classes else 1.0
    for fit, mine in _places(fits):
        fit.kernel = kernel.of_labels(mine).times(times)
        fit.note("kernel", np.arange(len(one.rows)), times * held_out[:, mine])


class _Fit:
    """One label: its table, its block, its parts and what they say of held-out rows."""

    def __init__(self, table: Table, seed: int) -> None:
        self.table, self.seed = table, seed
        self.categories = np.array(table.categories or (0,) * table.width) > 0
        self.numbers = table.labels.dtype.kind == "f"
        self.classes, codes = np.unique(table.labels, return_inverse=True)
        self.n_classes = 0 if self.numbers else len(self.classes)
        if self.n_classes == 1:
            raise BadInput("a classifier needs rows of at least two classes; got one.")
        self.y: AnyArray = table.labels.astype(np.float64) if self.numbers else codes.reshape(-1)
        # rows are bought class by class: within a class they weigh what was said, or alike
        self.weights = _within_classes(table.weights, self.y if self.n_classes else None)
        self.columns, self.rows = table.joint()
        self.block = table.values[np.ix_(self.rows, self.columns)]
        self.groups = None if table.groups is None else table.groups[self.rows]
        #: parts fitted on all rows
        self.ridge: Points | None = None
        self.trees: dict[str, TreeSum] = {}
        self.kernel: KernelRidge | None = None
        self.held_out: dict[str, Floats] = {}
        least = _FEW_NUMBERS if self.numbers else _FEW
        counts = np.bincount(self.y[self.rows], minlength=2) if self.n_classes else [len(self.rows)]
        self.grows = bool(len(self.columns)) and min(counts) >= least
        kinds = self.y[self.rows] if self.n_classes else None
        self.folds = (
            make_folds(len(self.rows), FOLDS, seed, kinds, self.groups) if self.grows else None
        )
        #: Boolean features have no limits that a random forest could search for
        self.forests = _FORESTS[:1] if is_boolean(self.block) else _FORESTS
        self.of_rates = table.background is not None and self.n_classes == 2

    @property
    def width(self) -> int:
        return 1 if self.n_classes in (0, 2) else self.n_classes

    def is_told(self, rest: Ints) -> bool:
        """Whether some of the block's rows hold every class."""
        return not self.n_classes or len(np.unique(self.y[self.rows][rest])) == self.n_classes

    def note(self, part: str, rows: Ints, said: Floats) -> None:
        """What a part that did not see them says of rows of the block."""
        if part not in self.held_out:
            start = self.y.mean() if self.numbers else 0.0
            self.held_out[part] = np.full((len(self.rows), self.width), start)
        self.held_out[part][rows] = said

    def stack(self) -> tuple[Stack, Floats | None]:
        """All parts and their mean."""
        if not self.held_out:
            return self._ridge_alone(), None
        y, weights = self.y[self.rows], self._all_weights()
        stretch = {p: self._stretch(p, y, weights) for p in self.held_out}
        told = {
            p: max(_explained(stretch[p](said), y, self.n_classes, weights), _LEAST)
            for p, said in self.held_out.items()
        }
        total = sum(part**_POWER for part in told.values())
        share = {p: part**_POWER / total for p, part in told.items()}
        mean = np.sum([share[p] * stretch[p](self.held_out[p]) for p in share], axis=0)
        slope, shift = 1.0, np.zeros(self.width)
        if self.n_classes:
            slope, shift = fit_slope(mean, y, weights, SPREAD)
        said = mean if self.numbers else softmax(slope * mean + shift)
        made = self._assembled(share, stretch, slope, shift)
        return self._measured(made, said, y), self._of_all_rows(said, made)

    def quick_stack(self) -> Stack:
        """What was fitted, in equal shares."""
        if not self.grows:
            return self._ridge_alone()
        still, times = np.zeros(self.width), _QUICK_STRETCH if self.n_classes else 1.0
        parts = ["ridge", *self.trees]
        share = dict.fromkeys(parts, 1 / len(parts))
        stretch = {part: _Line(1.0 if part == "ridge" else times, still) for part in parts}
        return self._assembled(share, stretch, 1.0, still)

    def _ridge_alone(self) -> Stack:
        shift = np.zeros(self.width)
        if self.n_classes:
            assert self.ridge is not None
            scores = self.ridge.scores(self.table.values)
            shift = fit_intercepts(scores, self.y, self.table.weights)
        return self._assembled({"ridge": 1.0}, {"ridge": _Line(1.0, shift)}, 1.0, 0.0 * shift)

    def _all_weights(self) -> Floats:
        """What the block's rows stand for; a class weighs what it weighs in the table."""
        if self.numbers:
            return self.table.weights[self.rows]
        return self.table.of_rows(self.rows).weighing_as(self.table).weights

    def _stretch(self, part: str, y: AnyArray, weights: Floats) -> _Line:
        """A part on the scale of the others: log-odds as held-out rows have them."""
        if self.numbers:
            return _Line(1.0, np.zeros(1))
        return _Line(*fit_slope(self.held_out[part], y, weights, SPREAD))

    def _assembled(
        self, share: dict[str, float], stretch: dict[str, _Line], slope: float, shift: Floats
    ) -> Stack:
        """Parts with their stretches inside, so that shares add up to one."""
        shift = shift + sum(slope * share[part] * stretch[part].shift for part in share)
        forests = [part for part in _FORESTS if share.get(part)]
        of_trees = sum(share[part] for part in forests)
        trees = [
            self.trees[part].over(self.columns).times(share[part] * stretch[part].slope)
            for part in forests
        ]
        ridge, kernel = self.ridge, None
        assert ridge is not None
        if "ridge" in share:
            ridge = ridge.times(stretch["ridge"].slope)
        if share.get("kernel") and self.kernel is not None:
            kernel = self.kernel.over(self.columns).times(stretch["kernel"].slope)
        joined = add_up(trees).times(1 / of_trees) if trees else None
        shares = (share.get("ridge", 0.0), of_trees, share.get("kernel", 0.0))
        classes = np.zeros(0, dtype=np.int64) if self.numbers else self.classes.astype(np.int64)
        return Stack(classes, ridge, joined, kernel, shares, slope, shift)

    def _measured(self, made: Stack, said: Floats, y: AnyArray) -> Stack:
        if self.numbers:
            wrong = float(np.average((said[:, 0] - y) ** 2, weights=self._all_weights()))
            return replace(made, error=float(np.sqrt(wrong)))
        return replace(made, quality=quality_on(self.table.of_rows(self.rows), said, y, self.seed))

    def _of_all_rows(self, said: Floats, made: Stack) -> Floats:
        """Rows outside the block were never fitted on by trees: what the whole says of them."""
        if len(self.rows) == len(self.y):
            return said
        values = np.where(self.table.bought, self.table.values, np.nan)
        found = made.scores(values) if self.numbers else made.predict_proba(values)
        found[self.rows] = said
        return found


@dataclass(frozen=True, eq=False)
class _Line:
    slope: float
    shift: Floats

    def __call__(self, said: Floats) -> Floats:
        return self.slope * said + self.shift


def _explained(said: Floats, y: Ints | Floats, n_classes: int, weights: Floats) -> float:
    """The part of the variance of y that is explained."""
    if n_classes:
        said, y = softmax(said), np.eye(n_classes)[y]
    else:
        y = y[:, None]
    share = weights / weights.sum()
    spread = float((share @ (y - share @ y) ** 2).sum())
    return 1.0 - float((share @ (said - y) ** 2).sum()) / max(spread, 1e-300)


def _within_classes(weights: Floats, codes: Ints | None) -> Floats:
    """Weights divided by the mean of their class.

    >>> _within_classes(np.array([2.0, 2.0, 9.0]), np.array([0, 0, 1])).tolist()
    [1.0, 1.0, 1.0]
    """
    if codes is None:
        return np.asarray(weights / weights.mean())
    mean = np.bincount(codes, weights=weights) / np.maximum(np.bincount(codes), 1)
    return np.asarray(weights / mean[codes])
