"""Extra trees and random forests, grown by scikit-learn and kept as plain arrays.

A fitted object of scikit-learn can only be kept with pickle, which runs code on load, so its trees
become arrays of nodes here: JSON keeps them, one pass over them answers, and is used from the
start, so that a model says the same before and after a store. A leaf of a forest says
4 (p - 1/2), the tangent of the log-odds: a forest is then a sum of trees like any other, and served
as one (linear against log-odds of the mean: .000 to .003 of AP on six sets, docs/research).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from thrifty.cells.ledger.purchase import pack_arrays, unpack_arrays
from thrifty.typing import AnyArray, Bools, Floats, Ints, Json, JsonLike

#: features that a split of extra trees tries, of classes and of numbers: as people write by hand
TRIED: tuple[str, float] = ("sqrt", 0.5)
#: of shares of a class, the tangent of their log-odds at a half
TANGENT = 4.0
#: rows of a leaf: what people write by hand, not tuned further
_LEAF = 2
#: features that a split of a random forest tries at most: half of 132 on nhanes; for time alone
_MOST_TRIED = 66
#: categories with fewer rows have no question of their own
_ROWS = 3
#: rows times trees that are walked at a time, for memory alone
_AT_ONCE = 200_000
_ARRAYS = ("roots", "feature", "threshold", "equal", "left", "right", "gap_left", "value")


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Nodes of all trees in one list; a leaf points at itself.

    Attributes
    ----------
    roots : array of int
        (trees,) where each begins
    feature, threshold, equal, left, right, gap_left : array
        (nodes,) left where value <= threshold; where ``equal``, where value != threshold
    value : array of float
        (nodes, c) what a leaf adds
    base : array of float
        (c,) what every row starts with
    """

    roots: Ints
    feature: Ints
    threshold: Floats
    equal: Bools
    left: Ints
    right: Ints
    gap_left: Bools
    value: Floats
    base: Floats

    def scores(self, values: Floats) -> Floats:
        """(rows, c) what all trees say of each row together."""
        values = _as_grown(values)
        if values.shape[1] <= int(self.feature.max(initial=-1)):
            raise ValueError(f"trees over more than {values.shape[1]} features")
        found = np.tile(self.base, (len(values), 1))
        step = max(1, _AT_ONCE // max(len(self.roots), 1))
        for begin in range(0, len(values), step):
            leaves = self._leaves(values[begin : begin + step])
            found[begin : begin + step] += self.value[leaves].sum(axis=1)
        return found

    def scores_outside(self, values: Floats, seen: Bools) -> Floats:
        """(rows, c) the mean of the trees that did not see a row; 0 where all did."""
        out = ~seen.T
        said = np.einsum("rt,rtc->rc", out, self.value[self._leaves(_as_grown(values))])
        return np.asarray(said / np.maximum(out.sum(axis=1), 1)[:, None])

    def _leaves(self, values: Floats) -> Ints:
        at = np.broadcast_to(self.roots, (len(values), len(self.roots)))
        rows, some_equal = np.arange(len(values))[:, None], bool(self.equal.any())
        for _ in range(self._depth):
            x, limit = values[rows, self.feature[at]], self.threshold[at]
            go_left = (x <= limit) | (np.isnan(x) & self.gap_left[at])
            if some_equal:
                go_left = np.where(self.equal[at], x != limit, go_left)
            at = np.where(go_left, self.left[at], self.right[at])
        return np.asarray(at)

    @cached_property
    def _depth(self) -> int:
        at, depth = self.roots, 0
        while True:
            here = np.unique(np.r_[self.left[at], self.right[at]])
            inner = here[self.left[here] != here]
            depth += 1
            if not len(inner):
                return depth
            at = inner

    def times(self, factor: float) -> TreeSum:
        """So many times what it says, in the precision that a store keeps."""
        return _rounded(replace(self, value=factor * self.value, base=factor * self.base))

    def of_labels(self, which: slice) -> TreeSum:
        """Some of the labels alone."""
        value = np.ascontiguousarray(self.value[:, which])
        return replace(self, value=value, base=self.base[which])

    def over(self, columns: Ints) -> TreeSum:
        """Over a table of which these columns, in this order, are those that they ask for."""
        return replace(self, feature=columns[self.feature].astype(np.int64))

    def to_dict(self) -> Json:
        """Plain data, for JSON; the nodes, thousands of them, as packed numbers."""
        kinds = {"i": np.int32, "b": np.uint8, "f": np.float32}
        kept = {name: getattr(self, name) for name in _ARRAYS}
        packed = pack_arrays({n: a.astype(kinds[a.dtype.kind]) for n, a in kept.items()})
        return {"nodes": base64.b64encode(packed).decode(), "base": self.base.tolist()}


def tree_sum_from_dict(data: JsonLike) -> TreeSum:
    """The inverse of :meth:`TreeSum.to_dict`; nodes that are no trees are refused."""
    nodes = unpack_arrays(base64.b64decode(data["nodes"], validate=True))
    base = np.array(data["base"], dtype=np.float64)
    n = len(nodes["left"])
    whole = {name: nodes[name].astype(np.int64) for name in ("roots", "feature", "left", "right")}
    here, left, right = np.arange(n), whole["left"], whole["right"]
    inner = (left > here) & (right > here) & (left < n) & (right < n)
    sound = (
        base.ndim == 1
        and all(nodes[name].shape == (n,) for name in _ARRAYS[1:-1])
        and nodes["value"].shape == (n, len(base))
        and bool((inner | ((left == here) & (right == here))).all())
        and bool(((whole["roots"] >= 0) & (whole["roots"] < n)).all())
        and bool((whole["feature"] >= 0).all())
    )
    if not sound:
        raise ValueError("nodes that are no trees")
    return TreeSum(
        threshold=nodes["threshold"].astype(np.float64),
        equal=nodes["equal"].astype(bool),
        gap_left=nodes["gap_left"].astype(bool),
        value=nodes["value"].astype(np.float64),
        base=base,
        **whole,
    )


def add_up(parts: Sequence[TreeSum]) -> TreeSum:
    """One list of trees whose scores are those of all parts together."""
    at, roots, left, right = 0, [], [], []
    for trees in parts:
        roots.append(trees.roots + at)
        left.append(trees.left + at)
        right.append(trees.right + at)
        at += len(trees.left)
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(trees, name) for trees in parts])
        for name in ("feature", "threshold", "equal", "gap_left", "value")
    }
    return TreeSum(
        roots=np.concatenate(roots),
        left=np.concatenate(left),
        right=np.concatenate(right),
        base=np.sum([trees.base for trees in parts], axis=0),
        **joined,
    )


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """Trees of scikit-learn on a design without gaps: what features told, who saw which row.

    ``seen``: (trees, rows) which rows were in each tree's bootstrap sample; None without one.
    """

    trees: list[Any]
    told: Floats
    seen: Bools | None


def grow_trees(
    design: AnyArray, targets: Floats, trees: int, seed: int, *,
    tried: float | str, searched: bool = False, sampled: bool = False,
    weights: Floats | None = None,
) -> GrownTrees:  # fmt: skip
    """Extra trees (Geurts, Ernst and Wehenkel, 2006) or, ``searched``, a random forest.

    Extra trees draw their limits: the better forest where many features say a little each. A random
    forest (Breiman, 2001) that tries half of the features at every split finds the one test, and
    the limit on it, that decide: docs/research, Forests. Extra trees try ``tried`` of the features,
    and see every row unless ``sampled``.

    ``targets``: (rows, c) numbers, or classes as :func:`as_targets` has them: the square error of
    their columns is their Gini impurity, and a regression tree of scikit-learn checks no classes,
    which takes longer than a small tree; so does what its forests do around each tree.
    """
    from sklearn import config_context
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    n, width = design.shape
    kind = DecisionTreeRegressor if searched else ExtraTreeRegressor
    features = min(max(width // 2, 1), _MOST_TRIED) if searched else tried
    x = np.ascontiguousarray(design, dtype=np.float32)
    y = np.ascontiguousarray(targets, dtype=np.float64)
    weights = np.ones(n) if weights is None else weights
    rng = np.random.RandomState(seed)
    grown, seen, told = [], [], np.zeros(width)
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for _ in range(trees):
            own = int(rng.randint(np.iinfo(np.int32).max))
            drawn = weights
            if searched or sampled:
                rows = np.random.RandomState(own).randint(0, n, n, dtype=np.int32)
                times = np.bincount(rows, minlength=n)
                seen.append(times > 0)
                drawn = weights * times
            one = kind(min_samples_leaf=_LEAF, max_features=features, random_state=own)
            grown.append(one.fit(x, y, sample_weight=drawn, check_input=False).tree_)
            told += grown[-1].compute_feature_importances()
    told /= max(float(told.sum()), 1e-300)
    return GrownTrees(grown, told, np.array(seen) if seen else None)


def as_targets(ys: Sequence[Ints | Floats], n_classes: Sequence[int]) -> Floats:
    """Numbers as they are, of two classes the second, of more a column each.

    >>> as_targets([np.array([0, 1, 1]), np.array([2, 0, 1])], [2, 3]).astype(int).tolist()
    [[0, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]]
    """
    made = [y[:, None] if n < 3 else np.eye(n)[y] for y, n in zip(ys, n_classes)]
    return np.hstack(made).astype(np.float64)


def grow_forest(
    values: Floats, targets: Sequence[Ints | Floats], n_classes: Sequence[int], weights: Floats,
    categories: Bools, seed: int, trees: int = 40, *, searched: bool = False,
) -> tuple[TreeSum, Floats, Floats | None]:  # fmt: skip
    """A forest for all targets at once, and importances: see :func:`grow_trees`.

    ``n_classes``: of each target, 0 for numbers; targets of one call are all classes or all
    numbers; what is said of each stands beside that of the one before it. A gap is below every
    value where the column has gaps, else at its median. Last, of a random forest, what trees say
    of the rows that they did not see.

    >>> x = np.random.default_rng(0).normal(size=(80, 2))
    >>> found, told, _ = grow_forest(x, [(x[:, 0] > 0).astype(int)], [2], np.ones(80),
    ...                              np.zeros(2, bool), 0)
    >>> bool(told[0] > 0.7), bool(np.corrcoef(found.scores(x)[:, 0], x[:, 0] > 0)[0, 1] > 0.8)
    (True, True)
    """
    columns = _Expanded.of(values, categories)
    made = grow_trees(
        columns.filled(values), as_targets(targets, n_classes), trees, seed,
        tried=TRIED[not n_classes[0]], searched=searched, weights=weights,
    )  # fmt: skip
    middle = np.concatenate([np.full(n if n > 2 else 1, 1 / n if n else 0.0) for n in n_classes])
    times = TANGENT if n_classes[0] else 1.0
    found = add_up([_as_sum(one, columns, middle, times) for one in made.trees])
    told = np.zeros(values.shape[1])
    np.add.at(told, columns.feature, made.told)
    outside = None if made.seen is None else found.scores_outside(values, made.seen)
    return found.times(1 / trees), told, outside


def is_boolean(values: Floats) -> bool:
    """Whether there are no limits to be searched: extra trees do, and a random forest is worse."""
    return bool(((values == 0) | (values == 1) | np.isnan(values)).all())


@dataclass(frozen=True, eq=False)
class _Expanded:
    """Columns of trees: numbers as they are, a column for each category; see :meth:`of`."""

    feature: Ints
    category: Floats  # NaN: the number itself
    fill: Floats

    @classmethod
    def of(cls, values: Floats, categories: Bools) -> _Expanded:
        columns: list[tuple[int, float, float]] = []
        for f, is_category in enumerate(categories.tolist()):
            known = values[~np.isnan(values[:, f]), f]
            if is_category:
                codes, counts = np.unique(known, return_counts=True)
                columns += [(f, code, 0.0) for code in codes[counts >= _ROWS].tolist()]
                continue
            low = float(_as_grown(known).min(initial=0.0))
            below = low - max(1.0, abs(low) * 1e-3)
            columns.append((f, np.nan, below if len(known) < len(values) else np.median(known)))
        # nothing but rare categories: a constant
        feature, category, fill = zip(*columns or [(0, np.inf, 0.0)])
        return cls(np.array(feature), np.array(category), np.array(fill, dtype=np.float64))

    def matrix(self, values: Floats) -> Floats:
        x = _as_grown(values)[:, self.feature]
        is_category = ~np.isnan(self.category)
        x[:, is_category] = x[:, is_category] == self.category[is_category]
        return x

    def filled(self, values: Floats) -> Floats:
        x = self.matrix(values)
        return np.where(np.isnan(x), self.fill, x)

    def question(self, column: Ints, threshold: Floats) -> dict[str, Any]:
        """Nodes over columns as nodes over features."""
        equal = ~np.isnan(self.category[column])
        rounded = threshold.astype(np.float32)
        rounded = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
        return {
            "feature": self.feature[column].astype(np.int64),
            "threshold": np.where(equal, self.category[column], rounded).astype(np.float64),
            "equal": equal,
        }


def _as_sum(tree: Any, columns: _Expanded, middle: Floats, times: float) -> TreeSum:
    """Of classes the tangent of the log-odds, of numbers their mean."""
    here, leaf = np.arange(tree.node_count), tree.children_left < 0
    column = np.where(leaf, 0, tree.feature)
    asked = columns.question(column, np.where(leaf, 0.0, tree.threshold))
    asked["equal"] = asked["equal"] & ~leaf
    value = times * (tree.value[:, :, 0] - middle)
    return TreeSum(
        roots=np.zeros(1, dtype=np.int64),
        left=np.where(leaf, here, tree.children_left),
        right=np.where(leaf, here, tree.children_right),
        gap_left=columns.fill[column] <= tree.threshold,
        value=np.where(leaf[:, None], value, 0.0),
        base=np.zeros(value.shape[1]),
        **asked,
    )


def _as_grown(values: Floats) -> Floats:
    """Values as trees see them: single precision, finite or a gap."""
    limit = float(np.finfo(np.float32).max) / 4
    small = np.clip(np.asarray(values, dtype=np.float64), -limit, limit)
    return small.astype(np.float32).astype(np.float64)


def _rounded(trees: TreeSum) -> TreeSum:
    """Leaves in the precision that a store keeps."""
    return replace(trees, value=trees.value.astype(np.float32).astype(np.float64))
