"""Price lists that match real bills: single tests, orders that overlap, fees, discounts, derived
features, values that expire, failures that cost; and the plain ones, 1 each or a price per feature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from thrifty.cells.prices.money import one_currency, read_amount
from thrifty.cells.prices.tariff import Tariff
from thrifty.errors import BadInput
from thrifty.typing import JsonLike, PerFeatureLike

_ORDER = "{'panel': (8.46, ['Na', 'K'])}"
#: how each part of a price list is written
_WRITTEN = {
    "orders": _ORDER,
    "fees": _ORDER,
    "discounts": "{'blood': {'TSH': 20.68}}",
    "derived": "{'FTI': ['TT4', 'T4U']}",
    "alternatives": "{'crp': ['crp rapid', 'crp lab']}",
}

#: tariffs that were read, by the words they were read from; few, since a lifetime has one list
_TARIFFS: dict[tuple[tuple[str, ...], str], Tariff] = {}


@dataclass(frozen=True)
class PriceList:
    """What cells cost.

    Parameters
    ----------
    per_feature : number, sequence or mapping
        one price for all, a sequence, or a mapping by feature name. Numbers, or text with a
        currency: ``"22.78 EUR"``. None: the feature is not sold alone
    orders : mapping
        ``{name: (price, features)}``: one price per example for all the features. Orders may
        overlap, and a feature may be sold alone as well: what is wanted is bought with the cheapest
        set of orders, and what these fill beside it is owned for nothing
    fees : mapping
        ``{name: (fee, features)}``: paid once per example, before the first of the features
    discounts : mapping
        ``{group: {feature: price}}``: the price of a test once another test of its group is there,
        or is bought with it
    derived : mapping
        ``{feature: [parents]}``: free once all the parents are there, and paid like them where it
        comes first. ``{feature: (parents, function)}`` computes it from the parents' values, one
        argument each, and never asks the provider
    valid_for : None, number, timedelta or mapping
        seconds or timedelta, for all features or by name: an older value may be bought again, and
        only then
    failed : float
        the share of its price that a failed purchase costs, 0 to 1
    currency : str
        a label such as "EUR"
    alternatives : mapping
        ``{thing: [features]}``: features that answer the same, each with its own price and noise, a
        nurse's quick test and a laboratory's. ``Models`` may ask the cheapest everywhere and the
        most expensive only where its answer leaves doubt, row by row (docs/howto/prices.md)

    Raises
    ------
    thrifty.errors.BadInput
        a price that is no number of 0 or more, or an order of features that are not there
    thrifty.errors.MixedCurrencies
        prices in two currencies

    See Also
    --------
    thrifty.Budget : limits on what is spent
    thrifty.Rates : prices by the token

    Examples
    --------
    >>> prices = PriceList(
    ...     {"age": 0, "na": 4.81, "k": 4.76, "co2": 4.88},
    ...     orders={"electrolytes": (7.01, ["na", "k", "co2"])},
    ...     fees={"blood draw": (9.09, ["na", "k", "co2"])}, currency="USD")
    >>> prices.price(["na"]), prices.price(["na", "k"]), prices.price(["na"], owned=["k"])
    (13.9, 16.1, 4.81)
    """

    per_feature: PerFeatureLike = 1
    _: KW_ONLY
    orders: JsonLike = field(default_factory=dict)
    fees: JsonLike = field(default_factory=dict)
    discounts: Mapping[str, object] = field(default_factory=dict)
    derived: JsonLike = field(default_factory=dict)
    valid_for: object = None
    failed: float = 0.0
    currency: str = ""
    alternatives: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _WRITTEN:
            if not isinstance(getattr(self, name), Mapping):
                raise BadInput(
                    f"{name} must be a mapping by name, as {_WRITTEN[name]}; got "
                    f"{getattr(self, name)!r}."
                )
        share = self.failed
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= share <= 1:
            raise BadInput(
                f"failed must be the share of its price that a failed purchase costs, 0 to 1; got "
                f"{self.failed!r}."
            )
        self._check_alternatives()

    def _check_alternatives(self) -> None:
        seen: dict[str, str] = {}
        for thing, given in self.alternatives.items():
            several = [] if isinstance(given, str) or not isinstance(given, Sequence) else given
            if len(set(map(str, several))) != len(several) or len(several) < 2:
                raise BadInput(
                    f"alternatives[{thing!r}] must list two or more different features, as "
                    f"{_WRITTEN['alternatives']}; got {given!r}."
                )
            for name in map(str, several):
                if seen.setdefault(name, thing) != thing:
                    raise BadInput(
                        f"{name!r} is an alternative of {seen[name]!r} and of {thing!r}: a feature "
                        "answers one thing. Leave it out of one of them."
                    )

    def tariff(self, feature_names: Sequence[str]) -> Tariff:
        """The prices of these features, checked."""
        alike = self._one_price_for_all(len(feature_names))
        if alike is not None:
            return alike
        from thrifty.cells.prices.reading import read_tariff

        names = [str(name) for name in feature_names]
        if not isinstance(self.per_feature, Mapping | None):
            return read_tariff(self, names)  # an array says only a part of itself
        # Read once for the same words: a prediction of one row would take longer to price than to
        # make. The words are compared, since a mapping can be changed by whoever gave it.
        key = (tuple(names), repr(self))
        kept = _TARIFFS.get(key)
        if kept is None:
            kept = read_tariff(self, names)
            if len(_TARIFFS) >= 8:
                _TARIFFS.clear()
            _TARIFFS[key] = kept
        return kept

    def _one_price_for_all(self, n: int) -> Tariff | None:
        """Of n features that cost alike, for very wide sources; None: it is not so plain."""
        given, lists = self.per_feature, (self.orders, self.fees, self.discounts)
        if any((*lists, self.derived, self.alternatives, self.valid_for)) or given is None:
            return None
        if isinstance(given, Mapping) or not (isinstance(given, str) or np.ndim(given) == 0):
            return None
        minor, label = read_amount(given, "price")
        currency = one_currency({label, self.currency.upper()}, "a price list")
        own, valid = np.full(n, minor, dtype=np.int64), np.full(n, np.inf)
        return Tariff(own, (), ((),) * n, valid, (), {}, self.failed, currency)

    def price(self, wanted: Sequence[str], owned: Sequence[str] = ()) -> float:
        """What these features cost on one example that has some already, by name."""
        names = self._names([*wanted, *owned])
        at = {name: i for i, name in enumerate(names)}
        tariff = self.tariff(names)
        had, want = (frozenset(at[str(n)] for n in some) for some in (owned, wanted))
        from thrifty.cells.prices.money import to_units

        return to_units(tariff.priced(had, want)[0])

    def _names(self, asked: Sequence[str]) -> list[str]:
        """Every feature that the list speaks of."""
        names: dict[str, None] = dict.fromkeys(map(str, asked))
        if isinstance(self.per_feature, Mapping):
            names.update(dict.fromkeys(map(str, self.per_feature)))
        for group in (self.orders, self.fees):
            for given in group.values():
                names.update(dict.fromkeys(members_of(given)[1]))
        for group_prices in self.discounts.values():
            if isinstance(group_prices, Mapping):
                names.update(dict.fromkeys(map(str, group_prices)))
        names.update(dict.fromkeys(self.derived))
        return list(names)

    @classmethod
    def from_json(
        cls,
        given: str | PathLike[str] | JsonLike,
        features: Sequence[str] | None = None,
        *,
        part: str | None = None,
        single: JsonLike | None = None,
    ) -> PriceList:
        """A price list from a file, or from what such a file holds.

        The keys, none of which is needed: ``currency``; ``single`` {feature: price, or {"price":
        ..}}; ``panels`` {name: {"price": .., "fills": [features]}}; ``draw`` {"fee": ..,
        "once_for_any_of": [features]}, or ``fees`` {name: the same}; ``groups`` {name: {feature:
        the price of a second test}}; ``derived`` {feature: [parents]}; ``free`` [features];
        ``each_question``, the price of every other feature.

        Parameters
        ----------
        given : path or mapping
            a path, or a mapping
        features : sequence of str or None
            the features of the source, which ``each_question`` needs
        part : str or None
            the key under which the list lies, where a file holds several
        single : mapping or None
            prices that the file leaves out

        Examples
        --------
        >>> rates = {"currency": "USD", "single": {"na": {"code": "84295", "price": 4.81}},
        ...          "draw": {"fee": 9.09, "once_for_any_of": ["na"]}, "free": ["age"]}
        >>> PriceList.from_json(rates).price(["na", "age"])
        13.9
        """
        data: Any = given
        if isinstance(given, str | PathLike):
            data = json.loads(Path(given).read_text(encoding="utf-8"))
        if part is not None:
            if part not in data:
                raise BadInput(f"the file holds no list {part!r}; it holds {sorted(data)[:8]}.")
            data = data[part]
        if not isinstance(data, Mapping):
            raise BadInput(f"a price list in JSON is an object; got {type(data).__name__}.")
        prices = dict(single or {})
        for name, price in data.get("single", {}).items():
            prices[name] = price["price"] if isinstance(price, Mapping) else price
        prices.update(dict.fromkeys(data.get("free", ()), 0))
        orders = {n: (p["price"], p["fills"]) for n, p in data.get("panels", {}).items()}
        fees = {n: (p["fee"], p["once_for_any_of"]) for n, p in data.get("fees", {}).items()}
        if "draw" in data:
            fees["draw"] = (data["draw"]["fee"], data["draw"]["once_for_any_of"])
        derived = data.get("derived", {})
        if "each_question" in data:
            filled = {f for _, members in orders.values() for f in members} | set(derived)
            for name in features or ():
                if name not in filled:
                    prices.setdefault(name, data["each_question"])
        return cls(
            prices,
            derived=derived,
            currency=data.get("currency", ""),
            orders=orders,
            fees=fees,
            discounts=data.get("groups", {}),
        )


#: prices as users bring them
PricesLike: TypeAlias = PerFeatureLike | PriceList


def as_price_list(prices: PricesLike) -> PriceList:
    """Whatever the user brought, as a price list."""
    if isinstance(prices, PriceList):
        return prices
    return PriceList(1 if prices is None else prices)


def members_of(given: object, what: str = "an order or fee") -> tuple[Any, list[str]]:
    """(price, features), however they were written."""
    if isinstance(given, Mapping):
        fee, features = given.get("fee", given.get("price")), given.get("features")
    elif isinstance(given, tuple | list) and len(given) == 2:
        fee, features = given
    else:
        fee = features = None
    if fee is None or isinstance(features, str) or not isinstance(features, Sequence):
        raise BadInput(
            f"{what} must be (price, [features]) or {{'price': .., 'features': [..]}}; got "
            f"{given!r}."
        )
    return fee, [str(f) for f in features]
