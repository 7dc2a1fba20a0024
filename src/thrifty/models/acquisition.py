"""The one way to buy: levels that narrow what a row costs and lengthen the table.

All offers are bought on a few rows, the better part of them on more, and so on, for about equal
money each (successive halving: Karnin, Koren and Somekh, 2013). What makes a part the better one is
decided in money. Of the sets that come about by dropping, one after another, the offer with the
least score for what it saves, the one is kept with the largest

    told x rows / (rows + 60)

where rows are those that it can still be bought on, and told is the share of all scores that it
holds, with what it tells of the features that are left out. Where prices for a feature differ,
every feature of a set needs one more row, and the largest set within a twentieth of the best is
kept. An offer is sampled at all only where that is cheap: a sample of everything may take a fifth
of the bill; beyond that, offers that cost several times more for a feature than the others are left
out before anything is bought. Offers that cost next to nothing beside the others are bought on all
rows first, as if they were free.

What is free is read on all rows, what is owned comes first. One label or several, classes, numbers,
Boolean features and others differ in the score alone (:func:`score_features`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, ranksums

from thrifty.cells import Cells
from thrifty.errors import BadInput, BudgetExceeded
from thrifty.labels import Labels
from thrifty.models.fits.adaptive_ridge import believe_columns, believe_rates
from thrifty.models.fits.tree_ensembles import TRIED, GrownTrees, as_targets, grow_trees, is_boolean
from thrifty.models.offers import CENT, Offers, Rows
from thrifty.typing import AnyArray, Floats, Ints

# Chosen on nhanes, yeast, emotions, thyroid0387_cost and tmc2007_500 at unit prices, on
# aslib_sat12_indu, nhanes and two random lists of emotions at others (`python benchmarks/paired.py
# lists`, `single`); of most of them half or twice as much changes AP by less than .005.
#: rows of the first level at least
_LEAST_ROWS = 5
#: trees of a forest that scores; rows that it is grown on at most
_TREES, _SCORED_ROWS = 30, 1500
#: rows from which a task that shows nothing is stopped, and the z of its rank test below which
_NOTHING_ROWS, _NOTHING_Z = 100, -0.25


@dataclass(frozen=True, eq=False)
class Bought:
    """What was bought: columns along one order of rows, and how good each feature looked.

    Attributes
    ----------
    order : array of int
        rows, those that were bought first
    columns : dict
        by feature, its values on the first rows of the order
    score : array of float
        (N,) of every feature, the last that it was given
    last : array of int
        the features of the last level
    free, free_values : array
        features that are free on all rows, and their values there
    stopped : str
        why money was kept, where it was
    chosen_on : int
        so many rows, the first, chose the features
    """

    order: Ints
    columns: dict[int, Floats]
    score: Floats
    last: Ints
    free: Ints
    free_values: Floats
    stopped: str = ""
    background: tuple[Floats, Floats] | None = None
    chosen_on: int = 0

    def ranked(self, most: int) -> Ints:
        """Features that were bought, those of the last level first, the best before others.

        Of Boolean features and two classes all that were sampled: each explains a little; of others
        the last level alone, since a row is asked for all of them.
        """
        sampled = np.array(sorted(self.columns), dtype=np.int64)
        every = self.last if self.background is None else sampled
        length = np.array([len(self.columns[f]) for f in every.tolist()])
        return every[np.lexsort((-self.score[every], -length))][:most]


def acquire(
    cells: Cells, targets: Sequence[Labels], allowance: float,
    background: tuple[Floats, Floats] | None = None, seed: int = 0,
) -> Bought:  # fmt: skip
    """Buy a table for one label or several, for at most ``allowance``.

    Parameters
    ----------
    cells : Cells
        the reader
    targets : sequence of Labels
        labels on its rows
    allowance : float
        what may be spent, in the unit of the prices
    background : tuple of array of float or None
        of Boolean features and two classes: samples and ones outside the rarer class so far
    seed : int
        of the forests

    Examples
    --------
    >>> from thrifty.labels import read_classes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 20))
    >>> cells = Cells(X)
    >>> bought = acquire(cells, [read_classes(X[:, 4] > 0)], 1600.0)
    >>> bool(bought.ranked(3)[0] == 4), cells.receipt().cost <= 1600
    (True, True)
    """
    return _Acquisition(cells, targets, allowance, background, seed).run()


class _Acquisition:
    def __init__(
        self, cells: Cells, targets: Sequence[Labels], allowance: float,
        background: tuple[Floats, Floats] | None, seed: int,
    ) -> None:  # fmt: skip
        self.cells, self.targets, self.left, self.seed = cells, targets, float(allowance), seed
        self.background = background
        self.offers = Offers(cells)
        owned = cells.row_costs(np.arange(cells.n_examples), np.arange(cells.n_features))
        self.whole = float(owned.sum())
        self.rows = Rows(cells, targets, owned if owned.min() < owned.max() else None)
        self.columns: dict[int, Floats] = {}
        self.score = np.zeros(cells.n_features)
        self.free_values = np.zeros((cells.n_examples, 0))
        self.n = 0
        self.stopped, self.chosen_on = "", 0
        #: whether prices for a feature differ
        self.uneven = False

    def run(self) -> Bought:
        self._take_cheap()
        free, every = self.offers.free, np.arange(self.cells.n_examples)
        if len(free):
            self.free_values = np.asarray(self.cells.get(every, free), dtype=np.float64)
        kept: list[int] = []
        if self.offers.units:
            try:
                kept = self._all_levels()
            except BudgetExceeded:
                if not len(free):  # else that is learned from all the same
                    raise
            self._take_owned(self.offers.features(kept))
        return Bought(
            self.rows.upto(self.n), self.columns, self.score, self.offers.features(kept), free,
            self.free_values, self.stopped, self.background, self.chosen_on,
        )  # fmt: skip

    def _take_cheap(self) -> None:
        """Offers that cost next to nothing beside the others are bought on all rows, as if free."""
        if self.left >= self.whole - CENT or self.background is not None or not self.offers.units:
            return
        # the part of the bill that they may take; how many times cheaper for a feature than the
        # mean they are, and than the next one; the part of all features they fill; rows, evenly
        # apart and not the owned ones, on which that is found
        most, cheaper, gap, fills, spread_rows = 0.5, 2.0, 1.3, 0.125, 32
        every = self.rows.upto(self.rows.n_rows)
        self.offers.look_ahead(every[:: max(len(every) // spread_rows, 1)])
        order = self.offers.cheapest_first()
        sizes = np.cumsum([len(self.offers.units[i]) for i in order])
        costs = self.offers.costs_along(order)
        each = np.diff(costs, prepend=0.0) / np.diff(sizes, prepend=0)
        most_expensive = np.maximum.accumulate(each)
        cheap = (
            (costs[:-1] * self.rows.n_rows <= most * self.left)
            & (sizes[:-1] >= fills * sizes[-1])
            & (cheaper * most_expensive[:-1] <= costs[-1] / sizes[-1])
            & (each[1:] >= gap * most_expensive[:-1])
        )
        if not cheap.any():
            return
        taken = order[: int(np.flatnonzero(cheap)[-1]) + 1]
        features = self.offers.features(taken)
        price = self.cells.price_of(every, features)
        if price <= most * self.left:  # rows may differ in what they cost
            self.cells.get(every, features)
            self.left -= price
            self.offers.take(taken)

    def _all_levels(self) -> list[int]:
        first_rows = 64  # rows of the first part where all can be bought
        if self.left >= self.whole - CENT:  # all of it can be had
            every = list(range(len(self.offers.units)))
            # in two parts, so that what a sample shows is said before all is bought
            self._buy(
                self.offers.features(every),
                min(self.rows.n_rows, max(first_rows, self.rows.n_rows // 8)),
            )
            self._buy(self.offers.features(every), self.rows.n_rows)
            self._score(self.offers.features(every))
            return every
        least = self._rows_at_least()
        kept, bill = self._sampled(least), self.left
        needed = self.cells.price_of(self.rows.upto(least), self.offers.features(kept))
        if needed > self.left + CENT:
            if len(self.offers.free):  # what is free is learned from all the same
                return []
            raise BadInput(self._too_little(least, needed))
        levels = self._n_levels(kept, bill)
        for level in range(levels + 1):
            self.offers.look_ahead(self._ahead())
            features = self.offers.features(kept)
            more = self._rows_for(features, self.left / (levels - level + 1))
            self._buy(features, max(self.n + more, least))
            if level == levels or self.n >= self.rows.n_rows:
                break
            self._score(features)
            if self._shows_nothing(level, levels):
                break
            kept, self.chosen_on = self._narrower(kept), self.n
        self._spend_the_rest(self.offers.features(kept))
        return kept

    def _spend_the_rest(self, features: Ints) -> None:
        """Calls may cost less than was set aside for them: what is left buys further rows."""
        while not self.stopped and self.n < self.rows.n_rows:
            more = self._rows_for(features, self.left)
            if not more:
                break
            self._buy(features, self.n + more)

    def _sampled(self, least: int) -> list[int]:
        """Offers that are sampled at all: expensive ones only if a sample of all costs little."""
        # rows of a useful sample, the part of the bill that a sample of everything may take, and
        # how many times the mean price of a feature others may cost that are sampled beyond that
        sample, part, times = 12, 0.2, 3.0
        self.offers.look_ahead(self._ahead())
        order = self.offers.cheapest_first()
        costs = self.offers.costs_along(order)
        n_features, cost = 0, 0.0
        for k, i in enumerate(order):
            new, after = len(self.offers.units[i]), float(costs[k])
            scarce = sample * after > part * self.left and cost * self.rows.n_rows > self.left
            if k and scarce and after - cost > times * new * cost / n_features:
                return order[:k]
            if k and least * after > self.left:  # fewer features on enough rows
                return order[:k]
            n_features, cost = n_features + new, after
        return order

    def _n_levels(self, kept: Sequence[int], bill: float) -> int:
        # levels at most; where prices for a feature differ by more than a factor, at least
        most_levels, least_levels, alike = 6, 3, 2.0
        cost, k = max(self.offers.cost(kept), CENT), len(self.offers.features(kept))
        # features of the last level for each root of the cells that the bill buys
        width = max(0.25 * np.sqrt(bill / cost * k), 4.0)
        levels = int(np.clip(round(np.log2(max(k / width, 1.0))), 0, most_levels))
        each = np.array([self.offers.cost([i]) / len(self.offers.units[i]) for i in kept])
        self.uneven = bool(each.max() > alike * each.min())
        if self.uneven:
            levels = max(levels, min(least_levels, len(kept) - 1))
        # where prices differ one level may leave out nearly all, and six rows choose by chance:
        # with twelve heart_cost at 10 % has +.022 (.012), five random lists .000 (.001)
        least = 12 if self.uneven else _LEAST_ROWS
        while levels and bill / cost / (levels + 1) < least:
            levels -= 1
        return levels

    def _ahead(self) -> Ints:
        """Rows that are likely to come next."""
        return self.rows.upto(min(self.n + 32, self.rows.n_rows))[self.n :]

    def _rows_for(self, features: Ints, money: float) -> int:
        """How many further rows so much money buys of these features."""
        least = self.cells.row_costs(self._ahead(), features).mean() if len(self._ahead()) else 0.0
        most = self.rows.n_rows - self.n
        likely = most if least <= 0 else int(min(most, 2 * money / least + 64))
        order = self.rows.upto(self.n + likely)[self.n :]
        bill = np.cumsum(self.cells.row_costs(order, features))
        return int(np.searchsorted(bill, min(money, self.left) + CENT, side="right"))

    def _buy(self, features: Ints, upto: int) -> None:
        rows = self.rows.upto(upto)[self.n :]
        if not len(rows):
            return
        could = self.cells.allowance
        while True:
            price = self.cells.price_of(rows, features)
            try:
                values = np.asarray(self.cells.get(rows, features), dtype=np.float64)
                break
            except BudgetExceeded:  # prices were what is expected, and more has to be set aside
                rows = rows[: len(rows) // 2]
                if not len(rows) and not self.n:
                    raise  # a budget for an example, for instance: there is nothing to learn from
                if not len(rows):
                    self.left = 0.0
                    return
        can = self.cells.allowance
        # what a call really cost may be less than what was set aside for it
        self.left -= price if could is None or can is None else min(price, could - can)
        for f, column in zip(features.tolist(), values.T):
            self.columns[f] = np.append(self.columns.get(f, np.zeros(0)), column)
        self.n += len(rows)
        self._check_values()

    def _take_owned(self, features: Ints) -> None:
        """Rows on which the kept features cost nothing come beside those that were bought."""
        if self.cells.meter.owned.count() == 0 or self.n >= self.rows.n_rows:
            return
        rest = self.rows.upto(self.rows.n_rows)[self.n :]
        costs = self.cells.row_costs(rest, features)
        if (costs <= 0).any():
            self.rows.bring_forward(self.n, costs <= 0)
            self._buy(features, self.n + int((costs <= 0).sum()))

    def _check_values(self) -> None:
        """Nothing but gaps is the end of it."""
        bought = self.columns.values()
        if not len(self.offers.free) and all(np.isnan(column).all() for column in bought):
            raise BadInput(
                f"all values of all {len(self.columns)} features are missing on the {self.n} rows "
                "that were bought. Check what the source fills in, or bring other rows."
            )

    def _block(self, features: Ints) -> tuple[Floats, list[Labels]]:
        n = min(self.n, _SCORED_ROWS)
        values = np.column_stack([self.columns[f][:n] for f in features.tolist()])
        rows = self.rows.upto(n)
        return values, [target.of_rows(rows) for target in self.targets]

    def _score(self, features: Ints) -> None:
        """Believed effects and importances of what is alive, each summing to one."""
        values, targets = self._block(features)
        alone = _alone(values, targets, self._background(features))
        found = alone / max(float(alone.sum()), 1e-300)
        told, self.z = _forest(values, targets, self.seed)
        if told is not None:
            found = found + told
        self.score[features] = found

    def _background(self, features: Ints) -> tuple[Floats, Floats] | None:
        if self.background is None:
            return None
        return self.background[0][features], self.background[1][features]

    def _narrower(self, kept: list[int]) -> list[int]:
        """The set with the largest told x rows / (rows + 60); or the better half."""
        self.offers.look_ahead(self._ahead())
        path = self.offers.narrowing(kept, self.score)
        if self._halves():
            sizes = np.array([len(self.offers.features(some)) for some in path])
            return path[int((sizes <= (sizes[0] + 1) // 2).argmax())]
        costs = np.array([max(self.offers.cost(some), CENT) for some in path])
        rows = np.minimum(self.n + self.left / costs, self.rows.n_rows)
        told = self._told(path)
        # rows at which half of what a table can tell is learned: 150 lose the one expensive test
        # that decides
        half_rows = np.full(len(path), 60.0)
        # where prices differ, the part of the best value at which a larger set is as good; with a
        # row more for each feature, and forests held out by their bootstrap, 26 lists gain .006
        # .004 .002 of AP, the 13 among them that nothing was chosen on .004 -.001 .000
        within = 0.95 if self.uneven else 1.0
        if self.uneven:
            half_rows += [len(self.offers.features(some)) for some in path]
        value = told * rows / (rows + half_rows)
        return path[int((value >= within * value.max()).argmax())]

    def _halves(self) -> bool:
        """Beliefs rank Boolean features; each of several classes is told by features of its own."""
        several = len(self.targets) > 1 and self.targets[0].numbers is None
        return self.background is not None or (several and not self.uneven)

    def _told(self, path: Sequence[Sequence[int]]) -> Floats:
        """The share of the scores that each set holds, with what it tells of the other features.

        A feature that others predict is no loss: which features go together shows without labels.
        """
        # features left out of which it is found what others tell of them: those with the largest
        # scores
        most_predicted = 300
        every = self.offers.features(path[0])
        share = self.score[every] / max(float(self.score[every].sum()), 1e-300)
        values, _ = self._block(every)
        free = standard_ranks(self.free_values[self.rows.upto(len(values))])
        values = standard_ranks(values)
        found = np.ones(len(path))
        for i, some in enumerate(path):
            here = np.isin(every, self.offers.features(some))
            others = np.flatnonzero(~here)
            most = others[np.argsort(-share[others], kind="stable")[:most_predicted]]
            predicted = _predicted(np.hstack([free, values[:, here]]), values[:, most])
            found[i] -= float(share[others].sum() - share[most] @ predicted)
        return found

    def _shows_nothing(self, level: int, levels: int) -> bool:
        """Late, and rows outside the bootstrap samples are ranked no better than by chance."""
        if level + 1 < levels or self.n < _NOTHING_ROWS or self.z is None or self.z >= _NOTHING_Z:
            return False
        self.stopped = "nothing to learn was found: the rest of the money was kept"
        return True

    def _rows_at_least(self) -> int:
        """Rows without which nothing is bought: some, with every class among them."""
        n = min(_LEAST_ROWS, self.rows.n_rows)
        while n < self.rows.n_rows and not self._tell(self.rows.upto(n)):
            n += 1
        return n

    def _tell(self, rows: Ints) -> bool:
        for target in self.targets:
            lacking = (target.of_rows(rows).sizes == 0) & (target.sizes > 0)
            if target.numbers is None and (lacking.any() or not target.is_told_by(rows)):
                return False
        return True

    def _too_little(self, rows: int, needed: float) -> str:
        enough = float(f"{needed:.6g}")
        enough = enough if enough >= needed else float(f"{needed * (1 + 1e-5):.6g}")
        return (
            f"what may be spent, {self.left:g}, does not buy the smallest useful sample, {rows} "
            f"rows, which costs {enough:g}. Raise spend= or the budget."
        )


def score_features(values: Floats, targets: Sequence[Labels], seed: int = 0) -> Floats:
    """Believed effects and importances, each summing to one; NaN for what is not known."""
    alone = _alone(values, targets, None)
    found = alone / max(float(alone.sum()), 1e-300)
    told, _ = _forest(values, targets, seed)
    return found if told is None else found + told


def _alone(
    values: Floats, targets: Sequence[Labels], background: tuple[Floats, Floats] | None
) -> Floats:
    """What each feature is believed to explain by itself, over all labels."""
    if background is not None:
        codes = targets[0].codes
        rare = codes == int(np.bincount(codes, minlength=2).argmin())
        there = ~np.isnan(values)
        ones = np.where(there, values, 0.0)
        counts = there[rare].sum(0), ones[rare].sum(0)
        others = there[~rare].sum(0) + background[0], ones[~rare].sum(0) + background[1]
        return believe_rates(*(np.asarray(c, dtype=np.float64) for c in (*counts, *others)))[2]
    found = np.zeros(values.shape[1])
    gaps = np.isnan(values)
    values = np.where(gaps, np.nan, standard_ranks(values))  # heavy tails hide what tells
    for target in targets:
        rows = np.flatnonzero(target.known)
        if target.numbers is not None:
            y = target.numbers[rows][:, None]
        else:
            y = np.eye(target.n_classes)[target.codes[rows]]
            y = y[:, 1:] if target.n_classes == 2 else y
        y = y[:, y.std(axis=0) > 0]
        if not y.shape[1]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            seen, _ = believe_columns(values[rows], ~gaps[rows], y)
            missing, _ = believe_columns(gaps[rows].astype(float), np.ones_like(gaps[rows]), y)
        found += np.nan_to_num((seen**2).sum(axis=0) + (missing**2).sum(axis=0))
    return found


def _forest(
    values: Floats, targets: Sequence[Labels], seed: int
) -> tuple[Floats | None, float | None]:
    """Of extra trees on bootstrap samples: importances, and how rows outside them are ranked."""
    rows = np.flatnonzero(np.all([target.known for target in targets], axis=0))
    ours = [target.of_rows(rows) for target in targets]
    # beside classes, numbers are told by the fifth that they fall into
    numbers = all(target.numbers is not None for target in ours)
    if not numbers:
        ours = [t for t in ours if np.sort(np.bincount(t.codes, minlength=2))[-2] >= 2]
    if len(rows) < 8 or not ours:
        return None, None
    ys = [t.numbers if numbers and t.numbers is not None else t.codes for t in ours]
    y = as_targets(ys, [0 if numbers else t.n_classes for t in ours])
    x = np.nan_to_num(np.clip(values[rows], -1e30, 1e30).astype(np.float32), nan=-1e30)
    ranks = len(ours) == 1 and not numbers and len(rows) >= _NOTHING_ROWS
    kinds = (False,) if is_boolean(values) else (False, True)
    made = [
        grow_trees(
            x, y, _TREES // len(kinds), seed,
            tried=TRIED[numbers], searched=searched, sampled=ranks and not searched,
        )
        for searched in kinds
    ]  # fmt: skip
    told = np.mean([one.told for one in made], axis=0)
    return told, _rank_z(made[-1], x, ours[0]) if ranks else None


def standard_ranks(values: Floats) -> Floats:
    """Ranks within each column, with mean 0 and variance 1; gaps at the mean.

    >>> standard_ranks(np.array([[1.0], [9.0], [1e6]])).round(2).ravel().tolist()
    [-1.22, 0.0, 1.22]
    """
    if not values.size:
        return np.zeros(values.shape)
    gaps = np.isnan(values)
    ranks = rankdata(np.where(gaps, np.inf, values), axis=0)  # gaps come last
    n = np.maximum((~gaps).sum(axis=0), 1)
    ranks = np.where(gaps, 0.0, ranks - (n + 1) / 2)
    spread = np.sqrt((ranks**2).sum(axis=0) / n)
    return np.asarray(ranks / np.where(spread > 0, spread, np.inf))


def _predicted(known: Floats, others: Floats) -> Floats:
    """The part of each other column's variance that a ridge on the known ones explains.

    On held-out rows, one by one, in closed form; the best of four penalties.
    """
    found = np.zeros(others.shape[1])
    if not known.shape[1]:
        return found
    n, k = known.shape
    if k < n:  # the same directions from the smaller of both products
        e, W = np.linalg.eigh(known.T @ known / k)
        e, W = e[e > 1e-9], W[:, e > 1e-9]
        V = known @ W / np.sqrt(e * k)
    else:
        e, V = np.linalg.eigh(known @ known.T / k)
    target, total = V.T @ others, np.maximum((others**2).sum(axis=0), 1e-9)
    for penalty in (0.3, 1.0, 3.0, 10.0):
        part = e / (e + penalty)
        outside = np.maximum(1 - V**2 @ part - 1 / len(V), 0.05)
        wrong = (others - V @ (part[:, None] * target)) / outside[:, None]
        found = np.maximum(found, 1 - (wrong**2).sum(axis=0) / total)
    return found


def _rank_z(forest: GrownTrees, x: AnyArray, target: Labels) -> float | None:
    """Mann and Whitney's z of two classes by the trees that did not see a row; None of more."""
    codes = np.unique(target.codes)
    if len(codes) != 2 or forest.seen is None:
        return None
    column = int(codes[1]) if target.n_classes > 2 else 0
    votes = np.array([one.value[one.apply(x), column, 0] for one in forest.trees])
    score = np.where(forest.seen, 0.0, votes).sum(axis=0) / np.maximum(
        (~forest.seen).sum(axis=0), 1
    )
    positive = target.codes == codes[1]
    return float(ranksums(score[positive], score[~positive]).statistic)
