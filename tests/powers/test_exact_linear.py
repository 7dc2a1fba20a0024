"""Exact linear algebra against Gaussian elimination in Fractions, written out."""

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thrifty.powers.representation import combination, lll, rank, row_basis, saturated_basis, solve


def plain_rank(matrix) -> int:
    """The twin: elimination in Fractions."""
    rows = [[Fraction(int(entry)) for entry in row] for row in matrix]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(found, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for other in range(found + 1, len(rows)):
            factor = rows[other][column] / rows[found][column]
            rows[other] = [a - factor * b for a, b in zip(rows[other], rows[found])]
        found += 1
    return found


matrices = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 3), min_size=width, max_size=width), min_size=1, max_size=6
    )
)


@given(matrices)
def test_rank_is_that_of_elimination(rows):
    assert rank(np.array(rows)) == plain_rank(rows)


@given(matrices, st.data())
def test_row_basis_is_the_cheapest_of_all(rows, data):
    prices = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    matrix = np.array(rows)
    basis = row_basis(matrix, prices)
    size = plain_rank(rows)
    assert len(basis) == size == plain_rank([rows[i] for i in basis])
    every = [
        c for c in combinations(range(len(rows)), size) if plain_rank([rows[i] for i in c]) == size
    ]
    assert sum(prices[i] for i in basis) == min(sum(prices[i] for i in c) for c in every)


@given(matrices)
def test_saturated_basis_spans_the_same_space_and_misses_no_integer_point(rows):
    matrix = np.array(rows)
    basis = saturated_basis(matrix)
    size = rank(matrix)
    assert basis.shape == (len(rows), size)
    for column in basis.T:
        assert rank(np.column_stack([matrix, column])) == size
    if size:
        # Saturated means: the greatest common divisor of the maximal minors is 1.
        minors = [
            round(np.linalg.det(basis[list(c)].astype(float)))
            for c in combinations(range(len(rows)), size)
        ]
        assert np.gcd.reduce(minors) == 1


def test_saturation_finds_the_root_of_a_square():
    assert abs(saturated_basis(np.array([[2], [4]]))).ravel().tolist() == [1, 2]


def test_solve_is_exact():
    assert solve(np.array([[2, 1], [1, 3]]), [1, 2]) == [Fraction(1, 5), Fraction(3, 5)]


def test_solve_with_numbers_beyond_64_bits():
    big = np.array([[10**30, 1], [1, 10**30]], dtype=object)
    assert solve(big, [10**30 + 1, 10**30 + 1]) == [1, 1]


def test_lll_reduces():
    reduced = lll(np.array([[1, 1000], [0, 1001]]))
    assert sorted(map(abs, reduced[0].tolist())) == [1, 1]  # the shortest vector there is


def test_an_empty_matrix():
    empty = np.zeros((0, 0), dtype=int)
    assert rank(empty) == 0 and row_basis(empty) == []


@given(matrices, st.data())
def test_a_combination_is_that_of_fractions(rows, data):
    width = len(rows[0])
    weight = st.fractions(-4, 4, max_denominator=6)
    weights = data.draw(st.lists(weight, min_size=width, max_size=width))
    plain = [sum((entry * w for entry, w in zip(row, weights)), Fraction(0)) for row in rows]
    whole = all(value.denominator == 1 for value in plain)
    assert combination(np.array(rows), weights) == (plain if whole else None)
