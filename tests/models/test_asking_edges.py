"""Asking in order at the edges: classes by name, gaps, nothing to spend, everything free."""

import numpy as np
import pytest

import thrifty
from thrifty.models.asking.ahead import Hope


def three(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 5] = 1.0  # constant
    y = np.where(X[:, 1] > 0.6, "high", np.where(X[:, 3] > 0, "middle", "low"))
    X[rng.random((n, 6)) < 0.1] = np.nan
    return X, y


@pytest.fixture(scope="module")
def life():
    life = thrifty.Lifetime(thrifty.Models())
    life.learn("level", *three(600, 0), spend="80 %")
    return life


@pytest.mark.parametrize(
    "given",
    [
        {"stop": thrifty.Sure(0.9)},
        {"stop": thrifty.Worth(0.01)},
        {"stop": thrifty.Worth(errors=[5, 10, 20])},
        {"spend": 300},
        {"per_row": 2},
        {"stop": thrifty.Sure(0.9), "per_row": 3, "spend": 350},
    ],
)
def test_three_classes_by_name_with_gaps(life, given):
    X, y = three(200, 1)
    got = life.predict("level", X, **given)
    assert set(got.values) <= {"high", "middle", "low"}
    assert np.allclose(got.probabilities.sum(axis=1), 1)
    assert (got.values == y).mean() > 0.45
    assert got.receipt.cost <= given.get("spend", np.inf)
    assert got.receipt.cost_per_row.max() <= given.get("per_row", np.inf)
    assert set(got.stopped) <= {"finished", "sure", "hopeless", "worth", "spend", "per_row"}
    assert "cost" in str(got.explain(0))


def test_one_row_and_the_same_answer_whatever_comes_with_it(life):
    """A rule judges every row by itself."""
    X, _ = three(60, 3)
    together = life.predict("level", X.copy(), stop=thrifty.Sure(0.8))
    alone = life.predict("level", X[:1].copy(), stop=thrifty.Sure(0.8))
    assert np.allclose(alone.probabilities[0], together.probabilities[0])
    assert alone.stopped[0] == together.stopped[0]


def test_everything_is_free():
    X, y = three(300, 4)
    life = thrifty.Lifetime(thrifty.Models(), prices=[0] * 6)
    life.learn("level", X, y)
    got = life.predict("level", three(50, 5)[0], stop=thrifty.Sure(0.99))
    assert got.receipt.cost == 0 and (got.receipt.cells_per_row > 0).all()


def test_owned_cells_cost_nothing_and_let_a_row_go_further(life):
    X, _ = three(100, 6)
    first = life.predict("level", X, per_row=2)
    again = life.predict("level", X, per_row=2)
    assert again.receipt.cost_per_row.max() <= 2
    assert again.receipt.reused_cells >= first.receipt.cells


@pytest.mark.parametrize(("becomes_sure", "lost"), [(0.01, True), (0.1, False)])
def test_where_hardly_any_row_becomes_sure_none_is_asked_everything(becomes_sure, lost):
    """One of a hundred is sure at the end, and nothing before says which."""
    last = np.arange(1000) % round(1 / becomes_sure) == 0
    p = np.array([np.full(1000, 0.7)] * 3 + [np.where(last, 0.99, 0.7)])
    hope = Hope(np.stack([p, 1 - p], axis=2), np.array([0.5, 0.5]), thrifty.Sure(0.9))
    assert (hope.is_lost(2, np.array([[0.7, 0.3]])) == lost).all()
