"""Which way of buying the data calls for."""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.models.buying.few_calls import FewCalls
from thrifty.models.buying.halving import Screening
from thrifty.models.buying.in_order import InOrder
from thrifty.models.buying.policy import Policy
from thrifty.models.buying.wide import Wide

__all__ = ["policy_for"]


def policy_for(cells: Cells, labels: Labels) -> Policy[Labels]:
    """Boolean features and two classes: the wide way; else that for numbers, categories, gaps.

    Where orders fill several features and some features are free, as in a laboratory's list, the
    free ones are taken on every row and the others bought in order. Where a call costs whatever is
    asked, a row is asked once.
    """
    if labels.n_classes == 2 and bool(cells.boolean.all()):
        return Wide()
    if cells.call_price > 0:
        return FewCalls()
    some_free = bool((np.asarray(cells.prices) <= 0).any())
    return InOrder() if cells.orders and some_free else Screening()
