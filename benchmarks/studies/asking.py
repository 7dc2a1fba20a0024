"""Ladders of one table, and new rows asked along them, without a lifetime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from thrifty.models.asking.ladder import Prefixes, fit_ladder, ladder_of
from thrifty.models.asking.order import Order, Price
from thrifty.models.asking.walk import Walk
from thrifty.models.table import Table


def prefixes_of(
    table: Table, order: Order, price: Price, estimator: Any = None, seed: int = 0
) -> Prefixes:
    """The ladder of one task."""
    (made,) = fit_ladder([table], order, price, [estimator], seed=seed).tasks
    return made


def ask_in_order(
    prefixes: Prefixes, get: Callable[..., Any], n_rows: int, stop: Any = None, spend: Any = None
) -> SimpleNamespace:
    """One task's walk over new rows of which nothing is owned."""
    price, has = np.diff(prefixes.prices, prepend=0.0), np.zeros((len(prefixes), n_rows), bool)
    step: dict[int, int] = {}
    for k, part in reversed(list(enumerate(prefixes.parts))):
        step |= dict.fromkeys(part.features, k)

    def cost(rows: Any, features: Sequence[int]) -> Any:
        new = np.unique([step[f] for f in features])
        return price[new] @ ~has[np.ix_(new, rows)]

    def got(rows: Any, features: Any) -> Any:
        has[np.ix_(np.unique([step[f] for f in features.tolist()]), rows)] = True
        return get(rows, features)

    walk = Walk(ladder_of(prefixes), got, cost, n_rows, rules=[stop], spend=spend).run()
    (p,), (rule,) = walk.p, walk.rules
    chosen = p.argmax(axis=1) if rule is None else rule.decide(p)
    return SimpleNamespace(values=prefixes.classes[chosen], probabilities=p, cost=walk.cost)
