"""What was bought for one task: a small table with holes, and what its rows weigh."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import StoreError
from thrifty.typing import AnyArray, Bools, Floats, Ints, Json, JsonLike

if TYPE_CHECKING:
    import pandas


#: features of a model at most: a ridge takes no more, and one that asks for more is no help
MOST_FEATURES = 300


Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """What the columns of the whole table are called, and the words of those that are categories.

    >>> columns = NamedColumns(("age", "plan", "debt"), {"plan": ("basic", "family")})
    >>> columns.frame(np.array([1, 2]), np.array([[1.0, 3.5], [np.nan, np.nan]]))
         plan  debt
    0  family   3.5
    1     NaN   NaN
    """

    names: Sequence[str]
    words: Mapping[str, Sequence[str]]

    def named(self, features: Ints) -> list[str]:
        """Of some features."""
        return [self.names[f] for f in features.tolist()]

    def frame(self, features: Ints, values: Floats) -> pandas.DataFrame:
        """Values of some features under their names; a category by its word, NaN for a gap."""
        import pandas

        columns: dict[str, AnyArray] = dict(zip(self.named(features), values.T))
        for name in columns.keys() & self.words.keys():
            said = np.array([*self.words[name], np.nan], dtype=object)
            places = np.nan_to_num(columns[name], nan=len(said) - 1).astype(np.int64)
            columns[name] = said[places]
        return pandas.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Table:
    """Chosen rows x chosen features, some cells of which were bought.

    Attributes
    ----------
    features : array of int
        (k,) which features, as indices into all N
    rows : array of int
        (m,) which rows of the task
    values : array of float
        (m, k) floats; NaN for a gap that was paid for, and wherever ``bought`` is False
    bought : array of bool
        (m, k) which cells were looked at
    weights : array of float
        (m,) how many rows of the task each row stands for (inverse probability of its choice)
    labels : array
        (m,) class codes, or the numbers themselves for regression
    background : array of float or None
        (k, 2) of Boolean features and two classes: how often each was seen outside the rarer class
        by earlier tasks, and how often it was 1 there; None for other tables
    first : int
        so many features, the leading ones, are known of every row and are a model of their own,
        which the others correct (:mod:`thrifty.models.fits.two_stage`); 0: there is one stage
    categories : tuple of int
        (k,) how many categories each feature has, 0 for numbers and Booleans; empty where there are
        none
    looked : int
        so many rows, the first, chose the features: on them the features look better than they are
    keys : array of int or None
        (m,) which examples these are, the same in every task; None where they have no ids
    groups : array of int or None
        (m,) rows of one group are never parted when some are left out; None: each is its own
    columns : NamedColumns or None
        what the features are called, for estimators that choose them by name

    Examples
    --------
    >>> table = Table(np.array([3, 8]), np.array([0, 1, 2]), np.eye(3, 2), np.ones((3, 2), bool),
    ...               np.ones(3), np.array([0, 1, 0]))
    >>> table.of_features(np.array([0])).features.tolist(), table.is_whole
    ([3], True)
    """

    features: Ints
    rows: Ints
    values: Floats
    bought: Bools
    weights: Floats
    labels: AnyArray
    background: Floats | None = None
    categories: tuple[int, ...] = ()
    first: int = 0
    looked: int = 0
    keys: Keys | None = None
    groups: Ints | None = None
    columns: NamedColumns | None = None

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def is_whole(self) -> bool:
        """Whether every cell of it was bought."""
        return bool(self.bought.all())

    @property
    def judged(self) -> Bools:
        """Rows that say how good a model of it is: of two stages those that the second knows."""
        known = self.bought if self.first else np.ones((self.n_rows, 1), dtype=bool)
        return np.asarray(known.all(axis=1))

    @property
    def chose_nothing(self) -> Bools:
        """Rows that chose no feature, which alone say how good a model is; all where they are few.

        >>> table = Table(np.array([3]), np.arange(90), np.zeros((90, 1)), np.ones((90, 1), bool),
        ...               np.ones(90), np.arange(90) % 2, looked=40)
        >>> int(table.chose_nothing.sum()), int(table.of_rows(np.arange(60)).chose_nothing.sum())
        (50, 60)
        """
        few = 20  # of a class: below it an interval is widened for their number alone
        fresh = np.arange(self.n_rows) >= self.looked
        kinds = self.labels if self.labels.dtype.kind != "f" else np.zeros(self.n_rows)
        enough = all((kinds[fresh] == kind).sum() >= few for kind in np.unique(kinds))
        return fresh if enough else np.ones(self.n_rows, dtype=bool)

    def of_features(self, which: Ints) -> Table:
        """Some of its features, by their positions here."""
        places = np.asarray(which)
        leading = int((places < self.first).sum())
        return replace(
            self,
            first=leading if leading and (places[:leading] < self.first).all() else 0,
            features=self.features[which],
            values=self.values[:, which],
            bought=self.bought[:, which],
            background=None if self.background is None else self.background[which],
            categories=tuple(self.categories[i] for i in which) if self.categories else (),
        )

    def of_rows(self, which: Ints) -> Table:
        """Some of its rows, by their positions here."""
        return replace(
            self,
            rows=self.rows[which],
            values=self.values[which],
            bought=self.bought[which],
            weights=self.weights[which],
            labels=self.labels[which],
            looked=int((np.asarray(which) < self.looked).sum()),
            keys=None if self.keys is None else self.keys[which],
            groups=None if self.groups is None else self.groups[which],
        )

    def weighing_as(self, whole: Table) -> Table:
        """The same rows, so that each class weighs what it weighs in the whole."""
        if self.labels.dtype.kind == "f":  # numbers have no classes
            return self
        weights = self.weights.copy()
        for label in np.unique(self.labels):
            here = self.labels == label
            weights[here] *= whole.weights[whole.labels == label].sum() / weights[here].sum()
        return replace(self, weights=weights)

    def joint(self) -> tuple[Ints, Ints]:
        """The features and the rows of it that were bought together, by their positions here.

        Features join in the order of how often they were bought; of all blocks that so come about,
        the one with the most cells.
        """
        if self.is_whole:
            return np.arange(self.width), np.arange(self.n_rows)
        order = np.argsort(-self.bought.sum(axis=0), kind="stable")
        complete = np.logical_and.accumulate(self.bought[:, order], axis=1).sum(axis=0)
        j = int((complete * np.arange(1, len(complete) + 1)).argmax())
        some = np.sort(order[: j + 1])
        return some, np.flatnonzero(self.bought[:, some].all(axis=1))

    def block(self) -> Table:
        """What was bought together: a table without holes; see :meth:`joint`.

        Of each class another part of the rows was; a class weighs what it weighs here.
        """
        if self.is_whole:
            return self
        features, rows = self.joint()
        return self.of_features(features).of_rows(rows).weighing_as(self)

    def to_dict(self) -> Json:
        """Plain data, for JSON: bits where cells were bought, and values column by column."""
        return {
            "features": self.features.tolist(),
            "rows": self.rows.tolist(),
            "bought": None if self.is_whole else _bits(self.bought),
            "columns": [_column(self.values[self.bought[:, j], j]) for j in range(self.width)],
            "weights": [float(f"{w:.6g}") for w in self.weights.tolist()],
            "labels": self.labels.tolist(),
            "background": None if self.background is None else self.background.tolist(),
            "categories": list(self.categories),
            **({"first": self.first} if self.first else {}),
            **({"looked": self.looked} if self.looked else {}),
            **({} if self.keys is None else {"keys": self.keys.tolist()}),
            **({} if self.groups is None else {"groups": self.groups.tolist()}),
        }

    @property
    def width(self) -> int:
        """How many features it has."""
        return len(self.features)


def _bits(array: Bools) -> str:
    return base64.b64encode(np.packbits(array, axis=None).tobytes()).decode()


def _from_bits(text: str, shape: tuple[int, ...]) -> Bools:
    packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    n = int(np.prod(shape))
    if len(packed) != -(-n // 8):
        raise StoreError(f"a bought table in the store is cut short: {len(packed)} bytes.")
    return np.unpackbits(packed, count=n).astype(bool).reshape(shape)


def _column(values: Floats) -> str | list[float | None]:
    """Bits where all are 0 or 1; else numbers, null for a gap, since JSON has no NaN."""
    if bool(((values == 0) | (values == 1)).all()):
        return _bits(values == 1)
    return [None if value != value else value for value in values.tolist()]


def table_from_dict(data: JsonLike) -> Table:
    """The inverse of :meth:`Table.to_dict`."""
    m, k = len(data["rows"]), len(data["features"])
    values = np.full((m, k), np.nan)
    bits = data["bought"]
    bought = np.ones((m, k), dtype=bool) if bits is None else _from_bits(bits, (m, k))
    for j, column in enumerate(data["columns"]):
        here = bought[:, j]
        if isinstance(column, str):
            values[here, j] = _from_bits(column, (int(here.sum()),))
        else:
            values[here, j] = [np.nan if value is None else value for value in column]

    def read(name: str, dtype: type, *shape: int) -> AnyArray | None:
        kept = data.get(name)
        return None if kept is None else np.array(kept, dtype=dtype).reshape(shape)

    rows = np.array(data["rows"], dtype=np.int64)
    table = Table(
        np.array(data["features"], dtype=np.int64),
        rows,
        values,
        bought,
        np.array(data["weights"], dtype=np.float64),
        np.array(data["labels"]),
        read("background", np.float64, k, 2),
        tuple(data["categories"]),
        int(data.get("first", 0)),
        int(data.get("looked", 0)),
        read("keys", np.uint64, -1),
        read("groups", np.int64, m),
    )
    own = rows >= 0  # 0.2 shared rows with other tasks
    return table if own.all() else table.of_rows(np.flatnonzero(own))
