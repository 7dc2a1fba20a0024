"""Feature matching: which columns of a task's table are features, and where they stand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.cells import Source
from thrifty.cells.matching import Match
from thrifty.cells.sources.checks import default_names
from thrifty.errors import BadInput, BadParameter, FeaturesChanged
from thrifty.typing import Json, JsonLike, LabelsLike, TableLike

__all__ = [
    "Features",
    "check_read",
    "come_in_order",
    "kinds_here",
    "label_name",
    "new_kinds",
    "read_features",
]


@dataclass(frozen=True, eq=False)
class Features:
    """The lifetime's features after this task, and where the source keeps them."""

    names: tuple[str, ...]
    named: bool
    match: Match | None
    left_out: tuple[str, ...] = ()


def label_name(y: LabelsLike | None, source: Source) -> str | None:
    """The column of the source that the labels are, where they say so: a series with its name."""
    name = getattr(y, "name", None)
    return str(name) if name is not None and source.named else None


def check_read(source: Source, used: Collection[str]) -> None:
    """Columns that are no features, dates for instance, are an error only where they are used."""
    for name, error in source.unread.items():
        if name in used:
            raise error


def read_features(
    known: tuple[str, ...] | None,
    named: bool,
    source: Source,
    labels: Collection[str],
    chosen: Sequence[str] | None,
    retired: Collection[str] = (),
) -> Features:
    """Match a source with the features that a lifetime has; new ones come after them.

    ``labels`` are columns that are, or were, labels: they are left out unless ``chosen`` names
    them. ``retired`` ones can no longer be had.
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
    if retired and source.named:
        use = tuple(name for name in use if name not in retired)
    if not use:
        raise BadInput("no feature is left: every column of X is a label, or was retired.")
    if source.unread:  # a set of all names is what a thousand features would pay for otherwise
        check_read(source, set(use))
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


def _match(names: tuple[str, ...], there: tuple[str, ...], use: tuple[str, ...]) -> Match | None:
    if names is there or (names == there and len(use) == len(names)):
        return None
    wanted = set(use)
    at = {name: i for i, name in enumerate(there) if name in wanted}
    return Match(names, np.array([at.get(name, -1) for name in names], dtype=np.int64))


def come_in_order(known: tuple[str, ...] | None, X: TableLike) -> bool:
    """Whether X has these features in their order, so that none has to be matched."""
    if known is None:
        return True
    names = getattr(X, "feature_names", None)
    if names is None and hasattr(X, "columns"):
        names = tuple(map(str, X.columns))
    if names is not None:
        return tuple(names) == known
    shape = getattr(X, "shape", None)
    return shape is None or (len(shape) == 2 and shape[1] == len(known))


def new_kinds(kept: JsonLike | None, given: object) -> Json:
    """Kinds that are told now and were not before; those that were told otherwise are an error.

    >>> new_kinds({"zip": "category"}, {"zip": "category", "age": "number"})
    {'age': 'number'}
    """
    if not isinstance(given, Mapping):
        return {}  # nothing said; or nonsense, which reading it refuses
    told = {str(name): list(k) if isinstance(k, tuple) else k for name, k in given.items()}
    other = next((n for n, k in told.items() if kept and kept.get(n, k) != k), None)
    if other is not None and kept is not None:
        raise BadParameter(
            f"{other!r} was told to be {kept[other]!r} in this lifetime and is told to be "
            f"{told[other]!r} now. Leave it out, or change it on purpose: "
            f"life.change(kinds={{{other!r}: {told[other]!r}}})."
        )
    return {name: kind for name, kind in told.items() if name not in (kept or {})}


def known_categories(words: JsonLike, X: TableLike) -> Json:
    """Columns of a frame that are categories already: of few rows they would look like free text.

    Columns of numbers are left alone: in place of a category they are an error, said elsewhere.
    """
    dtypes = getattr(X, "dtypes", None)
    if isinstance(X, Source) or dtypes is None or not hasattr(X, "columns"):
        return {}
    kinds = {str(c): getattr(d, "kind", "O") for c, d in zip(X.columns, dtypes)}
    return {name: "category" for name in words if kinds.get(name, "f") not in "biufmM"}


def kinds_here(kept: JsonLike | None, X: TableLike) -> Json:
    """The lifetime's kinds of the columns that X has; a source says what its own are."""
    if not kept or isinstance(X, Source):
        return {}
    columns = getattr(X, "columns", None)
    if columns is None:
        shape = getattr(X, "shape", None) or np.shape(np.asarray(X))
        columns = default_names(shape[1]) if len(shape) == 2 else ()
    there = set(map(str, columns))
    return {name: kind for name, kind in kept.items() if name in there}
