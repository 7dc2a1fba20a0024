"""When is a fit believed? By the chance that a wrong model would have fitted as well.

Floats are never compared for equality. A candidate that misses no row by more than ``miss`` would
be matched by chance, by one wrong monomial on one row, with probability at most

    chance = max(2 * miss * density, grain)

where ``density`` bounds the density of log x (a wrong monomial differs by an integer combination
of logs, which is at least as spread out), and ``grain`` is the probability that two values
coincide because they are coarse: with one decimal it is 0.1, and one row proves nothing. On R
rows, with M candidates that could have been chosen, the risk is M * chance^R. Rows are bought
until the risk is below what the user allows.

A wrong monomial differs from the target by powers of some features, and may differ by any of them:
given the other values of a row, only one value of such a feature hides the difference. The grain
is therefore that of the coarsest feature that could be in play, not of the candidate's own, and a
feature of which a single coarse value was seen has a grain of 1: it proves nothing yet.

What counts as a fit stands in :class:`Rules` for monomials and :class:`SumRules` for sums of them;
both verify on rows in a random order, a few cells a row. A failure becomes the error that a user
sees in :func:`refuse`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NoReturn

import numpy as np

from thrifty.attempt import Failure
from thrifty.errors import NotEnoughExamples, NotInFamily
from thrifty.powers.representation import Exponents
from thrifty.powers.values import BoughtValues, shuffled

#: What evaluating a product and its logarithm in double precision may lose, per unit of size.
ROUNDING = 4e-15

#: Where a wrong model fits a row with this chance, no number of rows is enough.
HOPELESS = 0.95

#: From so many rows on a feature that never varied is taken for a constant.
ENOUGH_ROWS = 8


def coarsest(values: np.ndarray) -> float:
    """The grain of the coarsest feature that could be in a target, from rows of all of them.

    A feature that does not vary on eight rows or more cannot be told from a factor, whoever
    learns, and is left out. One that repeats itself more often than not counts as one half: a
    monomial without it is right on most rows, and no rule that buys few rows could see more.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> fine, same = random.uniform(1, 2, 20), np.full(20, 2.0)
    >>> coarsest(np.column_stack([fine, same])), coarsest(np.column_stack([fine, same])[:7])
    (0.0, 1.0)
    """
    if not values.size:
        return 0.0
    found, varying = grains(values), np.ptp(values, axis=0) > 0
    if len(values) < ENOUGH_ROWS or not varying.any():
        return float(found.max())
    return min(0.5, float(found[varying].max()))


def grains(table: np.ndarray) -> np.ndarray:
    """The probability that a value of each column coincides with a given one.

    One over the levels its decimals allow, or the share of its commonest value where that is
    more: levels need not be equally likely, and one value may come again and again among fine ones.

    >>> grains(np.array([[1.1, 1.123456789012], [1.9, 1.7], [2.0, 1.2], [1.0, 1.3]])).round(3)
    array([0.091, 0.   ])
    """
    fine_decimals = 9  # Values with more decimals than this are as good as continuous.
    rising = np.sort(table, axis=0)
    spans = rising[-1] - rising[0]
    levels = np.full(rising.shape[1], np.inf)
    for decimals in range(fine_decimals, -1, -1):
        scaled = rising * 10.0**decimals
        coarse = (np.abs(scaled - np.rint(scaled)) <= 1e-15 * np.abs(scaled)).all(axis=0)
        if not coarse.any():
            break  # what is not whole in more decimals is not whole in fewer
        levels[coarse] = 1.0 + spans[coarse] * 10.0**decimals
    return np.asarray(np.maximum(1.0 / levels, _commonest(rising)))


def _commonest(rising: np.ndarray) -> np.ndarray:
    """Of each column: given a row with its commonest value, the share of the others with it."""
    again = rising[1:] == rising[:-1]
    if not again.any():
        return np.zeros(rising.shape[1])
    rows = np.arange(1, len(rising))[:, None]
    began = np.maximum.accumulate(np.where(again, 0, rows), axis=0)
    return np.asarray((rows - began).max(axis=0) / (len(rising) - 1))


def log_density(logs: np.ndarray) -> float:
    """A bound on the density of one log feature: that of a uniform law with its spread.

    With several rows the least spread feature decides; from a single row only the spread across
    the features is known.
    """
    spread = logs.std(axis=0).min() if len(logs) >= 8 else logs.std()
    return 1.0 / (math.sqrt(12.0) * max(float(spread), 1e-12))


def log_chance(miss: float, density: float, coarse: float) -> float:
    """The natural log of the chance that a wrong candidate fits a row."""
    return math.log(min(1.0, max(2.0 * miss * density, coarse, 1e-300)))


def rows_needed(
    miss: float, log_candidates: float, density: float, coarse: float, risk: float
) -> int | None:
    """Rows at which the risk is small enough, or None where no number of rows is enough."""
    chance = log_chance(miss, density, coarse)
    if chance >= math.log(HOPELESS):
        return None
    return max(1, math.ceil((log_candidates - math.log(risk)) / -chance))


def rows_tell(
    n_rows: int, n_features: int, n_models: int, coarse: float, coefficients: int = 0
) -> bool:
    """Whether labels that follow no model are hardly ever matched by one of so many.

    Not by real weights of the features, or not by luck: each coefficient takes a row, every other
    one is met with chance ``coarse``.

    >>> rows_tell(12, 6, 10**9, 0.5), rows_tell(11, 6, 10**9, 0.5), rows_tell(11, 6, 20, 0.5)
    (True, False, True)
    """
    hardly_ever = 0.01
    by_luck = n_models * coarse ** max(n_rows - coefficients, 0)
    return n_rows >= n_features + min(n_features, 10) or by_luck <= hardly_ever


def too_few_rows(n_rows: int, needed: float, message: str) -> Failure:
    """There may be a formula, and there are fewer examples than finding it takes."""
    return Failure("too-few-rows", message, {"rows": n_rows, "rows_needed": needed})


def twins(values: np.ndarray, used: np.ndarray) -> tuple[int, int] | None:
    """A used column and another one that is equal to it, where there is one."""
    for column in used.tolist():
        equal = np.flatnonzero((values == values[:, [column]]).all(axis=0))
        if len(equal) > 1:
            return int(equal[0]), int(equal[1])
    return None


def equal_features(pair: np.ndarray, n_rows: int) -> Failure:
    """Nobody can tell which of two features is in the formula."""
    first, second = pair.tolist()
    return Failure(
        "equal-features",
        f"features {first} and {second} are equal on all {n_rows} examples, so nobody can tell "
        "which of them is in the formula. Leave one out",
        {"features": (first, second)},
    )


def refuse(failure: Failure) -> NoReturn:
    """Raise the error that fits the failure; it carries the failure's reason and numbers."""
    message = f"{failure.message} ({failure.reason}). "
    if "too-few-rows" in failure.reason or failure.reason == "coarse-values":
        raise NotEnoughExamples(message + "Bring more examples of this task.", failure)
    raise NotInFamily(
        message + "Check the limits of the family, the precision of the labels, and that all "
        "features behind them are there.",
        failure,
    )


def correlated(columns: np.ndarray, features: np.ndarray) -> Failure | None:
    """A failure that names two correlated features, or None where all look independent.

    Chance allows 4 standard errors for a few columns; among very many, the largest of all pairs
    is expected beyond that, and the limit rises with the logarithm of their number.
    """
    compared = 500  # Pairs of features are compared on at most this many of them.
    varying = np.flatnonzero(columns.std(axis=0) > 0)[:compared]
    if len(columns) < 4 or len(varying) < 2:
        return None
    table = np.abs(np.corrcoef(columns[:, varying], rowvar=False))
    np.fill_diagonal(table, 0.0)
    first, second = features[varying[list(np.unravel_index(int(table.argmax()), table.shape))]]
    limit = max(4.0, 1.5 + math.sqrt(4.0 * math.log(len(varying)))) / math.sqrt(len(columns))
    largest = float(table.max())
    if largest <= min(1.0, limit):
        return None
    return Failure(
        "correlated-features",
        f"features {first} and {second} have a correlation of {largest:.2f} where independence "
        f"allows {limit:.2f} on {len(columns)} examples. To look at one feature at a time is then "
        "wrong; method='lattice' does not need independence",
        {"correlation": largest, "limit": limit},
    )


#: A stated precision above this is noise: errors are then random, and a few labels may be spoilt.
NOISY = 1e-7

#: With noisy labels, this share of the rows may lie outside the tolerance.
SPOILT = 0.05


def rounding_of(logs_of_labels: np.ndarray) -> np.ndarray:
    """What rounding may take from each, in the log of the label."""
    return np.asarray(ROUNDING * (1.0 + np.abs(logs_of_labels)))


class _Precise:
    """Labels of a stated precision: what misses it explains."""

    __slots__ = ()
    precision: float

    @property
    def noisy(self) -> bool:
        """Whether label errors are noise to be averaged rather than rounding."""
        return self.precision > NOISY

    def allowed(self, rounding: np.ndarray | float) -> np.ndarray | float:
        """The largest error of a row, of which so much is rounding."""
        return (5.0 if self.noisy else 1.0) * self.precision + rounding

    def fitted(self, errors: np.ndarray, rounding: np.ndarray | float) -> np.ndarray | None:
        """Which rows fit; None where more do not than noise, or none at all, may spoil.

        With noise a wrong neighbour may stay inside five standard errors, but not with this
        average.
        """
        good = errors <= self.allowed(rounding)
        spoilt = int(np.count_nonzero(~good))
        if spoilt > (int(SPOILT * len(good)) if self.noisy else 0):
            return None
        if self.noisy and len(good):
            slack = 1.0 + 3.0 / math.sqrt(2.0 * (len(good) - spoilt))
            if float(np.sqrt(np.mean(errors[good] ** 2))) > self.precision * slack:
                return None
        return np.asarray(good)


@dataclass(frozen=True, slots=True)
class Fit:
    """How a candidate that holds did on some rows."""

    miss: float  # the largest error of a row that counts as fitted
    rows: int  # rows that count as fitted
    log_choices: float  # natural log of the ways to leave spoilt rows out


@dataclass(frozen=True, slots=True)
class Rules(_Precise):
    """Largest degree, precision of the labels (relative, one standard error), allowed risk."""

    max_degree: int
    precision: float
    risk: float

    def check(self, target: np.ndarray, predicted: np.ndarray) -> Fit | None:
        """Compare predicted with given logs of labels; None where they do not fit."""
        errors, rounding = np.abs(target - predicted), rounding_of(target)
        good = self.fitted(errors, rounding)
        if good is None or not len(good):
            return None
        rows = int(np.count_nonzero(good))
        miss = max(float(errors[good].max()), float(rounding.max()))
        return Fit(miss, rows, math.log(math.comb(len(good), len(good) - rows)))

    def believed(self, fit: Fit, log_candidates: float, density: float, coarse: float) -> bool:
        """Whether chance could not have produced this fit."""
        risk = log_candidates + fit.log_choices + fit.rows * log_chance(fit.miss, density, coarse)
        return risk <= math.log(self.risk)


#: "wrong": a row contradicts it. "unproven": every row fits, and chance could explain that.
Verdict = Literal["right", "wrong", "unproven"]


@dataclass(frozen=True)
class MonomialTask:
    """Labels, as logs, of rows whose cells can be bought, and what counts as a fit."""

    reader: BoughtValues
    target: np.ndarray
    rules: Rules

    @cached_property
    def order(self) -> np.ndarray:
        """All rows in the random order of the lifetime."""
        return shuffled(len(self.target), self.reader.row_seed)

    def verified(
        self, monomial: Exponents, log_candidates: float, at_least: int = 1, coarse: float = 0.0
    ) -> tuple[Verdict, int]:
        """Try ``monomial`` on random rows until it is contradicted or chance is ruled out.

        ``log_candidates`` is the natural log of the number of monomials it was chosen from,
        ``coarse`` the grain of the other features that may be in the target. Only its own features
        are bought. Whatever can be checked for nothing is: a constant on every label, any other
        monomial on all rows whose cells are owned. Returns the verdict and the rows it took.
        """
        order, rules, target = self.order, self.rules, self.target
        if not monomial:
            constant = rules.check(target, np.zeros(len(target)))
            return ("right" if constant else "wrong"), min(at_least, len(order))
        if coarse >= HOPELESS:
            return "unproven", min(at_least, len(order))
        features = np.array([feature for feature, _power in monomial], dtype=np.intp)
        powers = np.array([power for _feature, power in monomial], dtype=np.float64)
        values = np.empty((0, len(features)))
        for n_rows in range(min(at_least, len(order)), len(order) + 1):
            rows = order[:n_rows]
            values = np.vstack([values, self.reader.values(rows[len(values) :], features)])
            logs = np.log(values)
            fit = rules.check(target[rows], logs @ powers)
            if fit is None and (not rules.noisy or n_rows >= 20):
                return "wrong", n_rows
            density = log_density(logs) if values.size > 1 else 1.0
            chance = max(coarse, coarsest(values))
            if fit is not None and rules.believed(fit, log_candidates, density, chance):
                return ("wrong" if self.contradicted(features, powers) else "right"), n_rows
        return ("wrong" if fit is None else "unproven"), len(order)

    def contradicted(self, features: np.ndarray, powers: np.ndarray) -> bool:
        """Whether a row on which all cells are owned does not fit: to look costs nothing."""
        rows = self.reader.owned_rows(features)
        return (
            self.rules.check(self.target[rows], self.reader.logs(rows, features) @ powers) is None
        )


Polynomial = dict[Exponents, float]


#: What fitting and evaluating a sum in double precision may lose, relative to its terms.
SUM_ROUNDING = 1e-12


def used_features(terms: Mapping[Exponents, float]) -> np.ndarray:
    """Every feature that occurs, rising."""
    found = {feature for monomial in terms for feature, _power in monomial}
    return np.array(sorted(found), dtype=np.intp)


def term_values(
    terms: Mapping[Exponents, float], features: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Each term, coefficient included, on each row: rows x terms."""
    place = {int(feature): column for column, feature in enumerate(features)}
    table = np.empty((len(values), len(terms)))
    for number, (monomial, coefficient) in enumerate(terms.items()):
        product = np.full(len(values), coefficient)
        for feature, power in monomial:
            product = product * values[:, place[feature]] ** power
        table[:, number] = product
    return table


@dataclass(frozen=True, slots=True)
class Support:
    """Columns, their least-squares coefficients, and the residual sum of squares."""

    columns: tuple[int, ...]
    coefficients: np.ndarray
    rss: float


@dataclass(frozen=True, slots=True)
class SumRules(_Precise):
    """Limits of a polynomial, precision of the labels, allowed risk."""

    max_degree: int
    max_terms: int
    precision: float
    risk: float

    def floor(self, n_rows: int) -> float:
        """The relative squared residual at which a fit on so many rows is worth verifying."""
        slack = 1.0 + 2.5 / math.sqrt(2.0 * n_rows) if self.noisy else 1.0
        return max((slack * self.precision) ** 2, 1e-22)

    def weights(self, target: np.ndarray) -> np.ndarray | None:
        """Row weights: with relative noise, large labels are the least precise ones."""
        return 1.0 / _label_sizes(target) if self.noisy else None

    def clear_winner(
        self, supports: list[Support], n_rows: int, n_columns: int, energy: float
    ) -> Support | None:
        """The support that gives the labels, unless another one comes too near for noise to tell.

        A term more must pay for itself: each costs the log of the number it was chosen from.
        """
        if not self.noisy:
            return supports[0] if supports[0].rss <= self.floor(n_rows) * energy else None
        term = math.log(n_columns)

        def score(support: Support) -> float:
            fit = 0.5 * n_rows * math.log(max(support.rss, 1e-300))
            return fit + term * len(support.columns)

        best = min(supports, key=score)
        if best.rss > self.floor(n_rows) * energy:
            return None
        wider = set(best.columns)
        others = [score(other) for other in supports if not wider <= set(other.columns)]
        needed = term * len(best.columns) - math.log(self.risk)
        return best if min(others, default=math.inf) - score(best) >= needed else None

    def errors(
        self, terms: Polynomial, features: np.ndarray, values: np.ndarray, target: np.ndarray
    ) -> np.ndarray:
        """The miss of each row, relative to what limits the precision there.

        Rounding grows with the sum of |terms|. Noise grows with the label: relative to the terms,
        two large ones that cancel would explain any noise away.
        """
        table = term_values(terms, features, values)
        sizes = _label_sizes(target) if self.noisy else _term_sizes(table, target)
        return np.asarray(np.abs(target - table.sum(axis=1)) / sizes)

    def holds(self, errors: np.ndarray) -> bool:
        """Whether these misses are no larger than the labels' precision explains."""
        return self.fitted(errors, SUM_ROUNDING) is not None

    def believed(
        self,
        errors: np.ndarray,
        sizes: np.ndarray,
        target: np.ndarray,
        log_candidates: float,
        coarse: float,
    ) -> bool:
        """Whether chance could not have produced these misses; ``sizes`` are sums of |terms|."""
        size = float((np.abs(target) if self.noisy else sizes).mean())
        spread = float(target.std()) or size
        widest = float(np.sqrt(np.mean(errors**2))) if self.noisy else float(errors.max())
        miss = max(widest, SUM_ROUNDING) * max(1.0, size / (math.sqrt(12.0) * max(spread, 1e-300)))
        chance = min(1.0, max(2.0 * miss, coarse))
        return chance < HOPELESS and (
            log_candidates + len(errors) * math.log(chance) <= math.log(self.risk)
        )


def _label_sizes(target: np.ndarray) -> np.ndarray:
    """|y|, and a tenth of its typical size, so that labels near zero do not decide everything."""
    typical = 0.1 * float(np.sqrt(np.mean(target**2)))
    return np.asarray(np.abs(target) + max(typical, 1e-300))


def _term_sizes(table: np.ndarray, target: np.ndarray) -> np.ndarray:
    sizes = np.maximum(np.abs(table).sum(axis=1), np.abs(target))
    return np.asarray(np.where(sizes > 0, sizes, 1.0))
