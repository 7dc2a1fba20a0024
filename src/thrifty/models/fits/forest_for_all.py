"""One forest of extremely random trees for several tasks at once.

Every tree is cut for all tasks together, each leaf votes for each task of classes with the log-odds
of the rows of it that have that task's label; tasks of numbers have a say in cuts and importances.
So a label with few rows stands on trees that
the others helped to grow: ten digits on 72 rows of 64 pixels .928 at once, .922 one by one; twelve
labels of yeast .506 and .492 (docs/models.md, Labels at once). A gap is less than every number, as
far from them as a fifth of their spread, so that trees can ask for it. Numbers are cut as they are:
cut at quantiles, of which boosted trees are as good, forests lost .005 on whole rows of yeast and
.014 where half of the cells stand at the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Bools, Floats, Ints
from thrifty.models.fits.boosting import (
    category_sets,
    grow_random_trees,
    where_gaps_stand,
    without_gaps,
)
from thrifty.models.fits.target import Target
from thrifty.models.fits.tree_sums import TreeSum, add_up

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree

__all__ = ["ForestForAll"]

#: trees; 100 had .008 less on yeast at 10 %, .003 at 5 and 20 %, .001 on digits and support2
_TREES = 200
#: of them at least where classes are many, each of which keeps its own copy of a tree; and leaves
#: of all copies, up to which there are more (primary_tumor, 20 and 40 %, two splits: 200 trees lead
#: 60 by .006 to .022)
_TREES_OF_MANY, _LEAVES_IN_ALL = 60, 150_000
#: rows in a leaf: two classes, more of them (digits, soybean, 5 to 40 %: 1 leads 2 by .01)
_IN_LEAF, _IN_LEAF_OF_MANY = 2, 1
#: leaves of a tree at most, about, so that a model stays small; set by hand
_LEAVES = 250
#: rows' worth of what a task's rows are on average that a leaf is shrunk by
_PRIOR = 1.0
#: of the features, what a cut may choose from where labels are numbers; set by hand
_TRIED_FOR_NUMBERS = 1 / 3


class ForestForAll:
    """Trees that were cut for all targets, and what each leaf says of each of them.

    Parameters
    ----------
    values : array of float
        without holes; NaN for gaps
    targets : sequence of Target
        of the same rows
    weights, categories : array
        of the rows; which features are categories
    seed, n_trees : int
        of the cuts; how many trees

    Attributes
    ----------
    importances : array of float
        how much each feature told, summed over the targets

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> two = [Target((X[:, f] > 0).astype(int), 2) for f in (0, 1)]
    >>> grown = ForestForAll(X, two, np.ones(200), np.zeros(4, dtype=bool), 0)
    >>> [bool(((s[:, 0] > 0) == y.codes).mean() > 0.9) for s, y in zip(grown.scores(X), two)]
    [True, True]
    >>> sorted(np.argsort(-grown.importances)[:2].tolist())
    [0, 1]
    >>> kept = grown.tree_sum(0).scores(X)
    >>> bool(np.allclose(kept, grown.scores(X)[0]))
    True
    """

    def __init__(
        self,
        values: Floats,
        targets: Sequence[Target],
        weights: Floats,
        categories: Bools,
        seed: int,
        n_trees: int | None = None,
    ) -> None:
        self._values, self._categories, self._targets = values, categories, tuple(targets)
        self._weights = weights
        self._least, self._middle = where_gaps_stand(values)
        whole = without_gaps(values, self._middle)
        self._grown = _trees(whole, targets, weights, seed, n_trees)
        self._leaves = [tree.apply(whole) for tree in self._grown]
        self.importances: Floats = np.sum(
            [tree.compute_feature_importances() for tree in self._grown], axis=0
        )

    def scores(self, values: Floats) -> list[Floats]:
        """Of each target (rows, columns): what the trees say of each row."""
        whole = without_gaps(values, self._middle)
        found: list[Floats] = []
        leaves = [tree.apply(whole) for tree in self._grown]
        for t in range(len(self._targets)):
            said = [votes[at] for votes, at in zip(self._votes(t), leaves)]
            found.append(np.mean(said, axis=0))
        return found

    def _votes(self, t: int) -> list[Floats]:
        return [
            _votes(leaf, tree.node_count, self._targets[t], self._weights)
            for tree, leaf in zip(self._grown, self._leaves)
        ]

    def tree_sum(self, t: int) -> TreeSum:
        """The trees as one target reads them, to be kept and asked without scikit-learn."""
        votes = np.vstack(self._votes(t)) / len(self._grown)
        columns = votes.shape[1]
        n = len(self._grown)
        parts = [replace(self._structure, column=np.full(n, c)) for c in range(columns)]
        whole = add_up([(1.0, part) for part in parts])
        leaf = self._structure.left == np.arange(len(votes))
        value = np.where(leaf[:, None], votes, 0.0).T.reshape(-1)
        return replace(whole, value=value, base=np.zeros(columns))

    @cached_property
    def _structure(self) -> TreeSum:
        """All trees in one list, without what their leaves say."""
        sizes = [tree.node_count for tree in self._grown]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        begin = np.repeat(roots, sizes)
        nodes = self._grown
        left, right = (
            np.concatenate([getattr(one, side) for one in nodes])
            for side in ("children_left", "children_right")
        )
        at = np.arange(len(left))
        leaf = left < 0
        feature = np.where(leaf, 0, np.concatenate([one.feature for one in nodes])).astype(np.int64)
        cut = np.where(leaf, 0.0, np.concatenate([one.threshold for one in nodes]))
        gaps = ~leaf & (cut < self._least[feature])  # gaps alone on one side: kept as the right one
        low, high = np.where(gaps, right, left), np.where(gaps, left, right)
        made = TreeSum(
            roots=roots,
            column=np.zeros(len(roots), dtype=np.int64),
            feature=feature,
            threshold=np.where(gaps, np.inf, cut),
            left=np.where(leaf, at, low + begin).astype(np.int64),
            right=np.where(leaf, at, high + begin).astype(np.int64),
            gap_left=~gaps & (self._middle[feature] <= cut),
            value=np.zeros(len(left)),
            sets={},
            base=np.zeros(1),
        )
        if not self._categories.any():
            return made
        return replace(made, sets=category_sets(made, self._values, self._categories))


def _trees(
    whole: NDArray[np.float32],
    targets: Sequence[Target],
    weights: Floats,
    seed: int,
    n_trees: int | None,
) -> list[Tree]:
    """Trees over all tasks; a row without a label of one counts there as the commonest class.

    Of two classes the variance of a code is half of Gini's impurity: trees for numbers have the
    same cuts, and are grown in two thirds of the time, since they do not read codes again. Beside
    more than two classes numbers are cut by the fifth that they fall into.
    """
    many = any(target.n_codes > 2 and target.numbers is None for target in targets)
    numbers = any(target.numbers is not None for target in targets)
    y = np.column_stack([_codes(t) if many or t.numbers is None else _spread(t) for t in targets])
    codes: Ints | Floats = y.astype(np.int64) if many else y.astype(np.float64)
    in_leaf = max(_IN_LEAF_OF_MANY if many else _IN_LEAF, len(y) // _LEAVES)
    copies = sum(target.n_codes for target in targets if target.n_codes > 2) * len(y) / in_leaf
    of_many = int(np.clip(_LEAVES_IN_ALL / max(copies, 1.0), _TREES_OF_MANY, _TREES))
    n_features = whole.shape[1]
    return grow_random_trees(
        whole, codes, weights, n_trees=n_trees or (of_many if many else _TREES), in_leaf=in_leaf,
        tried=max(1, int(_TRIED_FOR_NUMBERS * n_features if numbers else np.sqrt(n_features))),
        seed=seed,
    )  # fmt: skip


def _codes(target: Target) -> Ints:
    """The class of each row, the commonest where there is none."""
    return np.where(target.known, target.codes, int(target.sizes.argmax()))


def _spread(target: Target) -> Floats:
    """Numbers with the variance of two even classes; their mean where there is none."""
    assert target.numbers is not None
    y = target.numbers - np.mean(target.numbers[target.known])
    scale = 2 * float(np.std(y[target.known]))
    return np.where(target.known, y / scale if scale > 0 else 0.0, 0.0)


def _votes(leaf: Ints, n_nodes: int, target: Target, weights: Floats) -> Floats:
    """(nodes, columns): log-odds of two classes, logs of more."""
    known = np.flatnonzero(target.known)
    at, w = leaf[known], weights[known]
    share = np.bincount(target.codes[known], w, target.n_codes) + 1e-9
    share = share / share.sum()
    counts = np.bincount(at * target.n_codes + target.codes[known], w, n_nodes * target.n_codes)
    log = np.log(counts.reshape(n_nodes, target.n_codes) + _PRIOR * share)
    if target.n_codes == 2:
        return np.asarray(log[:, 1:] - log[:, :1])
    return np.asarray(log - log.mean(axis=1, keepdims=True))
