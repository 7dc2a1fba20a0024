"""Splits of decision lists: only those that leave one child pure count."""

from __future__ import annotations

from functools import cache

import numpy as np

from thrifty.array_types import Floats
from thrifty.trees.gains.gain import Gain
from thrifty.typing import AnyArray

__all__ = ["pure_child"]


@cache
def pure_child(gain: Gain) -> Gain:
    """The same gain where a split leaves a child pure, minus infinity elsewhere.

    Still a pure function of counts, so all that holds for trees with any gain holds for lists.

    >>> from thrifty.trees.gains.gain import entropy
    >>> counts, totals = np.array([[0, 1], [2, 2]]), np.array([3, 3])
    >>> pure_child(entropy)(counts, totals, np.ones(2)).round(3).tolist()
    [0.459, -inf]
    """

    def only_pure_child(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
        gains = gain(counts, totals, prices)
        pure_true = (counts > 0).sum(axis=0) <= 1
        pure_false = (totals[:, None] - counts > 0).sum(axis=0) <= 1
        return np.where(pure_true | pure_false, gains, -np.inf)

    return Gain(gain.name, only_pure_child, None, gain.kernel, pure_child=True)
