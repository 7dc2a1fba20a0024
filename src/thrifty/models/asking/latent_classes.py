"""Another model that answers from any cells: each class is a few groups of rows that are alike.

Within a group the cells are independent of each other (a mixture of naive Bayes models, also known
as latent class analysis; Lazarsfeld, 1950), so that cells that are not known are simply left out,
and what a further cell is expected to bring is exact. Tables are fitted by expectation and
maximisation on bins; a group is drawn towards its class, a class towards all rows.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from thrifty.array_types import Floats, Ints
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.errors import StoreError
from thrifty.models.fits.bins import Bins, bins_from_dict, make_bins
from thrifty.typing import Json, JsonLike

__all__ = ["LatentClasses", "fit_latent_classes", "latent_classes_from_dict"]

Codes = NDArray[np.uint8]

# Chosen on cube and digits (`python benchmarks/afa.py`): one group of each class had .69 and .78 of
# digits right at 4 and 6 cells, three .71 and .84, six .74 and .87 and ten no more; six rows' worth
# of the class in the tables of a group .73 and .86. What else stands here was set by hand.
BINS = 24
#: groups of a class at most, and rows that each of them needs
GROUPS, ROWS = 6, 10
#: rows' worth of all rows in the tables of a class, and of its class in those of a group
OF_ALL, OF_CLASS = 8.0, 1.5
#: how often neighbouring bins of a number are averaged
SMOOTHED = 2
#: the mean of so many fits, which begin at other rows
STARTS = 3
#: rounds of expectation and maximisation
ROUNDS = 12
#: answers of a feature that are told apart when it is asked what it would bring
ANSWERS = 8


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """Groups of rows and how often each code of a feature is seen in them.

    Attributes
    ----------
    bins : tuple of Bins
        of each feature; codes are bins + 1, and 0 where a cell was not asked
    class_of : array of int
        (groups,) the class of a group
    share : array of float
        (groups,) logarithm of its share of all rows
    told : array of float
        (groups, codes of all features) logarithms of the shares of codes; 0 where not asked
    """

    bins: tuple[Bins, ...]
    class_of: Ints
    share: Floats
    told: Floats

    @cached_property
    def begin(self) -> Ints:
        """Where the codes of each feature begin, and the end."""
        return np.concatenate([[0], np.cumsum([len(one) + 1 for one in self.bins])])

    @cached_property
    def _answers(self) -> tuple[list[Ints], Ints, Floats]:
        """Codes that stand for the answers of each feature, where they begin, and how often each
        answer is given in a group (groups, answers)."""
        codes, sums = [], []
        for a, b in zip(self.begin[:-1], self.begin[1:]):
            table = np.exp(self.told[:, a + 1 : b])
            mass = np.exp(self.share) @ table
            middle = (np.cumsum(mass) - mass / 2) / max(float(mass.sum()), 1e-12)
            part = np.minimum((middle * ANSWERS).astype(np.int64), ANSWERS - 1)
            part = np.arange(len(mass)) if len(mass) <= ANSWERS else part
            each = [np.flatnonzero(part == k) for k in np.unique(part)]
            codes.append(np.array([1 + some[np.argmax(mass[some])] for some in each]))
            sums.append(np.column_stack([table[:, some].sum(axis=1) for some in each]))
        sizes = [len(some) for some in codes]
        return codes, np.cumsum([0, *sizes[:-1]]), np.hstack(sums)

    def codes(self, values: Floats) -> Codes:
        """(rows, features) codes of values; what no bin was made for is as if not asked."""
        found = [one.codes(x) + 1 for one, x in zip(self.bins, values.T)]
        return np.ascontiguousarray(np.array(found, dtype=np.uint8).T.reshape(values.shape))

    def answers_of(self, j: int) -> tuple[Codes, Floats]:
        """Codes that a cell may have where nothing is known, and how likely each is."""
        codes, begin, often = self._answers
        here = often[:, begin[j] : begin[j] + len(codes[j])]
        return codes[j].astype(np.uint8), np.asarray(np.exp(self.share) @ here)

    def logs(self, codes: Codes) -> Floats:
        """(rows, classes) logarithms of probabilities."""
        return np.log(np.maximum(self._groups(codes) @ self._of_classes, 1e-12))

    def falls(self, codes: Codes) -> Floats:
        """(rows, features): the fall of the entropy that is expected of each cell not yet known."""
        _, begin, often = self._answers
        group = self._groups(codes)
        share = group @ self._of_classes
        falls = np.zeros(codes.shape) - _logged(share).sum(axis=1, keepdims=True)
        for c in range(share.shape[1]):
            of = self.class_of == c
            falls += np.add.reduceat(_logged(group[:, of] @ often[of]), begin, axis=1)
        falls -= np.add.reduceat(_logged(group @ often), begin, axis=1)
        return np.where(codes == 0, falls, 0.0)

    @property
    def _of_classes(self) -> Floats:
        return np.eye(int(self.class_of.max()) + 1)[self.class_of]

    def _groups(self, codes: Codes) -> Floats:
        """(rows, groups) how likely a row is in each group."""
        found = np.tile(self.share, (len(codes), 1))
        for j in np.flatnonzero(codes.any(axis=0)).tolist():
            found += self.told.T[self.begin[j] + codes[:, j]]
        return np.asarray(softmax(found, axis=1))

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        packed = pack_arrays({"share": self.share, "told": self.told.ravel()})
        return {
            "kind": "latent classes",
            "bins": [one.to_dict() for one in self.bins],
            "class_of": self.class_of.tolist(),
            "arrays": base64.b64encode(packed).decode(),
        }


def _logged(p: Floats) -> Floats:
    """p log p, nothing where p is nothing."""
    return np.asarray(p * np.log(np.maximum(p, 1e-12)))


def latent_classes_from_dict(data: JsonLike) -> LatentClasses:
    """The inverse of :meth:`LatentClasses.to_dict`; numbers that are no tables are refused."""
    arrays = unpack_arrays(base64.b64decode(data["arrays"], validate=True))
    bins = tuple(bins_from_dict(one) for one in data["bins"])
    class_of = np.array(data["class_of"], dtype=np.int64)
    n, width = len(class_of), sum(len(one) + 1 for one in bins)
    share, told = arrays["share"], arrays["told"]
    # every class has a group: a larger number would be room for classes that are not there
    if not n or not 0 <= class_of.min() <= class_of.max() < n:
        raise StoreError("a model of latent classes in the store has groups of no class.")
    if share.shape != (n,) or told.shape != (n * width,):
        raise StoreError("a model of latent classes in the store has no tables.")
    return LatentClasses(bins, class_of, share, told.reshape(n, width))


def fit_latent_classes(
    values: Floats,
    y: Ints,
    weights: Floats,
    categories: Sequence[bool],
    n_classes: int,
    seed: int,
    *,
    rounds: int = ROUNDS,
    starts: int = STARTS,
) -> LatentClasses:
    """Fit on complete rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> model = fit_latent_classes(X, (X[:, 1] > 0).astype(int), np.ones(300), [False] * 3, 2, 0)
    >>> codes = model.codes(X)
    >>> codes[:, [0, 2]] = 0
    >>> bool(((model.logs(codes)[:, 1] > np.log(0.5)) == (X[:, 1] > 0)).mean() > 0.9)
    True
    >>> int(model.falls(np.zeros((1, 3), dtype=np.uint8)).argmax())
    1
    """
    weights = weights / weights.mean()
    bins = tuple(
        make_bins(x, weights, max_bins=BINS, category=category)
        for x, category in zip(values.T, categories)
    )
    sizes = np.array([len(one) + 1 for one in bins])
    empty = LatentClasses(bins, np.zeros(1, np.int64), np.zeros(1), np.zeros((1, sizes.sum())))
    codes, rng = empty.codes(values), np.random.default_rng([seed, 272])
    hot = np.zeros((len(y), sizes.sum()))
    hot[np.arange(len(y))[:, None], empty.begin[:-1] + codes] = 1.0
    tables = _Tables(empty.begin, _spreading(bins))
    every = tables.of(weights @ hot, np.ones(hot.shape[1]), 1.0)
    class_of, share, told = [], [], []
    for c in range(n_classes):
        here = np.flatnonzero(y == c)
        w, n_groups = weights[here], min(GROUPS, max(len(here) // ROWS, 1))
        its = tables.of(w @ hot[here], every, OF_ALL)
        again = starts if n_groups > 1 else 1
        part = max(float(w.sum() / weights.sum()) / again, 1e-9)
        for _ in range(again):
            groups = _alike(codes[here] / sizes, n_groups, rng)
            size, logs = _fitted(tables, hot[here], w, groups, its, rounds)
            class_of += [c] * len(size)
            share.append(size + np.log(part))
            told.append(logs)
    logs = np.vstack(told)
    logs[:, empty.begin[:-1]] = 0.0
    return LatentClasses(bins, np.array(class_of), np.concatenate(share), logs)


def _fitted(
    tables: _Tables, hot: Floats, weights: Floats, groups: Floats, its: Floats, rounds: int
) -> tuple[Floats, Floats]:
    """Logarithms of the groups' shares of a class and of their tables, from rows of it.

    ``groups`` (rows, groups): to which group a row belongs, to begin with; ``its``: the table of
    the class.
    """
    for _ in range(rounds):
        counted = groups * weights[:, None]
        logs = np.log(tables.of(counted.T @ hot, its, OF_CLASS))
        size = np.log(counted.sum(axis=0) + 1.0)
        size -= np.log(np.exp(size).sum())
        groups = np.asarray(softmax(hot @ logs.T + size, axis=1))
    return size, logs


@dataclass(frozen=True, eq=False)
class _Tables:
    """Counts of codes as shares of each feature's codes, neighbours averaged by ``spread``."""

    begin: Ints
    spread: Floats

    def of(self, counts: Floats, towards: Floats, rows: float) -> Floats:
        """Drawn towards others by so many rows' worth; what was not asked is in none."""
        found = counts @ self.spread + rows * towards
        found[..., self.begin[:-1]] = 0.0
        total = np.add.reduceat(found, self.begin[:-1], axis=-1)
        shares = found / np.maximum(np.repeat(total, np.diff(self.begin), axis=-1), 1e-12)
        return np.asarray(np.maximum(shares, 1e-9))


def _spreading(bins: Sequence[Bins]) -> Floats:
    """(codes, codes) what averages neighbouring bins of numbers, some times over."""
    found = np.eye(sum(len(one) + 1 for one in bins))
    at = 0
    for one in bins:
        n = len(one) - 1  # without the bin for gaps
        if one.groups is None and n > 3:
            near = 0.5 * np.eye(n) + 0.25 * np.eye(n, k=1) + 0.25 * np.eye(n, k=-1)
            near[0, 0] = near[-1, -1] = 0.75
            found[at + 1 : at + 1 + n, at + 1 : at + 1 + n] = np.linalg.matrix_power(near, SMOOTHED)
        at += n + 2
    return found


def _alike(places: Floats, n_groups: int, rng: np.random.Generator) -> Floats:
    """(rows, groups) to begin with: k-means on the places of values among a feature's bins."""
    chosen = [int(rng.integers(len(places)))]
    for _ in range(n_groups - 1):
        away = np.min([((places - places[i]) ** 2).sum(axis=1) for i in chosen], axis=0)
        if away.sum() <= 0:
            break
        chosen.append(int(rng.choice(len(places), p=away / away.sum())))
    centres, member = places[chosen], np.ones((len(places), 1))
    for _ in range(8):
        near = ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        member = np.eye(len(centres))[near]
        count = member.sum(axis=0)[:, None]
        centres = np.where(count > 0, member.T @ places / np.maximum(count, 1), centres)
    return member
