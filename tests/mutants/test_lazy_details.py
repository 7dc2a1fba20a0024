"""Details of lazy predictions that a small change would break unnoticed."""

import numpy as np
import pytest

import thrifty
from thrifty.lazy import Forest, balanced_shares, join


def stump(**more):
    leaf = [-1, -1]
    return Forest(
        np.array([0, *leaf]), np.array([2.5, 0, 0]), np.array([1, *leaf]), np.array([2, *leaf]),
        np.array([2, *leaf]), np.array([0]), **more,
    )  # fmt: skip


@pytest.mark.parametrize(("strict", "goes"), [(False, [1, 1, 2, 2]), (True, [1, 2, 2, 2])])
def test_a_value_at_the_limit_goes_where_its_library_sends_it(strict, goes):
    """scikit-learn and LightGBM say at most, XGBoost says below; a gap has a way of its own."""
    values = np.array([2.0, 2.5, 3.0, np.nan])
    assert stump(strict=strict).step(np.zeros(4, np.int64), values).tolist() == goes


def test_classes_count_alike_in_balanced_shares():
    tree = stump(share=np.array([[0.9, 0.1], [1.0, 0.0], [0.6, 0.4]]))
    assert np.allclose(balanced_shares(tree), [[0.5, 0.5], [1.0, 0.0], [1 / 7, 6 / 7]])


def test_what_is_a_gap_to_each_tree_stays_so_in_a_forest():
    trees = [stump(zero_is_missing=np.array([zero, False, False])) for zero in (True, False)]
    forest = join(trees)
    assert forest.step(forest.roots, np.zeros(2)).tolist() == [2, 4]
    assert join([stump(), stump()]).zero_is_missing is None


def test_a_budget_that_ends_answers_whole_rows_in_turn():
    """Three cells a row at 2, and 30 left: five rows, not the first cells of fifteen."""
    X = np.random.default_rng(0).random((200, 6)) < 0.5
    life = thrifty.Lifetime(
        thrifty.Trees(4), prices=2.0, budget=thrifty.Budget(10_000), random_state=0
    )
    life.learn("t", X, (X[:, 0] & X[:, 1] & X[:, 2]).astype(int))
    life.change(budget=thrifty.Budget(life.balance().spent + 30))
    with pytest.raises(thrifty.errors.BudgetExceeded) as ended:
        life.predict("t", np.ones((10, 6), dtype=bool))
    assert np.sum(ended.value.prediction.answered) == 5
