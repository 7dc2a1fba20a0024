"""Coarse values: where rows tell one formula from all others it is found, else two are named."""

import itertools
from collections import Counter

import numpy as np
import pytest

import thrifty
from thrifty.errors import NotEnoughExamples, ThriftyError


def monomials_up_to(n_features, max_degree):
    """Every legal monomial but the constant, as ((feature, power), ...)."""
    return [
        tuple(sorted(Counter(some).items()))
        for degree in range(1, max_degree + 1)
        for some in itertools.combinations_with_replacement(range(n_features), degree)
    ]


def two_valued(seed, n_rows, n_features, max_degree, values=((1, 2), (0.5, 3), (2, 4), (2, 3))):
    random = np.random.default_rng(seed)
    levels = [values[i] for i in random.integers(len(values), size=n_features)]
    X = np.column_stack([random.choice(some, n_rows) for some in levels]).astype(float)
    size = int(random.integers(1, max_degree + 1))
    powers = np.bincount(random.integers(n_features, size=size), minlength=n_features)
    return X, powers


def test_a_monomial_of_two_values_is_found_where_no_other_fits_and_luck_would_not_do():
    """Refused are rows on which labels that follow none would be matched by one in 100 cases."""
    refused = 0
    for seed in range(150):
        random = np.random.default_rng([seed, 5])
        n_rows, n_features = int(random.integers(6, 30)), int(random.integers(2, 12))
        max_degree = int(random.integers(1, 4))
        X, powers = two_valued([seed, 9], n_rows, n_features, max_degree)
        logs, every = np.log(X), monomials_up_to(n_features, max_degree)
        weights = np.zeros((len(every), n_features))
        for place, other in enumerate(every):
            for feature, power in other:
                weights[place, feature] = power
        if (np.abs(weights @ logs.T - logs @ powers) < 1e-9).all(axis=1).sum() > 1:
            continue
        life = thrifty.Lifetime(thrifty.Monomials(max_degree), random_state=seed)
        try:
            found = life.learn("one", X, np.prod(X**powers, axis=1)).model.exponents_
        except ThriftyError:
            refused += 1
            assert n_rows < 2 * n_features and (len(every) + 1) * 0.5**n_rows > 0.001
        else:
            assert found == {i: int(p) for i, p in enumerate(powers) if p}
    assert refused < 30


def test_two_monomials_that_fit_all_rows_are_both_named():
    """x0 x1 and x2 are equal on every row: nobody can tell."""
    random = np.random.default_rng(0)
    X = random.choice([1.0, 2.0], (24, 4))
    X[:, 1] = np.where(X[:, 0] == 2, 1.0, X[:, 1])  # at most one of both is 2
    X[:, 2] = X[:, 0] * X[:, 1]
    with pytest.raises(ThriftyError, match=r"x0 \* x1 and x2|x2 and x0 \* x1"):
        thrifty.Lifetime(thrifty.Monomials(2), random_state=0).learn("one", X, X[:, 2])


def coarse(random, kind, n_rows, n_features):
    if kind == "whole":
        return np.round(random.uniform(-3, 3, (n_rows, n_features)))
    if kind == "0, 1, 2":
        return random.integers(0, 3, (n_rows, n_features)).astype(float)
    if kind == "1, 2":
        return random.choice([1.0, 2.0], (n_rows, n_features))
    return np.round(random.uniform(1, 2, (n_rows, n_features)) * 4) / 4  # quarters


def values_of(terms, X):
    columns = [c * np.prod([X[:, f] ** p for f, p in term], axis=0) for term, c in terms.items()]
    return np.sum(columns, axis=0)


@pytest.mark.parametrize(
    ("kind", "n_rows", "n_features", "max_degree", "max_terms"),
    [
        ("whole", 40, 6, 1, 3),
        ("quarters", 44, 5, 3, 2),
        ("0, 1, 2", 73, 7, 2, 2),
        ("whole", 41, 8, 3, 2),
        ("quarters", 244, 8, 3, 3),
        ("0, 1, 2", 51, 8, 3, 1),
        ("0, 1, 2", 43, 8, 2, 2),
        ("1, 2", 230, 5, 3, 2),
        ("1, 2", 138, 3, 2, 1),
        ("whole", 15, 8, 1, 2),  # rows are not twice the features
    ],
)
def test_a_polynomial_of_coarse_values_is_found(kind, n_rows, n_features, max_degree, max_terms):
    every = monomials_up_to(n_features, max_degree)
    for seed in range(6):
        random = np.random.default_rng([seed, n_rows])
        X = coarse(random, kind, n_rows, n_features)
        chosen = random.choice(len(every), max_terms, replace=False)
        sizes = random.choice([-1, 1], max_terms) * random.uniform(0.5, 2, max_terms)
        terms = {every[i]: float(size) for i, size in zip(chosen, sizes)}
        family = thrifty.Polynomials(max_degree, max_terms)
        life = thrifty.Lifetime(family, random_state=seed)
        model = life.learn("one", X, values_of(terms, X)).model
        assert np.allclose(model.predict(X), values_of(terms, X))
        if kind != "1, 2":  # there powers of one feature can be written by others
            assert set(model.terms_) == set(terms)


def test_too_few_rows_for_a_polynomial_are_still_refused():
    """Four rows of two values: dozens of pairs of monomials fit."""
    X = np.random.default_rng(1).choice([1.0, 2.0], (5, 6))
    with pytest.raises(NotEnoughExamples):
        thrifty.Lifetime(thrifty.Polynomials(2, 2)).learn("one", X, X[:, 0] * X[:, 1] + X[:, 2])


def test_equal_features_are_compared_on_every_row_before_they_are_called_equal():
    random = np.random.default_rng(2)
    X = random.choice([1.0, 2.0], (200, 6))
    X[:, 4] = X[:, 1]
    X[180:, 4] = 3 - X[180:, 1]  # equal on nine rows of ten
    y = X[:, 1] + 2 * X[:, 0] * X[:, 2]
    model = thrifty.Lifetime(thrifty.Polynomials(2, 2), random_state=0).learn("one", X, y).model
    assert np.allclose(model.predict(X), y)
    X[:, 4] = X[:, 1]
    with pytest.raises(ThriftyError, match="equal on all 200 examples"):
        thrifty.Lifetime(thrifty.Polynomials(2, 2), random_state=0).learn("one", X, y)
