"""Beam search over supports and the scan of all products, against brute force."""

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from thrifty.powers.pursuit import Scan, design, entries, search
from thrifty.powers.representation import vectors_up_to


def brute(matrix, target, size):
    """The twin: least squares on every support."""
    best = None
    for support in combinations(range(matrix.shape[1]), size):
        part = matrix[:, support]
        solved = np.linalg.lstsq(part, target, rcond=None)[0]
        rss = float(np.sum((target - part @ solved) ** 2))
        if best is None or rss < best[0]:
            best = (rss, support)
    return best


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("constant", [None, 0])
def test_a_wide_beam_finds_what_brute_force_finds(seed, constant):
    random = np.random.default_rng(seed)
    values = random.uniform(1, 2, (9, 3))
    matrix = design(values, vectors_up_to(3, 2))
    chosen = random.choice(matrix.shape[1], size=2, replace=False)
    target = matrix[:, chosen] @ random.uniform(0.5, 2, 2)
    found = search(matrix, target, 2, width=100, floor=1e-18, constant=constant)[0]
    assert found.columns == brute(matrix, target, 2)[1] == tuple(sorted(chosen.tolist()))
    assert found.rss <= 1e-18 * float(target @ target)


def test_the_smallest_support_wins():
    matrix = design(np.random.default_rng(1).uniform(-1, 1, (20, 3)), vectors_up_to(3, 3))
    found = search(matrix, 3.0 * matrix[:, 5], 3, width=50, floor=1e-18, constant=0)[0]
    assert found.columns == (5,) and found.coefficients == pytest.approx([3.0])


def test_the_constant_enters_as_a_term():
    matrix = design(np.random.default_rng(2).uniform(1, 2, (20, 3)), vectors_up_to(3, 2))
    target = 1.5 * matrix[:, 4] - 2.0
    found = search(matrix, target, 2, width=50, floor=1e-18, constant=0)[0]
    assert found.columns == (0, 4) and found.coefficients == pytest.approx([-2.0, 1.5])


def test_no_labels_need_no_terms():
    matrix = design(np.random.default_rng(2).uniform(1, 2, (5, 2)), vectors_up_to(2, 2))
    assert search(matrix, np.zeros(5), 2, width=10)[0].columns == ()


def test_design_is_the_product_of_powers():
    random = np.random.default_rng(3)
    values, points = random.normal(size=(6, 4)), random.integers(0, 4, (9, 4))
    plain = np.array([[np.prod(row**point) for point in points] for row in values])
    np.testing.assert_allclose(design(values, points), plain, rtol=1e-13)


@pytest.mark.parametrize("max_degree", [1, 2, 3, 4])
def test_the_scan_names_the_monomial_with_the_largest_correlation(max_degree):
    random = np.random.default_rng(max_degree)
    values = random.normal(size=(60, 5))
    residual = random.normal(size=60)
    residual -= residual.mean()
    scores = {}
    for size in range(1, max_degree + 1):
        for name in combinations_with_replacement(range(5), size):
            column = np.prod(values[:, name], axis=1)
            column = column - column.mean()
            scores[name] = (residual @ column) ** 2 / (column @ column)
    best = Scan(values, max_degree).best(residual, 3)
    assert best == sorted(scores, key=lambda name: -scores[name])[:3]


def test_entries_counts_products():
    assert entries(100, 4) == 5151**2
