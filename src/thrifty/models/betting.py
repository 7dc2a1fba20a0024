"""Evidence that a mean exceeds a border, by betting against the border; valid at any time.

A gambler who does not believe that a mean is at most ``border`` stakes a share of the capital on
every value: capital times 1 + s (x - border), where s times the largest loss is below 1. Where the
belief is true the capital is a supermartingale, whatever the distribution, and reaches 1 / error,
ever, with a probability of ``error`` at most (Ville, 1939; Waudby-Smith and Ramdas, 2024). That is
no approximation, and looking again after more rows is free.

The share is not known beforehand: the capital is divided evenly among a few. Divided, it is the
same whatever the order of the values.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats

__all__ = ["log_capital"]

#: stakes, as shares of the one that the least value would lose whole
_STAKES = np.array([0.1, 0.2, 0.4, 0.65, 0.9])


def log_capital(values: Floats, border: float, least: float) -> float:
    """Logarithm of the capital, 1 at the beginning, after these values.

    Parameters
    ----------
    values : array of float
        independent, of one mean, none below ``least``
    border : float
        what the mean is at most, if one believes it
    least : float
        no value can be less

    >>> round(log_capital(np.repeat(0.5, 40), 0.1, -1.0), 1), log_capital(np.zeros(0), 0.1, -1.0)
    (9.8, 0.0)
    >>> log_capital(np.repeat(0.1, 40), 0.1, -1.0), log_capital(np.repeat(0.0, 40), 0.1, -1.0) < 0
    (0.0, True)
    """
    shares = _STAKES / (border - least)
    grown = np.log1p(np.multiply.outer(shares, values - border)).sum(axis=1)
    highest = grown.max()
    return float(highest + np.log(np.exp(grown - highest).mean()))
