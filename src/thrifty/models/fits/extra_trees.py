"""A small forest of extremely random trees, as the same arrays as boosted trees.

Grown by scikit-learn (Geurts, Ernst and Wehenkel, 2006), kept and asked without it. Its trees vote
with the log-odds of their leaves, shrunk to the shares of the classes, and not with the shares
themselves, so that the forest is a sum like everything else in a mixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeClassifier

from thrifty.array_types import Floats, Ints
from thrifty.models.fits.tree_sums import TreeSum, add_up, bin_edges, in_bins, in_values

__all__ = ["category_sets", "forest_weight", "grow_extra_trees", "middle_of"]


#: trees; 80 or 150 of them, or half of them random forests, were within .1 % (docs/models.md, What
#: did not work)
_TREES = 40
#: rows in a leaf at least; 3 had .1 % more and three times the size (same place)
_IN_LEAF = 5
#: leaves of a tree at most, about, so that a model stays small; set by hand
_LEAVES = 150
#: rows above which it counts for less, _MANY / rows; chosen on nhanes, spam, emotions and cal500
#: (docs/models.md, Numbers, categories, gaps: 4)
_MANY = 1500
#: rows' worth of the classes' shares that every leaf is shrunk by; set by hand
_PRIOR = 1.0


def forest_weight(rows: int) -> float:
    """Its part of the share it has on some hundred rows: on thousands boosted trees are better.

    >>> [round(forest_weight(n), 2) for n in (300, 1500, 6000)]
    [1.0, 1.0, 0.25]
    """
    return min(1.0, _MANY / max(rows, 1))


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
    trees = [_read(tree, share, middle) for tree in _grown(whole, codes, weights, seed)]
    grown = in_values(add_up([(1 / len(trees), tree) for tree in trees]), edges)
    return replace(grown, sets=category_sets(grown, values, categories))


def _grown(whole: Floats, codes: Ints, weights: Floats, seed: int) -> Iterator[ExtraTreeClassifier]:
    """The trees of scikit-learn's ExtraTreesClassifier, one by one.

    On some hundred rows the forest's own work, copying and checking each tree, is a third of the
    time.
    """
    chance, table = np.random.RandomState(seed), np.ascontiguousarray(whole, dtype=np.float32)
    in_leaf = max(_IN_LEAF, len(codes) // _LEAVES)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(_TREES):
            drawn = chance.randint(np.iinfo(np.int32).max)
            tree = ExtraTreeClassifier(
                max_features="sqrt", min_samples_leaf=in_leaf, random_state=drawn
            )
            yield tree.fit(table, codes, sample_weight=weights, check_input=False)


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


def _read(tree: ExtraTreeClassifier, share: Floats, middle: Floats) -> TreeSum:
    """One tree, once for each column of scores: one for two classes, else one for each."""
    nodes = tree.tree_
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
