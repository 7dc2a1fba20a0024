"""The benchmarks of trees run, on small sizes, and compare like with like."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import thrifty
from speed import thresholds

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_thresholds_compare_trees_of_the_same_accuracy():
    rows = thresholds.measure(300, 120, repeats=1)
    assert [(row["labels"], row["gain"]) for row in rows] == [
        ("clean", "entropy"),
        ("clean", "gini"),
        ("noisy", "entropy"),
        ("noisy", "gini"),
    ]
    assert all(row["accuracy"] == row["scikit-learn accuracy"] == 1.0 for row in rows)


def test_the_cost_of_a_prediction_is_each_test_once():
    prices = load("prices")
    rng = np.random.default_rng(0)
    X = rng.random((200, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 1]) > 0.5).astype(int)
    model = thrifty.TreeClassifier(missing="larger-child", max_depth=4).fit(X, y)
    what = np.array([1.0, 10.0, 100.0, 1000.0])
    source = thrifty.Source.from_array(X, allow_missing=True)
    lazy = thrifty.metered(model, source, prices=what)
    lazy.predict()
    assert prices.cost_of(model.tree_, X, what).sum() == pytest.approx(lazy.receipt.cost)


@pytest.mark.skipif(
    not (load("prices").DATA / "heart_cost.npz").exists(), reason="the data are not here"
)
def test_price_aware_gains_are_cheaper_on_heart():
    rows = {row["gain"]: row for row in load("prices").measure("heart_cost", ["heart_disease"], 4)}
    costs = {gain: row["cost of a prediction"] for gain, row in rows.items()}
    assert max(costs["eg2"], costs["cs-id3"], costs["idx"]) < 0.5 * costs["entropy"]
    assert costs["eg2"] < costs["eg2:0.5"] < costs["entropy"]
