"""Finding the features behind a sparse polynomial, then its terms.

Two ways to the features, for a polynomial shows itself differently on different ranges:

* On a range like [1, 2] every feature of a term has a strong effect of its own. Orthogonal pursuit
  over single features and pairs, on residuals, picks them up one after the other.
* On a range like [-1, 1] a product of four features has no smaller effects at all. A scan over all
  products up to the degree finds the largest term, the residual shows the next one.

Either way only the features are kept. The terms come from a beam search over all monomials of the
first few features found, in the order in which they were found.
"""

from __future__ import annotations

import math

import numpy as np

from thrifty.powers.beam import Support, search
from thrifty.powers.design import design
from thrifty.powers.legal_points import vectors_up_to
from thrifty.powers.scan import Scan, entries
from thrifty.powers.sums import SumRules

__all__ = ["MOST_COLUMNS", "Terms", "best_support", "find_terms"]

#: Exponents per feature position, and coefficients, of a fit over some features.
Terms = tuple[np.ndarray, Support]

#: Scans above this many products are cut down to the features that look most useful.
MOST_ENTRIES = 30_000_000

#: Columns a beam search takes, and how many (support, column) pairs it may compare at once.
MOST_COLUMNS = 6_000
MOST_PAIRS = 1_200_000

#: Effects picked by orthogonal pursuit; enough for every feature of a few terms.
STEPS = 24


def find_terms(values: np.ndarray, target: np.ndarray, rules: SumRules) -> Terms | None:
    """Terms that fit these rows as well as the labels are precise, or None.

    The points of the answer have a column for every feature of ``values``.
    """
    width, max_degree = values.shape[1], rules.max_degree
    if math.comb(width + max_degree, max_degree) <= MOST_COLUMNS:
        return _beam_over(values, target, np.arange(width), rules)
    standard = _standardised(values)
    tried: set[frozenset[int]] = set()
    for propose in (_by_effects, _by_products):
        ranking = propose(standard, target, max_degree, rules.max_terms)
        for size in (4, 6, 8, 10, 12, 15):
            chosen = np.array(sorted(ranking[:size]), dtype=np.intp)
            key = frozenset(chosen.tolist())
            too_many = math.comb(len(chosen) + max_degree, max_degree) > MOST_COLUMNS
            if key in tried or too_many or not len(chosen):
                continue
            tried.add(key)
            found = _beam_over(values, target, chosen, rules)
            if found is not None:
                return found
    return None


def _beam_over(
    values: np.ndarray, target: np.ndarray, chosen: np.ndarray, rules: SumRules
) -> Terms | None:
    small = vectors_up_to(len(chosen), rules.max_degree)
    support = best_support(design(values[:, chosen], small), target, rules)
    if support is None:
        return None
    points = np.zeros((len(support.columns), values.shape[1]), dtype=np.int64)
    points[:, chosen] = small[list(support.columns)]
    return points, support


def best_support(columns: np.ndarray, target: np.ndarray, rules: SumRules) -> Support | None:
    """The few columns that give these labels, where they do and nothing else comes near.

    The first column must be the constant.
    """
    weights = rules.weights(target)
    if weights is not None:
        columns, target = columns * weights[:, None], target * weights
    n_rows, n_columns = columns.shape
    width = max(50, min(1000, MOST_PAIRS // n_columns))
    floor = rules.floor(n_rows)
    supports = search(
        columns, target, rules.max_terms, width, floor, constant=0, rivals=rules.noisy
    )
    if not supports:
        return None
    return rules.clear_winner(supports, n_rows, n_columns, float(target @ target))


def _standardised(values: np.ndarray) -> np.ndarray:
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _centred(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    constant = np.full((len(target), 1), 1.0 / math.sqrt(len(target)))
    return constant, target - target.mean()


def _removed(
    basis: np.ndarray, residual: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Basis and residual after ``column`` is taken out, or None where it was in there already."""
    direction = column - basis @ (basis.T @ column)
    direction -= basis @ (basis.T @ direction)
    length = float(np.linalg.norm(direction))
    if length <= 1e-6 * float(np.linalg.norm(column)):
        return None
    direction /= length
    return np.column_stack([basis, direction]), residual - direction * (direction @ residual)


def _by_effects(
    standard: np.ndarray, target: np.ndarray, max_degree: int, _max_terms: int
) -> list[int]:
    """Features in the order in which their effects, alone or in pairs, explain the labels."""
    scan = Scan(standard, min(2, max_degree))
    basis, residual = _centred(target)
    ranking: dict[int, None] = {}  # an ordered set
    for _step in range(min(STEPS, len(target) // 3)):
        for name in scan.best(residual, 3):
            removed = _removed(basis, residual, np.prod(standard[:, name], axis=1))
            if removed is not None:
                basis, residual = removed
                ranking.update(dict.fromkeys(name))
                break
        else:
            break
    return list(ranking)


def _by_products(
    standard: np.ndarray, target: np.ndarray, max_degree: int, max_terms: int
) -> list[int]:
    """Features of the products, up to the full degree, that explain the labels best."""
    useful = _cut(standard, target, max_degree)
    scan = Scan(standard[:, useful], max_degree)
    states: list[tuple[tuple[tuple[int, ...], ...], np.ndarray, np.ndarray]]
    states = [((), *_centred(target))]
    for _term in range(max_terms):
        grown = {}
        for names, basis, residual in states:
            for name in scan.best(residual, 4):
                column = np.prod(standard[:, useful[list(name)]], axis=1)
                removed = _removed(basis, residual, column)
                key = frozenset((*names, name))
                if removed is not None and key not in grown:
                    grown[key] = ((*names, name), *removed)
        if not grown:
            break
        states = sorted(grown.values(), key=lambda state: float(state[2] @ state[2]))[:4]
    found = [name for names, _basis, _residual in states for name in names]
    return list(dict.fromkeys(int(useful[feature]) for name in found for feature in name))


def _cut(standard: np.ndarray, target: np.ndarray, max_degree: int) -> np.ndarray:
    """As many features as a scan can take, those with the largest effects on y or its square."""
    size = standard.shape[1]
    while entries(size, max_degree) > MOST_ENTRIES:
        size -= max(1, size // 20)
    if size == standard.shape[1]:
        return np.arange(size)
    centred = target - target.mean()
    squared = centred**2 - float(np.mean(centred**2))
    curved = standard**2 - 1.0
    scores = [
        np.abs(labels @ table) / float(np.linalg.norm(labels) + 1e-300)
        for labels in (centred, squared)
        for table in (standard, curved)
    ]
    return np.sort(np.argsort(-np.max(scores, axis=0), kind="stable")[:size])
