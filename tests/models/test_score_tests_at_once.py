"""Score tests of many columns together, against one column after another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from thrifty.models.evidence import score_tests as tests


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("believed", [False, True])
@pytest.mark.parametrize("rows", [2, 5, 30, 211])
def test_all_together_is_one_by_one(monkeypatch, classes, believed, rows):
    rng = np.random.default_rng(rows)
    X = rng.normal(size=(rows, 700))
    X[:, 3] = X[:, 3].round()  # values that are equal
    X[0, 5] = np.nan
    X[:, 7] = rng.integers(0, 3, rows)  # a category
    X[0, 9] = np.inf
    X[:, 11] = 1.0
    y = rng.integers(0, classes, rows)
    basket = SimpleNamespace(columns=dict(enumerate(X.T)), codes=y)
    present = rng.dirichlet(np.ones(classes), rows) if believed else None
    features = rng.permutation(700)
    given = (basket, features, rows, classes, {7}, present)
    together = tests.score_tests(*given)
    monkeypatch.setattr(tests, "_MANY", 10**9)
    one_by_one = tests.score_tests(*given)
    assert np.allclose(together, one_by_one, rtol=1e-10, atol=1e-12)
    assert rows < 200 or len(set(together.tolist())) > 600


def test_where_every_row_is_known_for_certain_no_feature_tells_anything_more():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    basket = SimpleNamespace(columns=dict(enumerate(rng.normal(size=(12, 80)))), codes=y)
    given = (basket, np.arange(12), 80, 2, set())
    assert (tests.score_tests(*given, np.eye(2)[y]) == 0).all()
    assert (tests.score_tests(*given, None) > 0).any()
