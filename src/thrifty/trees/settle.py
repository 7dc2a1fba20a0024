"""Splits of decision lists: only those that leave one child pure count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import NotInFamily
from thrifty.trees.gain import Floats, Gain
from thrifty.trees.labels import Labels
from thrifty.trees.scratch import contradiction
from thrifty.trees.scratch_real import Stuck
from thrifty.trees.tree import Path

__all__ = ["settling", "stuck_list"]


def settling(gain: Gain) -> Gain:
    """The same gain where a split leaves a child pure, minus infinity elsewhere.

    Still a pure function of counts, so all that holds for trees with any gain holds for lists.

    >>> from thrifty.trees.gain import entropy
    >>> counts, totals = np.array([[0, 1], [2, 2]]), np.array([3, 3])
    >>> settling(entropy)(counts, totals, np.ones(2)).round(3).tolist()
    [0.459, -inf]
    """

    def only_settling(counts: NDArray[Any], totals: NDArray[Any], prices: Floats) -> Floats:
        gains = gain(counts, totals, prices)
        pure_true = (counts > 0).sum(axis=0) <= 1
        pure_false = (totals[:, None] - counts > 0).sum(axis=0) <= 1
        return np.where(pure_true | pure_false, gains, -np.inf)

    return only_settling


def stuck_list(table: Callable[[], NDArray[Any]]) -> Stuck:
    """What to raise where no split settles a side: rows that are alike, or not a list at all."""

    def stuck(
        path: Path, rows: NDArray[np.int64], starts: NDArray[np.int64], labels: Labels
    ) -> Exception:
        values = np.asarray(table())[rows].astype(np.float64)
        if (np.isnan(values).all(axis=0) | (values == values[:1]).all(axis=0)).all():
            return contradiction(path, rows, starts, labels)
        return NotInFamily(
            f"no decision list is consistent with the labels: after {len(path)} tests {len(rows)} "
            "examples are left, and every feature leaves both of its sides impure. Use "
            "thrifty.Trees, or mend the labels."
        )

    return stuck
