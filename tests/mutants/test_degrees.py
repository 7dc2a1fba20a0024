"""A degree above the limit is refused on every way to a monomial."""

import numpy as np
import pytest

import thrifty
from thrifty.errors import NotInFamily, ThriftyError
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
