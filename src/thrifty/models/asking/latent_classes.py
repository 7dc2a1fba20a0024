"""A model that answers from any cells: each class is a few groups of rows.

Within a group the cells are independent of each other (a mixture of naive Bayes models, also known
as latent class analysis; Lazarsfeld, 1950), so that cells that are not known are simply left out,
and what a further cell is expected to bring is exact. Groups are found in two ways. *Rows that are
alike*: tables are fitted by expectation and maximisation on bins; a group is drawn towards its
class, a class towards all rows. *Contexts*: rows are parted at the features that say which of the
others count (a pointer, a department, a season), and within a context a feature that says nothing
of the class beyond chance is the same for all classes.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.cluster import KMeans

from thrifty.cells.ledger.purchase import pack_arrays, unpack_arrays
from thrifty.errors import StoreError
from thrifty.models.scorecard import Bins, bins_from_dict, make_bins
from thrifty.typing import Bools, Floats, Ints, Json, JsonLike

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
#: contexts at most; rows of a context for each class; parts of a feature there; and rows' worth of
#: the context in the tables of a class there: a first look at cube-nm and indicator
CONTEXTS, CONTEXT_ROWS, PARTS, OF_CONTEXT = 8, 10, 4, 4.0
_STRETCHES = (0.3, 0.5, 0.7, 1.0)


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
    values: Floats, y: Ints, weights: Floats, categories: Sequence[bool], n_classes: int, seed: int
) -> LatentClasses | None:
    """Fit on complete rows, in the way that says more of a half of the rows that is held out.

    None: of two classes, where no feature says which of the others count. A fixed order serves
    such rows as well.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = (X[:, 1] > 0).astype(int) + (X[:, 1] > 1)
    >>> model = fit_latent_classes(X, y, np.ones(300), [False] * 3, 3, 0)
    >>> codes = model.codes(X)
    >>> codes[:, [0, 2]] = 0
    >>> bool((model.logs(codes).argmax(axis=1) == y).mean() > 0.9)
    True
    >>> int(model.falls(np.zeros((1, 3), dtype=np.uint8)).argmax())
    1
    """
    coded = _Coded.of(values, weights, categories)
    everyone = np.arange(len(y))
    parts = _contexts(coded, y, n_classes)
    if n_classes == 2 and not parts.any():
        return None
    half = np.zeros(len(y), dtype=bool)
    half[np.random.default_rng([seed, 273]).permutation(len(y))[::2]] = True
    here, other = np.flatnonzero(half), np.flatnonzero(~half)
    plain = _of_contexts if n_classes == 2 else _of_groups
    rival = _loss(plain(coded, y, n_classes, here, seed, 0 * parts), coded, y, other)
    if _loss(_of_contexts(coded, y, n_classes, here, seed, parts), coded, y, other) < rival:
        return _of_contexts(coded, y, n_classes, everyone, seed, parts)
    return None if n_classes == 2 else _of_groups(coded, y, n_classes, everyone, seed, parts)


def _loss(model: LatentClasses, coded: _Coded, y: Ints, rows: Ints) -> float:
    """Of held-out rows, with the stretch that they ask for: cells are not independent."""
    logs = model.logs(coded.codes[rows])
    told = [log_softmax(stretch * logs, axis=1) for stretch in _STRETCHES]
    return float(min(-one[np.arange(len(rows)), y[rows]].mean() for one in told))


@dataclass(frozen=True, eq=False)
class _Coded:
    """Rows in bins, what they weigh, and one column for each code."""

    bins: tuple[Bins, ...]
    codes: Codes
    weights: Floats
    hot: Floats
    tables: _Tables

    @classmethod
    def of(cls, values: Floats, weights: Floats, categories: Sequence[bool]) -> _Coded:
        weights = weights / weights.mean()
        bins = tuple(
            make_bins(x, weights, max_bins=BINS, category=category)
            for x, category in zip(values.T, categories)
        )
        sizes = np.array([len(one) + 1 for one in bins])
        empty = LatentClasses(bins, np.zeros(1, np.int64), np.zeros(1), np.zeros((1, sizes.sum())))
        codes = empty.codes(values)
        hot = np.zeros((len(values), sizes.sum()))
        hot[np.arange(len(values))[:, None], empty.begin[:-1] + codes] = 1.0
        return cls(bins, codes, weights, hot, _Tables(empty.begin, _spreading(bins)))

    def table(self, rows: Ints, towards: Floats | None, pull: float) -> Floats:
        """Shares of codes among some rows, drawn towards others."""
        towards = np.ones(self.hot.shape[1]) if towards is None else towards
        return self.tables.of(self.weights[rows] @ self.hot[rows], towards, pull)

    def cut(self, most: int) -> Ints:
        """(rows, features): codes in at most so many parts of as many rows."""
        found = np.zeros(self.codes.shape, dtype=np.int64)
        for j, x in enumerate(self.codes.T):
            kinds, place = np.unique(x, return_inverse=True)
            limits = np.unique(np.quantile(x, np.arange(1, most) / most, method="lower"))
            found[:, j] = place if len(kinds) <= most else np.searchsorted(limits, x)
        return found

    def model(self, class_of: list[int], shares: list[float], told: list[Floats]) -> LatentClasses:
        """Of groups, their classes, the logarithms of their shares and of their tables."""
        logs = np.vstack(told)
        logs[:, self.tables.begin[:-1]] = 0.0
        share = np.array(shares) - np.log(np.exp(shares).sum())
        return LatentClasses(self.bins, np.array(class_of), share, logs)


def _contexts(coded: _Coded, y: Ints, n_classes: int) -> Ints:
    """The context of each row: parts of the rows in which other features tell the class.

    Rows are parted at one feature after another, where that raises what all others say of the class
    most, beyond what it would by chance.
    """
    fine, rough = coded.cut(2 * PARTS), coded.cut(PARTS)
    found = np.zeros(len(y), dtype=np.int64)
    splits = {0: _split(fine, rough, y, np.arange(len(y)), n_classes)}
    while len(splits) < CONTEXTS:
        part, (rise, below) = max(splits.items(), key=lambda one: one[1][0])
        if rise < rough.shape[1]:
            break
        rows, new = np.flatnonzero(found == part), len(splits)
        found[rows[~below]] = new
        for one in (part, new):
            splits[one] = _split(fine, rough, y, np.flatnonzero(found == one), n_classes)
    return found


def _split(fine: Ints, rough: Ints, y: Ints, rows: Ints, n_classes: int) -> tuple[float, Bools]:
    """What parting some rows in two raises at most, and which of them are on the lower side."""
    n, k = rough.shape[1], int(rough.max()) + 1
    hot = np.zeros((len(rows), n * k))
    hot[np.arange(len(rows))[:, None], k * np.arange(n) + rough[rows]] = 1.0
    classes = np.eye(n_classes)[y[rows]]

    def said(counts: Floats) -> Floats:  # (..., classes, n * k): of each feature, in nats of rows
        return _told(np.moveaxis(counts.reshape(*counts.shape[:-1], n, k), -2, -3))

    whole = classes.T @ hot
    shown = (whole.sum(axis=0).reshape(n, k) > 0).sum(axis=1) - 1
    chance = shown * (len(np.unique(y[rows])) - 1) / 2
    best, best_side = 0.0, np.ones(len(rows), dtype=bool)
    for f in range(n):
        sides = np.eye(int(fine.max()) + 1)[fine[rows, f]]
        each = np.einsum("rs,rc->rsc", sides, classes).reshape(len(rows), -1).T @ hot
        below = np.cumsum(each.reshape(sides.shape[1], n_classes, -1), axis=0)[:-1]
        size = below.sum(axis=(1, 2)) / n
        rise = said(below) + said(whole - below) - said(whole) - chance
        rise[:, f] = 0.0
        clear = np.maximum(rise - 2 * np.sqrt(chance), 0.0).sum(axis=1)
        clear[np.minimum(size, len(rows) - size) < CONTEXT_ROWS * n_classes] = 0.0
        if len(clear) and clear.max() > best:
            best, best_side = float(clear.max()), fine[rows, f] <= int(clear.argmax())
    return best, best_side


def _told(counts: Floats) -> Floats:
    """What columns say of rows, times how many there are; counts (..., rows, columns)."""
    each, both = _logged(counts).sum(axis=(-1, -2)), counts.sum(axis=(-1, -2))
    rows, columns = _logged(counts.sum(axis=-1)).sum(-1), _logged(counts.sum(axis=-2)).sum(-1)
    return np.asarray(each + _logged(both) - rows - columns)


def _of_contexts(
    coded: _Coded, y: Ints, n_classes: int, rows: Ints, seed: int, parts: Ints
) -> LatentClasses:
    """A group for each class and context; a feature says of classes what is more than chance."""
    rough, every = coded.cut(PARTS), coded.table(rows, None, 1.0)
    n, k = rough.shape[1], int(rough.max()) + 1
    class_of, share, told = list[int](), list[float](), list[Floats]()
    for part in np.unique(parts[rows]).tolist():
        here = rows[parts[rows] == part]
        table = coded.table(here, every, OF_ALL)
        counts = np.zeros((n, n_classes, k))
        np.add.at(counts, (np.arange(n), y[here][:, None], rough[here]), 1.0)
        freedom = np.maximum((counts.sum(axis=1) > 0).sum(axis=1) - 1, 0)
        freedom = freedom * (len(np.unique(y[here])) - 1)
        by_chance = freedom + np.sqrt(2.0 * freedom)
        trust = np.clip(1 - by_chance / np.maximum(2 * _told(counts), 1e-9), 0.0, 1.0)
        trust = np.repeat(trust, np.diff(coded.tables.begin))
        for c in range(n_classes):
            own = here[y[here] == c]
            share.append(float(np.log(coded.weights[own].sum() + 0.5) - np.log(len(rows))))
            told.append(np.log(trust * coded.table(own, table, OF_CONTEXT) + (1 - trust) * table
                               + 1e-9))  # fmt: skip
            class_of.append(c)
    return coded.model(class_of, share, told)


def _of_groups(
    coded: _Coded, y: Ints, n_classes: int, rows: Ints, seed: int, parts: Ints
) -> LatentClasses:
    """Some groups of each class, of rows that are alike."""
    rng, sizes = np.random.default_rng([seed, 272]), np.array([len(b) + 1 for b in coded.bins])
    every, total = coded.table(rows, None, 1.0), coded.weights[rows].sum()
    class_of, share, told = list[int](), list[float](), list[Floats]()
    for c in range(n_classes):
        here = rows[y[rows] == c]
        w, n_groups = coded.weights[here], min(GROUPS, max(len(here) // ROWS, 1))
        its, again = coded.table(here, every, OF_ALL), STARTS if n_groups > 1 else 1
        part = max(float(w.sum() / total) / again, 1e-9)
        for _ in range(again):
            groups = _alike(coded.codes[here] / sizes, n_groups, rng)
            size, logs = _fitted(coded.tables, coded.hot[here], w, groups, its)
            class_of += [c] * len(size)
            share += (size + np.log(part)).tolist()
            told.append(logs)
    return coded.model(class_of, share, told)


def _fitted(
    tables: _Tables, hot: Floats, weights: Floats, groups: Floats, its: Floats
) -> tuple[Floats, Floats]:
    """Logarithms of the groups' shares of a class and of their tables, from rows of it.

    ``groups`` (rows, groups): to which group a row belongs, to begin with; ``its``: the table of
    the class.
    """
    for _ in range(ROUNDS):
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
    n_groups = min(n_groups, len(np.unique(places, axis=0)))
    groups = KMeans(n_groups, n_init=1, random_state=int(rng.integers(2**31)))
    return np.asarray(np.eye(n_groups)[groups.fit_predict(places)])
