"""One model that answers from whatever cells of a row are known: boosted trees on masked rows.

A bin stands for "not asked", and every split learns where it goes. Each tree is grown on the rows
with other cells hidden than those before it: beginnings of the fixed order, and draws that like the
first of it. Beside the trees stands how often a feature falls into each of a few groups, class by
class, so that the model can say what a further cell is expected to bring.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.errors import StoreError
from thrifty.kernels.any_subset import add_scores, expected_falls, grow_tree
from thrifty.models.fits.bins import Bins, bins_from_dict, make_bins
from thrifty.typing import Json, JsonLike

__all__ = ["AnySubset", "any_subset_from_dict", "fit_any_subset"]

Codes = NDArray[np.uint8]

# Chosen on the made sets indicator and cube and on digits (`python benchmarks/afa.py`): a rate of
# .3, or leaves with a ridge of .3, lost .05 to .3 of the accuracy at four to ten cells; trees of
# depth 5 and 6, 24 bins or a ridge of 5 gained nothing.
TREES, DEPTH, RATE, RIDGE, LEAST = 150, 4, 0.1, 1.0, 1.0
#: every row so often for a tree, where there are few
COPIES = 4
BINS = 16
#: groups of a feature's values, when it is asked what it would bring
GROUPS = 6
#: rows a tree is grown on
ROWS = 4000
#: sets of known cells, drawn once; a rough model has fewer
MASKS = 6000
#: of them: beginnings of the order, draws that like its first; the rest are even draws
BEGINNINGS, LIKING_FIRST = 0.4, 0.3


@dataclass(frozen=True, eq=False)
class AnySubset:
    """Trees over codes (0: not asked), and what the values of each feature are like by class.

    Attributes
    ----------
    bins : tuple of Bins
        of each feature
    feature, cut, unasked_right, leaf : array
        (trees, nodes) and (trees, leaves, columns); one column where there are two classes
    base : array of float
        (columns,) what every row starts with
    groups : array of int
        (features, g) codes that stand for groups of values; 0: no group
    given : array of float
        (classes, features, g) how often a value falls into a group
    """

    bins: tuple[Bins, ...]
    feature: Ints
    cut: Ints
    unasked_right: Bools
    leaf: Floats
    base: Floats
    groups: Codes
    given: Floats

    def codes(self, values: Floats) -> Codes:
        """(rows, features) codes of values; what no bin was made for is as if not asked."""
        found = [one.codes(x) + 1 for one, x in zip(self.bins, values.T)]
        return np.ascontiguousarray(np.array(found, dtype=np.uint8).T.reshape(values.shape))

    def answers_of(self, j: int) -> tuple[Codes, Floats]:
        """Codes that a cell may have where nothing is known, and how likely each is."""
        shares = np.exp(self.logs(np.zeros((1, len(self.bins)), dtype=np.uint8)))[0]
        groups = np.flatnonzero(self.groups[j])
        return self.groups[j, groups], np.asarray(shares @ self.given[:, j, groups])

    def scores(self, codes: Codes) -> Floats:
        """(rows, columns)"""
        found = np.tile(self.base, (len(codes), 1))
        add_scores(codes, self.feature, self.cut, self.unasked_right, self.leaf, found)
        return found

    def logs(self, codes: Codes) -> Floats:
        """(rows, classes) logarithms of probabilities."""
        return log_shares(self.scores(codes))

    def falls(self, codes: Codes) -> Floats:
        """(rows, features): the fall of the entropy that is expected of each cell not yet known."""
        falls = np.zeros(codes.shape)
        expected_falls(
            codes, self.scores(codes), self.feature, self.cut, self.unasked_right, self.leaf,
            self.groups, self.given, falls,
        )  # fmt: skip
        return falls

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        packed = pack_arrays(
            {
                "feature": self.feature.astype(np.int32).ravel(),
                "cut": self.cut.astype(np.int32).ravel(),
                "unasked_right": self.unasked_right.astype(np.uint8).ravel(),
                "leaf": self.leaf.ravel(),
                "groups": self.groups.ravel(),
                "given": self.given.ravel(),
            }
        )
        return {
            "bins": [one.to_dict() for one in self.bins],
            "base": self.base.tolist(),
            "trees": list(self.leaf.shape),
            "given": list(self.given.shape),
            "arrays": base64.b64encode(packed).decode(),
        }


def log_shares(scores: Floats) -> Floats:
    """Logarithms of probabilities; one column of scores is the log-odds of the second class."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


def any_subset_from_dict(data: JsonLike) -> AnySubset:
    """The inverse of :meth:`AnySubset.to_dict`; numbers that are no trees are refused."""
    arrays = unpack_arrays(base64.b64decode(data["arrays"], validate=True))
    trees, leaves, columns = (int(n) for n in data["trees"])
    classes, d, g = (int(n) for n in data["given"])
    bins = tuple(bins_from_dict(one) for one in data["bins"])
    base = np.array(data["base"], dtype=np.float64)
    sizes = {
        "feature": trees * (leaves - 1),
        "cut": trees * (leaves - 1),
        "unasked_right": trees * (leaves - 1),
        "leaf": trees * leaves * columns,
        "groups": d * g,
        "given": classes * d * g,
    }
    fits = all(arrays[name].shape == (n,) for name, n in sizes.items())
    feature = arrays["feature"].astype(np.int64)
    if not (
        fits
        and leaves >= 1
        and leaves & (leaves - 1) == 0
        and len(bins) == d
        and base.shape == (columns,)
        and columns == (1 if classes == 2 else classes)
        and ((feature >= -1) & (feature < d)).all()
    ):
        raise StoreError("a model of any subset in the store is no set of trees.")
    inner = (trees, leaves - 1)
    return AnySubset(
        bins,
        feature.reshape(inner),
        arrays["cut"].astype(np.int64).reshape(inner),
        arrays["unasked_right"].astype(bool).reshape(inner),
        arrays["leaf"].astype(np.float64).reshape(trees, leaves, columns),
        base,
        arrays["groups"].astype(np.uint8).reshape(d, g),
        arrays["given"].astype(np.float64).reshape(classes, d, g),
    )


def fit_any_subset(
    values: Floats,
    y: Ints,
    weights: Floats,
    categories: Sequence[bool],
    n_classes: int,
    seed: int,
    *,
    trees: int = TREES,
    copies: int = COPIES,
) -> AnySubset:
    """Fit on complete rows, features in the fixed order.

    Fewer ``trees``, which learn as much faster, and ``copies`` of the rows make a rough model soon.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> model = fit_any_subset(X, (X[:, 1] > 0).astype(int), np.ones(300), [False] * 3, 2, 0)
    >>> codes = model.codes(X)
    >>> codes[:, [0, 2]] = 0
    >>> bool(((model.logs(codes)[:, 1] > np.log(0.5)) == (X[:, 1] > 0)).mean() > 0.95)
    True
    >>> int(model.falls(np.zeros((1, 3), dtype=np.uint8)).argmax())
    1
    """
    weights = weights / weights.mean()
    bins = tuple(
        make_bins(x, weights, max_bins=BINS, category=category)
        for x, category in zip(values.T, categories)
    )
    d = values.shape[1]
    shares = np.bincount(y, weights, n_classes) + 0.5
    shares = shares / shares.sum()
    base = np.log(shares[1:] / shares[0]) if n_classes == 2 else np.log(shares)
    columns = len(base)
    n_leaves = 1 << DEPTH
    empty = AnySubset(
        bins,
        np.full((trees, n_leaves - 1), -1, dtype=np.int64),
        np.zeros((trees, n_leaves - 1), dtype=np.int64),
        np.zeros((trees, n_leaves - 1), dtype=bool),
        np.zeros((trees, n_leaves, columns)),
        base,
        np.zeros((d, GROUPS), dtype=np.uint8),
        np.zeros((n_classes, d, GROUPS)),
    )
    codes = empty.codes(values)
    _fill_groups(empty, codes, y, weights)
    _boost(empty, codes, y, weights, n_classes, np.random.default_rng([seed, 271]), copies)
    return empty


def _boost(
    model: AnySubset, codes: Codes, y: Ints, weights: Floats, n_classes: int,
    rng: np.random.Generator, copies: int,
) -> None:  # fmt: skip
    """Grow the trees in place, each on rows with other cells hidden."""
    trees = len(model.leaf)
    masks = _masks(codes.shape[1], MASKS * trees // TREES, rng)
    hot = np.eye(n_classes)[:, 1:] if n_classes == 2 else np.eye(n_classes)
    n_bins = max(int(codes.max()) + 1, 3)
    everyone = np.arange(codes.shape[1], dtype=np.int64)
    scores: Floats
    rate = min(RATE * TREES / trees, 0.25)
    for t in range(trees):
        rows = _drawn(len(codes), rng, copies)
        shown = codes[rows] * masks[rng.integers(len(masks), size=len(rows))]
        scores = np.tile(model.base, (len(rows), 1))
        add_scores(
            shown, model.feature[:t], model.cut[:t], model.unasked_right[:t], model.leaf[:t], scores
        )
        p = np.exp(log_shares(scores))
        p = p[:, 1:] if n_classes == 2 else p
        w = weights[rows][:, None]
        g, h = w * (hot[y[rows]] - p), w * np.maximum(p * (1 - p), 1e-4)
        grow_tree(
            np.ascontiguousarray(shown.T), g, h, everyone, n_bins, DEPTH, rate, RIDGE, LEAST,
            model.feature[t], model.cut[t], model.unasked_right[t], model.leaf[t],
        )  # fmt: skip


def _drawn(n: int, rng: np.random.Generator, copies: int) -> Ints:
    """Every row as often as ROWS allow, at least; some of them where there are more."""
    most = ROWS * copies // COPIES
    if n >= most:
        return np.asarray(rng.choice(n, most, replace=False))
    return np.concatenate([np.arange(n)] * min(most // n, copies))


def _masks(d: int, n: int, rng: np.random.Generator) -> Codes:
    """(n, features): which cells are known; as many small sets as large ones."""
    size = np.floor(np.exp(rng.random(n) * np.log(d + 1))).astype(np.int64)
    kind = rng.random(n)
    rank = np.arange(d)
    draw = rng.gumbel(size=(n, d))
    liking = draw - 0.7 * np.log1p(rank)
    keys = np.where((kind < BEGINNINGS + LIKING_FIRST)[:, None], liking, draw)
    keys = np.where((kind < BEGINNINGS)[:, None], -rank.astype(np.float64), keys)
    order = np.argsort(-keys, axis=1)
    masks = np.zeros((n, d), dtype=np.uint8)
    np.put_along_axis(masks, order, (rank < size[:, None]).astype(np.uint8), axis=1)
    return masks


def _fill_groups(model: AnySubset, codes: Codes, y: Ints, weights: Floats) -> None:
    """Groups of about equal weight along a feature's codes, and how often they are in a class."""
    n_classes, d, n_groups = model.given.shape
    for j in range(d):
        mass = np.bincount(codes[:, j], weights, 256)
        used = np.flatnonzero(mass)
        used = used[used > 0]
        if not len(used):
            continue
        part = np.cumsum(mass[used]) - mass[used] / 2
        group = np.minimum((part / mass[used].sum() * n_groups).astype(np.int64), n_groups - 1)
        if len(used) <= n_groups:
            group = np.arange(len(used))
        for g in np.unique(group):
            members = used[group == g]
            model.groups[j, g] = members[np.argmax(mass[members])]
            here = np.isin(codes[:, j], members)
            model.given[:, j, g] = np.bincount(y[here], weights[here], n_classes)
        total = model.given[:, j].sum(axis=1, keepdims=True)
        prior = model.given[:, j].sum(axis=0) / max(model.given[:, j].sum(), 1e-12)
        model.given[:, j] = (model.given[:, j] + 2.0 * prior) / (total + 2.0)
