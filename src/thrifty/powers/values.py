"""Bought values, checked, and which rows to buy first: where both families touch cells.

Labels are free, so they may choose the rows. Rows with the most extreme labels say most about the
features behind them: at the top and at the bottom of the labels the features that matter lean to
one side, the others do not. On monomials of degree 10 over 1,000 features, rows taken alternately
from both ends need about 25 rows where random ones need 42 and rows from one end alone 80 and more
(docs/powers.md). Every fourth row is drawn at random: where values are coarse, the extreme rows
may all look alike.

A row that was chosen by its label proves less than a random one, so what was fitted on chosen rows
is always verified on rows in a random order.
"""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadInput


class BoughtValues:
    """A thin view of a ``Cells`` reader that refuses values the formula cannot take.

    Monomials take values above 0, of which there are logs; polynomials any that are finite.
    """

    def __init__(self, cells: Cells, *, positive: bool = False) -> None:
        self.cells, self.positive = cells, positive
        self.n_examples = int(cells.n_examples)
        self.n_features = int(cells.n_features)
        self.row_seed = int(cells.row_seed)

    def values(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Bought values, checked."""
        bought = np.asarray(self.cells.get(rows, features), dtype=np.float64)
        wrong = ~np.isfinite(bought) | (self.positive & (bought <= 0))
        if wrong.any():
            row, column = (int(index[0]) for index in np.nonzero(wrong))
            needed, advice = _ABOVE_0 if self.positive else _FINITE
            raise BadInput(
                f"{needed}, but feature {self.cells.feature_names[int(features[column])]!r} is "
                f"{bought[row, column]} on example {int(rows[row])}. {advice}"
            )
        return bought

    def logs(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Natural logs of :meth:`values`."""
        return np.asarray(np.log(self.values(rows, features)))

    def owned_rows(self, features: np.ndarray) -> np.ndarray:
        """Rows on which all of these can be looked at for nothing."""
        return np.asarray(self.cells.owned_rows(features))


_FINITE = "polynomials need finite values", "Leave the example or the feature out."
_ABOVE_0 = (
    "monomials need finite values above 0",
    "Shift or scale the feature, leave it out, or learn with thrifty.Polynomials, which takes "
    "any finite value.",
)


def shuffled(n_rows: int, seed: int = 0) -> np.ndarray:
    """All rows in the random order of a seed: data are often sorted, or laid out on purpose."""
    return np.random.default_rng([0, seed] if seed else 0).permutation(n_rows)


def both_ends(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """All rows: the lowest, the highest, the next lowest of ``values``, then one at random.

    >>> import numpy as np
    >>> both_ends(np.arange(100.0))[:8].tolist()
    [0, 99, 1, 82, 98, 2, 97, 36]
    """
    mixed = shuffled(len(values), seed)
    rising = mixed[np.argsort(values[mixed], kind="stable")]
    half = (len(values) + 1) // 2
    ends = np.empty(len(values), dtype=np.intp)
    ends[0::2] = rising[:half]
    ends[1::2] = rising[half:][::-1]
    order: dict[int, None] = {}
    for place, row in enumerate(ends.tolist()):
        if place % 3 == 0 and place:
            order.setdefault(int(mixed[place // 3 - 1]))
        order.setdefault(row)
    return np.array(list(order), dtype=np.intp)


def growing(first: int, limit: int, factor: float = 1.15) -> list[int]:
    """Batch sizes from ``first`` to ``limit``, each about ``factor`` times the one before.

    >>> growing(10, 20)
    [10, 12, 14, 17, 20]
    """
    sizes, size = [], min(first, limit)
    while size < limit:
        sizes.append(size)
        size = max(size + 2, int(size * factor + 0.999))
    return [*sizes, limit]
