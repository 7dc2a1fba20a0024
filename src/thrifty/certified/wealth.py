"""A bet against the deficit: what grows beyond 1/alpha is refuted.

A row I is drawn from the rows without a label, row i with probability p_i. Whatever guess h_i was
made beforehand of what row i counts,

    z = known part + sum of h + (value_I - h_I) / p_I

has the present deficit as its mean, over the draw alone: nothing is assumed of the model. So if the
deficit at the start was s and has since fallen by f, a bettor who begins with 1 and takes
1 + mu (s - f - z) at each draw has no gain to expect, and ends above 1/alpha with probability at
most alpha, at any time at which one looks (Ville). mu is chosen before the draw, small enough that
no outcome costs more than everything.

The deficit now is s - f. All s > f are refuted as soon as s = f is, since the bettor gains more
against a larger s: so one number tells whether the deficit is at most 0 now. Several bettors share
the money at the start, and what counts is their sum.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats

__all__ = ["Wealth"]

#: so little is always kept, where an outcome would cost all
_LEAST = 1e-300


class Wealth:
    """What the bettors have won, for any deficit at the start.

    >>> wealth = Wealth(bettors=1)
    >>> wealth.draw(np.array([0.0]), np.array([[-1.0]]), np.array([[0.5]]))
    >>> round(wealth.log(0.0), 4), round(wealth.log(1.0), 4)     # ln 1.5; against 1: ln 2
    (0.4055, 0.6931)
    """

    def __init__(self, bettors: int) -> None:
        self._fallen = np.empty(0)
        self._seen = np.empty((0, bettors))
        self._stake = np.empty((0, bettors))

    def __len__(self) -> int:
        return len(self._fallen)

    def draw(self, fallen: Floats, seen: Floats, stake: Floats) -> None:
        """Rows drawn: how far the deficit had fallen before each, z and mu for every bettor."""
        self._fallen = np.concatenate([self._fallen, fallen])
        self._seen = np.concatenate([self._seen, seen])
        self._stake = np.concatenate([self._stake, stake])

    def log(self, deficit: float) -> float:
        """Logarithm of all that is won if the deficit was this at the start."""
        if not len(self):
            return 0.0
        held = (deficit - self._fallen)[:, None]
        kept = np.maximum(1.0 + self._stake * (held - self._seen), _LEAST)
        each = np.log(kept).sum(axis=0)
        most = float(each.max())
        return most + float(np.log(np.exp(each - most).mean()))
