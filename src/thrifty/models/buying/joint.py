"""Joint rows: the best features completed on the same rows, so that a fit sees them together."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Ints
from thrifty.models.buying.account import Account

__all__ = ["complete_rows"]


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
    low, high = 0, max(len(account.others), int(len(account.rare) * others_each) + 1)

    def sizes(n: int) -> tuple[Ints, Ints]:
        a = min(len(account.rare), int(np.ceil(n / others_each)))
        return np.full(k, a), np.full(k, min(n, len(account.others)))

    left = account.left - kept
    while low < high:  # as many rows as the money lasts
        middle = (low + high + 1) // 2
        if account.cost(best, *sizes(middle)).sum() <= left:
            low = middle
        else:
            high = middle - 1
    a, b = sizes(low)
    account.look(best, a, b)
    return k + _further(account, ranked[k:], int(a[0]), int(b[0]), kept)


def _further(account: Account, ranked: Ints, a: int, b: int, kept: float) -> int:
    """Complete more features on the same rows, in their order, while the money lasts."""
    to_a, to_b = np.full(len(ranked), a), np.full(len(ranked), b)
    bill = np.cumsum(account.cost(ranked, to_a, to_b))
    n = int(np.searchsorted(bill, account.left - kept, side="right"))
    account.look(ranked[:n], to_a[:n], to_b[:n])
    return n
