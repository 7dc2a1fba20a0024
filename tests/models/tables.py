"""Tables of bought cells, as fits and orders of questions take them."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from thrifty.models.asking.ladder import fit_ladder, ladder_of
from thrifty.models.asking.walk import Walk
from thrifty.models.table import Table


def table_of(X: np.ndarray, y: np.ndarray, bought: np.ndarray | None = None, **more: Any) -> Table:
    """A table of all rows and features; every cell is bought unless the test says otherwise."""
    n, k = X.shape
    bought = np.ones((n, k), dtype=bool) if bought is None else bought
    return Table(np.arange(k), np.arange(n), X, bought, more.pop("weights", np.ones(n)), y, **more)


def prefixes_of(table, order, price, estimator=None, *, choose=None, sizes=None, seed=0):
    """The ladder of one task; ``choose`` finds the order of one table again."""
    again = None if choose is None else lambda tables: choose(tables[0])
    given = {"choose": again, "sizes": sizes, "seed": seed}
    (made,) = fit_ladder([table], order, price, [estimator], **given).tasks
    return made


def ask_in_order(prefixes, get, n_rows, *, cost=None, stop=None, spend=None, per_row=None,
                 sold_together=False):  # fmt: skip
    """One task's walk over new rows; without ``cost``, what the prefixes cost where nothing is
    owned."""
    if cost is None:
        get, cost = _as_listed(prefixes, get, n_rows)
    walk = Walk(
        ladder_of(prefixes), get, cost, n_rows, rules=[stop], spend=spend, per_row=per_row,
        sold_together=sold_together,
    ).run()  # fmt: skip
    (p,), (rule,) = walk.p, walk.rules
    chosen = p.argmax(axis=1) if rule is None else rule.decide(p)
    asked = walk.known.sum(axis=1)
    return SimpleNamespace(
        values=prefixes.classes[chosen], probabilities=p, stopped=walk.why[0], asked=asked,
        cost=walk.cost,
    )  # fmt: skip


def _as_listed(prefixes, get, n_rows):
    price, has = np.diff(prefixes.prices, prepend=0.0), np.zeros((len(prefixes), n_rows), bool)
    step = {}
    for k, part in reversed(list(enumerate(prefixes.parts))):
        step |= dict.fromkeys(part.features, k)

    def cost(rows, features):
        new = np.unique([step[f] for f in features])
        return price[new] @ ~has[np.ix_(new, rows)]

    def got(rows, features):
        has[np.ix_(np.unique([step[f] for f in features.tolist()]), rows)] = True
        return get(rows, features)

    return got, cost
