"""What a cell costs: 1 each, or a price per feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadInput
from thrifty.typing import PerFeatureLike

__all__ = ["read_prices"]


def read_prices(prices: PerFeatureLike, feature_names: Sequence[str]) -> NDArray[np.float64]:
    """One price per feature, from None (1 each), a number, a sequence or a mapping by name.

    >>> read_prices({"age": 0, "tsh": 22.78}, ["age", "tsh"]).tolist()
    [0.0, 22.78]
    """
    n = len(feature_names)
    if prices is None:
        return np.ones(n)
    if isinstance(prices, Mapping):
        lacking = [name for name in feature_names if name not in prices]
        if lacking:
            raise BadInput(
                f"every feature needs a price; {len(lacking)} of {n} have none, the first are "
                f"{lacking[:5]}. Add them (0 where a feature is free)."
            )
        values = [prices[name] for name in feature_names]
    elif (each := np.asarray(prices, dtype=object)).ndim == 0:
        values = [prices] * n
    else:
        values = list(each)
        if len(values) != n:
            raise BadInput(f"expected {n} prices, one per feature; got {len(values)}.")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"prices must be numbers; {error}.") from error
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise BadInput(
            f"a price must be a finite number, 0 or more; got {values[i]} for {feature_names[i]}."
        )
    return array
