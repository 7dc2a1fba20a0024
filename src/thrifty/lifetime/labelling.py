"""Labels that are bought: through the ledger, on which rows, for which part of the money.

**Which rows.** The first rows are drawn evenly. Then a penalised logistic regression on what is
free of X says how uncertain each row is, u = 1 - sum of p^2, and half of the probability goes by u,
half evenly. Rows of a rare class are uncertain ones, too. Where nothing of X is free all draws are
even. Chances depend on X alone, so that what a class looks like is not distorted: models are fitted
to the rows as they are. What is averaged over labels needs the weights: with M rows drawn from N,
the m-th with chance q_m among those left, the mean of v_m loss_m is unbiased for the mean loss with

    v_m = 1 + (N - M) / (N - m) (1 / ((N - m + 1) q_m) - 1)

(Farquhar, Gal and Rainforth, ICLR 2021).

**How many.** Labels and cells are paid from the same amount, and compete for it. With n labels and
cells worth c whole rows the loss is about

    L(n, c) = L0 + A / n + B / c

A further label lowers it by A / n^2 for the price of a label, a further row of cells by B / c^2 for
that of a row. Both bring as much for their price where of each labelled row this part is read:

    c / n = square root of (B / A  x  price of a label / price of a row's cells)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thrifty.cells import Cells, Receipt, Source
from thrifty.cells.prices.money import read_spend, to_units
from thrifty.cells.sources.oracle import Oracle
from thrifty.errors import BadInput, BadParameter, MixedCurrencies
from thrifty.lifetime.state import LifetimeState
from thrifty.typing import Bools, Floats, Ints, MoneyLike


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
        # evenly at first, a few more until two classes are there, then by half of what there is
        size = 40 if not drawn else 20 if not enough else int(0.5 * known.sum())
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
    # these take long to import
    from thrifty.models.fits.adaptive_ridge import fit_penalised
    from thrifty.models.fits.calibration import softmax

    shrinkage, even = 10.0, 0.5  # of columns of standard deviation 1; what stays even
    at, slopes = fit_penalised(table[seen], code, len(there), np.ones(len(seen)), shrinkage)
    p = softmax(table @ slopes + at)
    uncertain = np.where(known, 0.0, 1 - (p**2).sum(axis=1) + 1e-9)
    return np.asarray((1 - even) * uncertain / uncertain.sum() + even * ~known / (~known).sum())


def _draw(share: Floats, known: Bools, size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Rows without a label, one after another without replacement, with their chances."""
    may = np.flatnonzero(~known)
    order = may[np.argsort(rng.exponential(size=len(may)) / share[may], kind="stable")][:size]
    taken = share[order]
    left = share[may].sum() - (np.cumsum(taken) - taken)
    return order, np.asarray(taken / left)


def free_table(X: Source, prices: Floats) -> Floats | None:
    """What can be read of X for nothing, as columns of mean 0 and standard deviation 1.

    A gap is 0 and has a column of its own; a category has one for each of the first 20 values. Of
    very many columns the 1,000 that vary most.

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
            columns += [values == c for c in range(min(len(X.categories[f]), 20))]
        else:
            mean = float(values[~gap].mean()) if not gap.all() else 0.0
            columns.append(np.where(gap, mean, values))
        if gap.any():
            columns.append(gap)
    made = np.array(columns, dtype=np.float64).T
    if not made.size:
        return None
    spread = made.std(axis=0)
    kept = np.argsort(-spread, kind="stable")[:1000]
    kept = kept[spread[kept] > 0]
    if not len(kept):
        return None
    return np.asarray((made[:, kept] - made[:, kept].mean(axis=0)) / spread[kept])


class LabelCells:
    """The labels of one task's examples: known beside the oracle, owned, or to be bought."""

    def __init__(
        self, state: LifetimeState, oracle: Oracle, X: Source, label: str, account: str, *,
        spend: float | None = None, is_task: bool = False,
    ) -> None:  # fmt: skip
        self.oracle = oracle
        self.source = oracle.about(X, label)
        self.cells: Cells = Cells(
            self.source, None, ledger=state.ledger, task=account, spend=spend, is_task=is_task
        )
        #: what was told beside the oracle, -1 where nothing was
        self.told = oracle.known_codes(X)
        owned = self.cells.owned_rows([0])
        both = owned[self.told[owned] >= 0]
        other = both[self._bought(both) != self.told[both]] if len(both) else both
        if len(other):
            row = int(other[0])
            bought, told = self.oracle.values(np.array([self._bought(other)[0], self.told[row]]))
            raise BadInput(
                f"known= says {told!s} of row {row}, and the oracle was paid for saying "
                f"{bought!s}: leave that label out of known=."
            )

    @property
    def features(self) -> list[int]:
        """What is bought of a row: the label, and how sure it is where that is said."""
        return [0, 1] if self.oracle.confidence else [0]

    def price_of(self, rows: Ints) -> float:
        """What these rows cost now; what is owned costs nothing."""
        return float(self.cells.price_of(rows, self.features))

    @property
    def listed(self) -> float:
        """What the average row costs that nobody owns; a question is asked in a call."""
        return to_units(self.cells.price_of_an_example()) + self.cells.call_price

    @property
    def row_prices(self) -> Floats | None:
        """What each row costs that nobody owns, in those of the average; None: all the same."""
        calls = getattr(self.source, "per_call", None)  # what is asked about long texts costs more
        if calls is None or (calls == calls[0]).all():
            return None
        each = self.cells.price_of_an_example() + calls.astype(np.float64)
        return np.asarray(each / each.mean())

    @property
    def spent(self) -> float:
        """What was paid for all that was asked through this reader."""
        return float(self.cells.cost_per_row().sum())

    def known_rows(self) -> Ints:
        """Rows whose labels cost nothing now."""
        return np.union1d(np.flatnonzero(self.told >= 0), self.cells.owned_rows([0]))

    def get(self, rows: Ints) -> Ints:
        """Codes of the labels of these rows; what is missing is bought.

        -1: the oracle failed again and again, and its source goes on (``on_failure="gap"``).
        """
        codes = self.told[rows]
        to_buy = codes < 0
        if to_buy.any():
            codes[to_buy] = self._bought(rows[to_buy])
        return codes

    def with_confidence(self, rows: Ints) -> tuple[Ints, Floats]:
        """Codes of a member's answers, -1 where it has none, and how sure it is of each."""
        said = np.asarray(self.cells.get(rows, self.features), dtype=np.float64)
        codes = np.where(np.isnan(said[:, 0]), -1.0, said[:, 0]).astype(np.int64)
        return codes, said[:, 1]

    def _bought(self, rows: Ints) -> Ints:
        said = np.asarray(self.cells.get(rows, [0])[:, 0], dtype=np.float64)
        return np.where(np.isnan(said), -1.0, said).astype(np.int64)


@dataclass(frozen=True, eq=False)
class LabelledTask:
    """The rows that have labels, and what is left for their cells."""

    #: a label for each row, None where there is none
    y: list[object]
    labelled: Labelled
    #: for the cells; None: nothing was said, or they cost nothing
    spend: float | None
    receipt: Receipt
    by: str
    cells: LabelCells

    def on(self, receipt: Receipt) -> Receipt:
        """A task's receipt with its labels on it."""
        labels = self.receipt
        cost = receipt.cost + labels.cost
        line = (f"label by {self.by}", labels.cells, labels.cost)
        rest = (("cells", receipt.cells, receipt.cost),) if receipt.cost else ()
        lines = (*(receipt.lines or rest), line) if labels.cells else receipt.lines
        return replace(receipt, cost=cost, lines=lines, currency=labels.currency)


def label_a_task(
    state: LifetimeState, name: str, source: Source, oracle: Oracle, spend: MoneyLike
) -> LabelledTask:
    """Buy labels of rows that are worth it, within a part of the money."""
    cells = Cells(
        source, state.prices_of(source), ledger=state.ledger_for(source), task=name, to_buy=False
    )
    price, n = to_units(cells.price_of_an_example()), source.n_examples

    def reader(most: float | None) -> LabelCells:
        return LabelCells(state, oracle, source, name, name, spend=most, is_task=True)

    labels = reader(None)
    currency = labels.cells.currency
    if price and currency != cells.currency:
        raise MixedCurrencies(
            f"labels are paid in {currency or 'units without a name'} and cells in "
            f"{cells.currency or 'units without a name'}. Where cells cost nothing say "
            "thrifty.Lifetime(prices=0), else give both in one currency."
        )

    def everything() -> float:
        return labels.cells.price_of(np.arange(n), [0]) + price * n

    most = read_spend(spend, currency, everything)
    if most is not None:
        labels = reader(most)
    state.as_before(name, labels.cells, oracle.price, labels.told)
    rows, weights, codes = _draw_within(labels, cells, source, price, most, state.row_seed)
    labelled = _with_enough_of_each(Labelled(rows, oracle.values(codes), weights), codes)
    receipt = labels.cells.receipt()
    left = None if most is None or not price else most if not source.free else most - receipt.cost
    y: list[object] = [None] * n
    for row, label in zip(labelled.rows.tolist(), labelled.values.tolist()):
        y[row] = label
    return LabelledTask(y, labelled, left, receipt, oracle.name, labels)


def _draw_within(
    labels: LabelCells, cells: Cells, source: Source, price: float, most: float | None, seed: int
) -> tuple[Ints, Floats, Ints]:
    """Rows that have a label by now, weights that make means over them unbiased, their codes."""
    before, n, allowed = labels.known_rows(), cells.n_examples, labels.cells.allowance
    known, codes = np.zeros(n, dtype=bool), np.full(n, -1, dtype=np.int64)
    known[before], codes[before] = True, labels.get(before)
    if most is None and allowed is None:
        raise BadParameter(
            "labels are bought for money: say how much this task may spend in all, for instance "
            "life.learn(name, X, oracle, spend='20 USD'), or give the lifetime a budget."
        )
    allowed = allowed if most is None else min(most, allowed or most)
    each = labels.cells.price_of(np.arange(n), [0]) / max(n - len(before), 1)
    share = 1.0 if not each else each / (each + part_read(each, price) * price)
    money, spent = float(allowed or 0.0) * share, 0.0

    def ask(rows: Ints) -> Ints:
        """Labels of as many of the rows as the money reaches."""
        nonlocal spent
        costs = spent + np.cumsum(labels.cells.row_costs(rows, [0]))
        fit = int(np.searchsorted(costs, money + 1e-9, side="right"))
        spent = float(costs[fit - 1]) if fit else spent
        return labels.get(rows[:fit])

    pool, rng = int((~known).sum()), np.random.default_rng(seed)
    table = free_table(source, np.asarray(cells.prices))
    drawn, chances = draw_rows(known, codes, table, ask, pool, rng)
    rows = np.concatenate([before, drawn])
    weights = np.concatenate([np.zeros(len(before)), unbiased_weights(chances, pool)])
    there = codes[rows] >= 0
    return rows[there], weights[there], codes[rows][there]


def part_read(label: float, row: float) -> float:
    """The part of a row's cells to pay for, where a label and a whole row have these prices.

    >>> [part_read(label, 1.0) for label in (0.05, 0.5, 20.0)], part_read(1.0, 0.0)
    ([0.2, 0.5, 1.0], 1.0)
    """
    if row <= 0:
        return 1.0
    # B / A above. Chosen on surfaces L(n, c) of rcv1s1_500, spam, tox21_maccs and yeast, confirmed
    # on tmc2007_500, yahoo_arts_500, support2 and jester_items (docs/howto/answers.md)
    cells_to_labels = 0.5
    least = 0.2  # with less of a row more labels tell nothing, on these sets
    return min(1.0, max(least, math.sqrt(cells_to_labels * label / row)))


def _with_enough_of_each(labelled: Labelled, codes: Ints, least: int = 2) -> Labelled:
    """Classes with fewer rows teach nothing and are left out."""
    sizes = np.bincount(codes, minlength=1)
    kept = sizes[codes] >= least if len(codes) else np.zeros(0, dtype=bool)
    if len(np.unique(codes[kept])) < 2:
        seen = {str(v): int((labelled.values == v).sum()) for v in np.unique(labelled.values)}
        raise BadInput(
            f"{len(codes)} rows were labelled and a model needs {least} rows of two classes at "
            f"least; there are {seen}. Labels are kept: give more money, or known= rows of a rare "
            "class."
        )
    rows, values, weights = labelled.rows[kept], labelled.values[kept], labelled.weights[kept]
    return Labelled(rows, values, weights)
