"""What was seen of ``Sure`` on held-out rows, and the certificate: a finite-sample guarantee.

*Seen.* Every row of the table has what pipelines without it say (``Prefixes.seen``), so the rule
can be followed on it: n rows stop, w of them wrong, and a lower limit for the share right. By it
the levels are found at which rows stop.

*Certified* (Learn then Test: Angelopoulos, Bates, Candes, Jordan and Lei, 2021). Half of the rows
that chose no feature are kept aside; order and prefixes are made from the others alone. These also
say which answers may be given as sure, and which level to try first. The rows aside then test that
one rule: an answer passes if so few errors, were a share 1 - p of them wrong, had a chance of 10 %
or less (22 rows without an error for p = .9, 45 for .95, 230 for .99). While all answers pass, a
laxer level is tried, in an order that was fixed before. Rows were bought by class; rows aside are
thinned by their weights, so that those left are drawn as new rows are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

from thrifty.errors import BadInput
from thrifty.models.asking.ladder import Choose, Prefixes, fit_ladder
from thrifty.models.asking.order import Price
from thrifty.models.table import Table
from thrifty.stopping import StoppingRule, Sure, equal_posterior
from thrifty.typing import EstimatorLike, Floats, Ints

#: a limit holds, and a certificate fails, in this share of the cases
DOUBT = 0.1
#: levels that are tried: of what is left between p and 1, so much is added
RUNGS = (0.75, 0.5, 0.25, 0.0)
#: levels that are tried below p: of what p is above a half; and the chance that a share is below
#: its lower limit by a standard error
LAXER, ONE_ERROR = (1.0, 0.9, 0.8), 0.16
#: rows aside of which a class has fewer say nothing at all; set by hand
LEAST = 10


def rows_needed(probability: float) -> int:
    """Rows that must stop without an error for a certificate.

    >>> [rows_needed(p) for p in (0.9, 0.95, 0.99)]
    [22, 45, 230]
    """
    return math.ceil(math.log(DOUBT) / math.log(probability) - 1e-9)


@dataclass(frozen=True)
class SureOf(StoppingRule):
    """An answer once it has its level, one for each class, in both posteriors."""

    levels: tuple[float, ...]

    def stops(
        self, p: Floats, class_shares: Floats, price_next: object = 0.0, fall_next: object = None
    ) -> NDArray[np.bool_]:
        each, likely = np.arange(len(p)), p.argmax(axis=1)
        both = np.minimum(p[each, likely], equal_posterior(p, class_shares)[each, likely])
        return np.asarray(both >= np.array(self.levels)[likely])


@dataclass(frozen=True, eq=False)
class CertifiedPrefixes:
    """The prefixes that were made without the rows aside, the rule they passed, and its words."""

    prefixes: Prefixes
    rule: StoppingRule
    words: str


def followed(seen: Floats, shares: Floats, rule: StoppingRule) -> tuple[NDArray[np.bool_], Ints]:
    """Which rows stop by a rule before the last prefix, and with which answer."""
    stops = np.array([rule.stops(p, shares) for p in seen[:-1]] or np.zeros((1, seen.shape[1])))
    stops = stops.astype(bool)
    at = np.where(stops.any(axis=0), stops.argmax(axis=0), len(seen) - 1)
    answer = seen[at, np.arange(seen.shape[1])].argmax(axis=1)
    return np.asarray(stops.any(axis=0)), answer.astype(np.int64)


def least_right(weights: Floats, wrong: NDArray[np.bool_], doubt: float) -> float:
    """A lower limit for the share right, of as many rows as would say as much were they alike."""
    if not len(weights) or wrong.all():
        return 0.0
    n = float(weights.sum() ** 2 / (weights**2).sum())
    off = n * float(weights @ wrong / weights.sum())
    return float(beta.ppf(doubt, n - off, off + 1))


def as_supported(prefixes: Prefixes, rule: Sure) -> SureOf:
    """How probable each answer must be for ``Sure``: p, or less where held-out rows support it.

    What is promised is of all rows that stop with an answer, and those just above p are the worst
    of them. So laxer levels are tried, in an order that was fixed before, as long as the held-out
    rows that stop with an answer are right often enough, a standard error taken off.
    """
    p, each = rule.probability, np.arange(len(prefixes.shares))
    levels, alive = np.full(len(each), p), np.ones(len(each), dtype=bool)
    for part in LAXER:
        trial = np.where(alive, 0.5 + part * (p - 0.5) if p > 0.5 else p, levels)
        stopped, answer = followed(prefixes.seen, prefixes.shares, SureOf(tuple(trial)))
        for c in each[alive]:
            here = stopped & (answer == c)
            low = least_right(prefixes.weights[here], prefixes.codes[here] != c, ONE_ERROR)
            alive[c] = low >= p
            levels[c] = trial[c] if alive[c] else levels[c]
    return SureOf(tuple(levels.tolist()))


def seen_of(prefixes: Prefixes, rule: StoppingRule) -> str:
    """What was seen of a rule on held-out rows, in a sentence; "" where none stop."""
    stopped, answer = followed(prefixes.seen, prefixes.shares, rule)
    wrong = answer[stopped] != prefixes.codes[stopped]
    if not stopped.any():
        return ""
    low = least_right(prefixes.weights[stopped], wrong, DOUBT)
    return (
        f"of {len(wrong)} held-out rows that were sure {int(wrong.sum())} were answered wrongly: "
        f"at least {low:.2f} right (90 % limit)"
    )


def certify(
    table: Table,
    rule: Sure,
    choose: Choose,
    price: Price,
    estimator: EstimatorLike | None,
    seed: int,
) -> CertifiedPrefixes:
    """Find a rule with a finite-sample guarantee, or say why there is none."""
    p = rule.probability
    aside = _aside(table, p, seed)
    codes = np.unique(table.labels, return_inverse=True)[1]
    rest = table.of_rows(np.setdiff1d(np.arange(table.n_rows), aside))
    if len(np.unique(rest.labels)) < len(np.unique(table.labels)):
        raise _cannot(p, "too few rows are left to learn from")
    order = choose([rest])
    (prefixes,) = fit_ladder([rest], order, price, [estimator], seed=seed, choose=choose).tasks
    seen = _said(prefixes, table.of_rows(aside))
    truth = codes[aside].astype(np.int64)
    levels = [p + (1 - p) * part for part in RUNGS]
    answers, first = _plan(prefixes, levels, p, len(aside))
    if not answers:
        raise _cannot(p, "on held-out rows no answer is that often right")
    passed: tuple[float, str] | None = None
    told = ""
    for level in levels[first:]:
        rule_at = _sure_of(level, answers, prefixes)
        stopped, answer = followed(seen, prefixes.shares, rule_at)
        ends = [_tested(stopped & (answer == c), truth == c, p) for c in answers]
        names = [_name(prefixes, c) for c in answers]
        told = "; ".join(f"{w} of {n} wrong as {a}" for (n, w, _), a in zip(ends, names))
        if not all(ok for *_, ok in ends):
            break
        passed = level, told
    if passed is None:
        raise _cannot(p, f"of {len(aside)} rows aside: {told}")
    level, told = passed
    words = (
        f"certified: each answer that is sure is right with {p:g} or more, in 9 of 10 such "
        f"certificates (of {len(aside)} rows aside: {told})"
    )
    return CertifiedPrefixes(prefixes, _sure_of(level, answers, prefixes), words)


def _aside(table: Table, p: float, seed: int) -> Ints:
    """Half of the rows that chose no feature, thinned to be drawn as new rows are."""
    fresh = np.arange(table.looked, table.n_rows)
    fresh = fresh[table.bought[fresh].all(axis=1)]
    rng = np.random.default_rng([seed, 77])
    fresh = rng.permutation(fresh)[: len(fresh) // 2]
    if len(fresh):
        kept = rng.random(len(fresh)) < table.weights[fresh] / table.weights[fresh].max()
        fresh = fresh[kept]
    if len(fresh) < rows_needed(p):
        raise _cannot(p, f"{len(fresh)} rows can be kept aside")
    return np.sort(fresh)


def _said(prefixes: Prefixes, aside: Table) -> Floats:
    """What every prefix says of the rows aside."""
    at = {int(f): j for j, f in enumerate(aside.features)}
    found = []
    for part in prefixes.parts:
        which = np.array([at[f] for f in part.features], dtype=np.int64)
        found.append(part.said(aside.values[:, which], prefixes.shares))
    return np.array(found)


def _plan(
    prefixes: Prefixes, levels: Sequence[float], p: float, n_aside: int
) -> tuple[tuple[int, ...], int]:
    """Which answers to certify and the level to begin with, without a look at the rows aside.

    The laxest level at which most answers would pass, were the rows aside like those left out.
    """
    best: tuple[tuple[int, ...], int] = ((), 0)
    n = len(prefixes.codes)
    for i, level in enumerate(levels):
        everyone = tuple(range(len(prefixes.shares)))
        rule = _sure_of(level, everyone, prefixes)
        stopped, answer = followed(prefixes.seen, prefixes.shares, rule)
        share = prefixes.weights / prefixes.weights.sum()
        good = []
        for c in everyone:
            here = stopped & (answer == c)
            stop = float(share[here].sum()) * n_aside
            wrong = float(share[here & (prefixes.codes != c)].sum()) * n_aside
            if stop >= LEAST and n and binom.cdf(math.ceil(wrong), int(stop), 1 - p) <= DOUBT / 2:
                good.append(c)
        if good and len(good) >= len(best[0]):
            best = tuple(good), i
    return best


def _sure_of(level: float, answers: Sequence[int], prefixes: Prefixes) -> SureOf:
    """Some answers alone, at one level."""
    return SureOf(tuple(level if c in answers else np.inf for c in range(len(prefixes.shares))))


def _tested(here: NDArray[np.bool_], right: NDArray[np.bool_], p: float) -> tuple[int, int, bool]:
    """How many stop with an answer, how many of them wrongly, and whether that passes."""
    n, wrong = int(here.sum()), int((here & ~right).sum())
    return n, wrong, bool(binom.cdf(wrong, n, 1 - p) <= DOUBT)


def _name(prefixes: Prefixes, code: int) -> str:
    return f"answer {prefixes.classes[code]}"


def _cannot(p: float, why: str) -> BadInput:
    return BadInput(
        f"Sure({p:g}, certified=True) cannot be certified with what is owned: {why}. It takes "
        f"{rows_needed(p)} held-out rows that stop with an answer, without an error. "
        "Learn with a larger spend=, ask for less, or leave out certified."
    )
