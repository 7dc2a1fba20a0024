"""What ``Sure(p)`` promises: of rows that stop with an answer p are right, on rows of no choice."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty.models.asking.order import each_costs, find_order
from thrifty.models.asking.prefixes import fit_prefixes
from thrifty.models.asking.rounds import ask_in_order
from thrifty.models.table import Table


def test_the_likeliest_class_must_be_beyond_p_as_it_is_and_weighted_equally():
    shares = np.array([0.9, 0.1])
    p = np.array([[0.999, 0.001], [0.97, 0.03], [0.3, 0.7], [0.02, 0.98]])
    assert thrifty.Sure(0.95).stops(p, shares).tolist() == [True, False, False, True]


def test_a_rare_label_is_not_sure_before_anything_was_asked():
    shares = np.array([0.97, 0.03])
    assert not thrifty.Sure(0.9).stops(shares[None, :], shares).any()


def noise(n_rows, n_features, seed):
    """Features that tell nothing at all."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features)) < 0.3
    return X.astype(float), rng.integers(0, 2, n_rows)


def test_features_that_only_seemed_to_tell_do_not_make_a_row_sure():
    X, y = noise(120, 150, 0)
    table = Table(np.arange(150), np.arange(120), X, np.ones(X.shape, bool), np.ones(120), y)
    price = each_costs(np.ones(150))

    def choose(some):
        return find_order(some, price)

    new, _ = noise(400, 150, 1)
    said = []
    for way in (None, choose):
        prefixes = fit_prefixes(table, choose(table), price, sizes=(1, 2, 4, 8), choose=way)
        got = ask_in_order(prefixes, lambda r, f: new[np.ix_(r, f)], 400, per_row=8)
        said.append(float(got.probabilities.max(axis=1).mean()))
    assert said[1] < 0.6 and said[1] < said[0] - 0.05


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_sure_rows_are_right_as_often_as_said_each_class_apart(share):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 12))
    score = X[:, :5] @ np.array([2.5, 2.0, 1.5, 1.0, 0.5]) + rng.logistic(size=4000)
    y = (score > np.quantile(score, 1 - share)).astype(int)
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X[:1000], y[:1000], spend="60 %")
    got = life.predict("ill", X[1000:], stop=thrifty.Sure(0.9))
    sure = np.array(got.stopped) == "sure"
    for answer in (0, 1):
        here = sure & (got.values == answer)
        assert here.sum() > 50
        assert (y[1000:][here] == answer).mean() >= 0.9 - 0.03
