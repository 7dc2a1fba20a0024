"""Several models in a chain before the oracle: which of them to ask, and how far a row goes.

A member answers a row for its price and says how sure it is. A row goes from the cheapest member
that is asked to the next one until an answer is sure enough; where an answer is too unsure the row
is left to the oracle at once (early abstention). The answers are then certified as those of one
model, by :mod:`thrifty.certified.certify`.

**Why one certificate is valid for the whole chain.** The chain is chosen with the help of *scouts*,
a few rows that all members answer, some of them the oracle too. Then every row is answered, and
from here on no answer changes. Only now rows are drawn for the test, from those whose labels nobody
has seen, and the bet of :class:`thrifty.certified.certify.Wealth` is about these fixed answers: it
asks nothing of how they came about, and labels that were seen before certify nothing. So members,
order and thresholds need no correction for their number. A poor choice costs money, not truth.

**How the chain is chosen.** With d_i the probability that member i is wrong (its confidence,
corrected by the scouts), a price w of an error and the price o of the oracle, a row is worth

    V_i = min( w d_i,  o,  price of the next member + E[V_{i+1} | d_i] )

at member i: answer, leave it to the oracle, go on. The mean is a line in d_i over the scouts, so
that going on is best between two thresholds. For every subset of the members, cheapest first, and
every w from small to large, the certificate is planned as in :mod:`thrifty.certified.plan`; the
least money in all wins, where a longer chain must promise more: the plan rests on few scouts.
(A more expensive member before a cheaper one is never of use: the answer is that of the last one
asked.)

Where rows have prices of their own the labels of scouts are chosen and the certificate is planned
with them. Thresholds that know them too brought nothing (benchmarks/cascade.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from thrifty.certified.certify import most_likely
from thrifty.certified.plan import Strata, Target, make_plan
from thrifty.typing import Floats, Ints

#: prices of an error that are tried, in prices of the oracle
_ERRORS = np.geomspace(1.3, 40.0, 14)
#: of a correction a + b logit(confidence): what is believed before any label, and how firmly
_CENTRE, _SPREAD = np.array([0.0, 1.0]), np.array([0.7, 0.25])


@dataclass(frozen=True, eq=False)
class Members:
    """Who may be asked about the rows, and what that costs.

    Parameters
    ----------
    rows, classes : int
        how many of each there are
    prices : array of float
        of an answer now, member by member
    listed : array of float
        the same where nothing is owned: the more expensive member is believed to be the better one
    oracle_price : float
        of a label
    ask : callable
        ``ask(member, rows) -> codes, confidences``; a code of -1 is no answer
    label : callable
        ``label(rows) -> codes``: puts rows to the oracle
    targets : callable
        ``targets(codes) -> targets``: what is to be promised of these answers
    alpha : float
        by which each of them may fail
    row_prices : array of float or None
        of each row, in those of the average row, for members and oracle; None: all cost the same
    """

    rows: int
    classes: int
    prices: Floats
    listed: Floats
    oracle_price: float
    ask: Callable[[int, Ints], tuple[Ints, Floats]]
    label: Callable[[Ints], Ints]
    targets: Callable[[Ints], list[Target]]
    alpha: float
    row_prices: Floats | None = None


@dataclass(frozen=True)
class Chain:
    """Members in the order in which they are asked, and where a row leaves the chain.

    The risk of an answer is its probability to be wrong times what such an error counts. A row is
    answered at a risk of at most ``answers``, and left to the oracle above ``abstains``.
    """

    members: tuple[int, ...]
    answers: tuple[float, ...]
    abstains: tuple[float, ...]
    #: what all rows are expected to cost, the certificate included
    expected: float


@dataclass(frozen=True, eq=False)
class ChainAnswers:
    """The answers of a chain: codes, whose they are, how doubtful, and rows asked by member."""

    chain: Chain
    codes: Ints
    by: Ints
    doubt: Floats
    asked: Ints


def answer_with_chain(
    members: Members, rng: np.random.Generator, known: Ints | None = None
) -> ChainAnswers:
    """Choose a chain and answer every row with it; ``known``: codes of labels, -1 elsewhere.

    >>> rng = np.random.default_rng(0)
    >>> truth, easy = rng.integers(0, 2, 3000), rng.random(3000) < 0.7
    >>> def ask(member, rows):           # the small one knows the easy rows, and which they are
    ...     right = easy[rows] | (member == 1)
    ...     return np.where(right, truth[rows], 1 - truth[rows]), np.where(right, 0.99, 0.4)
    >>> from thrifty.certified.plan import agreement
    >>> found = answer_with_chain(
    ...     Members(3000, 2, np.array([0.01, 0.2]), np.array([0.01, 0.2]), 1.0, ask,
    ...             lambda rows: truth[rows], lambda codes: [agreement(len(codes), 0.95)], 0.05),
    ...     rng)
    >>> found.chain.members, bool(found.asked[1] < 1200), float((found.codes == truth).mean())
    ((0, 1), True, 1.0)
    """
    return _ChainRun(members, rng, known).answers()


class _ChainRun:
    """One chain on its way: scouts, the choice, the answers."""

    def __init__(self, members: Members, rng: np.random.Generator, known: Ints | None) -> None:
        self.members, self.rng = members, rng
        rows, n = members.rows, len(members.prices)
        self.said = np.full(rows, -1, dtype=np.int64) if known is None else known.copy()
        #: answers and confidences of every member, where it was asked
        self.codes, self.sure = np.zeros((rows, n), dtype=np.int64), np.full((rows, n), np.nan)
        self.was_asked = np.zeros((rows, n), dtype=bool)
        #: by whom scouts without a label are judged
        self.most_expensive = int(n - 1 - np.argmax(members.listed[::-1]))
        self.corrections = np.tile(_CENTRE, (n, 1))

    def answers(self) -> ChainAnswers:
        scouts = self._scout()
        self._correct(scouts)
        chain = self._choose(scouts)
        codes, by, doubt = self._walk(chain, scouts)
        return ChainAnswers(chain, codes, by, doubt, self.was_asked.sum(axis=0))

    def _ask(self, member: int, rows: Ints) -> None:
        rows = rows[~self.was_asked[rows, member]]
        if len(rows):
            codes, sure = self.members.ask(member, rows)
            self.codes[rows, member] = np.maximum(codes, 0)
            self.sure[rows, member] = np.where(codes < 0, 0.0, sure)
            self.was_asked[rows, member] = True

    # -- scouts -----------------------------------------------------------------------------------

    def _scout(self) -> Ints:
        # rows that all members answer, the scouts: this share of all, within these numbers
        share, least, most = 0.03, 40, 200
        # the oracle labels this share of them, those that the most expensive member doubts most:
        # most of them would go to the oracle anyway. Both chosen with _SPREAD on seeds 200 to 239
        # of benchmarks/cascade.py, which prints seeds 0 to 99
        labelled = 0.25
        rows = self.members.rows
        size = min(rows, int(np.clip(share * rows, least, most)))
        scouts = self.rng.permutation(rows)[:size]
        for member in range(len(self.members.prices)):
            self._ask(member, scouts)
        sure = self.sure[scouts, self.most_expensive]
        if self.members.row_prices is not None:
            sure = (sure - 1) / self.members.row_prices[scouts]
        doubtful = scouts[np.argsort(sure, kind="stable")]
        some = doubtful[: math.ceil(labelled * size)]
        some = some[self.said[some] < 0]
        self.said[some] = self.members.label(some)
        return scouts

    def _correct(self, scouts: Ints) -> None:
        """Confidences are held against labels, or else the most expensive member's answers."""
        said, most_expensive = self.said[scouts], self.most_expensive
        told = said >= 0
        self._fit(most_expensive, scouts[told], (self.codes[scouts, most_expensive] == said)[told])
        right = 1 - self._doubt(scouts, most_expensive)
        others = (1 - right) / max(self.members.classes - 1, 1)
        for member in range(len(self.corrections)):
            if member != most_expensive:
                code = self.codes[scouts, member]
                guess = np.where(code == self.codes[scouts, most_expensive], right, others)
                self._fit(member, scouts, np.where(told, code == said, guess))

    def _fit(self, member: int, rows: Ints, right: np.ndarray) -> None:
        columns = _columns(self.sure[rows, member])
        weight = _SPREAD**-2.0
        self.corrections[member] = most_likely(
            columns, right.astype(np.float64), _CENTRE, weight, _CENTRE
        )

    def _doubt(self, rows: Ints, member: int) -> Floats:
        """The probability that a member is wrong; surer is never held for more often wrong."""
        floor = 1e-3  # no answer is held for more rarely wrong
        at, slope = self.corrections[member]
        odds = _columns(self.sure[rows, member]) @ np.array([at, max(slope, 0.02)])
        return np.asarray(np.maximum(1 / (1 + np.exp(odds)), floor))

    # -- the choice -------------------------------------------------------------------------------

    def _choose(self, scouts: Ints) -> Chain:
        members = self.members
        codes = self.codes[scouts]
        every = range(len(members.prices))
        doubts = np.column_stack([self._doubt(scouts, m) for m in every])
        risks = doubts * np.column_stack([_extras(members, codes[:, m]) for m in every])
        price = None if members.row_prices is None else members.row_prices[scouts]
        # a member more must save one over the root of the scouts
        longer = 1 + 1 / math.sqrt(len(scouts))
        found = [Chain((), (), (), members.rows * members.oracle_price)]
        for order in _subsets(members.listed):
            for error in _ERRORS[:1] if len(order) == 1 else _ERRORS:
                chain = _thresholds(members, risks, order, float(error))
                expected = self._expected(chain, _stages(chain, risks), codes, doubts, price)
                found.append(replace(chain, expected=expected))
        return min(found, key=lambda c: c.expected * longer ** max(len(c.members) - 1, 0))

    def _expected(
        self, chain: Chain, stage: Ints, codes: Ints, doubts: Floats, price: Floats | None
    ) -> float:
        """What all rows will cost: the members, and the oracle as the certificate is planned."""
        members, every = self.members, np.arange(len(stage))
        asked = np.cumsum(members.prices[list(chain.members)])[stage]
        paid = (asked if price is None else asked * price).mean()
        by = np.array(chain.members)[stage]
        scale, labels = members.rows / len(stage), 0.0
        for target in members.targets(codes[every, by]):
            strata = Strata.of(every, doubts[every, by], target, price).scaled(scale)
            plan = make_plan(strata, -target.allowed * scale, math.log(1 / members.alpha))
            labels = max(labels, min(plan.cost, members.rows))
        return float(paid * members.rows + labels * members.oracle_price)

    # -- the answers ------------------------------------------------------------------------------

    def _walk(self, chain: Chain, scouts: Ints) -> tuple[Ints, Ints, Floats]:
        """Every row's answer, whose it is, how doubtful; -1: nobody was asked."""
        members = self.members
        codes, by = np.zeros(members.rows, dtype=np.int64), np.full(members.rows, -1)
        doubt = np.full(members.rows, 1 - 1 / members.classes)
        rows = np.setdiff1d(np.flatnonzero(self.said < 0), scouts)
        steps = list(zip(chain.members, chain.answers, chain.abstains))
        for member, answers, abstains in steps:
            self._ask(member, rows)
            self._take(member, rows, codes, by, doubt)
            risk = doubt[rows] * _extras(members, codes[rows])
            rows = rows[(risk > answers) & (risk <= abstains)]
        self._take(
            self.most_expensive, scouts, codes, by, doubt
        )  # everyone was asked about the scouts
        return codes, by, doubt

    def _take(self, member: int, rows: Ints, codes: Ints, by: Ints, doubt: Floats) -> None:
        codes[rows], by[rows] = self.codes[rows, member], member
        doubt[rows] = self._doubt(rows, member)


def _columns(sure: Floats) -> Floats:
    """1 and the log-odds of a confidence; one that is lacking is even."""
    least_sure, surest = 0.02, 0.998  # confidences are read within these bounds
    p = np.clip(np.where(np.isnan(sure), 0.5, sure), least_sure, surest)
    return np.column_stack([np.ones(len(p)), np.log(p / (1 - p))])


def _extras(members: Members, codes: Ints) -> Floats:
    """What an error of each answer counts, by the target for which it counts most."""
    return np.asarray(np.max([target.extra for target in members.targets(codes)], axis=0))


def _subsets(listed: Floats) -> Iterator[tuple[int, ...]]:
    by_price = np.argsort(listed, kind="stable").tolist()
    for size in range(1, len(by_price) + 1):
        yield from combinations(by_price, size)


def _thresholds(members: Members, risks: Floats, order: tuple[int, ...], error: float) -> Chain:
    """The best thresholds on the scouts, from the last member to the first."""
    oracle, answers, abstains = members.oracle_price, [math.inf], [math.inf]
    value = np.minimum(error * oracle * risks[:, order[-1]], oracle)
    for member, after in zip(order[-2::-1], order[:0:-1]):
        risk = risks[:, member]
        at, slope = _line(risk, value)
        at += members.prices[after]
        # where going on begins to cost less than the error, and where it costs more than the oracle
        answers.append(at / max(error * oracle - slope, 1e-12))
        abstains.append((oracle - at) / max(slope, 1e-12))
        value = np.minimum(np.minimum(error * oracle * risk, oracle), at + slope * risk)
    return Chain(order, tuple(answers[::-1]), tuple(abstains[::-1]), math.nan)


def _stages(chain: Chain, risks: Floats) -> Ints:
    """At which member each scout leaves the chain."""
    stage, going = np.zeros(len(risks), dtype=np.int64), np.ones(len(risks), dtype=bool)
    for i, member in enumerate(chain.members[:-1]):
        going &= (risks[:, member] > chain.answers[i]) & (risks[:, member] <= chain.abstains[i])
        stage[going] = i + 1
    return stage


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """What y is given x, at + slope x and rising, by least squares.

    >>> [round(v, 6) for v in _line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))]
    [1.0, 2.0]
    """
    apart = x - x.mean()
    slope = max(0.0, float(apart @ y) / max(float(apart @ apart), 1e-12))
    return float(y.mean() - slope * x.mean()), slope
