"""Details of powers: degrees above the limit, the cost of recognising, which values are taken."""

import numpy as np
import pytest

import thrifty
from thrifty.errors import NotInFamily, ThriftyError
from thrifty.powers.evidence import SumRules
from thrifty.powers.pursuit import Support
from thrifty.powers.representation import legal_points

X = np.random.default_rng(0).uniform(1, 2, (300, 6))


def test_scratch_refuses_one_degree_more_and_takes_the_limit():
    life = thrifty.Lifetime(thrifty.Monomials(3))
    with pytest.raises(NotInFamily, match="degree 4"):
        life.learn("more", X, X[:, 0] ** 4)
    assert life.learn("limit", X, X[:, 0] ** 3).model.exponents_ == {0: 3}


@pytest.mark.parametrize("method", ["lattice", "paper", "features"])
def test_reuse_refuses_one_degree_more_and_takes_the_limit(method):
    life = thrifty.Lifetime(thrifty.Monomials(3, method=method))
    life.learn("one", X, X[:, 0])
    with pytest.raises(ThriftyError):
        life.learn("more", X, X[:, 0] ** 4)
    limit = life.learn("limit", X, X[:, 0] ** 3)
    assert limit.model.exponents_ == {0: 3} and limit.route == "reused"


def test_listed_points_are_within_the_degree():
    assert legal_points(np.array([[1], [1]]), 3, at_most=100).tolist() == [[0, 0], [1, 1]]
    assert legal_points(np.array([[1], [1]]), 4, at_most=100).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_one_fine_value_of_one_known_feature_is_enough():
    X, Z = np.random.default_rng(0).uniform(1, 2, (2, 100, 6))
    life = thrifty.Lifetime(thrifty.Monomials(6))
    life.learn("one", X, X[:, 3])
    again = life.learn("square", Z, Z[:, 3] ** 2)
    assert again.route == "reused" and again.receipt.cells == 1


@pytest.mark.parametrize("level", [0.25, 1.0])
def test_values_from_zero_to_one_are_values_like_others(level):
    X = np.random.default_rng(0).uniform(1, 2, (80, 4))
    model = thrifty.estimators.MonomialRegressor(max_degree=4).fit(X, X[:, 1] ** 2)
    assert model.predict(np.full((1, 4), level)) == pytest.approx(level**2)
    with pytest.raises(thrifty.errors.BadInput, match="above 0"):
        model.predict(np.zeros((1, 4)))


def test_with_noise_a_sum_wins_where_no_other_comes_near():
    rules = SumRules(max_degree=2, max_terms=3, precision=0.05, risk=0.01)
    best, near, far = (Support((i,), np.ones(1), rss) for i, rss in enumerate((1e-4, 1.1e-4, 1.0)))
    assert rules.clear_winner([best, far], 60, 10, energy=1.0) is best
    assert rules.clear_winner([best, near, far], 60, 10, energy=1.0) is None
