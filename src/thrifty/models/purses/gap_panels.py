"""Features that are missing together: a panel that was not ordered is one gap, not several."""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats, Ints

__all__ = ["LEAST_SEEN", "MOST_IN_PANELS", "gap_leads"]

# Panels are looked for where most cells are gaps (no set of benchmarks/models.py), on 16 rows and
# more, again whenever twice as many are known: a feature is led by another that is missing on 30 %
# of the rows, where it was seen three times and at most once in twenty without it. Set by hand;
# python benchmarks/gaps.py
_MOSTLY, LEAST_SEEN, _LEAST_THERE, _ASTRAY, _SPARED = 0.5, 16, 3, 0.05, 0.3
#: features among which panels are looked for at most
MOST_IN_PANELS = 400


def gap_leads(features: Ints, values: Floats) -> dict[int, int]:
    """Of features that are missing wherever another is, which that is; of tables of mostly gaps.

    Who knows one column of a panel knows them all. The lead is the feature that is there least
    often of those that cover it.

    >>> there = np.array([1, 0, 0, 1, 0, 0, 1, 0, 0, 0], dtype=bool)
    >>> x = np.where(there, 1.0, np.nan)
    >>> less = np.where(there & (np.arange(10) > 0), 1.0, np.nan)
    >>> gap_leads(np.array([3, 5, 7]), np.column_stack([x, x, less]))
    {5: 3}
    """
    there = ~np.isnan(values)
    if not len(there) or there.mean() > _MOSTLY:
        return {}
    counts = there.sum(axis=0)
    beside = there.T.astype(np.int64) @ ~there  # [g, f]: g is there and f is not
    leads: dict[int, int] = {}
    for g in np.argsort(counts, kind="stable").tolist():
        covers = (beside[g] <= _ASTRAY * counts[g]) & (counts < (1 - _SPARED) * len(there))
        if counts[g] < _LEAST_THERE:  # seen twice: with the very same rows
            covers &= (beside[:, g] == 0) & (counts[g] == _LEAST_THERE - 1)
        covers &= (counts > counts[g]) | ((counts == counts[g]) & (np.arange(len(counts)) < g))
        if covers.any():
            at = np.flatnonzero(covers)
            leads[int(features[g])] = int(features[at[counts[at].argmin()]])
    for g, lead in leads.items():  # rarest first: what leads a lead leads all
        while lead in leads:
            lead = leads[lead]
        leads[g] = lead
    return leads
