"""Price lists that match real bills: per feature, panels, calls that fill several features,
derived features, values that expire, failures that cost.

Everything beyond a price per feature is one idea: a *draw*. A draw is paid once per example and
then makes some features cheaper or free there: the needle of a blood panel, the one call that fills
a whole record, the test behind all its thresholds. The ledger treats a draw as a cell of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.prices.money import UNIT, one_currency, read_amount
from thrifty.errors import BadInput

__all__ = ["Draw", "PriceList", "Tariff", "as_price_list"]

Derive = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Draw:
    """What is paid once per example before its members can be had.

    ``together`` says that one call fills every member, so all of them are fetched at once.
    """

    name: str
    fee: int
    members: tuple[int, ...]
    together: bool = False


@dataclass(frozen=True, slots=True)
class Tariff:
    """A price list laid over the features of a source; amounts in minor units."""

    own: NDArray[np.int64]
    draws: tuple[Draw, ...]
    needs: tuple[tuple[int, ...], ...]
    valid: NDArray[np.float64]
    draw_valid: tuple[float, ...]
    computed: Mapping[int, tuple[int, Derive]]
    failed: float
    currency: str

    @property
    def marginal(self) -> NDArray[np.float64]:
        """What a single cell costs where nothing is bought yet, in units of the currency."""
        fees = np.array([float(sum(self.draws[d].fee for d in needs)) for needs in self.needs])
        return np.asarray((self.own + fees) / UNIT, dtype=np.float64)

    def needing(self, draw: int) -> NDArray[np.int64]:
        """The features that cannot be had without this draw."""
        return np.array([f for f, needs in enumerate(self.needs) if draw in needs], dtype=np.int64)


@dataclass(frozen=True)
class PriceList:
    """What cells cost.

    Parameters
    ----------
    per_feature : one price for all, a sequence, or a mapping by feature name. Numbers, or text with
        a currency: ``"22.78 EUR"``
    panels : ``{name: (fee, features)}``: the fee is paid once per example, before the first of
        the features; the features' own prices come on top
    together : ``{name: (price, features)}``: one call, one price per example, all the features
    derived : ``{feature: parent}``: free once the parent is there, and paid like the parent if it
        comes first (all thresholds and bits of one test). ``{feature: (parent, function)}``
        computes it from the parent's values and never asks the provider
    valid_for : seconds or timedelta, for all features or by name: an older value may be bought
        again, and only then
    failed : the share of its price that a failed purchase costs, 0 to 1
    currency : a label such as "EUR"

    Examples
    --------
    >>> prices = PriceList({"age": 0, "tsh": 22.78, "t4": 10}, panels={"blood": (5, ["tsh", "t4"])},
    ...                    derived={"tsh>4": "tsh"}, currency="EUR")
    >>> prices.tariff(["age", "tsh", "t4", "tsh>4"]).marginal.tolist()
    [0.0, 27.78, 15.0, 27.78]
    """

    per_feature: Any = 1
    panels: Mapping[str, Any] = field(default_factory=dict)
    together: Mapping[str, Any] = field(default_factory=dict)
    derived: Mapping[str, Any] = field(default_factory=dict)
    valid_for: Any = None
    failed: float = 0.0
    currency: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.failed <= 1:
            raise BadInput(
                f"failed must be the share of its price that a failed purchase costs, 0 to 1; got "
                f"{self.failed!r}."
            )

    def tariff(self, feature_names: Sequence[str]) -> Tariff:
        """The prices of these features, checked."""
        names = [str(name) for name in feature_names]
        return _Reader(self, names).tariff()


def as_price_list(prices: Any) -> PriceList:
    """Whatever the user brought, as a price list."""
    if isinstance(prices, PriceList):
        return prices
    return PriceList(1 if prices is None else prices)


class _Reader:
    """Reads one price list against the names of the features."""

    def __init__(self, prices: PriceList, names: list[str]) -> None:
        self.list, self.names = prices, names
        self.at = {name: i for i, name in enumerate(names)}
        self.labels: set[str] = {prices.currency.upper()} if prices.currency else set()
        self.own = np.zeros(len(names), dtype=np.int64)
        self.draws: list[Draw] = []
        self.needs: list[list[int]] = [[] for _ in names]

    def tariff(self) -> Tariff:
        parents = self._parents()
        self._own_prices(parents)
        for name, given in self.list.panels.items():
            self._draw(name, given, together=False)
        for name, given in self.list.together.items():
            self._draw(name, given, together=True)
        computed = self._derived(parents)
        valid = self._valid()
        currency = one_currency(self.labels, "a price list")
        lasting = tuple(
            min((float(v) for v, needs in zip(valid, self.needs) if d in needs), default=np.inf)
            for d in range(len(self.draws))
        )
        return Tariff(
            self.own, tuple(self.draws), tuple(map(tuple, self.needs)), valid, lasting, computed,
            self.list.failed, currency,
        )  # fmt: skip

    def _amount(self, given: Any, what: str) -> int:
        minor, label = read_amount(given, what)
        self.labels.add(label)
        return minor

    def _parents(self) -> dict[str, tuple[str, Derive | None]]:
        out: dict[str, tuple[str, Derive | None]] = {}
        for name, given in self.list.derived.items():
            if name not in self.at:
                raise BadInput(f"derived feature {name!r} is none of the source's features.")
            if isinstance(given, str):
                out[name] = (given, None)
                continue
            if not (isinstance(given, tuple) and len(given) == 2 and callable(given[1])):
                raise BadInput(
                    f"derived[{name!r}] must be the parent's name or (name, function); got "
                    f"{given!r}."
                )
            if given[0] not in self.at:
                raise BadInput(
                    f"{name!r} is computed from {given[0]!r}, which is none of the source's "
                    "features. Add it to the features."
                )
            out[name] = (given[0], given[1])
        for name, (parent, _) in out.items():
            if parent in out:
                raise BadInput(
                    f"{name!r} is derived from {parent!r}, which is derived itself; name the test "
                    "that is bought."
                )
        return out

    def _own_prices(self, parents: Mapping[str, Any]) -> None:
        given = self.list.per_feature
        grouped = {f for group in self.list.together.values() for f in _members(group)[1]}
        free = set(parents) | grouped
        if isinstance(given, Mapping):
            lacking = [n for n in self.names if n not in given and n not in free]
            if lacking:
                raise BadInput(
                    f"every feature needs a price; {len(lacking)} of {len(self.names)} have none, "
                    f"the first are {lacking[:5]}. Add them (0 where a feature is free)."
                )
            values = [given.get(n, 0) for n in self.names]
            self._each(values)
        elif isinstance(given, str) or np.ndim(given) == 0:
            self.own[:] = self._amount(given, "price")  # one price for all: read once
        else:
            if len(given) != len(self.names):
                raise BadInput(
                    f"expected {len(self.names)} prices, one per feature; got {len(given)}."
                )
            self._each(list(given))
        for name in free:
            if name in self.at:
                self.own[self.at[name]] = 0

    def _each(self, values: list[Any]) -> None:
        read = [self._amount(v, f"price of {n}") for n, v in zip(self.names, values)]
        self.own[:] = read

    def _draw(self, name: str, given: Any, *, together: bool) -> None:
        kind = "call" if together else "panel"
        fee, features = _members(given)
        for feature in features:
            if feature not in self.at:
                raise BadInput(f"{kind} {name!r} names {feature!r}, which is no feature here.")
            if self.needs[self.at[feature]]:
                raise BadInput(
                    f"feature {feature!r} is in two panels or calls; it may be in one."
                )
        members = tuple(self.at[f] for f in features)
        draw = Draw(f"{kind} {name}", self._amount(fee, f"fee of {name}"), members, together)
        for m in members:
            self.needs[m].append(len(self.draws))
        self.draws.append(draw)

    def _derived(self, parents: Mapping[str, tuple[str, Derive | None]]) -> dict[int, Any]:
        """A test behind several features is a draw; what it needs itself, they need too."""
        computed: dict[int, Any] = {}
        by_parent: dict[str, list[str]] = {}
        for name, (parent, function) in parents.items():
            by_parent.setdefault(parent, []).append(name)
            if function is not None:
                computed[self.at[name]] = (self.at[parent], function)
        for parent, children in by_parent.items():
            members = [self.at[name] for name in children]
            if parent in self.at:
                root = self.at[parent]
                fee, inherited = int(self.own[root]), list(self.needs[root])
                self.own[root] = 0
                members.insert(0, root)
            else:
                given = self.list.per_feature
                if isinstance(given, Mapping) and parent not in given:
                    raise BadInput(
                        f"{children[0]!r} is derived from {parent!r}, which has no price; add it."
                    )
                price = given[parent] if isinstance(given, Mapping) else given
                if not isinstance(price, str) and np.ndim(price) != 0:
                    raise BadInput(
                        f"{children[0]!r} is derived from {parent!r}, which is no feature; give "
                        "prices by name, so that its price can be found."
                    )
                fee, inherited = self._amount(price, f"price of {parent}"), []
            for m in members:
                self.needs[m] = [*inherited, len(self.draws)]
            self.draws.append(Draw(f"test {parent}", fee, tuple(members)))
        return computed

    def _valid(self) -> NDArray[np.float64]:
        given = self.list.valid_for
        out = np.full(len(self.names), np.inf)
        if given is None:
            return out
        by_name = given if isinstance(given, Mapping) else dict.fromkeys(self.names, given)
        for name, span in by_name.items():
            if name not in self.at:
                raise BadInput(f"valid_for names {name!r}, which is no feature here.")
            seconds = span.total_seconds() if isinstance(span, timedelta) else span
            if not isinstance(seconds, int | float) or not seconds > 0:
                raise BadInput(
                    f"valid_for must be seconds or a timedelta, above 0; got {span!r} for {name!r}."
                )
            out[self.at[name]] = seconds
        for name, (parent, _) in self._parents().items():
            # what comes from an expired test is expired too
            if parent in self.at:
                out[self.at[name]] = min(out[self.at[name]], out[self.at[parent]])
        return out


def _members(given: Any) -> tuple[Any, list[str]]:
    if isinstance(given, Mapping):
        fee, features = given.get("fee", given.get("price")), given.get("features")
    elif isinstance(given, tuple | list) and len(given) == 2:
        fee, features = given
    else:
        fee = features = None
    if fee is None or isinstance(features, str) or not isinstance(features, Sequence):
        raise BadInput(
            f"a panel or call must be (fee, [features]) or {{'fee': .., 'features': [..]}}; got "
            f"{given!r}."
        )
    return fee, [str(f) for f in features]
