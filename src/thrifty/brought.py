"""What a user brought to a task: which of its columns are features, and where they stand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.cells import Source
from thrifty.cells.matching import Match
from thrifty.errors import BadInput, FeaturesChanged

__all__ = ["Features", "label_name", "read_features"]


@dataclass(frozen=True, eq=False)
class Features:
    """The lifetime's features after this task, and where the source keeps them."""

    names: tuple[str, ...]
    named: bool
    match: Match | None
    left_out: tuple[str, ...] = ()


def label_name(y: Any, source: Source) -> str | None:
    """The column of the source that the labels are, where they say so: a series with its name."""
    name = getattr(y, "name", None)
    return str(name) if name is not None and source.named else None


def read_features(
    known: tuple[str, ...] | None,
    named: bool,
    source: Source,
    labels: Collection[str],
    chosen: Sequence[str] | None,
) -> Features:
    """Match a source with the features that a lifetime has; new ones come after them.

    ``labels`` are columns that are, or were, labels: they are left out unless ``chosen`` names
    them.
    """
    there = source.feature_names
    if chosen is not None:
        use = _chosen(source, chosen)
        left_out: tuple[str, ...] = ()
    elif labels and source.named:
        use = tuple(name for name in there if name not in labels)
        left_out = tuple(name for name in there if name in labels)
    else:
        use, left_out = there, ()
    if not use:
        raise BadInput("no feature is left: every column of X is a label.")
    if known is None:
        return Features(use, source.named, _match(use, there, use), left_out)
    if named and source.named:
        if use == known:
            return Features(known, True, _match(known, there, use), left_out)
        have = set(known)
        names = known + tuple(name for name in use if name not in have)
        return Features(names, True, _match(names, there, use), left_out)
    if len(known) != len(use):
        raise FeaturesChanged(
            f"this lifetime has {len(known)} features; the new task has {len(use)}. Features "
            "without names are matched by their place: bring the same ones in the same order, or "
            "give them names, by which they may grow and come in any order."
        )
    return Features(known, named, _match(use, there, use), left_out)


def _chosen(source: Source, chosen: Sequence[str]) -> tuple[str, ...]:
    there = set(source.feature_names)
    lacking = [str(name) for name in chosen if str(name) not in there]
    if lacking:
        raise BadInput(f"features= names {lacking[0]!r}, which is no column of X.")
    return tuple(str(name) for name in chosen)


def _match(
    names: tuple[str, ...], there: tuple[str, ...], use: tuple[str, ...]
) -> Match | None:
    if names is there or names == there:
        return None
    wanted = set(use)
    at = {name: i for i, name in enumerate(there) if name in wanted}
    return Match(names, np.array([at.get(name, -1) for name in names], dtype=np.int64))
