"""Which features a door has, and where the source keeps each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources import Source
from thrifty.cells.sources.checks import default_names
from thrifty.errors import BadInput, FeaturesChanged

__all__ = [
    "Features",
    "Match",
    "MatchedFeatures",
    "checked_indices",
    "match_features",
    "told_names",
]


def checked_indices(given: object, n: int, what: str) -> NDArray[np.int64]:
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


class Features:
    """All features of a source, in its order: the index of a feature is its column."""

    #: whether features and columns are two things
    matched = False
    #: the source's columns on offer where these are not all of them
    only: NDArray[np.int64] | None = None

    def __init__(self, source: Source) -> None:
        self._source = source
        self.names, self.n = source.feature_names, source.n_features
        self.n_offered = source.n_features

    @property
    def boolean(self) -> NDArray[np.bool_]:
        return self._source.boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        return self._source.categories

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Which features the source lacks."""
        return np.zeros(self.n, dtype=np.bool_)

    @property
    def offered(self) -> NDArray[np.int64]:
        """The source's columns that can be had."""
        return np.arange(self.n)

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """The source's column of each feature; -1 where it has none."""
        return features

    def in_source(self, features: Sequence[int]) -> list[int]:
        """The same of a few features."""
        return [int(f) for f in features]

    def of_columns(self, columns: Sequence[int]) -> tuple[int, ...]:
        """The features that some columns are."""
        return tuple(columns)

    def spread(
        self, values: NDArray[np.float64], absent: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Values of columns as those of features; what the source lacks has its own."""
        return values


class MatchedFeatures(Features):
    """The features of a match, in its order; those that the source lacks are constant 0, free."""

    matched = True

    def __init__(self, source: Source, match: Match) -> None:
        self._source, self._match, self._place = source, match, match.place
        here = np.flatnonzero(match.place >= 0)
        self._here, self._there = here, match.place[here]
        self.names, self.n, self.n_offered = match.names, len(match.place), len(here)
        self.only = self._there if len(here) < source.n_features else None
        #: where the source's columns stand here; -1: not at all
        self._back = np.full(source.n_features, -1, dtype=np.int64)
        self._back[self._there] = here
        self._boolean = np.ones(self.n, dtype=np.bool_)
        self._boolean[here] = source.boolean[self._there]

    @property
    def boolean(self) -> NDArray[np.bool_]:
        return self._boolean

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        there = self._source.categories
        return {int(self._back[f]): c for f, c in there.items() if self._back[f] >= 0}

    @property
    def absent(self) -> NDArray[np.bool_]:
        return self._match.absent

    @property
    def offered(self) -> NDArray[np.int64]:
        return self._there

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._place[features]

    def in_source(self, features: Sequence[int]) -> list[int]:
        return [int(self._place[f]) for f in features]

    def of_columns(self, columns: Sequence[int]) -> tuple[int, ...]:
        turned = [int(self._back[c]) for c in columns]
        return tuple(f for f in turned if f >= 0)

    def spread(
        self, values: NDArray[np.float64], absent: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        out = absent.copy()
        out[self._here] = values[self._there]
        return out


@dataclass(frozen=True, eq=False)
class Match:
    """The features as somebody knows them, and the source's column of each; -1: it has none."""

    names: tuple[str, ...]
    place: NDArray[np.int64]

    @property
    def absent(self) -> NDArray[np.bool_]:
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

    Returns None where the source has exactly these features in this order.

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
