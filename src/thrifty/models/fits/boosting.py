"""Growing boosted trees and small forests, as plain arrays.

Numbers and two classes are boosted by a kernel of ours, which computes what scikit-learn's
HistGradientBoosting does; that itself grows trees over categories and for more classes, and they
are read out of it. Predictions agree with scikit-learn's to the last digits
(tests/models/test_boosted.py).

A forest is grown by scikit-learn (extremely random trees; Geurts, Ernst and Wehenkel, 2006), kept
and asked without it. Its trees vote with the log-odds of their leaves, shrunk to the shares of the
classes, and not with the shares themselves, so that the forest is a sum like everything else in a
mixture.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from threadpoolctl import ThreadpoolController

from thrifty.array_types import Bools, Floats, Ints
from thrifty.kernels.boosting import boost_trees
from thrifty.kernels.extra_trees import grow_forest
from thrifty.models.fits.tree_sums import TreeSum, add_up, bin_edges, in_bins, in_values

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.tree._tree import Tree

    HistTrees: TypeAlias = HistGradientBoostingClassifier | HistGradientBoostingRegressor

__all__ = [
    "HowToGrow",
    "InBins",
    "boosting_bins",
    "category_sets",
    "forest_bins",
    "forest_weight",
    "grow_boosted",
    "grow_boosted_in_bins",
    "grow_extra_trees",
    "grow_forest_in_bins",
    "grow_random_trees",
    "how_to_grow",
    "in_one_thread",
    "middle_of",
    "told_by_trees",
    "where_gaps_stand",
    "without_gaps",
]

#: trees; 80 or 150 of them, or half of them random forests, were within .1 % (docs/models.md, What
#: did not work)
_TREES = 40
#: rows in a leaf at least; 3 had .1 % more and three times the size (same place)
_IN_LEAF = 5
#: leaves of a tree at most, about, so that a model stays small; set by hand
_LEAVES = 150
#: rows above which it counts for less, _PLENTY / rows; chosen on nhanes, spam, emotions and cal500
#: (docs/models.md, Numbers, categories, gaps: 4)
_PLENTY = 1500
#: rows' worth of the classes' shares that every leaf is shrunk by; set by hand
_PRIOR = 1.0
#: trees that say what features tell, and their leaves at most, about; as of forests for all tasks
_TO_TELL, _TO_TELL_LEAVES = 60, 250
#: how far below the least number a gap stands, as a part of their spread; set by hand
_GAP = 0.2
#: what single precision, in which trees are grown, can hold with room
_LARGEST = 1e37


def in_one_thread(where: bool = True) -> AbstractContextManager[object]:
    """Small fits in one thread: on a busy machine several wait for each other."""
    return _libraries(len(sys.modules)).limit(limits=1) if where else nullcontext()


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Libraries with threads; looked for, in 3.4 ms, when modules were loaded since."""
    return ThreadpoolController()


def forest_weight(rows: int) -> float:
    """Its part of the share it has on some hundred rows: on thousands boosted trees are better.

    >>> [round(forest_weight(n), 2) for n in (300, 1500, 6000)]
    [1.0, 1.0, 0.25]
    """
    return min(1.0, _PLENTY / max(rows, 1))


def grow_extra_trees(
    values: Floats, codes: Ints, weights: Floats, categories: NDArray[np.bool_], seed: int
) -> TreeSum:
    """Grow the trees; a gap and a category never seen go where the middle value goes.

    Categories are cut in the order of their numbers: at random, as all else in such trees is.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> grown = grow_extra_trees(X, y, np.ones(300), np.zeros(3, dtype=bool), 0)
    >>> float(((grown.scores(X)[:, 0] > 0) == y).mean()) > 0.9
    True
    """
    edges = [bin_edges(column) for column in values.T]
    binned = in_bins(values, edges, np.zeros(values.shape[1], dtype=bool))
    middle = np.array([middle_of(column) for column in binned.T])
    whole = np.where(np.isnan(binned), middle, binned)
    share = np.bincount(codes, weights=weights) / weights.sum()
    grown_trees = grow_random_trees(
        np.ascontiguousarray(whole, dtype=np.float32), codes[:, None], weights,
        n_trees=_TREES, tried=max(1, int(np.sqrt(whole.shape[1]))),
        in_leaf=max(_IN_LEAF, len(codes) // _LEAVES), seed=seed,
    )  # fmt: skip
    trees = [_read(tree, share, middle) for tree in grown_trees]
    grown = in_values(add_up([(1 / len(trees), tree) for tree in trees]), edges)
    return replace(grown, sets=category_sets(grown, values, categories))


def grow_forest_in_bins(
    binned: InBins, values: Floats, codes: Ints, weights: Floats, seed: int, trees: int = _TREES
) -> TreeSum:
    """The same kind of forest from a kernel of ours, where dozens are grown: for prefixes.

    Its draws are others than scikit-learn's, and so are its trees; a tenth of the time. ``binned``
    has its categories as numbers (:func:`forest_bins`), ``values`` are what they were.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> grown = grow_forest_in_bins(forest_bins(X, np.zeros(3, dtype=bool)), X, y, np.ones(300), 0)
    >>> float(((grown.scores(X)[:, 0] > 0) == y).mean()) > 0.9
    True
    """
    middle = _middles(binned.values)
    whole = np.where(np.isnan(binned.values), middle, binned.values).T.astype(np.uint8)
    share = np.bincount(codes, weights=weights) / weights.sum()
    in_leaf = max(_IN_LEAF, len(codes) // _LEAVES)
    room = trees * (2 * (len(codes) // in_leaf) + 1)
    roots, nodes = np.zeros(trees, dtype=np.int64), np.zeros((room, 4), dtype=np.int64)
    counts = np.zeros((room, len(share)))
    made = grow_forest(
        np.ascontiguousarray(whole), codes, np.asarray(weights, dtype=np.float64), len(share),
        trees, in_leaf, max(1, int(np.sqrt(len(whole)))), seed, roots, nodes, counts,
    )  # fmt: skip
    grown = in_values(_as_sum(roots, nodes[:made], counts[:made], share, middle), binned.edges)
    return replace(grown, sets=category_sets(grown, values, binned.categories))


def forest_bins(values: Floats, categories: NDArray[np.bool_]) -> InBins:
    """Bins of a table for forests, which cut categories in the order of their numbers."""
    edges = [bin_edges(column) for column in values.T]
    return InBins(in_bins(values, edges, np.zeros_like(categories)), edges, categories)


def _as_sum(roots: Ints, nodes: Ints, counts: Floats, share: Floats, middle: Floats) -> TreeSum:
    """Trees of the kernel, once for each column of scores."""
    leaf, log = nodes[:, 0] < 0, np.log(counts + _PRIOR * share)
    scores = log[:, 1:] - log[:, :1] if len(share) == 2 else log - log.mean(axis=1, keepdims=True)
    n, columns = scores.shape
    feature, later = np.where(leaf, 0, nodes[:, 0]), np.repeat(np.arange(columns) * n, n)
    threshold = np.where(leaf, 0.0, nodes[:, 1] + 0.5)
    return TreeSum(
        roots=np.concatenate([roots + c * n for c in range(columns)]),
        column=np.repeat(np.arange(columns), len(roots)),
        feature=np.tile(feature, columns),
        threshold=np.tile(threshold, columns),
        left=np.tile(nodes[:, 2], columns) + later,
        right=np.tile(nodes[:, 3], columns) + later,
        gap_left=np.tile(middle[feature] <= threshold, columns),
        value=np.where(leaf[:, None], scores, 0.0).T.ravel() / len(roots),
        sets={},
        base=np.zeros(columns),
    )


@dataclass(frozen=True, eq=False)
class _RandomTrees:
    """Extremely random trees of scikit-learn, by its builder or by its estimators: the same.

    On some hundred rows a tree is a tenth of what its estimator takes (.04 of .44 ms): it makes a
    generator, of which it draws one number, and checks what was checked before.
    """

    table: NDArray[np.float32]
    y: Ints | Floats
    weights: Floats | None
    tried: int
    in_leaf: int
    seeds: list[int]

    def by_builder(self) -> list[Tree]:
        """As the estimators' ``fit`` calls it."""
        from sklearn.tree._criterion import MSE, Gini
        from sklearn.tree._splitter import RandomSplitter
        from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

        (rows, features), tasks = self.table.shape, self.y.shape[1]
        classes, codes = np.ones(tasks, dtype=np.intp), self.y
        if self.y.dtype.kind != "f":
            found = [np.unique(column, return_inverse=True) for column in self.y.T]
            classes = np.array([len(names) for names, _ in found], dtype=np.intp)
            codes = np.column_stack([code for _, code in found])
        told = np.ascontiguousarray(codes, dtype=np.float64)
        least, most = 2 * self.in_leaf, np.iinfo(np.int32).max
        chance, grown = np.random.RandomState(0), []
        for seed in self.seeds:
            chance.seed(seed)  # making a generator takes longer than a tree
            criterion = MSE(tasks, rows) if codes is self.y else Gini(tasks, classes)
            splitter = RandomSplitter(criterion, self.tried, self.in_leaf, 0.0, chance, None)
            builder = DepthFirstTreeBuilder(splitter, least, self.in_leaf, 0.0, most, 0.0)
            tree = Tree(features, classes, tasks)
            builder.build(tree, self.table, told, self.weights, None)
            grown.append(tree)
        return grown

    def by_estimators(self) -> list[Tree]:
        """By what scikit-learn promises to keep."""
        kind = ExtraTreeRegressor if self.y.dtype.kind == "f" else ExtraTreeClassifier
        how = {"max_features": self.tried, "min_samples_leaf": self.in_leaf}
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            trees = [kind(**how, random_state=seed) for seed in self.seeds]
            for tree in trees:
                tree.fit(self.table, self.y, sample_weight=self.weights, check_input=False)
        return [tree.tree_ for tree in trees]


def grow_random_trees(
    table: NDArray[np.float32],
    y: Ints | Floats,
    weights: Floats,
    *,
    n_trees: int,
    tried: int,
    in_leaf: int,
    seed: int,
) -> list[Tree]:
    """Trees of integers as classes, of floats as numbers; a column of ``y`` for each task.

    ``table`` is without gaps, row by row; a cut chooses from ``tried`` features.

    >>> X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    >>> y = (X[:, :1] > 0).astype(np.int64)
    >>> grown = grow_random_trees(X, y, np.ones(60), n_trees=3, tried=1, in_leaf=5, seed=0)
    >>> [tree.n_outputs for tree in grown]
    [1, 1, 1]
    """
    chance = np.random.RandomState(seed)
    seeds = [chance.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]
    # where every weight is 1 scikit-learn has less to do without them
    said = np.ascontiguousarray(weights, np.float64) if (weights != 1.0).any() else None
    trees = _RandomTrees(table, y, said, tried, in_leaf, seeds)
    try:
        return trees.by_builder()
    except (ImportError, TypeError):  # a scikit-learn whose builder is called in another way
        return trees.by_estimators()


def where_gaps_stand(values: Floats) -> tuple[Floats, Floats]:
    """Of each column its least number, and where gaps stand: below all; if there are none, amid.

    >>> where_gaps_stand(np.array([[0.0, 1.0], [5.0, 1.0], [np.nan, 3.0]]))[1].tolist()
    [-1.0, 1.0]
    """
    known = np.clip(values, -_LARGEST, _LARGEST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column of nothing but gaps
        low, high = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
    low, high = np.nan_to_num(low), np.nan_to_num(high)
    far = low - np.maximum(_GAP * (high - low), 1e-3 * np.abs(low) + 1e-3)
    middle = np.array([middle_of(column) for column in known.T])
    return low, np.where(np.isnan(known).any(axis=0), far, middle)


def without_gaps(values: Floats, middle: Floats) -> NDArray[np.float32]:
    """Numbers as trees are grown on them, gaps where they are to stand."""
    known = np.clip(values, -_LARGEST, _LARGEST)
    return np.ascontiguousarray(np.where(np.isnan(known), middle, known), np.float32)


def told_by_trees(values: Floats, codes: Ints, seed: int) -> Floats:
    """How much each feature tells a forest of the classes."""
    whole, y = without_gaps(values, where_gaps_stand(values)[1]), codes[:, None]
    trees = grow_random_trees(
        whole, y.astype(np.float64) if y.max() < 2 else y, np.ones(len(codes)),
        n_trees=_TO_TELL, tried=max(1, int(np.sqrt(whole.shape[1]))),
        in_leaf=max(2, len(codes) // _TO_TELL_LEAVES), seed=seed,
    )  # fmt: skip
    return np.asarray(np.sum([tree.compute_feature_importances() for tree in trees], axis=0))


def category_sets(
    trees: TreeSum, values: Floats, categories: NDArray[np.bool_]
) -> dict[int, tuple[tuple[float, ...], tuple[float, ...]]]:
    """The categories that go left, by node."""
    inner = trees.left != np.arange(len(trees.left))
    cut = np.flatnonzero(categories).tolist()
    known = {f: np.unique(values[~np.isnan(values[:, f]), f]) for f in cut}
    return {
        node: (tuple(there.tolist()), tuple(there[there <= trees.threshold[node]].tolist()))
        for node in np.flatnonzero(inner & categories[trees.feature]).tolist()
        if len(there := known[int(trees.feature[node])])
    }


def middle_of(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(np.quantile(known, 0.5, method="nearest")) if len(known) else 0.0


def _middles(table: Floats) -> Floats:
    """The middle of each column; all at once where nothing is missing, which is quicker."""
    if np.isnan(table).any():
        return np.array([middle_of(column) for column in table.T])
    return np.asarray(np.quantile(table, 0.5, axis=0, method="nearest"))


def _read(nodes: Tree, share: Floats, middle: Floats) -> TreeSum:
    """One tree, once for each column of scores: one for two classes, else one for each."""
    leaf = nodes.children_left < 0
    at = np.arange(nodes.node_count)
    shares = nodes.value[:, 0, :] / nodes.value[:, 0, :].sum(axis=1, keepdims=True)
    log = np.log(shares * nodes.weighted_n_node_samples[:, None] + _PRIOR * share)
    scores = log[:, 1:] - log[:, :1] if len(share) == 2 else log - log.mean(axis=1, keepdims=True)
    feature = np.where(leaf, 0, nodes.feature).astype(np.int64)
    threshold = np.where(leaf, 0.0, nodes.threshold)
    columns = [
        TreeSum(
            roots=np.zeros(1, dtype=np.int64),
            column=np.full(1, c),
            feature=feature,
            threshold=threshold,
            left=np.where(leaf, at, nodes.children_left).astype(np.int64),
            right=np.where(leaf, at, nodes.children_right).astype(np.int64),
            gap_left=middle[feature] <= threshold,
            value=np.where(leaf, scores[:, c], 0.0),
            sets={},
            base=np.zeros(scores.shape[1]),
        )
        for c in range(scores.shape[1])
    ]
    return add_up([(1.0, column) for column in columns])


#: with more features than this a split looks at half of them, as each tree then differs; by hand
_WIDE = 60
#: beyond so many cells scikit-learn's threads are worth starting; a matter of speed alone
_MANY = 2_000_000


@dataclass(frozen=True)
class HowToGrow:
    """How trees are grown: small ones, slowly learned, as for tables of some hundred rows.

    The defaults came with the mixture, whose constants were chosen on nhanes, spam and yeast
    (docs/models.md, Numbers, categories, gaps); of each one alone nothing was noted.

    ``ridge``: what stands beside a leaf's weights when its value is found. Weights are then taken
    as they are; without it they are brought to a mean of 1.
    """

    trees: int = 100
    leaves: int = 8
    in_leaf: int = 8
    rate: float = 0.06
    ridge: float = 0.0


_USUAL = HowToGrow()
#: rows from which on more trees are grown, and how many times as many at most: one interaction on
#: 10,875 rows of 8 columns has AP .639 with 100 trees, .678 with 300 (python
#: benchmarks/long_tables.py --sets interaction)
_MANY_ROWS, _MOST_TIMES = 2000, 3.0


def how_to_grow(rows: int) -> HowToGrow:
    """As for some hundred rows; more trees on thousands.

    >>> [how_to_grow(n).trees for n in (300, 2000, 4000, 60_000)]
    [100, 100, 200, 300]
    """
    times = min(max(rows / _MANY_ROWS, 1.0), _MOST_TIMES)
    return _USUAL if times == 1 else replace(_USUAL, trees=round(_USUAL.trees * times))


def grow_boosted(
    values: Floats,
    codes: Ints | Floats,
    weights: Floats,
    categories: Bools,
    seed: int,
    how: HowToGrow = _USUAL,
) -> TreeSum:
    """Grow trees; a category of more than 255 values is cut as a number would be.

    ``codes`` are classes where they are integers, else the numbers to be predicted.
    """
    binned = boosting_bins(values, categories)
    return grow_boosted_in_bins(binned, codes, weights, seed, how)


@dataclass(frozen=True, eq=False)
class InBins:
    """A table as trees read it: numbers in bins between ``edges``, categories as they are."""

    values: Floats
    edges: list[Floats]
    categories: Bools

    def part(self, rows: Ints, which: Ints) -> InBins:
        """Some rows and features; nothing is binned again."""
        chosen = [self.edges[f] for f in which]
        return InBins(self.values[np.ix_(rows, which)], chosen, self.categories[which])


def boosting_bins(values: Floats, categories: Bools) -> InBins:
    """Bins of a table for boosted trees; a category of more than 255 values is as a number."""
    categories = categories.copy()
    for f in np.flatnonzero(categories):
        categories[f] = len(np.unique(values[~np.isnan(values[:, f]), f])) <= 255
    edges = [np.zeros(0) if told else bin_edges(x) for told, x in zip(categories, values.T)]
    return InBins(in_bins(values, edges, categories), edges, categories)


def grow_boosted_in_bins(
    binned: InBins, codes: Ints | Floats, weights: Floats, seed: int, how: HowToGrow = _USUAL
) -> TreeSum:
    """The same on a table in bins."""
    n_classes = 2 if codes.dtype.kind == "f" else int(codes.max()) + 1
    coarse, edges, categories = binned.values, binned.edges, binned.categories
    weights = weights if how.ridge else weights / weights.mean()
    plain = n_classes == 2 and not categories.any() and coarse.size < _MANY
    if plain and len(np.unique(codes)) > 1 and weights.all():
        return in_values(_by_kernel(coarse, codes, weights, seed, how), edges)
    grown = _by_scikit_learn(coarse, codes, weights, categories, seed, how)
    return in_values(read_trees(grown, np.flatnonzero(categories)), edges)


def _by_scikit_learn(
    coarse: Floats,
    codes: Ints | Floats,
    weights: Floats,
    categories: Bools,
    seed: int,
    how: HowToGrow,
) -> HistTrees:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    numbers = codes.dtype.kind == "f"
    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    two = numbers or codes.max() < 2
    return kind(
        max_iter=how.trees if two else max(20, how.trees // 2),
        max_leaf_nodes=how.leaves,
        min_samples_leaf=how.in_leaf,
        learning_rate=how.rate,
        l2_regularization=how.ridge,
        max_features=0.5 if coarse.shape[1] > _WIDE else 1.0,
        categorical_features=np.flatnonzero(categories) if categories.any() else None,
        early_stopping=False,
        random_state=seed,
    ).fit(coarse, codes, sample_weight=weights)


def _by_kernel(
    coarse: Floats, codes: Ints | Floats, weights: Floats, seed: int, how: HowToGrow
) -> TreeSum:
    """The trees that scikit-learn would grow, over numbers, for numbers or two classes."""
    numbers, y = codes.dtype.kind == "f", codes.astype(np.float64)
    mean = np.average(y, weights=weights)
    base = float(mean if numbers else logit(mean))
    n_features = coarse.shape[1]
    distinct, bins = _used_bins(coarse)
    n_bins = np.array([len(values) for values in distinct], dtype=np.int64)
    gaps = np.asarray(np.isnan(coarse).any(axis=0))
    roots, nodes, value = boost_trees(
        bins, n_bins, int(n_bins.max()), gaps, y, weights, base, numbers, how.trees,
        how.leaves, how.in_leaf, how.rate, how.ridge, _allowed(n_features, seed, how),
    )  # fmt: skip
    here, inner = np.arange(len(nodes)), nodes[:, 0] >= 0
    threshold = np.zeros(len(nodes))
    # gaps alone on the right: every value is below
    middles = [np.append((known[:-1] + known[1:]) / 2, np.inf) for known in distinct]
    begin = np.cumsum(n_bins) - n_bins
    threshold[inner] = np.concatenate(middles)[begin[nodes[inner, 0]] + nodes[inner, 1]]
    return TreeSum(
        roots, np.zeros(how.trees, dtype=np.int64), np.where(inner, nodes[:, 0], 0), threshold,
        np.where(inner, nodes[:, 2], here), np.where(inner, nodes[:, 3], here),
        nodes[:, 4] == 1, value, {}, np.array([base]),
    )  # fmt: skip


def _used_bins(coarse: Floats) -> tuple[list[Ints], NDArray[np.uint8]]:
    """The bins that each feature has values in, and (features, rows) which of them a value is in.

    What is missing is in a bin after all others.

    >>> used, bins = _used_bins(np.array([[0.0, 4.0], [2.0, np.nan]]))
    >>> [some.tolist() for some in used], bins.tolist()
    ([[0, 2], [4]], [[0, 1], [0, 2]])
    """
    gaps = np.isnan(coarse)
    codes = np.where(gaps, 0, coarse).astype(np.int64)
    n_features, most = codes.shape[1], int(codes.max(initial=0)) + 1
    there = np.zeros((n_features, most), dtype=bool)
    there[np.broadcast_to(np.arange(n_features), codes.shape)[~gaps], codes[~gaps]] = True
    place = np.cumsum(there, axis=1) - 1
    bins = place[np.arange(n_features)[:, None], codes.T]
    bins[gaps.T] = there.sum(axis=1).max()
    return [np.flatnonzero(some) for some in there], bins.astype(np.uint8)


def _allowed(n_features: int, seed: int, how: HowToGrow) -> Bools:
    """The features that each look at a node may take, drawn as scikit-learn draws them."""
    if n_features <= _WIDE:
        return np.ones((1, n_features), dtype=bool)
    first = np.random.RandomState(seed)
    first.randint(np.iinfo(np.uint32).max, dtype="u8")
    rng = np.random.default_rng(first.randint(np.iinfo(np.uint32).max, dtype="u8"))
    drawn = np.zeros((how.trees * (2 * how.leaves - 1), n_features), dtype=bool)
    drawn[:, : -(-n_features // 2)] = True
    for mask in drawn:
        rng.shuffle(mask)
    return drawn


def read_trees(grown: HistTrees, categories: Ints) -> TreeSum:
    """The trees of a fitted HistGradientBoosting model.

    scikit-learn puts the categories first when it fits; ``order`` turns its feature numbers back.
    """
    n = grown.n_features_in_
    order = np.concatenate([categories, np.setdiff1d(np.arange(n), categories)]).astype(np.int64)
    known = _known_categories(grown, len(categories))
    roots, column, parts, at = [], [], [], 0
    sets: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {}
    for stage in grown._predictors:
        for c, tree in enumerate(stage):
            nodes = tree.nodes
            roots.append(at)
            column.append(c)
            parts.append((nodes, at))
            for i in np.flatnonzero((nodes["is_categorical"] == 1) & (nodes["is_leaf"] == 0)):
                words = tree.raw_left_cat_bitsets[nodes["bitset_idx"][i]]
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                of = known[int(nodes["feature_idx"][i])]
                chosen = tuple(of[bit] for bit in np.flatnonzero(bits).tolist() if bit < len(of))
                sets[at + int(i)] = (of, chosen)
            at += len(nodes)
    every = np.concatenate([nodes for nodes, _ in parts])
    begin = np.concatenate([np.full(len(nodes), start) for nodes, start in parts])
    leaf = every["is_leaf"] == 1
    self_at = np.arange(len(every))
    return TreeSum(
        np.array(roots, dtype=np.int64),
        np.array(column, dtype=np.int64),
        order[np.where(leaf, 0, every["feature_idx"]).astype(np.int64)],
        np.where(leaf, 0.0, every["num_threshold"]).astype(np.float64),
        np.where(leaf, self_at, every["left"].astype(np.int64) + begin),
        np.where(leaf, self_at, every["right"].astype(np.int64) + begin),
        every["missing_go_to_left"] == 1,
        np.where(leaf, every["value"], 0.0).astype(np.float64),
        sets,
        np.asarray(grown._baseline_prediction, dtype=np.float64).reshape(-1),
    )


def _known_categories(grown: HistTrees, n: int) -> list[tuple[float, ...]]:
    """The categories seen in training, of each category feature, in scikit-learn's own order."""
    if not n:
        return []
    encoder = grown._preprocessor.named_transformers_["encoder"]
    return [tuple(v for v in map(float, values) if v == v) for values in encoder.categories_]
