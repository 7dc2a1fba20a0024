"""What Thrifty is compared with buys no more than the bill, and learns from what it bought."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import baselines


def told(seed=0, n=400):
    """Column 2 tells the label, 0 and 1 are noise; some gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 2] + 0.5 * rng.normal(size=n) > 1).astype(int)
    X[rng.random((n, 3)) < 0.1] = np.nan
    return X, y


class Spy:
    """A fit that keeps what it was given."""

    def __init__(self):
        self.given = []

    def __call__(self, X, y, seed):
        self.given.append((X, y))
        return lambda new: np.full(len(new), 0.5)


def test_whole_rows_are_as_many_as_the_money_buys():
    X, y = told()
    spy = Spy()
    baselines.whole_rows_blend(X, y, 100, 3, seed=1, fit=spy)
    baselines.whole_rows_blend(X, y, 100, 3, seed=1, fit=spy, balanced=True)
    baselines.whole_rows_blend(X, y, 1e9, 3, seed=1, fit=spy, balanced=True)
    (X_come, _), (_, y_half), (X_all, _) = spy.given
    assert len(X_come) == len(y_half) == 33 and y_half.sum() == 16
    assert len(X_all) == len(X)


def test_rows_are_the_same_for_every_label_of_a_seed():
    X, y = told()
    spy = Spy()
    baselines.whole_rows_blend(X, y, 90, 3, seed=1, fit=spy)
    baselines.whole_rows_blend(X, 1 - y, 90, 3, seed=1, fit=spy)
    baselines.whole_rows_blend(X, y, 90, 3, seed=2, fit=spy)
    (first, _), (again, _), (other, _) = spy.given
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other, equal_nan=True)


def test_orders_by_hand_pay_fees_once_and_no_order_twice():
    X, y = told()
    orders = {"a": (1.0, [0]), "b": (2.0, [1]), "c": (2.5, [2]), "both": (4.0, [0, 1])}
    spy = Spy()
    found = baselines.cheapest_orders(X, y, 300, orders, {"draw": (3.0, [1, 2])}, fit=spy)
    # a row costs 1, then 1 + 2 + 3, then 1 + 2 + 3 + 2.5; "both" would bring nothing new
    assert list(found) == [1, 2, 3]
    assert [X.shape for X, _ in spy.given] == [(300, 1), (50, 2), (35, 3)]


def test_orders_by_hand_learn_from_the_columns_they_filled():
    X, y = told()
    X_new, y_new = told(seed=5)
    orders = {"a": (1.0, [0]), "b": (2.0, [1]), "c": (2.5, [2])}
    found = baselines.cheapest_orders(X, y, 1000, orders)
    aucs = {k: roc_auc_score(y_new, predict(X_new)) for k, predict in found.items()}
    assert aucs[1] < 0.6 < 0.8 < aucs[3]


def test_one_class_alone_is_answered_with_the_base_rate():
    X, _ = told()
    predict = baselines.whole_rows_blend(X, np.zeros(len(X), int), 60, 3)
    np.testing.assert_allclose(predict(X[:5]), 0.5 / 21)


def test_the_blend_learns_from_few_rows():
    pytest.importorskip("catboost", reason="pip install --group baselines")
    X, y = told()
    X_new, y_new = told(seed=5)
    predict = baselines.whole_rows_blend(X, y, 300, 3, balanced=True)
    assert roc_auc_score(y_new, predict(X_new)) > 0.8


def test_foundation_models_without_weights_are_left_out_with_a_sentence(monkeypatch, tmp_path):
    said = []
    monkeypatch.setattr(baselines, "CACHES", ())
    monkeypatch.setenv("THRIFTY_WEIGHTS", str(tmp_path))
    assert baselines.foundation_models(said.append) == {}
    assert [line.split()[0] for line in said] == ["TabPFN", "TabICL"]
    assert all("THRIFTY_WEIGHTS" in line for line in said)


def test_foundation_models_are_fitted_with_the_weights_that_are_there(monkeypatch, tmp_path):
    class Classifier:
        def __init__(self, **given):
            self.given = given

        def fit(self, X, y):
            self.base = y.mean()

        def predict_proba(self, X):
            assert self.given["model_path"] == str(weights)
            return np.tile([1 - self.base, self.base], (len(X), 1))

    class Package:
        TabICLClassifier = Classifier

    weights = tmp_path / "tabicl-classifier-v2.ckpt"
    weights.touch()
    monkeypatch.setattr(baselines, "CACHES", ())
    monkeypatch.setenv("THRIFTY_WEIGHTS", str(tmp_path))
    monkeypatch.setattr(baselines, "import_module", {"tabicl": Package}.__getitem__)
    X, y = told()
    found = baselines.foundation_models(lambda line: None)
    assert list(found) == ["TabICL"]
    np.testing.assert_allclose(found["TabICL"](X, y, 0)(X[:2]), y.mean())
