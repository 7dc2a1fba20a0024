"""What features cost at a node of a tree: on an example that was asked what lies above it.

Where every feature is sold by itself a node does not matter. Where orders fill several features,
fees are paid once, or a second test is cheaper, the question after a path costs its margin (as
Turney's conditional test costs), and a gain that looks at prices is to look at that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells import Door
from thrifty.trees.gains.gain import Gain
from thrifty.trees.tree import Path, Split

__all__ = ["PathPrices", "Prices", "path_prices"]


class PathPrices:
    """Prices that a growing tree asks for, node by node.

    Parameters
    ----------
    prices : array
        where nothing was asked yet
    after : callable or None
        (features) -> prices of all features where these were asked; None: they never change

    Examples
    --------
    >>> import numpy as np
    >>> door = PathPrices(np.array([9.0, 9.0]), lambda asked: np.array([0.0, 1.0]))
    >>> door.follow((), Split(0))
    >>> door.at(()).tolist(), door.at((True,)).tolist()
    ([9.0, 9.0], [0.0, 1.0])
    """

    def __init__(
        self, prices: Floats, after: Callable[[Sequence[int]], Floats] | None = None
    ) -> None:
        self._prices, self._after = prices, after
        self._asked: dict[Path, tuple[int, ...]] = {}
        self._kept: dict[tuple[int, ...], Floats] = {}

    def __len__(self) -> int:
        return len(self._prices)

    def at(self, path: Path) -> Floats:
        """The price of every feature at a node."""
        if self._after is None or not path:
            return self._prices
        asked = self._asked[path[:-1]]
        if asked not in self._kept:
            self._kept[asked] = self._after(asked)
        return self._kept[asked]

    def follow(self, path: Path, split: Split) -> None:
        """A node was split: nodes below it will be asked for."""
        if self._after is not None:
            above = self._asked[path[:-1]] if path else ()
            self._asked[path] = (*above, split.feature)


Prices: TypeAlias = PathPrices | Floats


def path_prices(given: Prices | Door, gain: Gain) -> PathPrices:
    """The prices of a door; those that are given are the same at every node."""
    if isinstance(given, PathPrices):
        return given
    if isinstance(given, np.ndarray):
        return PathPrices(given)
    return PathPrices(given.prices, given.prices_after if gain.by_price else None)
