"""Known metafeatures, one or two examples: decoding a monomial by lattice reduction.

If the target g lies in the span of what is known, log y = g . log x with g an integer point of a
lattice of small rank. One example gives about 45 bits on which point it is, more than there are
legal points, and lattice reduction (LLL) reads it off: in the lattice spanned by the rows

    [ b_j | C * (b_j . log x) | 0 ]      for every basis vector b_j
    [  0  |     -C * log y    | T ]

the vector [g | C * error | T] is short, for g has degree at most d. What comes out is verified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thrifty.attempt import Failure
from thrifty.powers.evidence import (
    ENOUGH_ROWS,
    ROUNDING,
    MonomialTask,
    coarsest,
    log_density,
    rows_needed,
)
from thrifty.powers.representation import Exponents, PowersRepresentation, exponents, lll

#: Rows of coarse values to start from: one of them says nothing about how coarse they are.
COARSE_ROWS = ENOUGH_ROWS


def log_legal_points(rank: int, max_degree: int) -> float:
    """Natural log of a bound on the legal points of a span: a basis row set determines each."""
    return math.lgamma(rank + max_degree + 1) - math.lgamma(rank + 1) - math.lgamma(max_degree + 1)


def decode(
    basis: np.ndarray, logs: np.ndarray, target: np.ndarray, scale: float, max_degree: int
) -> tuple[list[np.ndarray], bool]:
    """Legal lattice points whose logs come near ``target`` on these rows, likeliest first.

    The second value says that no relation among these values leads from one of them to another
    legal point: two equal values, say, make x3 and x4 the same on this row.

    ``basis`` has the lattice basis as columns, ``logs`` one row per example. ``scale`` is the
    weight of an error against the size of a power.
    """
    n_features, size = basis.shape
    n_rows = len(target)
    marker = max(1, math.isqrt(max_degree))
    matrix = np.zeros((size + 1, n_features + n_rows + 1), dtype=object)
    matrix[:size, :n_features] = basis.T
    images = logs @ basis.astype(np.float64)
    matrix[:size, n_features:-1] = _as_integers(scale * images.T)
    matrix[size, n_features:-1] = _as_integers(-scale * target[None, :])[0]
    matrix[size, -1] = marker
    found, relations = [], []
    for row in lll(matrix):
        point = np.array(row[:n_features], dtype=object)
        if abs(row[-1]) == marker:
            point = point * (1 if row[-1] > 0 else -1)
            if _legal(point, max_degree):
                found.append(point.astype(np.int64))
        elif row[-1] == 0 and all(abs(error) <= 1 for error in row[n_features:-1]):
            relations.append(point)
    unique = not any(
        _legal(point + sign * relation, max_degree)
        for point in found
        for relation in relations
        for sign in (1, -1)
    )
    return found, unique


def _legal(point: np.ndarray, max_degree: int) -> bool:
    return all(power >= 0 for power in point) and sum(point) <= max_degree


def _as_integers(values: np.ndarray) -> np.ndarray:
    whole = np.array([round(value) for value in values.ravel().tolist()], dtype=object)
    return whole.reshape(values.shape)


@dataclass
class _LatticeSearch:
    """One UseRep in progress: rows bought, and what they showed."""

    task: MonomialTask
    known: PowersRepresentation

    def __post_init__(self) -> None:
        self.rules, self.order = self.task.rules, self.task.order
        self.log_points = log_legal_points(len(self.known), self.rules.max_degree)
        self.nearest = math.inf  # the smallest error of a legal point that was seen

    def buy(self, n_rows: int) -> None:
        """Logs of all known features on the first ``n_rows`` rows."""
        self.rows = self.order[:n_rows]
        values = self.task.reader.values(self.rows, self.known.features)
        self.logs = np.log(values)
        self.density = log_density(self.logs)
        self.coarse = coarsest(values)
        self.chance = max(self.coarse, self.known.coarse)

    def candidates(self) -> list[np.ndarray]:
        """Points that fit every bought row."""
        target = self.task.target[self.rows]
        fine = ROUNDING * (1.0 + float(np.abs(target).max()))
        scales = [1.0 / fine, 1.0 / max(self.rules.precision, fine)]
        fitting = []
        for scale in scales[1:] if self.rules.noisy else scales:
            points, self.unique = decode(
                self.known.lattice, self.logs, target, scale, self.rules.max_degree
            )
            for point in points:
                predicted = self.logs @ point.astype(np.float64)
                self.nearest = min(self.nearest, float(np.abs(target - predicted).max()))
                if self.rules.check(target, predicted):
                    fitting.append(point)
            if fitting:
                break
        return fitting

    def first_batch(self) -> int | None:
        """Rows to decode from at first: one when labels are exact, more the noisier they are."""
        if not self.rules.noisy:
            return 1 if self.coarse == 0.0 else min(COARSE_ROWS, len(self.order))
        width = 5.0 * self.rules.precision
        enough = rows_needed(width, self.log_points, self.density, 0.0, self.rules.risk)
        return None if enough is None else enough + len(self.known)


def reuse(task: MonomialTask, known: PowersRepresentation) -> Exponents | Failure:
    """The monomial in the span of ``known`` behind these labels, or why there is none."""
    # Failed decodings with exact labels before the target counts as outside the span.
    exact_tries = 3
    search = _LatticeSearch(task, known)
    order, rules = search.order, task.rules
    search.buy(1)
    n_rows = search.first_batch()
    # Rows beyond the first are worth a try where one holds too little to decode: some 30 bits.
    spare = math.ceil(search.log_points / math.log(2.0) / 30.0)
    ambiguous = False
    for _try in range(exact_tries if search.coarse == 0.0 else 4 * exact_tries):
        if n_rows is None or n_rows > len(order):
            return _too_few(search, n_rows)
        if n_rows > len(search.rows):
            search.buy(n_rows)
        grown = n_rows + 1 if not rules.noisy else math.ceil(1.5 * n_rows)
        for point in search.candidates():
            monomial = exponents(zip(known.features.tolist(), point.tolist()))
            verdict, tried = task.verified(
                monomial, search.log_points, len(search.rows), search.chance
            )
            if verdict == "right" and search.unique:
                return monomial
            ambiguous = verdict == "right"
            # The row that gave a wrong point away says most; decode again with it.
            grown = max(grown, tried + (verdict == "unproven"))
        if not (search.coarse or rules.noisy or ambiguous) and n_rows > spare:
            break
        n_rows = grown
    if ambiguous:
        return Failure(
            "equal-features",
            f"several monomials in the span fit {len(search.rows)} examples alike: some of the "
            "features are equal to each other, or constant, in this task",
            {"rows": len(search.rows), "rank": len(known)},
        )
    return Failure(
        "outside-span",
        f"no monomial in the span of the {len(known)} known ones fits: the nearest found misses "
        f"log y by {search.nearest:.3g} on {len(search.rows)} examples",
        {"nearest": search.nearest, "rows": len(search.rows), "rank": len(known)},
    )


def _too_few(search: _LatticeSearch, needed: int | None) -> Failure:
    if search.coarse > 0.0:
        return Failure(
            "coarse-values",
            f"values are so coarse that two coincide with probability {search.coarse:.2g}: "
            f"{len(search.order)} examples cannot tell the legal monomials apart"
            + ("" if needed is None else f", about {needed} could"),
            {"coincidence": search.coarse, "rows_needed": needed},
        )
    return Failure(
        "too-few-rows",
        f"labels precise to {search.rules.precision:.2g} need "
        + ("a better precision" if needed is None else f"about {needed} examples")
        + f" to tell the legal monomials apart, but there are {len(search.order)}",
        {"rows_needed": needed, "rows": len(search.order)},
    )
