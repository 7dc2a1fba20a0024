"""Looks at single features where they lower the loss most for their price; then joint rows.

Joint rows: the best features completed on the same rows, so that a fit sees them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.models.belief import CHUNK, Looked, believe, knowledge_gradient, overall_rate
from thrifty.models.purses.account import Account
from thrifty.models.purses.purse import most

__all__ = ["Background", "complete_rows", "look_around", "look_once"]

# Those of the first prototype, chosen on tmc2007_500, slashdot and bibtex (docs/models.md,
# *Measured*; `python benchmarks/models.py` measures with them).
#: so many rows of the rare class are looked at together
_STEPS = (2, 5, 12)
#: so many rows outside of it
_OTHER_STEPS = (3, 8, 20)
#: the looks' share of the bill is spent in so many rounds
_ROUNDS = 24
#: beliefs are made anew when the overall rate moved by this part of itself
_MOVED = 0.1


@dataclass(frozen=True, eq=False)
class Background:
    """Looks and ones of every feature that earlier tasks paid for."""

    looks: Floats
    ones: Floats


class _Offers:
    """The best next look at every feature, its worth per price; made anew where counts moved.

    A look is so many more rare rows with the others that go with them, or others alone.
    """

    def __init__(self, account: Account, background: Background, ratio: float) -> None:
        self.account, self.background, self.ratio = account, background, ratio
        N = len(account.a)
        self.worth = np.full(N, -1.0)
        self.to_a, self.to_b = np.zeros(N, dtype=np.int64), np.zeros(N, dtype=np.int64)
        self.overall = -1.0

    def others_for(self, features: Ints, a: Ints) -> Ints:
        """How many other rows belong to a looks in the rare class: ratio times, less the known."""
        needed = np.ceil(self.ratio * a - self.background.looks[features])
        needed = np.clip(needed, 0, len(self.account.others)).astype(np.int64)
        return np.maximum(needed, self.account.b[features])

    def renew(self, changed: Ints) -> None:
        looked = self.account.looked(self.background.looks, self.background.ones)
        overall = overall_rate(looked)
        if abs(overall - self.overall) > _MOVED * abs(self.overall):
            changed, self.overall = np.arange(len(self.worth)), overall
        changed = changed[self.account.there[changed]]
        for start in range(0, len(changed), CHUNK):
            self._renew(changed[start : start + CHUNK], looked)

    def _renew(self, features: Ints, looked: Looked) -> None:
        account = self.account
        belief = believe(looked.of(features), self.overall)
        self.worth[features] = -1.0
        for m in _STEPS:
            a = np.minimum(account.a[features] + m, len(account.rare))
            fall = knowledge_gradient(belief, belief.rate, m)
            self._offer(features, a, self.others_for(features, a), fall)
        for m in _OTHER_STEPS:
            b = np.minimum(account.b[features] + m, len(account.others))
            fall = knowledge_gradient(belief, belief.base, m)
            self._offer(features, account.a[features], b, fall)

    def _offer(self, features: Ints, a: Ints, b: Ints, fall: Floats) -> None:
        """Take this look where it is worth more for its price than those before."""
        cost = self.account.cost_with_shared_fees(features, a, b)
        more = (a > self.account.a[features]) | (b > self.account.b[features])
        # a free feature costs next to nothing, not nothing: its worth still ranks it
        worth = np.where(more, fall / np.maximum(cost, 1e-9), -1.0)
        better = worth > self.worth[features]
        some = features[better]
        self.worth[some], self.to_a[some], self.to_b[some] = worth[better], a[better], b[better]


def look_around(account: Account, background: Background, spend: float, ratio: float) -> None:
    """Spend so much on looks; each look in the rare class brings ``ratio`` others or known ones."""
    offers = _Offers(account, background, ratio)
    start = account.left
    changed = np.arange(len(account.a))
    for done in range(_ROUNDS):
        left = spend - (start - account.left)
        offers.renew(changed)
        order = np.argsort(-offers.worth, kind="stable")
        order = order[offers.worth[order] > 0]
        if left <= 0 or not len(order):
            return
        a, b = offers.to_a[order], offers.to_b[order]
        bill = np.cumsum(account.cost(order, a, b))
        n = max(1, int(np.searchsorted(bill, left / (_ROUNDS - done), side="right")))
        if bill[n - 1] > left:
            return
        changed = order[:n]
        account.look(changed, a[:n], b[:n])


def look_once(account: Account, spend: float) -> None:
    """Look at every feature on the same rows, as many of both kinds: where asking itself costs."""
    every = np.flatnonzero(account.there)

    def sizes(n: int) -> tuple[Ints, Ints]:
        a = np.full(len(every), min(n, len(account.rare)))
        return a, np.full(len(every), min(n, len(account.others)))

    rows = max(len(account.rare), len(account.others))
    n = most(1, rows, lambda n: bool(account.cost(every, *sizes(n)).sum() <= spend))
    account.look(every, *sizes(n))


def complete_rows(
    account: Account, ranked: Ints, k: int, others_each: float, kept: float = 0.0
) -> int:
    """Complete the k best features on as many rows as are left to pay for, then further features.

    ``kept`` of the money stays. ``others_each`` rows outside the rare class go with each rare one,
    until all rare ones are in.
    Returns how many features are complete on those rows.
    """
    k = min(k, len(ranked))
    best = ranked[:k]

    def sizes(n: int) -> tuple[Ints, Ints]:
        a = min(len(account.rare), int(np.ceil(n / others_each)))
        return np.full(k, a), np.full(k, min(n, len(account.others)))

    def can_pay(money: float, n: int) -> bool:
        return bool(account.cost(best, *sizes(n)).sum() <= money)

    rows, high = 0, max(len(account.others), int(len(account.rare) * others_each) + 1)
    for part in account.parts:
        rows = most(rows, high, partial(can_pay, part * (account.left - kept)))
        account.look(best, *sizes(rows))
    a, b = sizes(rows)
    return k + _further(account, ranked[k:], int(a[0]), int(b[0]), kept)


def _further(account: Account, ranked: Ints, a: int, b: int, kept: float) -> int:
    """Complete more features on the same rows, in their order, while the money lasts."""
    done = 0
    for part in account.parts:
        rest = ranked[done:]
        to_a, to_b = np.full(len(rest), a), np.full(len(rest), b)
        bill = np.cumsum(account.cost(rest, to_a, to_b))
        n = int(np.searchsorted(bill, part * (account.left - kept), side="right"))
        account.look(rest[:n], to_a[:n], to_b[:n])
        done += n
    return done
