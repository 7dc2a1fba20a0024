"""Sums of monomials: values, and when one counts as the polynomial behind the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from thrifty.powers.beam import Support
from thrifty.powers.evidence import HOPELESS, coarsest
from thrifty.powers.real_values import RealValues
from thrifty.powers.representation import Exponents
from thrifty.powers.row_order import shuffled
from thrifty.powers.rules import NOISY, SPOILT

__all__ = ["Polynomial", "SumRules", "Verdict", "term_values", "used_features"]

Polynomial = dict[Exponents, float]

#: "wrong": a row contradicts it. "unproven": every row fits, and chance could explain that.
Verdict = Literal["right", "wrong", "unproven"]

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
class SumRules:
    """Limits of a polynomial, precision of the labels, allowed risk."""

    max_degree: int
    max_terms: int
    precision: float
    risk: float

    @property
    def noisy(self) -> bool:
        """Whether label errors are noise rather than rounding."""
        return self.precision > NOISY

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
        widths = 5.0 if self.noisy else 1.0
        good = errors <= widths * self.precision + SUM_ROUNDING
        allowed = int(SPOILT * len(errors)) if self.noisy else 0
        if np.count_nonzero(~good) > allowed:
            return False
        if not self.noisy or not good.any():
            return bool(good.any() or not len(errors))
        slack = 1.0 + 3.0 / math.sqrt(2.0 * np.count_nonzero(good))
        return float(np.sqrt(np.mean(errors[good] ** 2))) <= self.precision * slack

    def verified(
        self,
        door: RealValues,
        target: np.ndarray,
        terms: Polynomial,
        fitted_rows: np.ndarray,
        log_candidates: float,
        coarse: float = 0.0,
    ) -> Verdict:
        """Try the polynomial on random rows that it was not fitted on, until chance is ruled out.

        Only its own features are bought; ``coarse`` is the grain of the others. With noisy labels
        a row proves little, so at least as many rows are tried as it has been fitted on. In the
        end it must fit every row on which its cells are owned: that costs nothing.
        """
        fresh = shuffled(len(target), door.row_seed)
        fresh = fresh[~np.isin(fresh, fitted_rows)]
        if not len(fresh) or coarse >= HOPELESS:
            return "unproven"
        features = used_features(terms)
        n_rows, step = (min(len(fresh), max(20, len(fitted_rows))), 10) if self.noisy else (1, 1)
        while True:
            rows = fresh[:n_rows]
            values = door.values(rows, features)
            errors = self.errors(terms, features, values, target[rows])
            if not self.holds(errors):
                return "wrong"
            chance = max(coarse, coarsest(values) if len(features) else 0.0)
            if self._believed(errors, terms, features, values, target, log_candidates, chance):
                return "right" if self._not_contradicted(door, target, terms, features) else "wrong"
            if n_rows == len(fresh):
                return "unproven"
            n_rows = min(n_rows + step, len(fresh))

    def _believed(
        self,
        errors: np.ndarray,
        terms: Polynomial,
        features: np.ndarray,
        values: np.ndarray,
        target: np.ndarray,
        log_candidates: float,
        coarse: float,
    ) -> bool:
        table = term_values(terms, features, values)
        size = float((np.abs(target) if self.noisy else np.abs(table).sum(axis=1)).mean())
        spread = float(target.std()) or size
        widest = float(np.sqrt(np.mean(errors**2))) if self.noisy else float(errors.max())
        miss = max(widest, SUM_ROUNDING) * max(1.0, size / (math.sqrt(12.0) * max(spread, 1e-300)))
        chance = min(1.0, max(2.0 * miss, coarse))
        if chance >= HOPELESS:
            return False
        return log_candidates + len(errors) * math.log(chance) <= math.log(self.risk)

    def _not_contradicted(
        self, door: RealValues, target: np.ndarray, terms: Polynomial, features: np.ndarray
    ) -> bool:
        rows = door.owned_rows(features)
        values = door.values(rows, features)
        return self.holds(self.errors(terms, features, values, target[rows]))


def _label_sizes(target: np.ndarray) -> np.ndarray:
    """|y|, and a tenth of its typical size, so that labels near zero do not decide everything."""
    typical = 0.1 * float(np.sqrt(np.mean(target**2)))
    return np.asarray(np.abs(target) + max(typical, 1e-300))


def _term_sizes(table: np.ndarray, target: np.ndarray) -> np.ndarray:
    sizes = np.maximum(np.abs(table).sum(axis=1), np.abs(target))
    return np.asarray(np.where(sizes > 0, sizes, 1.0))
