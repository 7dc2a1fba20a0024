"""Features come and go: predictions go on without a column, prices with what there is.

A model keeps the cells it was fitted on, so that a feature that is lacking, or was retired, need
not be guessed: the model is fitted again on the same cells without it, which costs nothing.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, Self, runtime_checkable

from thrifty.cells import Source
from thrifty.cells.prices.price_list import PriceList, PricesLike, members_of
from thrifty.errors import FeaturesChanged, LooksMisspelt
from thrifty.lazy import Asks
from thrifty.typing import TableLike

__all__ = ["GoesOnWithout", "prices_here", "without_lacking"]

#: how alike two names are that are taken for one misspelt, by difflib's measure; set by hand
_ALIKE = 0.8


@runtime_checkable
class GoesOnWithout(Protocol):
    """A model that can be fitted again with fewer of its features."""

    def without(self, names: Collection[str]) -> Self: ...


def without_lacking(
    name: str, model: Asks, X: TableLike, retired: Collection[str]
) -> tuple[Asks, tuple[str, ...]]:
    """The model as it can be asked of X, and the features that it goes without."""
    asked = [model.feature_names_[f] for f in model.features_.tolist()]
    there = _names(X)
    lacking = tuple(n for n in asked if n in retired or (there is not None and n not in there))
    if not lacking:
        return model, ()
    if len(lacking) == len(asked) or not isinstance(model, GoesOnWithout):
        gone = [n for n in lacking if n in retired]
        if not gone:
            return model, ()  # what it lacks is said where names are matched
        raise FeaturesChanged(
            f"the model of {name!r} asks for {gone[0]!r}, which was retired, and cannot go on "
            f"without it. Learn it again without, or life.retire({gone[0]!r}, undo=True)."
        )
    strangers = (there or set()) - set(model.feature_names_)
    _say_alike([n for n in lacking if n not in retired], strangers)
    return model.without(lacking), lacking


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
        near = difflib.get_close_matches(name.lower(), list(lower), 1, _ALIKE)
        if near:
            warnings.warn(
                f"{name!r} is lacking and there is {lower[near[0]]!r}: where that is the same, "
                "rename it. It goes on without.",
                LooksMisspelt,
                stacklevel=5,
            )


def prices_here(
    prices: PricesLike, names: Sequence[str], needed: Collection[str] | None = None
) -> PricesLike:
    """Prices as they hold for a source: without what it lacks, and with all that it needs.

    ``needed``: only these may be asked for, so that others need no price; None: all.

    >>> prices_here({"a": 2, "z": 3}, ["a", "b"], needed=["a"])
    {'a': 2, 'z': 3, 'b': 0}
    """
    listed = prices.per_feature if isinstance(prices, PriceList) else prices
    groups = isinstance(prices, PriceList) and (prices.orders or prices.fees or prices.derived)
    if not isinstance(listed, Mapping) and not groups:
        return prices
    there = set(names)
    new: PricesLike = prices
    if isinstance(prices, PriceList) and groups:
        new = _trimmed(prices, there)
    if isinstance(listed, Mapping):
        strangers = [str(n) for n in listed if str(n) not in there]
        unpriced = [n for n in names if n not in listed]
        if strangers and unpriced:
            _say_alike(strangers, unpriced)
        if needed is not None and unpriced:
            sold = _sold_otherwise(new) if isinstance(new, PriceList) else set()
            more = {n: 0 for n in unpriced if n not in needed and n not in sold}
            filled = {**listed, **more}
            new = replace(new, per_feature=filled) if isinstance(new, PriceList) else filled
    return new


def _trimmed(prices: PriceList, there: set[str]) -> PriceList:
    """Orders, fees and derived features of what the source has; others cannot be had."""
    changed: dict[str, object] = {}
    for kind in ("orders", "fees"):
        given = getattr(prices, kind)
        kept = {}
        for name, entry in given.items():
            price, features = members_of(entry)
            here = [f for f in features if f in there]
            if here:
                kept[name] = entry if len(here) == len(features) else (price, here)
        if kept != dict(given):
            changed[kind] = kept
    derived = {f: d for f, d in prices.derived.items() if f in there}
    if len(derived) != len(prices.derived):
        changed["derived"] = derived
    return replace(prices, **changed) if changed else prices  # type: ignore[arg-type]


def _sold_otherwise(prices: PriceList) -> set[str]:
    """Features that an order fills, or that are computed."""
    filled = {f for entry in prices.orders.values() for f in members_of(entry)[1]}
    filled |= {f for entry in prices.together.values() for f in members_of(entry)[1]}
    return filled | set(prices.derived)
