"""Growing boosted trees, as plain arrays.

Numbers and two classes are boosted by a kernel of ours, which computes what scikit-learn's
HistGradientBoosting does; that itself grows trees over categories and for more classes, and they
are read out of it. Predictions agree with scikit-learn's to the last digits
(tests/models/test_boosted.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import logit

from thrifty.array_types import Bools, Floats, Ints
from thrifty.kernels.boosting import boost_trees
from thrifty.models.fits.tree_sums import TreeSum, bin_edges, in_bins, in_values

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    HistTrees: TypeAlias = HistGradientBoostingClassifier | HistGradientBoostingRegressor

__all__ = ["HowToGrow", "grow_boosted"]

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
    return TreeSum(
        roots, np.zeros(how.trees, dtype=np.int64), np.where(inner, nodes[:, 0], 0), threshold,
        np.where(inner, nodes[:, 2], here), np.where(inner, nodes[:, 3], here),
        nodes[:, 4] == 1, value, {}, np.array([base]),
    )  # fmt: skip


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
