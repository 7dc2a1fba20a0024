"""Buy labels until what is left to the model is good enough, and say so with a given confidence.

Two kinds of purchase take turns: rows that the model doubts most are put to the oracle outright,
and rows are drawn at random, which is what the certificate rests on (see wealth.py). What was
bought for whatever reason is answered by the oracle, so nothing that is bought is wasted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.certified.error_rates import ErrorRates
from thrifty.certified.plan import design, make_plan
from thrifty.certified.strata import Strata
from thrifty.certified.targets import Target
from thrifty.certified.wealth import Wealth

__all__ = ["Certified", "certify"]

#: bettors believe in the rates as they are, and in rates moved by so much (log-odds)
_BETTORS = (-1.0, 0.0, 1.0)
#: the first draws, before anything is known of the model, and the least number in a turn
_FIRST, _LEAST = 20, 10
#: a turn buys about this share of what was bought before, and of what is still expected to be: the
#: end is found more nearly. Chosen, with _HOPE in plan.py, on tmc2007_500,
#: yahoo_arts_500 and bibtex, confirmed on rcv1s1_500, spam and slashdot with a turn of .05; .1 was
#: compared on the first three alone (docs/howto/answers.md)
_TURN, _OF_THE_REST = 0.1, 0.25
#: and at least this share of a turn is drawn at random
_RANDOM = 0.1
#: an outcome costs at most this share of a bettor's money
_MOST = 0.98
#: gains of a computer's rounding are none
_ROUNDING = 1e-9

#: puts rows to the oracle, and says which of them the model answered wrongly
AskOracle = Callable[[Ints], Bools]


@dataclass(frozen=True, eq=False)
class Certified:
    """What was bought, and what it shows."""

    target: Target
    #: rows answered by the oracle, and those of them that the model had wrong
    bought: Bools
    wrong: Bools
    #: rows drawn at random, the sample that was tested, and on how many the model was wrong
    drawn: int
    drawn_wrong: int
    #: whether chance had a part in it: else it holds for certain
    by_chance: bool


def certify(
    target: Target,
    doubt: Floats,
    side: Ints,
    ask: AskOracle,
    *,
    alpha: float,
    rng: np.random.Generator,
    known: Bools | None = None,
    wrong: Bools | None = None,
) -> Certified:
    """Ask until the deficit is at most 0, except with probability alpha.

    Parameters
    ----------
    target : Target
        what each row counts
    doubt, side : array of float
        what the model gives for being wrong, and which kind of answer a row has
    ask : callable
        ``ask(rows) -> bool array``: buys labels, and says where the model was wrong
    known, wrong : array of bool or None
        rows whose labels are there already, for instance those that the model learned from. They
        are answered by the oracle; the certificate rests on rows drawn from the others

    >>> truth = np.random.default_rng(0).random(2000) < 0.02
    >>> from thrifty.certified.targets import agreement
    >>> done = certify(agreement(2000, 0.95), np.full(2000, 0.02), np.zeros(2000, dtype=int),
    ...                lambda rows: truth[rows], alpha=0.05, rng=np.random.default_rng(1))
    >>> bool(done.bought.sum() < 500), bool(truth[~done.bought].sum() <= 100)
    (True, True)
    """
    run = _Run(target, doubt, side, ask, known, wrong)
    to_gain = math.log(1 / alpha)
    while not run.certain() and run.wealth.log(run.fallen) < to_gain:
        run.turn(to_gain, rng)
    drawn = len(run.wealth)
    return Certified(target, run.known, run.wrong, drawn, run.drawn_wrong, not run.certain())


class _Run:
    """One certificate on its way."""

    def __init__(
        self,
        target: Target,
        doubt: Floats,
        side: Ints,
        ask: AskOracle,
        known: Bools | None,
        wrong: Bools | None,
    ) -> None:
        rows = len(doubt)
        self.target, self.ask = target, ask
        self.rates = ErrorRates(doubt, side)
        self.known = np.zeros(rows, dtype=bool) if known is None else known.copy()
        self.wrong = np.zeros(rows, dtype=bool) if wrong is None else wrong & self.known
        self.wealth = Wealth(len(_BETTORS))
        self.fallen = 0.0  # by how much the deficit has fallen since the start
        #: what rows with labels count, less what is allowed
        before = np.flatnonzero(self.known)
        self.counted = float(target.once_bought(before, self.wrong[before]).sum()) - target.allowed
        #: labels of this run: others the model may know by heart
        self.seen = np.zeros(rows, dtype=bool)
        self.drawn_wrong = 0

    @property
    def asked(self) -> int:
        """Labels bought in this run."""
        return int(self.seen.sum())

    def certain(self) -> bool:
        """Whether the deficit is at most 0 even if every other answer is wrong."""
        rest = self.target.if_wrong[~self.known].sum()
        return self.counted + float(rest) <= _ROUNDING

    def turn(self, to_gain: float, rng: np.random.Generator) -> None:
        rate = self.rates.given(self.seen, self.wrong)
        strata = Strata.of(np.flatnonzero(~self.known), rate, self.target)
        left = max(to_gain - self.wealth.log(self.fallen), 0.1)
        plan = make_plan(strata, self.counted, left)
        rest = plan.draws + plan.outright
        size = max(_LEAST, int(min(_TURN * self.asked, _OF_THE_REST * rest)))
        if self.asked < _FIRST:
            self._draw(strata, _FIRST, rng)
            return
        drawn = math.ceil(size * max(plan.draws / rest, _RANDOM))
        outright = min(size - drawn, plan.outright)
        doubtful = strata.rows[len(strata.rows) - outright :]
        self._draw(strata, drawn, rng)
        self._buy(doubtful[~self.known[doubtful]])

    def _buy(self, rows: Ints) -> Floats:
        wrong = self.ask(rows)
        self.known[rows], self.wrong[rows] = True, wrong
        self.seen[rows] = True
        falls = self.target.falls(rows, wrong)
        self.fallen += float(falls.sum())
        self.counted += float(self.target.once_bought(rows, wrong).sum())
        return falls

    def _draw(self, strata: Strata, size: int, rng: np.random.Generator) -> None:
        """Draw rows one after another without replacement, and bet on each."""
        plan = design(strata, self.counted, _BETTORS)
        share = plan.share[strata.group]
        # the order of exponential clocks is that of draws with these probabilities
        with np.errstate(divide="ignore"):
            clocks = rng.exponential(size=len(share)) / share
        drawn = first_of(clocks, min(size, int(strata.size[plan.share > 0].sum())))
        rows, group = strata.rows[drawn], strata.group[drawn]
        before, counted = self.fallen, self.counted
        falls = self._buy(rows)
        wrong, target = self.wrong[rows], self.target
        self.drawn_wrong += int(wrong.sum())
        counted_before = counted + _before(target.once_bought(rows, wrong))
        total = share.sum() - _before(share[drawn])  # of the probabilities' shares, at each draw
        seen, stakes = [], []
        for suspect, stake in zip(plan.suspect, plan.stake):
            guess = strata.right + strata.extra * suspect
            guessed = counted_before + strata.size @ guess - _before(guess[group])
            value = target.right[rows] + target.extra[rows] * wrong
            seen.append(guessed + (value - guess[group]) * total / share[drawn])
            worst = _worst(strata, suspect, plan.share)
            at_risk = guessed + worst * total
            stakes.append(np.minimum(stake / total, _MOST / np.maximum(at_risk, 1e-12)))
        self.wealth.draw(before + _before(falls), np.column_stack(seen), np.column_stack(stakes))


def first_of(clocks: Floats, size: int) -> Ints:
    """Where the smallest stand, in their order: the others need not be sorted.

    >>> first_of(np.array([3.0, 1.0, 2.0]), 2).tolist()
    [1, 2]
    """
    if size < len(clocks):
        some = np.argpartition(clocks, size - 1)[:size] if size else np.zeros(0, dtype=np.int64)
    else:
        some = np.arange(len(clocks))
    return np.asarray(some[np.argsort(clocks[some], kind="stable")])


def _before(values: Floats) -> Floats:
    """Sums of all that stand before each."""
    return np.asarray(np.cumsum(values) - values)


def _worst(strata: Strata, suspect: Floats, share: Floats) -> float:
    """By how much a wrong answer can exceed its guess, per share of the probability."""
    drawn = share > 0
    return float((strata.extra[drawn] * (1 - suspect[drawn]) / share[drawn]).max())
