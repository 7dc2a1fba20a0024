"""One search for a table: looks by successive halving, then whatever pays most for its price.

1. Every feature is looked at on a few rows; the half with the best scores is looked at on twice the
   rows, and so on (successive halving, Karnin, Koren and Somekh, ICML 2013) until few are left.
2. The best are bought on more rows. A quick model is fitted on them. The next purchase is the
   feature, or all that an order fills, with the best score against what that model says of rows
   left out, or half as many rows again, whichever is expected to lower the loss more per price.
3. What is left of the bill buys further rows of the features that were chosen.

Where most cells are gaps single looks say nothing, and rows are bought whole. In two cases half of
the money buys a pilot of whole rows, and the other half what told most there, together, on as many
further rows as it lasts for: where asking itself costs, whatever is asked (the tokens of a text, a
visit), since every further call about a row would pay for the row again; and where the table is so
long (:mod:`thrifty.models.evidence.whole_rows`) that the pilot shows what tells only together.

The search knows prices and what was bought. What it rests on is the evidence of a kind of label
(:class:`thrifty.models.evidence.evidence.Evidence`): the order of the rows, the score of a feature,
1 by chance, and what a quick model of the chosen ones says; classes and numbers have one each.

Constants: "set by hand" means before 0.2, and not measured since; ``python benchmarks/models.py``
and ``benchmarks/regression.py`` measure with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.models.buying.policy import Bought
from thrifty.models.evidence.classes import ClassEvidence
from thrifty.models.evidence.evidence import Evidence
from thrifty.models.evidence.numbers import NumberEvidence
from thrifty.models.evidence.whole_rows import is_long, rank_whole_rows
from thrifty.models.evidence.worth import Shape, is_hopeless, judges_worth, still_falls, would_pay
from thrifty.models.memory.memory import Memory
from thrifty.models.purses.purse import CENT, to_pay

__all__ = ["Halving", "Search", "together"]

#: a first score counts up to 1 + this times where every earlier task found the feature useful. Set
#: by hand
_AGAIN = 1.0
#: features bought together: 1, and one more for so many that are chosen. Set by hand
_PER_BATCH = 4
#: rows are bought by this part of those there are. Set by hand
_MORE_ROWS = 0.5
#: rows for each chosen feature from which on no more are kept back for other features. With
#: half of the rows made tables of 5 features that tell among 60 to 210 have 120 to 190 for each,
#: yeast, nhanes, digits and crime's numbers 15 to 50. Without it the made ones lose .025
_ROWS_EACH = 80
#: of an order's features beyond the best, this part of what they gain counts. Set by hand
_BESIDE_BEST = 0.5
#: what is free counts as this part of the mean price: it is worth a look whatever its score
_FREE = 1e-3
#: of the cells, what may be values where rows are bought whole instead of columns chosen, and the
#: features there may be then. Set on support2 with 93 % gaps, one label, one seed (python
#: benchmarks/gaps.py); no set of benchmarks/models.py has so many gaps
_THERE, _FEW_FEATURES = 0.35, 150
#: the share of the money for a pilot of whole rows. Set by hand
_PILOT = 0.5
#: where asking itself costs, features of the second part for each root of the cells that it could
#: buy, and at most. Set by hand (python benchmarks/questions.py)
_WIDTH, _MOST = 0.7, 300


@dataclass(frozen=True)
class Halving:
    """Successive halving: a way to buy a table of any kinds of features, for any labels.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 40))
    >>> y = X[:, 3] - 2 * X[:, 7] + 0.1 * rng.normal(size=400)
    >>> bought = Halving().buy(Cells(X), Numbers(y), Memory(), 1600.0, rng)
    >>> sorted(bought.table.features[:2].tolist()), bool(bought.table.bought.sum() <= 1600)
    ([3, 7], True)
    """

    def buy(
        self,
        cells: Cells,
        labels: Labels | Numbers,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        evidence: Evidence
        once = cells.call_price > 0
        long = not once and isinstance(labels, Labels) and is_long(cells, labels, allowance)
        if isinstance(labels, Numbers):
            evidence = NumberEvidence(cells, labels, memory, allowance, rng)
        else:
            evidence = ClassEvidence(cells, labels, memory, allowance, rng, alone=once or long)
        search = Search(cells, evidence, memory, rng)
        if once:
            search.pilot(search.by_scores)
        elif long:
            search.pilot(lambda rows: rank_whole_rows(cells, evidence.basket, rows, rng))
        else:
            _check_allowance(cells, evidence.shape, allowance)
            search.run()
        table = evidence.table(search.features, search.rows, search.looked)
        way = "few calls" if once else "long table" if long else "halving"
        return Bought(table, evidence.lesson(table), {"way": way, **evidence.told(table)})


class Search:
    """One task: what is bought, what is still a candidate, what was chosen."""

    def __init__(
        self, cells: Cells, evidence: Evidence, memory: Memory, rng: np.random.Generator
    ) -> None:
        self.cells, self.evidence, self.rng = cells, evidence, rng
        self.basket, self.shape = evidence.basket, evidence.shape
        self.n_rows = len(self.basket.order)
        prices = np.asarray(cells.shared_prices, dtype=np.float64)
        self.least = _FREE * max(float(prices.mean()), 1e-9)
        self.prices = np.maximum(prices, self.least)
        self.alive = np.arange(cells.n_features)
        self.rounds, self.first = self._looks()
        self.useful = memory.usefulness(cells.n_features) / max(memory.tasks, 1)
        self.chosen: list[int] = []
        self.looked, self.rows = 0, 0
        self.judges = judges_worth(cells)
        # of the present model: how far the loss fell, and would fall with half as many rows again
        self.fall, self.by_more_rows = 0.0, np.inf
        self.losses: list[float] = []
        self.mean_score = 1.0  # in the first look

    def run(self) -> None:
        """Everything, where it can be had; else looks, then what they say."""
        if self._take_everything():
            return
        self.halve()
        self._check_values()
        if self._mostly_gaps():
            self._take_rows_whole()
        else:
            self.collect()

    def pilot(self, rank: Callable[[int], tuple[Ints, int]]) -> None:
        """Everything about some rows, then what told there about many, each row in one call.

        ``rank``: of the first rows the features, the best first, and how many of them to have.
        """
        every, least = self.alive, min(self.shape.kinds * self.shape.least_look, self.n_rows)
        price, money = self.basket.price(every, least), self.basket.left
        if price > money + CENT:
            raise BadInput(
                f"spend={money:g} is too small for a first look at {len(every)} features; the "
                f"smallest useful is {price:g}, {self.shape.said}."
            )
        rows = self.basket.whole_rows(every, least, _PILOT)
        self._check_values()
        ranked, k = rank(rows)
        self.chosen = ranked[:k].tolist()
        self.rows = self.basket.further(self.features, rows)
        if self.rows == self.n_rows and self.cells.call_price <= 0:
            for f in ranked[k:].tolist():  # all rows are there: what is left buys features
                if not self.basket.buy(np.array([f]), self.rows):
                    break
                self.chosen.append(f)

    def by_scores(self, rows: int) -> tuple[Ints, int]:
        """The best by their scores; of a further row a call is paid, and the margins of so many."""
        ranked = self.alive[np.argsort(-self._first_scores(self.alive, rows), kind="stable")]
        cells = self.cells
        row = float(cells.shared_prices.sum()) - sum(fee for fee, _ in cells.fees)
        wanted = _WIDTH * (self.basket.left / max(row / cells.n_features, 1e-12)) ** 0.5
        return ranked, int(np.clip(wanted, 1, min(_MOST, cells.n_features)))

    def _looks(self) -> tuple[int, int]:
        """How often the features are halved, and rows of the first look, for each kind of label."""
        shape, money = self.shape, self.basket.left
        n, unit = len(self.alive), float(self.prices.sum())  # all features on one row
        wanted = max(shape.width(money * n / unit), 1.0)
        rounds = int(np.clip(np.log2(max(n, 1) / (2.0 * wanted)), 0, shape.most_rounds))
        first = int(shape.looking * money / unit / (shape.kinds * (1 + rounds / 2)))
        most = max(shape.least_look, shape.most_looks // 2**rounds)
        return rounds, int(np.clip(first, shape.least_look, most))

    def _take_everything(self) -> bool:
        """Where all cells can be paid for, have them; the model gets those with the best scores."""
        most = self.shape.most_features
        if most is None or self.judges or not self.basket.buy(self.alive, self.n_rows):
            return False
        self.looked = self.rows = self.n_rows
        self._check_values()
        order = np.argsort(-self._scores(self.alive, None), kind="stable")
        self.chosen = self.alive[order[:most]].tolist()
        return True

    def halve(self) -> None:
        """Look at ever fewer features on ever more rows."""
        for level in range(self.rounds + 1):
            upto = min(self.shape.kinds * self.first * 2**level, self.n_rows)
            if not self.basket.buy(self.alive, upto):
                break
            self.looked = upto
            if level == 0:
                self.evidence.trust(self.alive, upto)
                if self.shape.at_first < 1:
                    self.mean_score = float(self._scores(self.alive, None).mean())
            if level < self.rounds:
                self.keep_half(self._scores(self.alive, None))

    def keep_half(self, scores: Floats) -> None:
        """Go on with the features that have the best scores."""
        keep = max(1, -(-len(self.alive) // 2))
        self.alive = self.alive[np.argsort(-scores, kind="stable")[:keep]]

    def _check_values(self) -> None:
        """A look that found nothing but gaps is the end of it."""
        looks = self.basket.columns.values()
        if looks and all(np.isnan(column).all() for column in looks):
            rows = max(map(len, looks))
            raise BadInput(
                f"all values of all {len(looks)} features are missing on the {rows} rows that "
                "were looked at. Check what the source fills in, or bring other rows."
            )

    def _mostly_gaps(self) -> bool:
        """Whether what was looked at is mostly gaps, of which nobody is to choose by single looks.

        A handful of values says nothing of a column, and one that is led costs next to nothing.
        """
        known = [~np.isnan(column) for column in self.basket.columns.values()]
        if not known or self.judges or not self.shape.whole or len(self.prices) > _FEW_FEATURES:
            return False
        return float(np.mean([there.mean() for there in known])) <= _THERE

    def _take_rows_whole(self) -> None:
        """All features on as many rows as can be had; what is missing together is asked once."""
        scores = self._scores(self.alive, None)
        first = self.alive[np.argsort(-scores, kind="stable")].tolist()
        rest = sorted(set(range(len(self.prices))) - set(first))
        self.chosen = first + rest
        self.rows = min(self.basket.bought(f) for f in self.chosen)
        while self._buy_rows(self.n_rows):
            pass

    def collect(self) -> None:
        """Buy a feature where the present model is wrong, or more rows: whichever pays more."""
        for f in self.basket.leads:  # bought only where its panel is there
            self.prices[f] *= self.basket.asked(f)
        if not self.looked:
            self._afford_something()
        enough = self._begin()
        waiting, present, by_rows = self.alive, None, 0.0
        while True:
            scores = self._scores(waiting, present)
            if self.judges and (self._hopeless() or not still_falls(self.losses, self.fall)):
                break
            offers, prices = self.offers(waiting)
            by_feature = together(self._gain_of_features(waiting, scores), offers) / prices
            took, upto = 0, self._rows_while_waiting(enough)
            if self.rows < upto and by_feature.max(initial=-1.0) < max(by_rows, 0.0):
                took = self._buy_rows(int(upto))
            if not took:
                worth, batch = together(scores, offers) / prices, 1 + len(self.chosen) // _PER_BATCH
                waiting, took = self.buy_best(waiting, offers, worth, batch)
            if not took:
                break
            present, by_rows = self._present()
        self._spend_the_rest()

    def _begin(self) -> float:
        """How many rows the table begins with; how many it has at most while features wait."""
        n = self.basket.left / max(float(self.prices[self.alive].mean()), 1e-12)
        enough = self.evidence.enough_rows(n)
        first = float(np.clip(1 / max(self.mean_score, 1e-9), self.shape.at_first, 1.0))
        rows = min(self.shape.start * n, first * min(enough, self.shape.rows_of_all * self.n_rows))
        self.rows = int(np.clip(rows, self.looked, self.n_rows))
        return enough

    def _rows_while_waiting(self, enough: float) -> float:
        """How many rows the table may have now: more where few features were worth having."""
        if self.rows > _ROWS_EACH * len(self.chosen):
            return enough
        return min(enough, self.shape.rows_of_all * self.n_rows)

    def offers(self, waiting: Ints, exact: bool = False) -> tuple[list[Ints], Floats]:
        """What may be bought on the rows of the table, as positions here, and what a row costs.

        Each feature, and all that an order fills. Where a price depends on what is owned, as with
        orders and fees, it is that of the table's rows as they are now; ``exact``: always, so that
        cells of earlier tasks count as nothing.
        """
        alone = [np.array([i]) for i in range(len(waiting))]
        if not (exact or self.cells.depends.any()):
            return alone, self.prices[waiting]
        filled = [np.flatnonzero(np.isin(waiting, order)) for order in self.cells.orders]
        offers = alone + [some for some in filled if len(some) > 1]
        rows = max(self.rows, 1)
        prices = np.array([self.basket.price(waiting[some], rows) / rows for some in offers])
        return offers, np.maximum(prices, self.least)

    def _gain_of_features(self, waiting: Ints, scores: Floats) -> Floats:
        """Expected fall of the loss, for each row of the table, of buying each on them.

        Half of what the score test shows beyond chance, which is 1. (Taking off the luck of the
        best of so many as well left two or three features on all rows: spam fell from .98 to .84.)
        """
        n = self.evidence.seen(waiting, self.looked)
        return np.asarray((scores - 1.0) / (2.0 * n * self.rows))

    def _hopeless(self) -> bool:
        """Whether there is nothing to be learned, as far as much that was bought can tell."""
        return is_hopeless(self.losses, self.fall, self.evidence.rare(self.rows))

    def buy_best(
        self, waiting: Ints, offers: Sequence[Ints], worth: Floats, batch: int
    ) -> tuple[Ints, int]:
        """The best few that can be paid for; one, where orders make others cheaper by it."""
        took, batch = 0, batch if len(offers) == len(waiting) else 1
        for i in np.argsort(-worth, kind="stable").tolist():
            if took < batch and self.basket.buy(waiting[offers[i]], self.rows):
                self.chosen.extend(waiting[offers[i]].tolist())
                took += 1
        return waiting[~np.isin(waiting, self.chosen)], took

    def _buy_rows(self, most: int) -> int:
        """Half as many rows again for what was chosen, or as many as can be paid for."""
        if not self.chosen:
            return 0
        wanted = min(int((1 + _MORE_ROWS) * self.rows) + 1, most, self.n_rows)
        upto = self.basket.most_rows(self.features, self.rows, wanted)
        if upto <= self.rows or not self.basket.buy(self.features, upto):
            return 0
        more, self.rows = upto - self.rows, upto
        return more

    def _spend_the_rest(self) -> None:
        """What is left buys rows of what was chosen; while they pay, where nothing was said."""
        if not self.chosen:
            self.chosen = [int(self.alive[0])]
            self.rows = self.basket.bought(self.chosen[0])
        while not self.judges or would_pay(self.by_more_rows, self.fall, self._hopeless()):
            if not self._buy_rows(self.n_rows):
                break
            if self.judges:
                self._present()
        self.rows = self.basket.take_free(self.features, self.rows)

    @property
    def features(self) -> Ints:
        """What was chosen."""
        return np.array(self.chosen, dtype=np.int64)

    def _scores(self, features: Ints, present: Floats | None) -> Floats:
        if present is None:
            return self._first_scores(features, self.looked)
        return self.evidence.scores(features, self.looked, present)

    def _first_scores(self, features: Ints, rows: int) -> Floats:
        """Before anything was chosen: what was useful before is believed sooner."""
        found = self.evidence.scores(features, rows, None)
        found *= 1.0 + _AGAIN * self.useful[features]
        return found

    def _present(self) -> tuple[Floats, float]:
        """What the chosen features say of rows left out; what further rows gain for their price."""
        curve = self.evidence.present(self.features, self.rows)
        self.fall, self.by_more_rows = curve.fall, curve.by_rows
        self.losses.append(curve.loss)
        more = min(_MORE_ROWS * self.rows, self.n_rows - self.rows)
        price = more * self._row_price()
        gain = curve.by_rows * more / (_MORE_ROWS * self.rows)
        return curve.p, (gain / price if price > 0 else 0.0)

    def _row_price(self) -> float:
        """What a row of the chosen features costs."""
        if not self.cells.depends.any():
            return float(self.prices[self.chosen].sum())
        return max(self.cells.price_between([], self.chosen), self.least)

    def _afford_something(self) -> None:
        """Too little money to look at every feature: look at as many as it pays for."""
        k = self.shape.kinds * self.shape.least_look
        order = self.rng.permutation(self.alive)
        if self.prices[order[0]] * k > self.basket.left:  # not even the first: the cheapest then
            order = order[np.argsort(self.prices[order], kind="stable")]
        costs = np.cumsum(self.prices[order]) * k * 2
        fits = max(1, int(np.searchsorted(costs, self.basket.left, side="right")))
        self.alive = np.sort(order[:fits])
        k = min(k, self.n_rows)
        if self.basket.buy(self.alive, k):
            self.looked = k
        elif not self.basket.columns:
            raise BadInput(
                f"a first look at {k} rows of one feature costs more than what may be spent, "
                f"{self.basket.left:g}: raise spend= or the budget."
            )


def together(values: Floats, offers: Sequence[Ints]) -> Floats:
    """What offers are worth: of several features the best, and half of what is above 0 of others.

    >>> together(np.array([1.0, 4.0, -1.0]), [np.array([0]), np.array([0, 1, 2])]).tolist()
    [1.0, 4.5]
    """
    if all(len(some) == 1 for some in offers):
        return values
    best = [float(values[some].max()) for some in offers]
    rest = [float(np.maximum(values[some], 0.0).sum()) for some in offers]
    found = [one + _BESIDE_BEST * (both - max(one, 0.0)) for one, both in zip(best, rest)]
    return np.array(found)


def _check_allowance(cells: Cells, shape: Shape, allowance: float) -> None:
    """A first look is some rows of the cheapest feature, and of one of middling price."""
    prices = np.asarray(cells.prices, dtype=np.float64)
    rows = min(shape.kinds * shape.least_look, cells.n_examples)
    least = rows * (float(prices.min()) + float(prices.mean()))
    enough = min(least, float(prices.sum()) * cells.n_examples) - CENT
    if allowance < enough and allowance < to_pay(cells) - CENT:
        raise BadInput(
            f"a first look needs {shape.said} on some features, at least {least:g}; what may be "
            f"spent is {allowance:g}. Raise spend= or the budget."
        )
