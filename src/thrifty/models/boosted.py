"""Boosted trees as plain arrays: kept and asked without the library that grew them.

Numbers and two classes are boosted by a kernel of ours, which computes what scikit-learn's
HistGradientBoosting does; that itself grows trees over categories and for more classes. Its fitted
object can only be kept with pickle, which runs code on load; so the trees are read out into arrays
that are JSON, and predicted from with numpy. Predictions agree with scikit-learn's to the last
digits (tests/models/test_boosted.py).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.kernels.boosting import boost_trees
from thrifty.kernels.tree_sums import sum_trees
from thrifty.outside import Json, JsonLike

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    HistTrees: TypeAlias = HistGradientBoostingClassifier | HistGradientBoostingRegressor

__all__ = [
    "BoostedTrees",
    "HowToGrow",
    "add_up",
    "bin_edges",
    "boosted_from_dict",
    "grow_boosted",
    "in_bins",
    "in_values",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: whole numbers among a node's
_WHOLE = ("roots", "column", "feature", "left", "right")
#: with more features than this a split looks at half of them, as each tree then differs
_WIDE = 60
#: the most bins of a number
_BINS = 64
#: beyond so many cells scikit-learn's threads are worth starting
_MANY = 2_000_000


@dataclass(frozen=True)
class HowToGrow:
    """How trees are grown: small ones, slowly learned, as for tables of some hundred rows.

    ``ridge``: what stands beside a leaf's weights when its value is found. Weights are then taken
    as they are; without it they are brought to a mean of 1.
    """

    trees: int = 100
    leaves: int = 8
    in_leaf: int = 8
    rate: float = 0.06
    ridge: float = 0.0


_USUAL = HowToGrow()


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Nodes of all trees in one list; a leaf points at itself.

    Attributes
    ----------
    roots, column : array of int
        (trees,) where a tree begins, and which column of scores it adds to
    feature, threshold, left, right, gap_left, value : array
        (nodes,); left where value <= threshold
    sets : mapping
        categories that go left, by node; such a node has no threshold
    base : array of float
        (c,) what every row starts with
    """

    roots: Ints
    column: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    gap_left: NDArray[np.bool_]
    value: Floats
    sets: dict[int, tuple[tuple[float, ...], tuple[float, ...]]]
    base: Floats

    def scores(self, values: Floats) -> Floats:
        """(rows, c) logits."""
        found = np.tile(self.base, (len(values), 1))
        sum_trees(
            np.ascontiguousarray(values, dtype=np.float64), self.roots, self.column, self.feature,
            self.threshold, self.left, self.right, self.gap_left, self.value, *self._by_category,
            found,
        )  # fmt: skip
        return found

    @cached_property
    def _by_category(self) -> tuple[Ints, Floats, NDArray[np.bool_]]:
        """Of each node its line in a table of who goes left, or -1; the categories of its columns.

        The last column is for categories that the node never saw, and for gaps.
        """
        nodes = np.array(list(self.sets), dtype=np.int64)
        line = np.full(len(self.value), -1)
        line[nodes] = np.arange(len(nodes))
        known_by_node = [np.zeros(0), *(np.array(known) for known, _ in self.sets.values())]
        every = np.unique(np.concatenate(known_by_node))
        table = np.repeat(self.gap_left[nodes][:, None], len(every) + 1, axis=1)
        for i, (known, chosen) in enumerate(self.sets.values()):
            table[i, np.searchsorted(every, known)] = np.isin(known, chosen)
        return line, every, table

    def to_dict(self) -> Json:
        """Plain data, for JSON; the nodes, thousands of them, as packed numbers."""
        small = {name: getattr(self, name).astype(np.int32) for name in _WHOLE}
        packed = pack_arrays({
            **small,
            "threshold": self.threshold,
            "value": self.value,
            "gap_left": self.gap_left.astype(np.uint8),
        })  # fmt: skip
        return {
            "nodes": base64.b64encode(packed).decode(),
            "sets": [[node, *map(list, sets)] for node, sets in self.sets.items()],
            "base": self.base.tolist(),
        }


def add_up(parts: Sequence[tuple[float, BoostedTrees]], shift: float = 0.0) -> BoostedTrees:
    """One list of trees whose scores are so many times those of each, and a shift."""
    roots, left, right, value, sets, at = [], [], [], [], {}, 0
    base = np.full(len(parts[0][1].base), shift)
    for times, trees in parts:
        roots.append(trees.roots + at)
        left.append(trees.left + at)
        right.append(trees.right + at)
        value.append(times * trees.value)
        sets.update({node + at: of for node, of in trees.sets.items()})
        base += times * trees.base
        at += len(trees.value)
    every = [trees for _, trees in parts]
    return BoostedTrees(
        np.concatenate(roots),
        np.concatenate([trees.column for trees in every]),
        np.concatenate([trees.feature for trees in every]),
        np.concatenate([trees.threshold for trees in every]),
        np.concatenate(left),
        np.concatenate(right),
        np.concatenate([trees.gap_left for trees in every]),
        np.concatenate(value),
        sets,
        base,
    )


def boosted_from_dict(data: JsonLike) -> BoostedTrees:
    """The inverse of :meth:`BoostedTrees.to_dict`."""
    nodes = unpack_arrays(base64.b64decode(data["nodes"], validate=True))
    return BoostedTrees(
        threshold=nodes["threshold"].astype(np.float64),
        gap_left=nodes["gap_left"].astype(bool),
        value=nodes["value"].astype(np.float64),
        sets={node: (tuple(known), tuple(chosen)) for node, known, chosen in data["sets"]},
        base=np.array(data["base"], dtype=np.float64),
        **{name: nodes[name].astype(np.int64) for name in _WHOLE},
    )


def grow_boosted(
    values: Floats,
    codes: Ints | Floats,
    weights: Floats,
    categories: NDArray[np.bool_],
    seed: int,
    how: HowToGrow = _USUAL,
) -> BoostedTrees:
    """Grow trees; a category of more than 255 values is cut as a number would be.

    ``codes`` are classes where they are integers, else the numbers to be predicted.
    """
    n_classes = 2 if codes.dtype.kind == "f" else int(codes.max()) + 1
    many = [len(np.unique(column[~np.isnan(column)])) > 255 for column in values.T]
    categories = categories & ~np.array(many, dtype=bool)
    edges = [np.zeros(0) if told else bin_edges(x) for told, x in zip(categories, values.T)]
    coarse = in_bins(values, edges, categories)
    weights = weights if how.ridge else weights / weights.mean()
    plain = n_classes == 2 and not categories.any() and values.size < _MANY
    if plain and len(np.unique(codes)) > 1 and weights.all():
        return in_values(_by_kernel(coarse, codes, weights, seed, how), edges)
    grown = _by_scikit_learn(coarse, codes, weights, categories, seed, how)
    return in_values(read_trees(grown, np.flatnonzero(categories)), edges)


def _by_scikit_learn(
    coarse: Floats,
    codes: Ints | Floats,
    weights: Floats,
    categories: NDArray[np.bool_],
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
) -> BoostedTrees:
    """The trees that scikit-learn would grow, over numbers, for numbers or two classes."""
    numbers, y = codes.dtype.kind == "f", codes.astype(np.float64)
    mean = np.average(y, weights=weights)
    base = float(mean if numbers else logit(mean))
    n_features = coarse.shape[1]
    distinct = [np.unique(column[~np.isnan(column)]) for column in coarse.T]
    n_bins = np.array([len(values) for values in distinct], dtype=np.int64)
    bins = np.full(coarse.T.shape, n_bins.max(), dtype=np.uint8)
    for f, known in enumerate(~np.isnan(coarse.T)):
        bins[f, known] = np.searchsorted(distinct[f], coarse[known, f])
    gaps = np.asarray(np.isnan(coarse).any(axis=0))
    roots, nodes, value = boost_trees(
        bins, n_bins, int(n_bins.max()), gaps, y, weights, base, numbers, how.trees,
        how.leaves, how.in_leaf, how.rate, how.ridge, _allowed(n_features, seed, how),
    )  # fmt: skip
    here, inner = np.arange(len(nodes)), nodes[:, 0] >= 0
    threshold = np.zeros(len(nodes))
    for i in np.flatnonzero(inner).tolist():
        known, cut = distinct[nodes[i, 0]], nodes[i, 1]
        # gaps alone on the right: every value is below
        threshold[i] = (known[cut] + known[cut + 1]) / 2 if cut + 1 < len(known) else np.inf
    return BoostedTrees(
        roots, np.zeros(how.trees, dtype=np.int64), np.where(inner, nodes[:, 0], 0), threshold,
        np.where(inner, nodes[:, 2], here), np.where(inner, nodes[:, 3], here),
        nodes[:, 4] == 1, value, {}, np.array([base]),
    )  # fmt: skip


def _allowed(n_features: int, seed: int, how: HowToGrow) -> NDArray[np.bool_]:
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


def bin_edges(column: Floats) -> Floats:
    """Limits between at most 64 bins: halfway between values, or at quantiles of many of them.

    scikit-learn bins too, but asks for 254 weighted quantiles a feature, one at a time: on some
    hundred rows that was nine tenths of the time.
    """
    distinct = np.unique(column[~np.isnan(column)])
    if len(distinct) > _BINS:
        known = column[~np.isnan(column)]
        cuts = np.quantile(known, np.arange(1, _BINS) / _BINS, method="nearest")
        return np.unique(cuts)
    below, above = distinct[:-1], distinct[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = below / 2 + above / 2
    return np.where(np.isfinite(middle) & (middle > below), middle, above)


def in_bins(values: Floats, edges: list[Floats], categories: NDArray[np.bool_]) -> Floats:
    """Numbers as bins; categories as they are. A column without a value becomes a constant."""
    found = np.where(np.isnan(values).all(axis=0), 0.0, values)
    for f, limits in enumerate(edges):
        if not categories[f]:
            known = ~np.isnan(found[:, f])
            found[known, f] = np.searchsorted(limits, found[known, f], side="right")
    return found


def in_values(trees: BoostedTrees, edges: list[Floats]) -> BoostedTrees:
    """Thresholds between bins as thresholds of values: at most the number before a bin's limit."""
    threshold = trees.threshold.copy()
    inner = np.flatnonzero(trees.left != np.arange(len(trees.left)))
    for node in inner.tolist():
        limits = edges[int(trees.feature[node])]
        # a threshold beyond all bins parts gaps from values, and stays infinite
        if node not in trees.sets and threshold[node] < len(limits):
            threshold[node] = np.nextafter(limits[int(threshold[node])], -np.inf)
    return replace(trees, threshold=threshold)


def read_trees(grown: HistTrees, categories: Ints) -> BoostedTrees:
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
    return BoostedTrees(
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
