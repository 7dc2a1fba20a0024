"""Which features a reader has, and where the source keeps each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thrifty.cells.sources import Source
from thrifty.cells.sources.checks import default_names
from thrifty.errors import BadInput, FeaturesChanged
from thrifty.typing import Bools, Floats, Ints


def checked_indices(given: object, n: int, what: str) -> Ints:
    """Indices of rows or features, all of them below ``n``.

    >>> checked_indices(2, 3, "row").tolist()
    [2]
    """
    at = np.atleast_1d(np.asarray(given, dtype=np.int64))
    if len(at) and (at.min() < 0 or at.max() >= n):
        raise BadInput(
            f"{what} indices must lie in 0..{n - 1}; got {int(at.min())}..{int(at.max())}."
        )
    return at


class FeatureColumns:
    """Features, and the source's column of each: all of a source in its order, or those of a match.

    Those of a match that the source lacks are constant 0 and free. Several features may be read
    from one column, as the bits of a cell are (:mod:`thrifty.cells.bit_cells`).
    """

    #: the column of each feature, -1 where the source has none; None: a feature's index is its
    #: column
    place: Ints | None = None
    #: the source's columns on offer where these are not all of them
    only: Ints | None = None
    _boolean: Bools | None = None

    def __init__(self, source: Source, match: Match | None = None) -> None:
        self._source = source
        self.names: tuple[str, ...] = source.feature_names if match is None else match.names
        self.n = self.n_offered = len(self.names)
        if match is not None:
            self.place = match.place
            here = match.place >= 0
            there = match.place[here]
            self.n_offered = len(there)
            self.only = there if len(there) < source.n_features else None
            self._boolean = np.ones(self.n, dtype=np.bool_)
            self._boolean[here] = source.boolean[there]

    @property
    def boolean(self) -> Bools:
        """Which of them are Boolean."""
        return self._source.boolean if self._boolean is None else self._boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        """The words of those that are categories, as the source knows them by now."""
        there = self._source.categories
        if self.place is None:
            return there
        return {f: words for c, words in there.items() for f in self._read_from.get(c, ())}

    @property
    def absent(self) -> Bools:
        """Which features the source lacks."""
        return np.zeros(self.n, dtype=np.bool_) if self.place is None else self.place < 0

    @property
    def offered(self) -> Ints:
        """The source's columns that can be had."""
        return np.arange(self.n) if self.place is None else self.place[self.place >= 0]

    @cached_property
    def _read_from(self) -> dict[int, list[int]]:
        """The features of each column."""
        found: dict[int, list[int]] = {}
        for f, column in enumerate(() if self.place is None else self.place.tolist()):
            found.setdefault(column, []).append(f)
        return found

    def columns(self, features: Ints) -> Ints:
        """The source's column of each feature; -1 where it has none."""
        return features if self.place is None else self.place[features]

    def in_source(self, features: Sequence[int]) -> list[int]:
        """The same of a few features."""
        return list(map(int, features if self.place is None else self.place[list(features)]))

    def of_columns(self, columns: Iterable[int]) -> tuple[int, ...]:
        """The features that are read from some columns."""
        if self.place is None:
            return tuple(columns)
        return tuple(f for c in columns for f in self._read_from.get(c, ()))

    def spread(self, values: Floats, absent: Floats) -> Floats:
        """Values of columns as those of features; what the source lacks has its own."""
        return values if self.place is None else np.where(self.absent, absent, values[self.place])


@dataclass(frozen=True, eq=False)
class Match:
    """The features as somebody knows them, and the source's column of each; -1: it has none."""

    names: tuple[str, ...]
    place: Ints

    @property
    def absent(self) -> Bools:
        """Which features the source does not have."""
        return np.asarray(self.place < 0)


def told_names(names: Sequence[str]) -> bool:
    """Whether names say something; x0, x1, ... are what Thrifty calls features without names."""
    return tuple(names) != default_names(len(names))


def match_features(
    names: Sequence[str],
    source: Source,
    *,
    needed: Iterable[int] | None = None,
    whose: str = "the model",
    named: bool | None = None,
) -> Match | None:
    """Find each of ``names`` in a source: by name, or by place where one side has no names.

    Parameters
    ----------
    names : sequence of str
        the features in the order that their indices mean
    needed : iterable of int or None
        indices that may be asked for and must be there; None: all of them
    whose : str
        who knows the features by these names, for the error
    named : bool or None
        whether ``names`` came from a user; None: unless they are x0, x1, ...

    Notes
    -----
    Returns None where the source has exactly these features in this order.

    Examples
    --------
    >>> frame = Source.from_array(np.eye(3, dtype=bool), feature_names=["c", "a", "b"])
    >>> match_features(["a", "b", "d"], frame, needed=[0, 1]).place.tolist()
    [1, 2, -1]
    """
    mine = tuple(names)
    if mine == source.feature_names:
        return None
    told = told_names(mine) if named is None else named
    if not (told and source.named):
        if len(mine) != source.n_features:
            raise FeaturesChanged(
                f"X has {source.n_features} features, but {whose} is expecting {len(mine)} "
                "features as input. Bring the same features in the same order, or features with "
                "names."
            )
        return None
    at = {name: i for i, name in enumerate(source.feature_names)}
    place = np.array([at.get(name, -1) for name in mine], dtype=np.int64)
    wanted = range(len(mine)) if needed is None else needed
    lacking = [mine[i] for i in wanted if place[i] < 0]
    if lacking:
        shown = ", ".join(map(repr, source.feature_names[:5]))
        raise FeaturesChanged(
            f"{whose} may ask for {lacking[0]!r} and X does not have it ({len(lacking)} lacking: "
            f"{lacking[:5]}); X has {shown}{', ...' if source.n_features > 5 else ''}. Add the "
            f"column, or rename it as {whose} knows it."
        )
    return Match(mine, place)
