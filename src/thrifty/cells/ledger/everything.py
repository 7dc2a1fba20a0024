"""Everything there is to buy: the distinct cells of all tasks, and what they would cost.

Four labels over one table are one table. A cell that two tasks could look at is counted once, so
the union of what the tasks brought is counted, not the sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ToBuy", "all_there_is"]


@dataclass(frozen=True, eq=False)
class ToBuy:
    """Examples of one place (a source, or an array) with one set of features.

    ``examples`` are numbers within the place; ``price`` is what all the features of one example
    cost, in minor units.
    """

    place: str
    features: str
    n_features: int
    price: int
    examples: NDArray[np.int64]

    def with_(self, other: ToBuy) -> ToBuy:
        """Both together, of the same place and features; the newer price counts."""
        examples = np.union1d(self.examples, other.examples)
        return ToBuy(self.place, self.features, self.n_features, other.price, examples)


def all_there_is(entries: Iterable[ToBuy]) -> tuple[int, int]:
    """(cells, price in minor units) of all of it, each cell once.

    Where an example of one place comes with several sets of features, the largest counts: features
    of a source grow, and a task that brings fewer brings some of the same.

    >>> one = ToBuy("clinic", "a b", 2, 5, np.arange(3))
    >>> all_there_is([one, ToBuy("clinic", "a b c", 3, 9, np.array([2, 3]))])
    (10, 28)
    """
    places: defaultdict[str, list[ToBuy]] = defaultdict(list)
    for entry in entries:
        places[entry.place].append(entry)
    cells = price = 0
    for some in places.values():
        seen = np.zeros(0, dtype=np.int64)
        for entry in sorted(some, key=lambda e: (e.n_features, e.price), reverse=True):
            new = np.setdiff1d(entry.examples, seen, assume_unique=True)
            cells += len(new) * entry.n_features
            price += len(new) * entry.price
            seen = np.union1d(seen, new)
    return cells, price
