"""Feature matching: which columns of a table are features, where they stand, which are lacking.

A model keeps the cells it was fitted on, so that a feature that is lacking, or was retired, need
not be guessed: the model is fitted again on the same cells without it, which costs nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thrifty.cells import Source
from thrifty.cells.features import Match, told_names
from thrifty.cells.prices.price_list import PriceList, PricesLike, members_of
from thrifty.cells.sources.checks import default_names
from thrifty.checks import warn_user
from thrifty.errors import (
    BadInput,
    BadParameter,
    ColumnsChanged,
    FeaturesChanged,
    LooksMisspelt,
    ThriftyError,
)
from thrifty.lazy import Asks
from thrifty.typing import Json, JsonLike, LabelsLike, TableLike


def without_lacking(
    name: str,
    model: Asks,
    X: TableLike,
    retired: Collection[str],
    missing: str = "warn",
    labels: Collection[str] = (),
) -> tuple[Asks, tuple[str, ...]]:
    """The model as it can be asked of X, and the features that it goes without.

    ``missing``: "ignore" says nothing of it; else columns that X lacks are named with what they
    mean to the model, and more than half of that is refused. ``labels``: columns that are no
    features, whose names are not new.
    """
    if missing not in ("warn", "ignore"):
        raise BadParameter(f"missing must be 'warn' or 'ignore'; got {missing!r}.")
    asked = [model.feature_names_[f] for f in model.features_.tolist()]
    there = _names(X)
    lacking = tuple(n for n in asked if n in retired or (there is not None and n not in there))
    new = sorted((there or set()) - set(model.feature_names_) - set(labels))
    if not lacking:
        if new and missing == "warn" and told_names(model.feature_names_):
            warn_user(
                f"X has new columns, which the model of {name!r} does not use: {_listed(new)}. "
                f"life[{name!r}].update takes them in.",
                ColumnsChanged,
            )
        return model, ()
    without: Callable[[Collection[str]], Asks] | None = getattr(model, "without", None)
    if len(lacking) == len(asked) or without is None:
        gone = [n for n in lacking if n in retired]
        if not gone:
            return model, ()  # what it lacks is said where names are matched
        raise FeaturesChanged(
            f"the model of {name!r} asks for {gone[0]!r}, which was retired, and cannot go on "
            f"without it. Learn it again without, or life.retire({gone[0]!r}, undo=True)."
        )
    absent = [n for n in lacking if n not in retired]
    _say_alike(absent, new)
    if absent and missing == "warn":
        _say_absent(name, model, absent, new)
    return without(lacking), lacking


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _say_absent(name: str, model: Asks, absent: Sequence[str], new: Sequence[str]) -> None:
    """Name missing columns with their share of all importance; refuse where that is too large."""
    share, lacks = _importance_of(model, absent), f"X lacks {_listed(absent)}"
    said = f"{lacks}: {share:.0%} of the importance in the model of {name!r}"
    beside = f" X has new columns: {', '.join(new[:8])}." if new else ""
    if share > 0.5:
        raise FeaturesChanged(
            f"{said}. Its answers would mean little. Bring these columns or rename them, or give "
            f"missing='ignore' to predict without them.{beside}"
        )
    if share < 0.005:  # it answers as well without them
        said = f"{lacks}, which the model of {name!r} does without.{beside}"
    else:
        said = f"{said}. It predicts without them, less accurately.{beside}"
    warn_user(said, ColumnsChanged)


def _importance_of(model: Asks, names: Collection[str]) -> float:
    """The share of all importance that some features of a model have.

    Where a model says nothing of importance its features count the same.
    """
    asked = model.features_.tolist()
    try:
        every = np.asarray(model.feature_importances_, dtype=np.float64)  # type: ignore[attr-defined]
        each = every[asked]
    except (AttributeError, ThriftyError):
        each = np.zeros(len(asked))
    if not each.sum() > 0:
        each = np.ones(len(asked))
    return float(each[[model.feature_names_[f] in names for f in asked]].sum() / each.sum())


def _names(X: TableLike) -> set[str] | None:
    """The names that the columns of X have; None where they have none."""
    if isinstance(X, Source):
        return set(X.feature_names) if X.named else None
    columns = getattr(X, "columns", None)
    return None if columns is None or callable(columns) else set(map(str, columns))


def _say_alike(lacking: Sequence[str], there: Collection[str]) -> None:
    """A name that is nearly there may be misspelt."""
    lower = {name.lower(): name for name in there}
    for name in lacking:
        near = difflib.get_close_matches(name.lower(), list(lower), 1, cutoff=0.8)
        if near:
            warn_user(
                f"{name!r} is missing and there is {lower[near[0]]!r}: if that is the same, "
                "rename it. It is treated as missing.",
                LooksMisspelt,
            )


def prices_here(
    prices: PricesLike, names: Sequence[str], needed: Collection[str] | None = None
) -> PricesLike:
    """Prices as they hold for a source: without what it lacks, and with all that it needs.

    ``needed``: only these may be asked for, so that others need no price; None: all.

    >>> prices_here({"a": 2, "z": 3}, ["a", "b"], needed=["a"])
    {'a': 2, 'z': 3, 'b': 0}
    """
    there, new = set(names), prices
    if isinstance(prices, PriceList) and (prices.orders or prices.fees or prices.derived):
        new = _trimmed(prices, there)
    listed = prices.per_feature if isinstance(prices, PriceList) else prices
    unpriced = [n for n in names if n not in listed] if isinstance(listed, Mapping) else []
    if not isinstance(listed, Mapping) or not unpriced:
        return new
    strangers = [str(n) for n in listed if str(n) not in there]
    if strangers:
        _say_alike(strangers, unpriced)
    if needed is None:
        return new
    if not isinstance(new, PriceList):
        return {**listed, **{n: 0 for n in unpriced if n not in needed}}
    sold = {f for entry in new.orders.values() for f in members_of(entry)[1]} | set(new.derived)
    more = {n: 0 for n in unpriced if n not in needed and n not in sold}
    return replace(new, per_feature={**listed, **more})


def _trimmed(prices: PriceList, there: set[str]) -> PriceList:
    """Orders, fees and derived features of what the source has; others cannot be had."""

    def here(entries: JsonLike) -> Json:
        told = {name: members_of(entry) for name, entry in entries.items()}
        kept = {name: (price, [f for f in of if f in there]) for name, (price, of) in told.items()}
        return {name: entry for name, entry in kept.items() if entry[1]}

    derived = {f: how for f, how in prices.derived.items() if f in there}
    return replace(prices, orders=here(prices.orders), fees=here(prices.fees), derived=derived)


@dataclass(frozen=True, eq=False)
class TaskFeatures:
    """The lifetime's features after this task, and where the source keeps them."""

    names: tuple[str, ...]
    named: bool
    match: Match | None
    left_out: tuple[str, ...] = ()

    def needed(self, source: Source) -> set[str]:
        """What may be asked of a source, and so needs a price."""
        return set(source.feature_names if self.match is None else self.names)


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
) -> TaskFeatures:
    """Match a source with the features that a lifetime has; new ones come after them.

    ``labels`` are columns that are, or were, labels: they are left out unless ``chosen`` names
    them. ``retired`` ones can no longer be had.
    """
    there, left_out = source.feature_names, tuple[str, ...]()
    use = there
    if chosen is not None:
        use = _chosen(source, chosen)
    elif labels and source.named:
        use = tuple(name for name in there if name not in labels)
        left_out = tuple(name for name in there if name in labels)
    if retired and source.named:
        use = tuple(name for name in use if name not in retired)
    if not use:
        raise BadInput("no feature is left: every column of X is a label, or was retired.")
    if source.unread:  # a set of all names is what a thousand features would pay for otherwise
        check_read(source, set(use))
    if known is None:
        return TaskFeatures(use, source.named, _match(use, there, use), left_out)
    if named and source.named:
        names = known
        if use != known:
            have = set(known)
            names = known + tuple(name for name in use if name not in have)
        return TaskFeatures(names, True, _match(names, there, use), left_out)
    if len(known) != len(use):
        raise FeaturesChanged(
            f"this lifetime has {len(known)} features; the new task has {len(use)}. Features "
            "without names are matched by their place: bring the same ones in the same order, or "
            "give them names, by which they may grow and come in any order."
        )
    return TaskFeatures(known, named, _match(use, there, use), left_out)


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
            f"{other!r} is {kept[other]!r} in this lifetime, and kinds= now says "
            f"{told[other]!r}. Leave it out, or change it on purpose: "
            f"life.change(kinds={{{other!r}: {told[other]!r}}})."
        )
    return {name: kind for name, kind in told.items() if name not in (kept or {})}


def kinds_to_keep(kept: JsonLike | None, new: JsonLike, source: Source) -> Json:
    """New kinds told with this task, and those told when its source was made."""
    made = {n: k for n, k in source.told_kinds.items() if n not in (kept or {}) and n not in new}
    return {**made, **new}


def known_categories(categories: JsonLike, X: TableLike) -> Json:
    """Columns of a frame that are categories already: of few rows they would look like free text.

    Columns of numbers are left alone: in place of a category they are an error, said elsewhere.
    """
    dtypes = getattr(X, "dtypes", None)
    if isinstance(X, Source) or dtypes is None or not hasattr(X, "columns"):
        return {}
    kinds = {str(c): getattr(d, "kind", "O") for c, d in zip(X.columns, dtypes)}
    return {name: "category" for name in categories if kinds.get(name, "f") not in "biufmM"}


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
