"""Which rows to buy first. Labels are free, so they may choose.

Rows with the most extreme labels tell most about the features behind them: at the top and at the
bottom of the labels the features that matter lean to one side, the others do not. On monomials
of degree 10 over 1,000 features, rows taken alternately from both ends need about 25 rows where
random ones need 42 and rows from one end alone 80 and more (docs/powers.md). Every fourth row is
drawn at random: where values are coarse, the extreme rows may all look alike.

A row that was chosen by its label proves less than a random one, so what was fitted on chosen rows
is always verified on rows in a random order.
"""

from __future__ import annotations

import numpy as np

__all__ = ["both_ends", "growing", "shuffled"]


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
