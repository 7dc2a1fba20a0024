"""What a monomial costs to recognise, to the cell; and which values a model takes."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty


def test_one_fine_value_of_one_known_feature_is_enough():
    X, Z = np.random.default_rng(0).uniform(1, 2, (2, 100, 6))
    life = thrifty.Lifetime(thrifty.Monomials(6))
    life.learn("one", X, X[:, 3])
    again = life.learn("square", Z, Z[:, 3] ** 2)
    assert again.route == "reused" and again.receipt.cells == 1


@pytest.mark.parametrize("level", [0.25, 1.0])
def test_values_from_zero_to_one_are_values_like_others(level):
    X = np.random.default_rng(0).uniform(1, 2, (80, 4))
    model = thrifty.MonomialRegressor(max_degree=4).fit(X, X[:, 1] ** 2)
    assert model.predict(np.full((1, 4), level)) == pytest.approx(level**2)
    with pytest.raises(thrifty.errors.BadInput, match="above 0"):
        model.predict(np.zeros((1, 4)))
