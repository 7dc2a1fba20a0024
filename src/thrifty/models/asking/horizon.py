"""How many questions a model should keep, where it is known how often it will be asked.

What learning costs is paid once, what a prediction costs every time. With few predictions to come
the whole model stays; the more of the bill the predictions are, the more a shorter prefix is worth
a little of the quality. Where errors have a price, nothing has to be assumed: the prefix of least
tests plus errors stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from thrifty.models.asking.prefixes import Prefixes
from thrifty.models.fits.fitting import fit_prefix
from thrifty.models.fits.folds import make_folds
from thrifty.models.table import Table
from thrifty.stopping import Worth
from thrifty.typing import Floats

#: of the fall of the log-loss, what may be given up where predictions are all of the bill
#: (chosen on spam, physionet_icu and slashdot; docs/research/asking.md)
GIVEN_UP = 0.05


def best_prefix(
    prices: Floats, losses: Floats, *, predictions: int, spent: float, in_money: bool = False
) -> int:
    """Which prefix to keep, as its place.

    Parameters
    ----------
    prices, losses : array of float
        what a row costs at each prefix, and its mean loss there, out of fold
    predictions : int
        how many are to come
    spent : float
        what learning has cost, once
    in_money : bool
        the losses are costs of errors, in the unit of the prices

    Examples
    --------
    >>> prices, losses = np.array([0.0, 1.0, 4.0, 20.0]), np.array([0.7, 0.4, 0.31, 0.30])
    >>> best_prefix(prices, losses, predictions=10, spent=10_000.0)
    3
    >>> best_prefix(prices, losses, predictions=100_000, spent=10_000.0)
    2
    >>> best_prefix(prices, losses, predictions=0, spent=10_000.0)
    3
    """
    if in_money:
        return int(np.argmin(prices + losses))
    best = float(losses.min())
    bill = predictions * float(prices[-1])
    share = bill / max(bill + spent, 1e-12)
    enough = losses <= best + GIVEN_UP * share * max(float(losses[0]) - best, 0.0) + 1e-12
    return int(np.argmin(np.where(enough, prices, np.inf))) if share > 0 else len(prices) - 1


def prefix_worth_keeping(
    prefixes: Prefixes, *, predictions: int, spent: float, errors: ArrayLike | None = None
) -> int:
    """The same for fitted prefixes; ``errors`` as in :class:`thrifty.Worth`."""
    if errors is None:
        return best_prefix(prefixes.prices, prefixes.losses(), predictions=predictions, spent=spent)
    rule = Worth(errors=errors)
    costs = rule.costs
    assert costs is not None
    mean = [
        float(np.average(costs[prefixes.codes, rule.decide(p)], weights=prefixes.weights))
        for p in prefixes.seen
    ]
    return best_prefix(
        prefixes.prices, np.array(mean), predictions=predictions, spent=spent, in_money=True
    )


def numbers_worth_keeping(
    table: Table, price: Callable[[list[int]], float], *, predictions: int, spent: float
) -> Table:
    """The beginning of a table of numbers that so many predictions are worth.

    Features stay in the order in which they were bought, the most useful first. The loss of a
    beginning is the mean square error on held-out rows of the better of a line and points over
    bins; without a feature it is the variance.
    """
    if not table.width:
        return table
    steps = prefix_lengths(table.width)
    prices = np.array([price(table.features[:k].tolist()) for k in steps])
    losses = np.array([error_left_out(table.prefix(k)) for k in steps])
    k = steps[best_prefix(prices, losses, predictions=predictions, spent=spent)]
    return table.prefix(max(k, 1))


def error_left_out(table: Table, seed: int = 0) -> float:
    """Mean square error on held-out rows, three folds; without a feature the variance."""
    y, share = np.asarray(table.labels, dtype=np.float64), table.weights / table.weights.sum()
    folds = make_folds(len(y), 3, seed, None, table.groups)
    said = np.full(len(y), float(share @ y))
    if table.width and folds is not None:
        for k in range(3):
            out, rest = np.flatnonzero(folds == k), np.flatnonzero(folds != k)
            model = fit_prefix(table.of_rows(rest), seed=seed)
            said[out] = model.predict(table.values[out])
    return float(share @ (said - y) ** 2)


def prefix_lengths(n: int) -> list[int]:
    """How many features a row may be asked: 0, 1, 2, 3, 4, 6, 8, 12, ...; all of them last.

    >>> prefix_lengths(10)
    [0, 1, 2, 3, 4, 6, 8, 10]
    """
    found, k = [0], 1
    while k < n:
        found.append(k)
        k = k + 1 if k < 4 else k * 3 // 2 if k.bit_count() == 1 else k * 4 // 3
    return [*found, n]
