"""Everything there is to buy: the distinct cells of all tasks, and what they would cost.

Four labels over one table are one table. A cell that two tasks could look at is counted once, so
the union of what the tasks brought is counted, not the sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["ToBuy", "all_there_is"]


@dataclass(frozen=True, eq=False)
class ToBuy:
    """Examples of one place (a source, or an array) with one set of features.

    ``examples`` are numbers within the place; ``price`` is what all the features of one example
    cost, in minor units; ``which`` says of each feature of the lifetime whether it is among them
    (None: not known, as stores of 0.1 did not say).
    """

    place: str
    features: str
    n_features: int
    price: int
    examples: NDArray[np.int64]
    which: NDArray[np.bool_] | None = None

    def with_(self, other: ToBuy) -> ToBuy:
        """Both together, of the same place and features; the newer price counts."""
        examples = np.union1d(self.examples, other.examples)
        return replace(other, examples=examples)


def all_there_is(entries: Iterable[ToBuy]) -> tuple[int, int]:
    """(cells, price in minor units) of all of it, each cell once.

    An example that comes with several sets of features has all of them. What a set adds to another
    costs its share of the set's price, where only some of its features are new.

    >>> one = ToBuy("clinic", "a b", 2, 4, np.arange(3), np.array([True, True]))
    >>> two = ToBuy("clinic", "b c", 2, 6, np.array([2, 3]), np.array([False, True, True]))
    >>> all_there_is([one, two])
    (9, 22)
    """
    places: defaultdict[str, list[ToBuy]] = defaultdict(list)
    for entry in entries:
        places[entry.place].append(entry)
    cells = price = 0
    for some in places.values():
        some.sort(key=lambda e: (e.n_features, e.price), reverse=True)
        known = np.unique(np.concatenate([entry.examples for entry in some]))
        member = np.stack([np.isin(known, entry.examples) for entry in some], axis=1)
        for pattern, times in zip(*np.unique(member, axis=0, return_counts=True), strict=True):
            each = _together([some[i] for i in np.flatnonzero(pattern).tolist()])
            cells, price = cells + int(times) * each[0], price + int(times) * each[1]
    return cells, price


def _together(some: list[ToBuy]) -> tuple[int, int]:
    """(cells, price) of one example that comes with all of these, the largest first."""
    cells, price = some[0].n_features, some[0].price
    had = some[0].which
    for entry in some[1:]:
        if had is None or entry.which is None:
            continue  # of features that grow the largest set holds the others
        n = max(len(had), len(entry.which))
        had, which = (np.pad(w, (0, n - len(w))) for w in (had, entry.which))
        new = int((which & ~had).sum())
        cells, price = cells + new, price + round(entry.price * new / max(entry.n_features, 1))
        had = had | which
    return cells, price
