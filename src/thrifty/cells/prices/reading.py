"""From a price list as people write it to the tariff of a source's features, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.cells.prices.cover import Cover, Offer
from thrifty.cells.prices.money import amount_text, one_currency, read_amount
from thrifty.cells.prices.price_list import members_of
from thrifty.cells.prices.tariff import Derive, Draw, Tariff, TiedFeatures
from thrifty.errors import BadInput
from thrifty.typing import Floats, JsonLike

if TYPE_CHECKING:
    from thrifty.cells.prices.price_list import PriceList


def read_tariff(prices: PriceList, names: list[str]) -> Tariff:
    """The prices of these features; whatever does not fit is an error that says why."""
    return _Reader(prices, names).tariff()


#: (name, price, features, whether they are sold in it alone)
_Order = tuple[str, Any, list[str]]
#: derived features that are computed: from which, and how
_Computed = dict[int, tuple[tuple[int, ...], Derive]]


class _Reader:
    """Reads one price list against the names of the features."""

    def __init__(self, prices: PriceList, names: list[str]) -> None:
        self.list, self.names = prices, names
        self.at = {name: i for i, name in enumerate(names)}
        self.labels: set[str] = {prices.currency.upper()} if prices.currency else set()
        self.own = np.zeros(len(names), dtype=np.int64)
        #: features that have a price of their own
        self.sold = np.zeros(len(names), dtype=np.bool_)
        self.draws: list[Draw] = []
        self.needs: list[list[int]] = [[] for _ in names]
        self.parts: list[TiedFeatures] = []
        self.roots: dict[int, tuple[int, ...]] = {}

    def tariff(self) -> Tariff:
        parents = self._parents()
        orders = self._order_members()
        self._own_prices(parents, orders)
        for name, given in self.list.fees.items():
            self._fee(name, given, parents)
        first = self._discounts(parents, {f for _, _, members in orders for f in members})
        self._parts(orders, first)
        computed = self._derived(parents)
        valid = self._valid(parents)
        currency = one_currency(self.labels, "a price list")
        lasting = tuple(
            min((float(valid[f]) for f in self._opened_by(d)), default=np.inf)
            for d in range(len(self.draws))
        )
        return Tariff(
            self.own,
            tuple(self.draws),
            tuple(map(tuple, self.needs)),
            valid,
            lasting,
            computed,
            self.list.failed,
            currency,
            tuple(self.parts),
            self.roots,
            alternatives=self._alternatives(),
        )

    def _alternatives(self) -> tuple[tuple[int, ...], ...]:
        """Features that answer the same, of those that are here; the cheapest first."""
        found = []
        for several in self.list.alternatives.values():
            here = [self.at[str(name)] for name in several if str(name) in self.at]
            if len(here) > 1:
                found.append(tuple(sorted(here, key=lambda f: int(self.own[f]))))
        return tuple(found)

    def _opened_by(self, d: int) -> Iterable[int]:
        needing = [f for f, needs in enumerate(self.needs) if d in needs]
        return needing or self.draws[d].members

    def _amount(self, given: object, what: str) -> int:
        minor, label = read_amount(given, what)
        self.labels.add(label)
        return minor

    def _place(self, name: str, what: str) -> int:
        if name not in self.at:
            raise BadInput(f"{what} names {name!r}, which is no feature here.")
        return self.at[name]

    # -- derived features ---------------------------------------------------------------------

    def _parents(self) -> dict[str, tuple[tuple[str, ...], Derive | None]]:
        out: dict[str, tuple[tuple[str, ...], Derive | None]] = {}
        for name, given in self.list.derived.items():
            if name not in self.at:
                raise BadInput(f"derived feature {name!r} is none of the source's features.")
            parents, function = given, None
            if isinstance(given, tuple | list) and len(given) == 2 and callable(given[1]):
                parents, function = given
            several = (parents,) if isinstance(parents, str) else parents
            good = isinstance(several, tuple | list) and several
            if not good or not all(isinstance(p, str) for p in several):
                raise BadInput(
                    f"derived[{name!r}] must be the parent's name, a list of names or (names, "
                    f"function); got {given!r}."
                )
            lacking = [p for p in several if p not in self.at]
            if function is not None and lacking:
                raise BadInput(
                    f"{name!r} is computed from {lacking[0]!r}, which is none of the source's "
                    "features. Add it to the features."
                )
            out[name] = (tuple(dict.fromkeys(several)), function)
        try:
            TopologicalSorter({name: parents for name, (parents, _) in out.items()}).prepare()
        except CycleError as error:
            circle = " <- ".join(reversed(error.args[1]))
            raise BadInput(
                f"derived features go round in a circle: {circle}. Say which of them is bought."
            ) from error
        return out

    def _ancestors(self, name: str, parents: JsonLike) -> list[str]:
        """What is bought for a derived feature: its parents that are not derived themselves."""
        found: dict[str, None] = {}
        for parent in parents[name][0]:
            bought = self._ancestors(parent, parents) if parent in parents else [parent]
            found.update(dict.fromkeys(bought))
        return list(found)

    def _derived(self, parents: Mapping[str, tuple[tuple[str, ...], Derive | None]]) -> _Computed:
        """A test behind several features is a draw; what it needs itself, they need too.

        Where orders fill the parent, its cell is what must be there.
        """
        computed: _Computed = {}
        in_parts = {f for part in self.parts for f in part.features.tolist()}
        children: dict[str, list[str]] = {}
        for name, (direct, function) in parents.items():
            if function is not None:
                computed[self.at[name]] = (tuple(self.at[p] for p in direct), function)
            for ancestor in self._ancestors(name, parents):
                children.setdefault(ancestor, []).append(name)
        for ancestor, names in children.items():
            root = self.at.get(ancestor, -1)
            if root in in_parts:
                for name in names:
                    f = self.at[name]
                    self.roots[f] = (*self.roots.get(f, ()), root)
                continue
            if root >= 0:
                fee, needs = int(self.own[root]), [*self.needs[root], len(self.draws)]
                self.own[root] = 0
                self.needs[root] = needs
            else:
                fee, needs = self._price_of_test(ancestor, names[0]), [len(self.draws)]
            members = [self.at[name] for name in names]
            for f in members:
                self.needs[f] += [d for d in needs if d not in self.needs[f]]
            if root >= 0:
                members.insert(0, root)
            self.draws.append(Draw(ancestor, fee, tuple(members), "test", root))
        return computed

    def _price_of_test(self, parent: str, child: str) -> int:
        given = self.list.per_feature
        if isinstance(given, Mapping) and given.get(parent) is None:
            raise BadInput(f"{child!r} is derived from {parent!r}, which has no price; add it.")
        price = given[parent] if isinstance(given, Mapping) else given
        if price is not None and not isinstance(price, str) and np.ndim(price) != 0:
            raise BadInput(
                f"{child!r} is derived from {parent!r}, which is no feature; give prices by name, "
                "so that its price can be found."
            )
        return self._amount(price, f"price of {parent}")

    # -- prices of single tests ---------------------------------------------------------------

    def _order_members(self) -> list[_Order]:
        out = []
        for name, order in self.list.orders.items():
            price, members = members_of(order)
            if not members:
                raise BadInput(f"order {name!r} fills nothing; name its features.")
            for feature in members:
                self._place(feature, f"order {name!r}")
                if feature in self.list.derived:
                    raise BadInput(
                        f"order {name!r} fills {feature!r}, which is derived and free once its "
                        "parents are there; name those in the order."
                    )
            out.append((str(name), price, members))
        return out

    def _own_prices(self, parents: Mapping[str, object], orders: list[_Order]) -> None:
        given = self.list.per_feature
        ordered = {f for _, _, members in orders for f in members}
        if isinstance(given, Mapping):
            values = [given.get(n) for n in self.names]
        elif given is None or isinstance(given, str) or np.ndim(given) == 0:
            values = [given] * len(self.names)
        else:
            values = list(np.asarray(given, dtype=object))
            if len(values) != len(self.names):
                raise BadInput(
                    f"expected {len(self.names)} prices, one per feature; got {len(values)}."
                )
        for i, (name, value) in enumerate(zip(self.names, values)):
            if value is not None:
                self.own[i], self.sold[i] = self._amount(value, f"price of {name}"), True
        unsold = (self.names[i] for i in np.flatnonzero(~self.sold).tolist())
        lacking = [name for name in unsold if name not in ordered and name not in parents]
        if lacking:
            raise BadInput(
                f"every feature needs a price; {len(lacking)} of {len(self.names)} have none, the "
                f"first are {lacking[:5]}. Say it in prices= (0 where a feature is free), or leave "
                "them out with features=."
            )
        for name in parents:
            self.own[self.at[name]], self.sold[self.at[name]] = 0, False

    def _fee(self, name: str, given: object, parents: Mapping[str, object]) -> None:
        fee, features = members_of(given)
        if not features:
            raise BadInput(f"fee {name!r} is paid for nothing; name its features.")
        members = tuple(dict.fromkeys(self._place(f, f"fee {name!r}") for f in features))
        for m in members:
            self.needs[m].append(len(self.draws))
        self.draws.append(Draw(str(name), self._amount(fee, f"fee of {name}"), members))

    # -- cheaper second tests -----------------------------------------------------------------

    def _discounts(
        self, parents: Mapping[str, object], ordered: set[str]
    ) -> dict[int, dict[int, int]]:
        """A group whose tests all become cheaper by the same amount is a fee; the others go to a
        part: {draw: {feature: what it costs more as the first}}."""
        first: dict[int, dict[int, int]] = {}
        grouped: set[str] = set()
        for group, given in self.list.discounts.items():
            if not isinstance(given, Mapping):
                raise BadInput(
                    f"discounts[{group!r}] must be {{feature: price of a second test}}; got "
                    f"{given!r}."
                )
            more: dict[int, int] = {}
            for name, price in given.items():
                f = self._place(name, f"discount {group!r}")
                if name in grouped or name in parents or not self.sold[f]:
                    why = "is in two groups" if name in grouped else "is not sold alone"
                    raise BadInput(f"discount {group!r} is for {name!r}, which {why}.")
                second = self._amount(price, f"discounted price of {name}")
                if second > self.own[f]:
                    raise BadInput(
                        f"the discounted price of {name!r} in group {group!r} is "
                        f"{amount_text(second)}, above its price {amount_text(int(self.own[f]))}."
                    )
                grouped.add(name)
                more[f] = int(self.own[f]) - second
                self.own[f] = second
            d, amounts = len(self.draws), set(more.values())
            members = tuple(more)
            if len(amounts) == 1 and not ordered & set(given):
                self.draws.append(Draw(str(group), amounts.pop(), members, "group"))
                for f in members:
                    self.needs[f].append(d)
            elif more:
                self.draws.append(Draw(str(group), 0, members, "group"))
                first[d] = more
        return first

    # -- orders -------------------------------------------------------------------------------

    def _parts(self, orders: list[_Order], first: Mapping[int, Mapping[int, int]]) -> None:
        """Orders with the features they tie together, each with its own cover."""
        offers: list[tuple[int, int, frozenset[int]]] = []  # (draw, price, features)
        for name, price, members in orders:
            fills = frozenset(self.at[f] for f in members)
            minor = self._amount(price, f"price of {name}")
            offers.append((len(self.draws), minor, fills))
            self.draws.append(Draw(name, minor, tuple(sorted(fills)), "order"))
        tied = {f for _, _, fills in offers for f in fills} | {f for g in first.values() for f in g}
        offers += [(-1, int(self.own[f]), frozenset([f])) for f in sorted(tied) if self.sold[f]]
        begins = [self._begins(draw, fills, first) for draw, _, fills in offers]
        for features in _components([fills for _, _, fills in offers], begins):
            mine = [i for i, (_, _, fills) in enumerate(offers) if fills <= features]
            self._part(features, [(*offers[i], begins[i]) for i in mine])
        for f in tied:
            self.own[f] = 0

    def _begins(
        self, draw: int, fills: frozenset[int], first: Mapping[int, Mapping[int, int]]
    ) -> dict[int, int]:
        """What an order pays where it is the first: a group's surplus, and fees that some of what
        it fills needs and some does not. A fee that all of it needs is due in any case, unless the
        order is bought for nothing but the discount that it opens."""
        out: dict[int, int] = {}
        for d, more in first.items():
            if fills & more.keys():
                out[d] = more[next(iter(fills))] if draw < 0 else 0
        needed = [set(self.needs[f]) for f in fills]
        always = set() if out else set.intersection(*needed)
        for d in set().union(*needed) - always:
            out[d] = self.draws[d].fee
        return out

    def _part(
        self,
        features: frozenset[int],
        offers: list[tuple[int, int, frozenset[int], dict[int, int]]],
    ) -> None:
        at = {f: i for i, f in enumerate(sorted(features))}
        inner = sorted({d for *_, begins in offers for d in begins})
        place = {d: k for k, d in enumerate(inner)}
        cover = Cover(
            [
                Offer(price, sum(1 << at[f] for f in fills), {place[d]: a for d, a in b.items()})
                for _, price, fills, b in offers
            ]
        )
        self.parts.append(
            TiedFeatures(
                np.array(sorted(features), dtype=np.int64),
                cover,
                tuple(draw for draw, *_ in offers),
                tuple(min(fills) if draw < 0 else -1 for draw, _, fills, _ in offers),
                tuple(inner),
            )
        )

    # -- expiry -------------------------------------------------------------------------------

    def _valid(self, parents: Mapping[str, object]) -> Floats:
        given = self.list.valid_for
        out = np.full(len(self.names), np.inf)
        if given is None:
            return out
        by_name = given if isinstance(given, Mapping) else dict.fromkeys(self.names, given)
        for name, span in by_name.items():
            f = self._place(name, "valid_for")
            seconds = span.total_seconds() if isinstance(span, timedelta) else span
            if not isinstance(seconds, int | float) or not seconds > 0:
                raise BadInput(
                    f"valid_for must be seconds or a timedelta, above 0; got {span!r} for {name!r}."
                )
            out[f] = seconds
        for name in parents:
            # what comes from an expired test is expired too
            for parent in self._ancestors(name, parents):
                if parent in self.at:
                    f = self.at[name]
                    out[f] = min(out[f], out[self.at[parent]])
        return out


def _components(fills: list[frozenset[int]], begins: list[dict[int, int]]) -> list[frozenset[int]]:
    """Features that share an order, or orders that may begin the same thing."""
    groups: list[set[int]] = []
    for some, begin in zip(fills, begins):
        mine = {*some, *(-1 - d for d in begin)}
        met = [group for group in groups if not group.isdisjoint(mine)]
        groups = [group for group in groups if group.isdisjoint(mine)] + [mine.union(*met)]
    return sorted((frozenset(f for f in group if f >= 0) for group in groups), key=min)
