"""Buying with predictions in mind: few features, one at a time, each on what the others left open.

Sixty rows, half of each class, are bought whole and half of the features dropped. A probe, 150 rows
of each class, is bought on the other half. Then features are bought one at a time, on the rare
class and three others for each of it (on fewer rows where eight features could not be paid): the
one with the best score on the probe, given what a card of the others says of rows left out. So the
money goes into few features on many rows, which is what a model that asks few questions wants;
features that are free are bought on every row at once. What rows, scores and cards are is the
search's (:mod:`.halving`) and its evidence of classes. Tests of single bins beside boosted trees,
which stood here before, are no better at any number of questions (average precision at 3, 5 and 8
of them at 30 %, six labels and three splits, with the card: yeast +.012 +.001 +.003, standard error
.006; nhanes +.016 +.014 +.009, .007; support2 +.006 +.011 +.011, .005; digits +.001 .000 .000;
spam, six splits, -.004 +.005 +.004, .004; nhanes in USD, with orders, 13 labels, all features
+.003, .006).
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.models.buying.halving import Search, together
from thrifty.models.buying.policy import Bought
from thrifty.models.evidence.classes import ClassEvidence
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.purses.purse import most

__all__ = ["InOrder", "pays_for_looks"]

# The sizes and shares of the first look and of the probe were chosen among four on splits 11 to 14
# of spam, `python benchmarks/predictions.py` (docs/predicting.md). The others were set by hand with
# the first version of this way, before 0.2, and not measured since.
#: rows bought whole in the first look; at least so many of each class
WHOLE, _LEAST_LOOK = 60, 2
#: rows of each class in the probe, and at least
PROBE, _LEAST_PROBE = 150, 5
#: rows of each other class for each of the rarest
OTHERS = 3
#: there are to be as many rows as leave the money for so many features
FEATURES = 8
#: at most this share of the money goes into the first look
FIRST_LOOK = 0.25
#: and this share into the probe
FOR_PROBE = 0.3
#: where rows are too dear, they are taken times this, again and again
_FEWER = 0.9
#: a gain counts per price to this power; with orders, which fill several features, per its root
_PRICE_POWER = 1.0
_PRICE_POWER_WITH_ORDERS = 0.5
#: what a feature gains at least that shows nothing beyond chance: the cheapest goes first then
_NOTHING = 1e-6


def pays_for_looks(cells: Cells, allowance: float) -> bool:
    """Whether the money is enough for a first look of its whole size; orders need it in any case.

    With less the search for a table (:mod:`.halving`) is better for few predictions, too: at 5 %
    of the cells, ten labels, three splits, with as many features +-1, the average precision of
    yeast (chosen on) is .012 (standard error .005) higher, of nhanes .017 (.008), of emotions .027
    (.013), of cal500 -.007 (.010). With more it is not: yeast at 30 % -.013 (.006), spam by half a
    point of AUROC.

    >>> pays_for_looks(Cells(np.zeros((600, 9))), 2160.0), pays_for_looks(Cells(np.eye(9)), 2000.0)
    (True, False)
    """
    row = float(np.asarray(cells.shared_prices).sum())
    return bool(cells.orders) or allowance >= WHOLE / FIRST_LOOK * row


class InOrder:
    """A way to buy a table for a model that will be asked in order.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 12))
    >>> y = (X[:, 3] > 0).astype(int)
    >>> from thrifty.labels.classes import read_classes
    >>> bought = InOrder().buy(Cells(X), read_classes(y), Memory(), 1600.0, rng)
    >>> int(bought.table.features[0]), bool(bought.table.bought.sum() <= 1600)
    (3, True)
    """

    def buy(
        self,
        cells: Cells,
        labels: Labels,
        memory: Memory,
        allowance: float,
        rng: np.random.Generator,
    ) -> Bought:
        evidence = ClassEvidence(cells, labels, memory, allowance, rng, alone=True)
        search = _FewFeatures(cells, evidence, memory, rng)
        search.run()
        table = evidence.table(search.features, search.rows, 0)
        return Bought(table, Lesson(useful=table.features), {"way": "in order"})


class _FewFeatures(Search):
    """One task; features are bought on the first ``rows`` of the order, looked at on ``looked``."""

    def run(self) -> None:
        money = self.basket.left
        self.counts = np.bincount(self.basket.codes)
        rarest = int(self.counts[self.counts > 0].min())
        paid = np.asarray(self.cells.prices) > 0
        self.chosen, self.alive = np.flatnonzero(~paid).tolist(), np.flatnonzero(paid)
        self.rows = self._balanced(OTHERS * rarest)
        if self.chosen:
            self.basket.buy(self.features, self.rows)
        if len(self.alive) >= 4 and self._look(
            WHOLE // len(self.counts), _LEAST_LOOK, FIRST_LOOK * money
        ):
            self.keep_half(self.evidence.scores(self.alive, self.looked, None))
        self._look(min(PROBE, OTHERS * rarest), _LEAST_PROBE, FOR_PROBE * money)
        self._fewer_rows(rarest)
        while len(self.alive) and self._one_more():
            pass
        if not self.chosen:
            each = [self.basket.price(np.array([f]), self.rows) for f in self.alive.tolist()]
            raise BadInput(
                f"a model needs one feature on {self.rows} rows at least, which costs "
                f"{min(each):g}; what may be spent is {money:g}. Raise spend= or the budget."
            )

    def _balanced(self, each: float) -> int:
        """Rows, the first, that hold so many of each class, or all of it."""
        return int(np.minimum(self.counts, int(np.ceil(each))).sum())

    def _look(self, each: int, least: int, money: float) -> bool:
        """At what is still a candidate, on so many rows of each class, fewer if they are dear."""

        def can_pay(n: int) -> bool:
            return self.basket.price(self.alive, self._balanced(n)) <= money

        upto = self._balanced(most(min(least, each), each, can_pay))
        if not len(self.alive) or not self.basket.buy(self.alive, upto):
            return False
        self.looked = upto
        return True

    def _fewer_rows(self, rarest: int) -> None:
        """So few rows that several features can be bought on them; the probe's rows stay."""
        prices, wanted = np.asarray(self.cells.prices)[self.alive], min(FEATURES, len(self.alive))
        others, price = float(OTHERS), wanted * float(prices.mean()) if wanted else 0.0
        while self.rows * price > self.basket.left:
            others *= _FEWER
            fewer = self._balanced(others * rarest)
            if fewer < max(self.looked, 2 * len(self.counts)):
                break
            self.rows = fewer

    def _gains(self) -> Floats:
        """What each candidate shows beyond chance, and beyond what the chosen ones say."""
        if not self.looked:  # there was no money for it
            return np.ones(len(self.alive))
        present = self.evidence.present(self.features, self.rows).p if self.chosen else None
        found = self.evidence.scores(self.alive, self.looked, present) - 1.0
        return np.maximum(found, _NOTHING)

    def _one_more(self) -> bool:
        """Buy what gains most for its price on all rows; False: no money is left."""
        offers, prices = self.offers(self.alive, exact=True)
        power = _PRICE_POWER_WITH_ORDERS if self.cells.orders else _PRICE_POWER
        worth = together(self._gains(), offers) / prices**power
        self.alive, took = self.buy_best(self.alive, offers, worth, 1)
        return bool(took)
