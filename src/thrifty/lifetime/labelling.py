"""Which rows to have labelled: drawn with known probabilities, more where they tell more.

The first rows are drawn evenly. Then a penalised logistic regression on what is free of X says how
uncertain each row is, u = 1 - sum of p^2, and half of the probability goes by u, half evenly. Rows
of a rare class are uncertain ones, too. Where nothing of X is free all draws are even.

Chances depend on X alone, so that what a class looks like is not distorted: models are fitted to
the rows as they are. What is averaged over labels needs the weights: with M rows drawn from N, the
m-th with chance q_m among those left, the mean of v_m loss_m is unbiased for the mean loss with

    v_m = 1 + (N - M) / (N - m) (1 / ((N - m + 1) q_m) - 1)

(Farquhar, Gal and Rainforth, ICLR 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells import Source

__all__ = ["Labelled", "draw_rows", "free_table", "unbiased_weights"]

#: rows drawn evenly before the first look, and how many more until two classes are there
_FIRST, _MORE = 40, 20
#: each round adds this share to the rows there are
_GROWTH = 0.5
#: share of the probability that stays even
_EVEN = 0.5
#: of the logistic regression on columns of standard deviation 1
_SHRINKAGE = 10.0
#: columns that it reads at most, those that vary most
_COLUMNS = 1000
#: categories beyond these are taken together
_CATEGORIES = 20


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows that were labelled for a task, in the order in which they were drawn.

    Attributes
    ----------
    rows : array of int
        of X; first those whose labels were there already
    values : array
        their labels
    weights : array of float
        make means over the drawn rows unbiased for all that were not labelled before; 0 for labels
        that were there already
    """

    rows: Ints
    values: np.ndarray
    weights: Floats


def unbiased_weights(chances: Floats, pool: int) -> Floats:
    """Weights of rows drawn one after another without replacement, with these chances.

    >>> unbiased_weights(np.array([1 / 5, 1 / 4, 1 / 3]), 5).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    drawn = len(chances)
    m = np.arange(1, drawn + 1)
    left = np.maximum(pool - m, 1)
    return np.asarray(1 + (pool - drawn) / left * (1 / ((pool - m + 1) * chances) - 1))


def draw_rows(
    known: Bools,
    codes: Ints,
    table: Floats | None,
    ask: Callable[[Ints], Ints],
    most: int,
    rng: np.random.Generator,
) -> tuple[Ints, Floats]:
    """Rows to label, in their order, and the chance that each had when it was drawn.

    Parameters
    ----------
    known, codes : array
        rows that were asked for, and their labels, -1 where nobody could say; both are filled in as
        labels come
    table : array or None
        what is free of X, as numbers; None: nothing
    ask : callable
        buys labels of rows and gives their codes; of the first of them where the money ends
    most : int
        rows to draw at most
    """
    rows: list[Ints] = []
    chances: list[Floats] = []
    drawn = 0
    while drawn < most and not known.all():
        enough = _enough(codes[known])
        share: Floats = np.ones(len(known))
        if table is not None and enough:
            share = _chances(table, known, codes)
        size = _FIRST if not drawn else _MORE if not enough else int(_GROWTH * known.sum())
        some, chance = _draw(share, known, min(max(size, 1), most - drawn), rng)
        said = ask(some)
        answered = some[: len(said)]
        known[answered], codes[answered] = True, said
        rows.append(answered)
        chances.append(chance[: len(said)])
        drawn += len(said)
        if len(said) < len(some):
            break
    none: tuple[Ints, Floats] = (np.zeros(0, dtype=np.int64), np.zeros(0))
    return (np.concatenate(rows), np.concatenate(chances)) if rows else none


def _enough(codes: Ints) -> bool:
    codes = codes[codes >= 0]
    sizes = np.bincount(codes) if len(codes) else np.zeros(1)
    return bool((sizes >= 3).sum() >= 2)


def _chances(table: Floats, known: Bools, codes: Ints) -> Floats:
    """Half even, half by how uncertain the rows are."""
    seen = np.flatnonzero(known & (codes >= 0))
    there, code = np.unique(codes[seen], return_inverse=True)
    from thrifty.models.fits.logistic import fit_penalised, softmax  # takes long to import

    at, slopes = fit_penalised(table[seen], code, len(there), np.ones(len(seen)), _SHRINKAGE)
    p = softmax(table @ slopes + at)
    uncertain = np.where(known, 0.0, 1 - (p**2).sum(axis=1) + 1e-9)
    return np.asarray((1 - _EVEN) * uncertain / uncertain.sum() + _EVEN * ~known / (~known).sum())


def _draw(share: Floats, known: Bools, size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Rows without a label, one after another without replacement, with their chances."""
    may = np.flatnonzero(~known)
    order = may[np.argsort(rng.exponential(size=len(may)) / share[may], kind="stable")][:size]
    taken = share[order]
    left = share[may].sum() - (np.cumsum(taken) - taken)
    return order, np.asarray(taken / left)


def free_table(X: Source, prices: Floats) -> Floats | None:
    """What can be read of X for nothing, as columns of mean 0 and standard deviation 1.

    A gap is 0 and has a column of its own; a category has one for each value.

    >>> table = free_table(Source.from_array(np.array([[1.0, 5], [3, 5]])), np.array([0.0, 1]))
    >>> table.tolist()
    [[-1.0], [1.0]]
    """
    if not X.free:
        return None
    columns = []
    every = np.arange(X.n_examples)
    for f in np.flatnonzero(prices == 0).tolist():
        values = np.asarray(X.read(every, np.array([f]))[:, 0], dtype=np.float64)
        gap = np.isnan(values)
        if f in X.categories:
            columns += [values == c for c in range(min(len(X.categories[f]), _CATEGORIES))]
        else:
            mean = float(values[~gap].mean()) if not gap.all() else 0.0
            columns.append(np.where(gap, mean, values))
        if gap.any():
            columns.append(gap)
    made = np.array(columns, dtype=np.float64).T
    if not made.size:
        return None
    spread = made.std(axis=0)
    kept = np.argsort(-spread, kind="stable")[:_COLUMNS]
    kept = kept[spread[kept] > 0]
    if not len(kept):
        return None
    return np.asarray((made[:, kept] - made[:, kept].mean(axis=0)) / spread[kept])
