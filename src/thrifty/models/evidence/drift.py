"""Whether the background still holds: a test before it is trusted.

A few rows outside the rare class are looked at on the features that the background knows best. If
their rates are those of the background, the sum over features of

    (ones - n mu)^2 / (n mu (1 - mu))

has mean k and a variance that the rates give exactly (each term is a scaled binomial's square). Far
above that, the population is another, and what was remembered counts as few looks only.

Rows of real data hold more or fewer ones together (long texts, severe cases), which widens the sum;
the limit of 6 standard errors allows for it (3.5, as independence would have it, gave false alarms
on jester_items, bibtex and tmc2007_500: docs/models.md, *What did not work*). Measured with 8 rows
on tmc2007_500, slashdot, jester_items and bibtex: no false alarm in 240 draws; where the features'
rates are exchanged among themselves it is noticed always on tmc2007_500 and bibtex, in half of the
draws on jester_items and in a third on slashdot, whose rates are all alike. Smaller moves go
unnoticed: then the background is not far wrong either.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints

__all__ = ["drifted", "features_to_test"]

#: features that are tested at most; measured with 8 rows as said above
_FEATURES = 200
#: looks that the background must have of them. Set by hand before 0.2; not measured since
_LEAST_LOOKS = 30
#: standard errors at which the background is not trusted; measured as said above
_FAR = 6.0
#: a rate starts from half a one in one look (Jeffreys' prior)
_PRIOR_ONES = 0.5
_PRIOR_LOOKS = 1
#: the variance of a term is at least this: few rows of middling rates would say less. Set by hand
_LEAST_VARIANCE = 0.1


def features_to_test(looks: Floats, ones: Floats) -> Ints:
    """Those the background knows, those with rates near one half, which show most, first."""
    known = np.flatnonzero(looks >= _LEAST_LOOKS)
    rates = _rates(looks[known], ones[known])
    order = np.argsort(-rates * (1 - rates), kind="stable")
    return known[order][:_FEATURES]


def drifted(n: int, ones: Floats, background_looks: Floats, background_ones: Floats) -> bool:
    """Whether n new rows have the tested features at other rates than the background.

    >>> drifted(8, np.full(100, 1.0), np.full(100, 400.0), np.full(100, 50.0))
    False
    >>> drifted(8, np.full(100, 5.0), np.full(100, 400.0), np.full(100, 50.0))
    True
    """
    if n == 0 or len(ones) == 0:
        return False
    mu = _rates(background_looks, background_ones)
    each = mu * (1 - mu)
    terms = (ones - n * mu) ** 2 / (n * each)
    # the background's own error adds to each term
    expected = 1 + n / background_looks
    variance = 2 + (1 / each - 6) / n
    z = (terms - expected).sum() / np.sqrt(np.maximum(variance, _LEAST_VARIANCE).sum())
    return bool(z > _FAR)


def _rates(looks: Floats, ones: Floats) -> Floats:
    rates: Floats = (ones + _PRIOR_ONES) / (looks + _PRIOR_LOOKS)
    return rates
