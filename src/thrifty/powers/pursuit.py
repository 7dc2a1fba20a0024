"""Sparse regression: a few of thousands of monomials that reproduce y exactly, by beam search.

Greedy pursuit fails on monomials of positive features, whose columns all look alike; basis pursuit
needs several times as many rows. This keeps the ``width`` best supports of each size instead of
one. With exact labels the right support is the only small one whose residual vanishes, so a
handful of rows more than terms is enough to recognise it once the search has come across it.

State of a support with orthonormal basis Q: the residual r, and for every column its squared
distance to the span of Q. The residual after adding column a is |r|^2 - (r . a)^2 / distance.

Which product of features does a residual follow? Every monomial of degree <= d is a product a * b
of one of degree <= d // 2 and one of degree <= d - d // 2, so the correlations of a residual with
all of them are the entries of one matrix product (A * r)^T B. At 100 features and degree 4 that is
5,151 x 5,151 entries for 4.6 million monomials, in a fraction of a second.

There are two ways to the features, for a polynomial shows itself differently on different ranges:

* On a range like [1, 2] every feature of a term has a strong effect of its own. Orthogonal pursuit
  over single features and pairs, on residuals, picks them up one after the other.
* On a range like [-1, 1] a product of four features has no smaller effects at all. A scan over all
  products up to the degree finds the largest term, the residual shows the next one.

Either way only the features are kept. The terms come from a beam search over all monomials of the
first few features found, in the order in which they were found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from thrifty.powers.evidence import SumRules, Support
from thrifty.powers.representation import vectors_up_to


def design(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Column j holds monomial ``points[j]`` on every row of ``values``.

    >>> import numpy as np
    >>> design(np.array([[2.0, -3.0]]), np.array([[0, 0], [1, 0], [2, 1]])).tolist()
    [[1.0, 2.0, -12.0]]
    """
    table = np.ones((len(points), len(values)))
    for column in range(values.shape[1]):
        powers = points[:, column]
        used = np.flatnonzero(powers)
        if len(used):
            # One column of powers per distinct exponent; gathering them is cheaper than pow.
            raised = values[:, column] ** np.arange(int(powers.max()) + 1)[:, None]
            table[used] *= raised[powers[used]]
    return table.T


#: Supports whose relative squared residual is below this are fitted properly and looked at.
PROMISING = 1e-7

#: How many of them, of each size.
MOST_CONSIDERED = 60


@dataclass(slots=True)
class _Beam:
    columns: list[tuple[int, ...]]
    residuals: np.ndarray  # one row per support
    bases: np.ndarray  # Q of each support: supports x rows x size
    distances: np.ndarray  # supports x columns


def search(
    matrix: np.ndarray,
    target: np.ndarray,
    max_terms: int,
    width: int,
    floor: float = 0.0,
    constant: int | None = None,
    rivals: bool = False,
) -> list[Support]:
    """The best supports of up to ``max_terms`` columns, by rising residual.

    Where ``constant`` names the constant column, supports are compared after it has been taken
    out of everything, which tells positive columns apart far better; it enters the fit as one
    of the terms where it is needed.

    Stops at the first size where a residual falls to ``floor`` times |target|^2 or to rounding:
    the smallest support that explains the labels. With ``rivals`` it goes on to ``max_terms``,
    and the best supports of every size come back, whatever they leave unexplained.
    """
    energy = float(target @ target)
    if energy == 0.0:
        return [Support((), np.zeros(0), 0.0)]
    aim, considered = target, matrix
    if constant is not None:
        unit = matrix[:, constant] / np.linalg.norm(matrix[:, constant])
        aim = target - unit * (unit @ target)
        considered = matrix - np.outer(unit, unit @ matrix)
    norms = np.linalg.norm(considered, axis=0)
    gone = norms <= 1e-9 * np.linalg.norm(matrix, axis=0)
    scaled = np.where(gone, 0.0, considered / np.where(gone, 1.0, norms))
    empty = np.zeros((1, len(target), 0))
    beam = _Beam([()], aim[None, :].copy(), empty, np.where(gone, 0.0, 1.0)[None, :])
    near = max(PROMISING, 4 * floor) * energy

    def fitted(columns: tuple[int, ...]) -> list[Support]:
        plain = fit_columns(matrix, target, columns)
        enough = plain.rss <= max(floor, 1e-18) * energy
        if constant is None or enough or len(columns) >= max_terms:
            return [plain]
        return [plain, fit_columns(matrix, target, (*columns, constant))]

    best: list[Support] = []
    for size in range(min(max_terms, len(target) - 1)):
        chosen = _extensions(scaled, beam, width)
        if not chosen:
            break
        if rivals:
            # All that the beam keeps: without the constant another may be nearer than its first,
            # and sixty that hold the winner and a column more would leave no rival to compare.
            sets = [(*beam.columns[support], column) for _left, support, column in chosen]
            best += fit_together(matrix, target, sets)
            if constant is not None and size + 1 < max_terms:
                best += fit_together(matrix, target, [(*columns, constant) for columns in sets])
        else:
            promising = [pick for pick in chosen if pick[0] <= near]
            for _left, support, column in promising[:MOST_CONSIDERED]:
                best += fitted((*beam.columns[support], column))
        found = best and min(support.rss for support in best) <= max(floor, 1e-18) * energy
        if found and not rivals:
            break
        beam = _extended(scaled, beam, chosen)
    if not best:
        best = [support for columns in beam.columns[:5] for support in fitted(columns)]
    return sorted(best, key=lambda support: (support.rss > floor * energy, support.rss))


def fit_together(
    matrix: np.ndarray, target: np.ndarray, supports: list[tuple[int, ...]]
) -> list[Support]:
    """Every one of these supports, all of one size, fitted by its normal equations."""
    which = np.sort(np.array(supports), axis=1)
    norms = np.linalg.norm(matrix, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    columns = (matrix / norms).T[which]  # supports x size x rows
    grams = columns @ columns.transpose(0, 2, 1) + 1e-12 * np.eye(which.shape[1])
    found = np.linalg.solve(grams, (columns @ target)[:, :, None])[:, :, 0]
    left = target - np.einsum("ij,ijk->ik", found, columns)
    rss = np.einsum("ij,ij->i", left, left)
    return [
        Support(tuple(some), coefficients, float(one))
        for some, coefficients, one in zip(which.tolist(), found / norms[which], rss)
    ]


def _extensions(scaled: np.ndarray, beam: _Beam, width: int) -> list[tuple[float, int, int]]:
    """The best (residual, support, column) triples, one per distinct set of columns."""
    # A column closer than this to the span of a support (relative, squared) is part of it
    # already.
    dependent = 1e-10
    gains = (beam.residuals @ scaled) ** 2
    usable = beam.distances > dependent
    gains = np.where(usable, gains / np.where(usable, beam.distances, 1.0), 0.0)
    energies = np.einsum("ij,ij->i", beam.residuals, beam.residuals)
    left = energies[:, None] - gains
    flat = left.ravel()
    pool = min(len(flat), width * (len(beam.columns[0]) + 2))
    nearest = np.argpartition(flat, pool - 1)[:pool]
    nearest = nearest[np.argsort(flat[nearest], kind="stable")]
    picked, seen = [], set()
    for index in nearest.tolist():
        support, column = divmod(index, left.shape[1])
        if not usable[support, column]:
            continue
        key = frozenset((*beam.columns[support], column))
        if key not in seen:
            seen.add(key)
            picked.append((float(flat[index]), support, column))
        if len(picked) == width:
            break
    return picked


def _extended(scaled: np.ndarray, beam: _Beam, chosen: list[tuple[float, int, int]]) -> _Beam:
    parents = np.array([support for _left, support, _column in chosen])
    added = np.array([column for _left, _support, column in chosen])
    bases = beam.bases[parents]
    directions = scaled[:, added].T[:, :, None]
    for _twice in range(2):  # once leaves rounding behind; twice is enough (Kahan)
        directions = directions - bases @ (bases.transpose(0, 2, 1) @ directions)
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    fresh = directions[:, :, 0]
    residuals = beam.residuals[parents]
    shares = np.einsum("ij,ij->i", fresh, residuals)
    return _Beam(
        [(*beam.columns[parent], column) for parent, column in zip(parents, added.tolist())],
        residuals - fresh * shares[:, None],
        np.concatenate([bases, directions], axis=2),
        beam.distances[parents] - (fresh @ scaled) ** 2,
    )


def fit_columns(matrix: np.ndarray, target: np.ndarray, columns: tuple[int, ...]) -> Support:
    """One support, fitted by least squares."""
    ordered = tuple(sorted(columns))
    part = matrix[:, ordered]
    scale = np.linalg.norm(part, axis=0)
    coefficients = np.linalg.lstsq(part / scale, target, rcond=None)[0] / scale
    residual = target - part @ coefficients
    return Support(ordered, coefficients, float(residual @ residual))


def entries(n_features: int, max_degree: int) -> int:
    """How many products a scan compares."""
    low, high = max_degree // 2, max_degree - max_degree // 2
    return math.comb(n_features + low, low) * math.comb(n_features + high, high)


class Scan:
    """All monomials up to a degree on the rows of ``columns`` (standardised features)."""

    def __init__(self, columns: np.ndarray, max_degree: int) -> None:
        low, high = max_degree // 2, max_degree - max_degree // 2
        self._left, self._left_names = _monomials(columns, low)
        self._right, self._right_names = _monomials(columns, high)
        sums = self._left.T @ self._right
        squares = (self._left**2).T @ (self._right**2)
        # The squared length of each product after its mean is taken out; constants never win.
        sums *= sums
        sums /= np.float32(len(columns))
        spread = squares - sums
        spread[spread <= 1e-4 * squares] = np.inf
        self._spread = spread

    def best(self, residual: np.ndarray, count: int) -> list[tuple[int, ...]]:
        """The monomials most correlated with ``residual``, each as its features with repeats."""
        weighted = self._left * residual[:, None].astype(np.float32)
        gains = weighted.T @ self._right
        gains *= gains
        gains /= self._spread
        # The best of each row first: a full sort of millions of entries would cost more.
        leaders = np.argsort(-gains.max(axis=1), kind="stable")[: 4 * count + 4]
        found: dict[tuple[int, ...], float] = {}
        for row in leaders.tolist():
            for column in np.argpartition(-gains[row], min(count, gains.shape[1] - 1))[:count]:
                name = tuple(sorted(self._left_names[row] + self._right_names[int(column)]))
                found[name] = max(found.get(name, 0.0), float(gains[row, column]))
        ranked = sorted(found, key=lambda name: -found[name])
        return [name for name in ranked if name][:count]


def _monomials(columns: np.ndarray, max_degree: int) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Monomials up to a degree, as float32 columns, and their features with repeats."""
    n_features = columns.shape[1]
    names: list[tuple[int, ...]] = [()]
    blocks = [np.ones((len(columns), 1), dtype=np.float32)]
    for size in range(1, max_degree + 1):
        chosen = list(combinations_with_replacement(range(n_features), size))
        at = np.array(chosen, dtype=np.intp)
        block = columns[:, at[:, 0]].astype(np.float32)
        for position in range(1, size):
            block *= columns[:, at[:, position]]
        names += chosen
        blocks.append(block)
    return np.hstack(blocks), names


#: Exponents per feature position, and coefficients, of a fit over some features.
Terms = tuple[np.ndarray, Support]


#: Columns a beam search takes, and how many (support, column) pairs it may compare at once.
MOST_COLUMNS = 6_000


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
    most_pairs = 1_200_000
    weights = rules.weights(target)
    if weights is not None:
        columns, target = columns * weights[:, None], target * weights
    n_rows, n_columns = columns.shape
    width = max(50, min(1000, most_pairs // n_columns))
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
    steps = 24  # Effects picked by orthogonal pursuit; enough for every feature of a few terms.
    scan = Scan(standard, min(2, max_degree))
    basis, residual = _centred(target)
    ranking: dict[int, None] = {}  # an ordered set
    for _step in range(min(steps, len(target) // 3)):
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
    # Scans above this many products are cut down to the features that look most useful.
    most_entries = 30_000_000
    size = standard.shape[1]
    while entries(size, max_degree) > most_entries:
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
