"""How well each feature tells the classes apart, on rows of a basket: one statistic throughout.

The score test of its points under the card's prior (:mod:`thrifty.models.points`), in which a trend
counts most, a bend less, a gap is a bin; chance alone gives 1.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from thrifty.models.basket import Basket
from thrifty.models.bins import make_bins

__all__ = ["how_telling"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def how_telling(
    basket: Basket,
    features: Ints,
    looked: int,
    n_classes: int,
    categories: Set[int],
    present: Floats | None = None,
) -> Floats:
    """The score test of each feature on the first rows of the order.

    Parameters
    ----------
    features : Ints
        Which; each was bought on the first ``looked`` rows at least.
    present : Floats, optional
        (rows, classes) what is believed already; by default the shares of the classes.
    """
    y = basket.codes[:looked]
    if present is None:
        present = np.tile(np.bincount(y, minlength=n_classes) / len(y), (len(y), 1))
    p = present[:looked]
    wrong, noise = np.eye(n_classes)[y] - p, p * (1 - p)
    ones = np.ones(len(y))
    found = np.zeros(len(features))
    for i, f in enumerate(features.tolist()):
        column = basket.columns[f][:looked]
        bins = make_bins(column, ones, max_bins=8, category=f in categories)
        basis = bins.basis()
        if basis.shape[1]:
            part = basis[bins.codes(column)]
            chance = float(((part**2).T @ noise).sum())
            found[i] = float(((part.T @ wrong) ** 2).sum()) / max(chance, 1e-12)
    return found
