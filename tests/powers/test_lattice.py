"""Lattice decoding and the listing of legal points, against brute force."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thrifty.powers import representation as rep
from thrifty.powers.lattice import decode

columns = st.lists(
    st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=3
).filter(lambda cs: all(any(c) for c in cs))


def brute_points(matrix, max_degree):
    """The twin: every vector up to the degree, kept where it is in the span."""
    return {
        point
        for point in product(range(max_degree + 1), repeat=len(matrix))
        if sum(point) <= max_degree
        and rep.rank(np.column_stack([matrix, point])) == rep.rank(matrix)
    }


def independent(rows):
    known = rep.PowersRepresentation().extended(
        [tuple((f, p) for f, p in enumerate(row) if p) for row in rows]
    )
    full = np.zeros((4, len(known)), dtype=np.int64)
    full[known.features] = known.matrix
    return full


@given(columns, st.integers(1, 5))
def test_legal_points_are_all_of_them(rows, max_degree):
    matrix = independent(rows)
    listed = rep.legal_points(matrix, max_degree, at_most=10**6)
    assert {tuple(point) for point in listed.tolist()} == brute_points(matrix, max_degree)
    assert not listed[0].any()  # the constant comes first; the beam search relies on it


def test_too_many_points_are_not_listed():
    assert rep.legal_points(np.eye(20, dtype=int), 10, at_most=1000) is None


def test_vectors_up_to_counts():
    assert len(rep.vectors_up_to(3, 4)) == 35
    assert (rep.vectors_up_to(3, 4).sum(axis=1) <= 4).all()


@given(columns, st.integers(0, 10**6))
def test_one_row_decodes_every_legal_point(rows, seed):
    matrix = independent(rows)
    basis = rep.saturated_basis(matrix)
    logs = np.log(np.random.default_rng(seed).uniform(1.0, 2.0, (1, 4)))
    for point in rep.legal_points(matrix, 4, at_most=1000)[1:]:
        target = logs @ point.astype(float)
        found, unique = decode(basis, logs, target, 1e13, 4)
        fitting = [p.tolist() for p in found if abs(float((logs @ p - target)[0])) < 1e-12]
        assert unique and fitting == [point.tolist()]


def test_equal_values_are_called_ambiguous():
    basis = np.eye(3, dtype=int).astype(object)
    logs = np.log(np.array([[1.3, 1.3, 1.7]]))
    found, unique = decode(basis, logs, logs @ np.array([1.0, 0.0, 1.0]), 1e13, 4)
    assert found and not unique


def test_a_target_outside_the_span_is_not_decoded():
    basis = rep.saturated_basis(np.array([[1, 0], [1, 0], [0, 1]]))
    logs = np.log(np.array([[1.31, 1.77, 1.53]]))
    found, _unique = decode(basis, logs, np.array([2.0 * logs[0, 0]]), 1e13, 6)
    assert all(abs(logs[0] @ point - 2 * logs[0, 0]) > 1e-6 for point in found)
