"""Names matched in one place: where a source keeps the features that somebody knows by name.

Learning, predicting, explaining, ``metered`` and the command line all go through
:func:`match_features`, and the door turns indices with what it gives. So columns may come in any
order, more of them may come than are known, and only those that may be asked for are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources import Source
from thrifty.cells.sources.checks import default_names
from thrifty.errors import FeaturesChanged

__all__ = ["Match", "match_features", "told_names"]


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
