"""A few columns out of thousands that reproduce y exactly: beam search over supports.

Greedy pursuit fails on monomials of positive features, whose columns all look alike; basis pursuit
needs several times as many rows. This keeps the ``width`` best supports of each size instead of
one. With exact labels the right support is the only small one whose residual vanishes, so a handful
of rows more than terms is enough to recognise it once the search has come across it.

State of a support with orthonormal basis Q: the residual r, and for every column its squared
distance to the span of Q. The residual after adding column a is |r|^2 - (r . a)^2 / distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Support", "search"]

#: A column closer than this to the span of a support (relative, squared) is part of it already.
DEPENDENT = 1e-10

#: Supports whose relative squared residual is below this are fitted properly and looked at.
PROMISING = 1e-7

#: How many of them, of each size.
LOOKED_AT = 60


@dataclass(frozen=True, slots=True)
class Support:
    """Columns, their least-squares coefficients, and the residual sum of squares."""

    columns: tuple[int, ...]
    coefficients: np.ndarray
    rss: float


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
    aim, looked_at = target, matrix
    if constant is not None:
        unit = matrix[:, constant] / np.linalg.norm(matrix[:, constant])
        aim = target - unit * (unit @ target)
        looked_at = matrix - np.outer(unit, unit @ matrix)
    norms = np.linalg.norm(looked_at, axis=0)
    gone = norms <= 1e-9 * np.linalg.norm(matrix, axis=0)
    scaled = np.where(gone, 0.0, looked_at / np.where(gone, 1.0, norms))
    empty = np.zeros((1, len(target), 0))
    beam = _Beam([()], aim[None, :].copy(), empty, np.where(gone, 0.0, 1.0)[None, :])
    near = max(PROMISING, 4 * floor) * energy

    def fitted(columns: tuple[int, ...]) -> list[Support]:
        plain = _fitted(matrix, target, columns)
        enough = plain.rss <= max(floor, 1e-18) * energy
        if constant is None or enough or len(columns) >= max_terms:
            return [plain]
        return [plain, _fitted(matrix, target, (*columns, constant))]

    best: list[Support] = []
    for size in range(min(max_terms, len(target) - 1)):
        chosen = _extensions(scaled, beam, width)
        if not chosen:
            break
        if rivals:
            # All that the beam keeps: without the constant another may be nearer than its first,
            # and sixty that hold the winner and a column more would leave no rival to compare.
            sets = [(*beam.columns[support], column) for _left, support, column in chosen]
            best += _rivals(matrix, target, sets)
            if constant is not None and size + 1 < max_terms:
                best += _rivals(matrix, target, [(*columns, constant) for columns in sets])
        else:
            promising = [pick for pick in chosen if pick[0] <= near]
            for _left, support, column in promising[:LOOKED_AT]:
                best += fitted((*beam.columns[support], column))
        found = best and min(support.rss for support in best) <= max(floor, 1e-18) * energy
        if found and not rivals:
            break
        beam = _extended(scaled, beam, chosen)
    if not best:
        best = [support for columns in beam.columns[:5] for support in fitted(columns)]
    return sorted(best, key=lambda support: (support.rss > floor * energy, support.rss))


def _rivals(
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
    gains = (beam.residuals @ scaled) ** 2
    usable = beam.distances > DEPENDENT
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


def _fitted(matrix: np.ndarray, target: np.ndarray, columns: tuple[int, ...]) -> Support:
    ordered = tuple(sorted(columns))
    part = matrix[:, ordered]
    scale = np.linalg.norm(part, axis=0)
    coefficients = np.linalg.lstsq(part / scale, target, rcond=None)[0] / scale
    residual = target - part @ coefficients
    return Support(ordered, coefficients, float(residual @ residual))
