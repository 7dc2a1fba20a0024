"""Orthonormal polynomials against closed forms, up to degree 24."""

import numpy as np
import pytest
from scipy import stats

from thrifty.errors import BadParameter
from thrifty.powers.laws import Orthonormal

DEGREE = 24
K = np.arange(1, DEGREE + 1)


def recurrence(law):
    """a_k and sqrt(b_k) in the units of the law."""
    made = Orthonormal.of(law, DEGREE)
    return made.centres * made.scale + made.shift, made.norms[1:] * made.scale


@pytest.mark.parametrize(
    "law, centres, norms",
    [
        (stats.uniform(-1, 2), 0 * K, K / np.sqrt(4.0 * K**2 - 1)),
        (stats.uniform(1, 1), 1.5 + 0 * K, K / np.sqrt(4.0 * K**2 - 1) / 2),
        (stats.norm(), 0 * K, np.sqrt(K)),
        (stats.expon(), 2.0 * K - 1, 1.0 * K),
        (stats.beta(0.5, 0.5), 0.5 + 0 * K, np.where(K == 1, 0.5 / np.sqrt(2), 0.25)),
    ],
    ids=["Legendre", "Legendre on [1, 2]", "Hermite", "Laguerre", "Chebyshev"],
)
def test_recurrences_are_those_of_the_classical_polynomials(law, centres, norms):
    found_centres, found_norms = recurrence(law)
    # A density that is infinite at both ends costs a digit.
    precise = 2e-14 if law.dist.name == "beta" else 4e-15
    np.testing.assert_allclose(found_norms, norms, rtol=precise)
    np.testing.assert_allclose(found_centres[:-1], centres, rtol=1e-13, atol=4e-15)


@pytest.mark.parametrize(
    "law",
    [
        stats.uniform(1, 1),
        stats.norm(3, 0.1),
        stats.beta(2, 5),
        stats.gamma(0.5),
        stats.triang(0.3),
    ],
    ids=lambda law: law.dist.name,
)
def test_they_are_orthonormal(law):
    made = Orthonormal.of(law, DEGREE)
    values = made.values(made.nodes)
    gram = (values * made.weights) @ values.T
    assert np.abs(gram - np.eye(DEGREE + 1)).max() < 3e-15


def test_a_discrete_law():
    made = Orthonormal.of(stats.poisson(20), 10)
    np.testing.assert_allclose(
        (made.norms[1:] * made.scale) ** 2, 20 * np.arange(1, 11), rtol=1e-12
    )


def test_a_law_estimated_from_free_values():
    values = np.random.default_rng(0).uniform(-1, 1, 4000)
    made = Orthonormal.of(values, 4)
    table = made.values(values)
    assert np.abs(table @ table.T / len(values) - np.eye(5)).max() < 1e-12
    assert made.leading[2] == pytest.approx(np.sqrt(5) * 1.5, rel=0.05)


def test_too_few_distinct_values():
    with pytest.raises(BadParameter, match="3 distinct values"):
        Orthonormal.of(np.array([0.0, 1.0, 2.0, 1.0]), 4)


@pytest.mark.parametrize("law", [stats.cauchy(), stats.t(3)], ids=["cauchy", "t3"])
def test_laws_without_moments_are_refused(law):
    with pytest.raises(BadParameter, match="finite moments"):
        Orthonormal.of(law, 8)


def test_leading_coefficients():
    made = Orthonormal.of(stats.uniform(-1, 2), 4)
    x = np.array([1e4])
    assert made.values(x)[4, 0] / 1e16 == pytest.approx(made.leading[4], rel=1e-6)
