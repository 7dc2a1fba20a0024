"""Predictions that ask: only paths are paid, stopping rules keep their word."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import thrifty
from tests.market import ledger, table_seller
from thrifty.cells import Cells
from thrifty.errors import BadParameter


def learned_tree(seed, rows=200, features=15):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, features), dtype=np.uint8)
    y = (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3]) ^ (rng.random(rows) < 0.1)
    return thrifty.TreeClassifier(max_depth=5).fit(X, y), X


def path(tree, x):
    asked = []
    while "feature" in tree:
        asked.append(tree["feature"])
        tree = tree["true" if x[tree["feature"]] else "false"]
    return asked


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000))
def test_a_source_is_asked_for_paths_only(seed):
    model, X = learned_tree(seed)
    source = thrifty.Source.from_array(X)
    assert np.array_equal(model.predict(source), model.predict(X))
    expected = [len(path(model.tree_.to_dict(), x)) for x in X]
    assert model.receipt_.cells == sum(expected)
    assert model.receipt_.max_cells_per_example == max(expected)
    assert np.array_equal(model.predict_proba(source), model.predict_proba(X))


def test_confidence_stops_early_and_says_how_sure():
    model, X = learned_tree(5, rows=600)
    whole = thrifty.metered(model, X)
    whole.predict()
    lazy = thrifty.metered(model, X, confidence=0.8)
    answers = lazy.predict()
    assert lazy.receipt.cells < whole.receipt.cells
    assert (lazy.sure[~lazy.finished] >= 0.8).all()
    stopped = ~lazy.finished
    assert stopped.any()
    # An answer is as often right on the training rows as it says it is.
    assert (answers == model.predict(X))[stopped].mean() >= 0.8 - 0.05


def test_confidence_one_reaches_the_pure_nodes():
    model, X = learned_tree(6)
    assert np.array_equal(thrifty.metered(model, X, confidence=1.0).predict(), model.predict(X))


@pytest.mark.parametrize("total", [0, 1, 150, 400, 10_000])
def test_a_total_budget_is_never_exceeded(total):
    model, X = learned_tree(7)
    lazy = thrifty.metered(model, X, budget=total)
    answers = lazy.predict()
    assert lazy.receipt.cost <= total
    assert len(answers) == len(X)
    finished = lazy.finished
    assert np.array_equal(answers[finished], model.predict(X)[finished])
    assert finished.all() or total < 10_000


def test_a_larger_budget_is_never_less_sure():
    model, X = learned_tree(8, rows=400)
    sure = [thrifty.metered(model, X, budget=b).sure.mean() for b in (0, 200, 400, 800, 1600)]
    assert sure == sorted(sure) and sure[0] < sure[-1]


def test_a_budget_per_example():
    model, X = learned_tree(9)
    prices = np.linspace(1, 2, X.shape[1])
    lazy = thrifty.metered(model, X, prices=prices, budget=thrifty.Budget(per_example=3))
    lazy.predict()
    assert max(lazy.explain(i).cost for i in range(len(X))) <= 3
    assert not lazy.finished.all()


def test_the_least_certain_come_first():
    model, X = learned_tree(10, rows=400)
    first = thrifty.metered(model, X, budget=len(X))  # enough for the root alone
    first.predict()
    more = thrifty.metered(model, X, budget=len(X) + 50)
    more.predict()
    served = more.cells_per_example() > 1
    assert served.sum() == 50
    assert first.sure[served].max() <= first.sure[~served].min()


def test_forests_stop_too():
    model, X = learned_tree(11)
    y = model.predict(X)
    forest = RandomForestClassifier(9, random_state=0).fit(X, y)
    whole, lazy = thrifty.metered(forest, X), thrifty.metered(forest, X, confidence=0.9)
    assert np.array_equal(whole.predict(), forest.predict(X))
    assert lazy.predict().shape == y.shape
    assert lazy.receipt.cells < whole.receipt.cells


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"confidence": 0}, "confidence must be a number above 0"),
        ({"confidence": 1.5}, "confidence must be a number above 0"),
        ({"budget": thrifty.Budget(per_task=3)}, "not a task"),
    ],
)
def test_wrong_rules(wrong, message):
    model, X = learned_tree(0)
    with pytest.raises(BadParameter, match=message):
        thrifty.metered(model, X, **wrong)


def test_a_model_explains_one_example_for_the_price_of_its_path():
    model, X = learned_tree(3)
    asked = []
    source = table_seller(X, sold=asked, prices=2.5)
    told = model.explain_asked(Cells(source, ledger=ledger()), 7)
    assert [int(step.feature[1:]) for step in told.steps] == path(model.tree_.to_dict(), X[7])
    assert {int(e) for e, _ in asked} == {7} and len(asked) == told.cells
    assert told.cost == 2.5 * told.cells and told.answer == model.predict(X)[7]
    with pytest.raises(thrifty.errors.BadInput, match=r"0\.\.199"):
        model.explain(X, 200)


def test_explain_an_example_that_is_not_there():
    model, X = learned_tree(0)
    with pytest.raises(BadParameter, match=r"0\.\.199"):
        thrifty.metered(model, X).explain(200)
