"""The cheapest set of orders that fills what is wanted.

A weighted set cover: every wanted feature must lie in one of the chosen orders, each order has a
price, and some orders begin something that is paid once per example (a blood draw, the first test
of a group). Lists as laboratories print them are small, so a search with a bound finds the optimum
in a fraction of a millisecond; where it would take more than :data:`PATIENCE` steps the rest is
solved as an integer programme (HiGHS, through SciPy), which is exact as well. Only if that does not
end within its time is the answer the best set found, at most H(k) = 1 + 1/2 + ... + 1/k times the
cheapest price of the orders, where k is the largest number of features of one order (Chvatal 1979);
``OrderChoice.exact`` says which.

Sets of features are Python integers here, a bit each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

#: steps of the search before the integer programme takes over
PATIENCE = 5_000


@dataclass(frozen=True, slots=True)
class Offer:
    """An order: its price, the features it fills as bits, and what it begins.

    ``begins`` maps a number to what this order pays for it where it is not paid yet. Of several
    orders bought at once the cheapest of these amounts is paid, once.
    """

    price: int
    fills: int
    begins: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """Orders that fill all that was wanted: their places in the list, in the order of the list."""

    offers: tuple[int, ...]
    price: int
    exact: bool = True


class Cover:
    """The offers of one part of a price list; answers are kept.

    >>> sodium, potassium = Offer(481, 0b01), Offer(476, 0b10)
    >>> electrolytes = Offer(701, 0b11)
    >>> cover = Cover([sodium, potassium, electrolytes])
    >>> cover.cheapest(0b01).price, cover.cheapest(0b11).price
    (481, 701)
    """

    def __init__(self, offers: Sequence[Offer], patience: int = PATIENCE) -> None:
        self.offers, self.patience = tuple(offers), patience
        self.within = 0
        for offer in self.offers:
            self.within |= offer.fills
        self._kept: dict[tuple[int, int], OrderChoice] = {}

    def cheapest(self, wanted: int, begun: int = 0) -> OrderChoice:
        """The cheapest orders for these features where ``begun`` (bits) is paid already."""
        key = (wanted, begun)
        choice = self._kept.get(key)
        if choice is None:
            if wanted & ~self.within:
                raise ValueError("no order fills some of the features that are wanted")
            choice = self._kept[key] = _CoverSearch(self, wanted, begun).choice()
        return choice

    def price(self, chosen: Sequence[int], begun: int = 0) -> int:
        """What a set of orders costs."""
        due: dict[int, int] = {}
        for o in chosen:
            for k, amount in self.offers[o].begins.items():
                if not begun >> k & 1:
                    due[k] = min(amount, due.get(k, amount))
        return sum(self.offers[o].price for o in chosen) + sum(due.values())


class _CoverSearch:
    """Depth first over the feature with the fewest orders left, cheapest order first."""

    def __init__(self, cover: Cover, wanted: int, begun: int) -> None:
        self.cover, self.wanted, self.begun = cover, wanted, begun
        self.useful = self._useful()
        #: the least that beginning k can cost, whichever order does it
        self.least: dict[int, int] = {}
        for o in range(len(cover.offers)):
            for k, amount in self._begins(o).items():
                self.least[k] = min(amount, self.least.get(k, amount))
        #: a test that nobody wants may be bought for the discount that it opens
        self.openers = [
            o
            for o in range(len(cover.offers))
            if any(
                self._begins(u).get(k, a) > a
                for k, a in self._begins(o).items()
                for u in self.useful
            )
        ]
        self.steps = 0
        self.best: tuple[int, tuple[int, ...]] = self._greedy()

    def choice(self) -> OrderChoice:
        try:
            self._go(self.wanted, 0, (), frozenset())
            exact = True
        except _TooLong:
            some = sorted({*self.useful, *self.openers})
            found = _programme(self.cover, some, self.wanted, self.begun)
            exact = found is not None
            if found is not None:
                self.best = min(self.best, (self.cover.price(found, self.begun), found))
        price, chosen = self.best
        return OrderChoice(tuple(sorted(chosen)), price, exact)

    def _begins(self, o: int) -> dict[int, int]:
        begins = self.cover.offers[o].begins
        return {k: a for k, a in begins.items() if not self.begun >> k & 1}

    def _useful(self) -> list[int]:
        """Orders that fill something wanted, without those that another makes needless."""
        offers = self.cover.offers
        some = [o for o, offer in enumerate(offers) if offer.fills & self.wanted]
        some.sort(key=lambda o: (offers[o].price, -offers[o].fills.bit_count(), o))
        kept: list[int] = []
        for o in some:
            here = offers[o].fills & self.wanted
            begins = self._begins(o)
            # At most its price, at least what it fills, and beginning the same things: no loss.
            if not any(here & ~offers[k].fills == 0 and self._begins(k) == begins for k in kept):
                kept.append(o)
        return kept

    def _greedy(self) -> tuple[int, tuple[int, ...]]:
        offers, left, chosen = self.cover.offers, self.wanted, []
        begun: set[int] = set()
        while left:
            rates = []
            for o in self.useful:
                here = (offers[o].fills & left).bit_count()
                if here:
                    new = sum(a for k, a in self._begins(o).items() if k not in begun)
                    rates.append(((offers[o].price + new) / here, o))
            o = min(rates)[1]
            chosen.append(o)
            begun |= self._begins(o).keys()
            left &= ~offers[o].fills
        for o in sorted(chosen, key=lambda o: -offers[o].price):
            rest = [c for c in chosen if c != o]
            filled = 0
            for c in rest:
                filled |= offers[c].fills
            if not self.wanted & ~filled:
                chosen = rest
        return self.cover.price(chosen, self.begun), tuple(chosen)

    def _go(self, left: int, price: int, chosen: tuple[int, ...], begun: frozenset[int]) -> None:
        """``price`` is that of the chosen orders, without what they begin."""
        if not left:
            self._finish(chosen)
            return
        self.steps += 1
        if self.steps > self.cover.patience:
            raise _TooLong
        if price + self._at_least(left, begun) >= self.best[0]:
            return
        for o in self._for_rarest(left):
            offer = self.cover.offers[o]
            self._go(
                left & ~offer.fills,
                price + offer.price,
                (*chosen, o),
                begun | self._begins(o).keys(),
            )

    def _finish(self, chosen: tuple[int, ...], first: int = 0) -> None:
        whole = self.cover.price(chosen, self.begun)
        if whole < self.best[0]:
            self.best = (whole, chosen)
        for i, o in enumerate(self.openers[first:], first):
            # An opener saves what was begun above its least amount, at most.
            if o not in chosen and whole - self.cover.offers[o].price > 0:
                self.steps += 1
                if self.steps > self.cover.patience:
                    raise _TooLong
                due = {k for c in chosen for k in self._begins(c)}
                if due & self._begins(o).keys():
                    self._finish((*chosen, o), i + 1)

    def _at_least(self, left: int, begun: frozenset[int]) -> float:
        """No set that fills the rest is cheaper: each order's price shared by what it fills."""
        total = float(sum(self.least[k] for k in begun))
        share: dict[int, float] = {}
        for o in self.useful:
            here = self.cover.offers[o].fills & left
            if here:
                each = self.cover.offers[o].price / here.bit_count()
                for f in _bits(here):
                    if each < share.get(f, np.inf):
                        share[f] = each
        # Sums of shares carry rounding; a minor unit is the smallest difference there is.
        return total + sum(share.values()) - 0.5

    def _for_rarest(self, left: int) -> list[int]:
        best: list[int] | None = None
        for f in _bits(left):
            some = [o for o in self.useful if self.cover.offers[o].fills >> f & 1]
            if best is None or len(some) < len(best):
                best = some
        return best or []


class _TooLong(Exception):
    """The search has taken its number of steps."""


def _programme(
    cover: Cover, useful: Sequence[int], wanted: int, begun: int
) -> tuple[int, ...] | None:
    """The same question as an integer programme; None where it did not end in time.

    x_o: the order is bought; z_(k,o): it is this order that pays for beginning k.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    pays = [(k, o) for o in useful for k in cover.offers[o].begins if not begun >> k & 1]
    n, m = len(useful), len(pays)
    place = {o: i for i, o in enumerate(useful)}
    cost = np.array(
        [float(cover.offers[o].price) for o in useful]
        + [float(cover.offers[o].begins[k]) for k, o in pays]
    )
    rows: list[np.ndarray] = []
    low: list[float] = []
    for f in _bits(wanted):
        row = np.zeros(n + m)
        row[[place[o] for o in useful if cover.offers[o].fills >> f & 1]] = 1
        rows.append(row)
        low.append(1.0)
    for i, (k, o) in enumerate(pays):
        mine, any_one = np.zeros(n + m), np.zeros(n + m)
        mine[place[o]], mine[n + i] = 1, -1
        any_one[place[o]] = -1
        any_one[[n + j for j, (other, _) in enumerate(pays) if other == k]] = 1
        rows += [mine, any_one]
        low += [0.0, 0.0]
    scale = max(float(cost.max()), 1.0)
    found = milp(
        cost / scale,
        integrality=np.ones(n + m),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(rows), lb=np.array(low)),
        options={"time_limit": 20.0, "mip_rel_gap": 0.0},
    )
    if found.status != 0 or found.x is None:
        return None
    return tuple(o for o, x in zip(useful, found.x[:n]) if x > 0.5)


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
