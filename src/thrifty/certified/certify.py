"""Buy labels until what is left to the model is good enough, and say so with a given confidence.

Two kinds of purchase take turns: rows that the model doubts most are put to the oracle outright,
and rows are drawn at random, which is what the certificate rests on (see :class:`Wealth`). What was
bought for whatever reason is answered by the oracle, so nothing that is bought is wasted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from thrifty.certified.plan import Strata, Target, design, least_checks, make_plan
from thrifty.typing import Bools, Floats, Ints, Json

#: bettors believe in the rates as they are, and in rates moved by so much (log-odds)
_BETTORS = (-1.0, 0.0, 1.0)

#: puts rows to the oracle, and says which of them the model answered wrongly
AskOracle = Callable[[Ints], Bools]


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
    price: Floats | None = None,
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
    price : array of float or None
        of each row's label, in prices of the average row; None: all cost the same

    Examples
    --------
    >>> truth = np.random.default_rng(0).random(2000) < 0.02
    >>> from thrifty.certified.plan import agreement
    >>> done = certify(agreement(2000, 0.95), np.full(2000, 0.02), np.zeros(2000, dtype=int),
    ...                lambda rows: truth[rows], alpha=0.05, rng=np.random.default_rng(3))
    >>> bool(done.bought.sum() < 500), bool(truth[~done.bought].sum() <= 100)
    (True, True)
    """
    run = Certified(target, doubt, side, ask, known, wrong, price)
    to_gain = math.log(1 / alpha)
    while run.by_chance and run.wealth.log(run.fallen) < to_gain:
        run.turn(to_gain, rng)
    return run


class Certified:
    """What was bought, and what it shows: a certificate on its way, or at its end.

    Attributes
    ----------
    bought, wrong : array of bool
        rows answered by the oracle, and those of them that the model had wrong
    drawn, drawn_wrong : int
        rows drawn at random, the sample that was tested, and on how many the model was wrong
    by_chance : bool
        whether chance has a part in it: else it holds for certain
    """

    def __init__(
        self,
        target: Target,
        doubt: Floats,
        side: Ints,
        ask: AskOracle,
        known: Bools | None,
        wrong: Bools | None,
        price: Floats | None,
    ) -> None:
        rows = len(doubt)
        self.target, self.ask, self.price = target, ask, price
        self.rates = ErrorRates(doubt, side)
        self.bought = np.zeros(rows, dtype=bool) if known is None else known.copy()
        self.wrong = np.zeros(rows, dtype=bool) if wrong is None else wrong & self.bought
        self.wealth = Wealth(len(_BETTORS))
        self.fallen = 0.0  # by how much the deficit has fallen since the start
        #: what rows with labels count, less what is allowed
        before = np.flatnonzero(self.bought)
        self.counted = float(target.once_bought(before, self.wrong[before]).sum()) - target.allowed
        #: labels of this run: others the model may know by heart
        self.seen = np.zeros(rows, dtype=bool)
        self.drawn_wrong = 0

    @property
    def drawn(self) -> int:
        return len(self.wealth)

    @property
    def by_chance(self) -> bool:
        """Not where the deficit is at most 0 even if every other answer is wrong."""
        rounding = 1e-9  # gains of a computer's rounding are none
        rest = self.target.if_wrong[~self.bought].sum()
        return self.counted + float(rest) > rounding

    def turn(self, to_gain: float, rng: np.random.Generator) -> None:
        # the first draws, before anything is known of the model, and the least number in a turn
        first, least = 20, 10
        # a turn buys about this share of what was bought before, and of what is still expected to
        # be: the end is found more nearly. Chosen, with the hope of plan.py, on tmc2007_500,
        # yahoo_arts_500 and bibtex, confirmed on rcv1s1_500, spam and slashdot with a turn of
        # .05; .1 was compared on the first three alone (docs/howto/answers.md)
        turn, of_the_rest = 0.1, 0.25
        random = 0.1  # and at least this share of a turn is drawn at random
        rate = self.rates.given(self.seen, self.wrong)
        strata = Strata.of(np.flatnonzero(~self.bought), rate, self.target, self.price)
        left = max(to_gain - self.wealth.log(self.fallen), 0.1)
        plan = make_plan(strata, self.counted, left)
        rest = plan.draws + plan.outright
        asked = int(self.seen.sum())
        size = max(least, int(min(turn * asked, of_the_rest * rest)))
        if asked < first:
            self._draw(strata, first, rng)
            return
        drawn = math.ceil(size * max(plan.draws / rest, random))
        outright = min(size - drawn, plan.outright)
        doubtful = strata.rows[len(strata.rows) - outright :]
        self._draw(strata, drawn, rng)
        self._buy(doubtful[~self.bought[doubtful]])

    def _buy(self, rows: Ints) -> Floats:
        wrong = self.ask(rows)
        self.bought[rows], self.wrong[rows] = True, wrong
        self.seen[rows] = True
        falls = self.target.falls(rows, wrong)
        self.fallen += float(falls.sum())
        self.counted += float(self.target.once_bought(rows, wrong).sum())
        return falls

    def _draw(self, strata: Strata, size: int, rng: np.random.Generator) -> None:
        """Draw rows one after another without replacement, and bet on each."""
        most = 0.98  # an outcome costs at most this share of a bettor's money
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
            stakes.append(np.minimum(stake / total, most / np.maximum(at_risk, 1e-12)))
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


class Wealth:
    """What the bettors have won, for any deficit at the start.

    A row I is drawn from the rows without a label, row i with probability p_i. Whatever guess h_i
    was made beforehand of what row i counts,

        z = known part + sum of h + (value_I - h_I) / p_I

    has the present deficit as its mean, over the draw alone: nothing is assumed of the model. So
    if the deficit at the start was s and has since fallen by f, a bettor who begins with 1 and
    takes 1 + mu (s - f - z) at each draw has no gain to expect, and ends above 1/alpha with
    probability at most alpha, at any time at which one looks (Ville). mu is chosen before the
    draw, small enough that no outcome costs more than everything.

    The deficit now is s - f. All s > f are refuted as soon as s = f is, since the bettor gains
    more against a larger s: so one number tells whether the deficit is at most 0 now. Several
    bettors share the money at the start, and what counts is their sum.

    >>> wealth = Wealth(bettors=1)
    >>> wealth.draw(np.array([0.0]), np.array([[-1.0]]), np.array([[0.5]]))
    >>> round(wealth.log(0.0), 4), round(wealth.log(1.0), 4)     # ln 1.5; against 1: ln 2
    (0.4055, 0.6931)
    """

    def __init__(self, bettors: int) -> None:
        self._fallen = np.empty(0)
        self._seen = np.empty((0, bettors))
        self._stake = np.empty((0, bettors))

    def __len__(self) -> int:
        return len(self._fallen)

    def draw(self, fallen: Floats, seen: Floats, stake: Floats) -> None:
        """Rows drawn: how far the deficit had fallen before each, z and mu for every bettor."""
        self._fallen = np.concatenate([self._fallen, fallen])
        self._seen = np.concatenate([self._seen, seen])
        self._stake = np.concatenate([self._stake, stake])

    def log(self, deficit: float) -> float:
        """Log wealth of the bettor who started at this deficit."""
        if not len(self):
            return 0.0
        held = (deficit - self._fallen)[:, None]
        # so little is always kept, where an outcome would cost all
        kept = np.maximum(1.0 + self._stake * (held - self._seen), 1e-300)
        each = np.log(kept).sum(axis=0)
        most = float(each.max())
        return most + float(np.log(np.exp(each - most).mean()))


#: standard deviations of what is believed of a, b and a side's own correction, before any label
_PRIOR = (1.5, 0.5, 0.7)


class ErrorRates:
    """The probability that each row's answer is wrong, as labels come in.

    logit rate = a + b logit(1 - confidence), for each side (the class that it answers) a
    correction of its own. A guess that steers purchases; no certificate rests on it.

    Parameters
    ----------
    doubt : array of float
        what the model itself gives for being wrong
    side : array of int
        which kind of answer it is, 0, 1, ...

    Examples
    --------
    >>> none = np.zeros(3, dtype=bool)
    >>> rates = ErrorRates(np.array([0.01, 0.1, 0.4]), np.zeros(3, dtype=int))
    >>> rates.given(none, none).round(2)
    array([0.01, 0.1 , 0.4 ])
    """

    def __init__(self, doubt: Floats, side: Ints) -> None:
        surest, least_sure = 0.002, 0.6  # nobody is believed to be surer than this, or less sure
        sides = int(side.max(initial=0)) + 1
        columns = np.zeros((len(doubt), 2 + (sides if sides > 1 else 0)))
        columns[:, 0], columns[:, 1] = 1.0, _logit(np.clip(doubt, surest, least_sure))
        if sides > 1:
            columns[np.arange(len(doubt)), 2 + side] = 1.0
        self._columns = columns
        self._centre = np.zeros(columns.shape[1])
        self._centre[1] = 1.0
        spread = np.array([*_PRIOR[:2], *([_PRIOR[2]] * (columns.shape[1] - 2))])
        self._weight = spread**-2.0
        self._point = self._centre  # where the last fit ended: the next is near

    def given(self, known: Bools, wrong: Bools) -> Floats:
        """Rates, where the labels of some rows were seen, and which of them are wrong."""
        least_rate = 1e-3  # and no rate is below this
        seen = np.flatnonzero(known)
        told = wrong[seen].astype(np.float64)
        columns, centre, weight = self._columns, self._centre, self._weight
        self._point = most_likely(columns[seen], told, centre, weight, self._point)
        fitted = self._point.copy()
        fitted[1] = max(fitted[1], 0.02)  # surer is never held for more often wrong
        return np.asarray(np.maximum(_expit(columns @ fitted), least_rate))


def most_likely(
    columns: Floats, wrong: Floats, centre: Floats, weight: Floats, point: Floats
) -> Floats:
    """Logistic regression with a Gaussian prior, by Newton's steps from a point."""
    near = 1e-4  # a step of a fit below which it ends
    for _ in range(25):
        rate = _expit(columns @ point)
        slope = columns.T @ (rate - wrong) + weight * (point - centre)
        curve = (columns.T * (rate * (1 - rate))) @ columns + np.diag(weight)
        step = np.linalg.solve(curve, slope)
        size = float(np.abs(step).max())
        point = point - step * min(1.0, 1.0 / size if size else 1.0)
        if size < near:
            break
    return point


def _logit(p: Floats) -> Floats:
    """Written out: scipy takes a third of a second to import, which a bill would wait for."""
    return np.asarray(np.log(p / (1 - p)))


def _expit(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-z)))


@dataclass(frozen=True)
class Certificate:
    """One promise of a set of answers.

    Attributes
    ----------
    target : str
        what is promised, for instance "agree 0.95"
    confidence : float
        the probability, over the rows that were drawn, with which it holds, whatever the model is
        worth; 1.0 where it holds for certain
    rows, by_model, by_oracle : int
        all rows, and who answered them
    drawn, drawn_wrong : int
        rows drawn at random, on which the certificate rests, and on how many the model was wrong
    doubtful : int
        rows put to the oracle because the model doubted them
    known : int
        rows whose labels were there before: they count as the oracle's and certify nothing
    cost : float
        what the labels of this certificate have cost, in units of ``currency``
    note : str
        what else is to be said of it

    See Also
    --------
    thrifty.results.Answers : the answers it is about
    thrifty.Lifetime.answer : what gives both

    Examples
    --------
    >>> print(Certificate("agree 0.95", 0.95, 1000, 900, 100, 80, 0, 5, 15, 0.8, "EUR"))
    agree 0.95, with confidence 0.95, of 1,000 rows
      tested      80 rows drawn at random, the model wrong on 0
      the oracle  100 rows: 80 drawn, 5 doubtful, 15 known before; 0.8 EUR
      the model   900 rows
    """

    target: str
    confidence: float
    rows: int
    by_model: int
    by_oracle: int
    drawn: int
    drawn_wrong: int
    doubtful: int
    known: int
    cost: float
    currency: str = ""
    note: str = ""

    def __str__(self) -> str:
        sure = "for certain" if self.confidence == 1 else f"with confidence {self.confidence:g}"
        cost = f"{self.cost:,.6g} {self.currency}".strip()
        lines = [
            f"{self.target}, {sure}, of {self.rows:,} rows",
            f"  tested      {self.drawn:,} rows drawn at random, the model wrong on "
            f"{self.drawn_wrong:,}",
            f"  the oracle  {self.by_oracle:,} rows: {self.drawn:,} drawn, {self.doubtful:,} "
            f"doubtful, {self.known:,} known before; {cost}",
            f"  the model   {self.by_model:,} rows",
        ]
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return asdict(self)


def certificate_of(
    done: Certified, confidence: float, known: int, cost: float, currency: str
) -> Certificate:
    """The certificate of a run that is over."""
    rows, bought = len(done.bought), int(done.bought.sum())
    return Certificate(
        target=done.target.title,
        confidence=confidence if done.by_chance else 1.0,
        rows=rows,
        by_model=rows - bought,
        by_oracle=bought,
        drawn=done.drawn,
        drawn_wrong=done.drawn_wrong,
        doubtful=bought - done.drawn - known,
        known=known,
        cost=cost,
        currency=currency,
        note=_too_few(done, confidence),
    )


def _too_few(done: Certified, confidence: float) -> str:
    """Where a certificate by chance was out of reach for any model: how many rows it takes."""
    share = 1 - done.target.level
    if done.by_chance or not 0 < share < 1:
        return ""
    needed = least_checks(share, confidence)
    if len(done.bought) > 2 * needed:
        return ""
    return (
        f"{len(done.bought):,} rows are few: even a model that is never wrong is checked on "
        f"{needed} of them, so that nearly all were put to the oracle"
    )
