"""Prices that change the tree: python benchmarks/prices.py.

Two sets with the real prices of medical tests (heart_cost, thyroid0387_cost; read from
../shared/data or $THRIFTY_DATA). Every test is one feature, missing answers follow the larger
child, categories are taken as their codes. Five-fold stratified cross-validation; the cost of a
prediction is the price of the different tests on the example's path. Nothing is tuned: one depth
for both sets and all gains.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold

import thrifty
from studies.measure import table
from thrifty.trees.tree import Node, Tree

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
GAINS = ("entropy", "gini", "gain-ratio", "eg2:0.5", "eg2", "cs-id3", "idx")


def cost_of(tree: Tree, X: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The price of the tests that each row of X is asked, each once."""
    cost = np.zeros(len(X))
    stack = [(tree, np.arange(len(X)), frozenset[int]())]
    while stack:
        at, rows, asked = stack.pop()
        if not isinstance(at, Node) or not len(rows):
            continue
        f = at.split.feature
        if f not in asked:
            cost[rows] += prices[f]
        threshold = 0.5 if at.split.threshold is None else at.split.threshold
        values = X[rows, f]
        side = np.where(np.isnan(values), _rows(at.true) > _rows(at.false), values >= threshold)
        for child, part in ((at.true, rows[side]), (at.false, rows[~side])):
            stack.append((child, part, asked | {f}))
    return cost


def _rows(tree: Tree) -> float:
    if isinstance(tree, Node):
        return _rows(tree.false) + _rows(tree.true)
    return sum(tree.counts or ())


def measure(name: str, labels: list[str], depth: int) -> list[dict[str, object]]:
    """A row per gain: what a prediction costs, how good it is, how both compare with entropy."""
    data = np.load(DATA / f"{name}.npz", allow_pickle=False)
    X, prices = data["X_raw"].astype(np.float64), data["test_cost"].astype(np.float64)
    known = data["label_names"].tolist()
    rows: list[dict[str, object]] = []
    for gain in GAINS:
        cost, quality = [], []
        for label in labels:
            y = data["Y"][:, known.index(label)].astype(int)
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            for train, test in folds.split(X, y):
                model = thrifty.TreeClassifier(
                    max_depth=depth, gain=gain, prices=prices, missing="larger-child"
                ).fit(X[train], y[train])
                cost.append(cost_of(model.tree_, X[test], prices).mean())
                quality.append(balanced_accuracy_score(y[test], model.predict(X[test])))
        rows.append(
            {
                "set": name,
                "tasks": len(labels),
                "gain": gain,
                "cost of a prediction": round(float(np.mean(cost)), 2),
                "balanced accuracy": round(float(np.mean(quality)), 4),
            }
        )
    base = rows[0]
    for row in rows:
        row["cost / entropy"] = round(row["cost of a prediction"] / base["cost of a prediction"], 3)
        row["accuracy - entropy"] = round(row["balanced accuracy"] - base["balanced accuracy"], 4)
    return rows


def pricing_share(usd: float = 10.0) -> dict[str, object]:
    """The share of a learning run that goes into prices: PhysioNet with its overlapping panels."""
    from thrifty.cells.prices.tariff import Tariff

    data = np.load(DATA / "physionet_icu.npz", allow_pickle=False)
    rates = thrifty.PriceList.from_json(DATA / "physionet_icu_prices.json")
    names = data["feature_names"].tolist()
    X, y = data["X"][:5333].astype(float), data["Y"][:5333, 0].astype(int)
    source = thrifty.Source.from_array(X, feature_names=names, allow_missing=True)
    spent = [0.0, 0]
    plain = Tariff.bill

    def timed(self, *given, **more):
        begun = time.thread_time()
        try:
            return plain(self, *given, **more)
        finally:
            spent[0] += time.thread_time() - begun
            spent[1] += 1

    # the first call loads compiled kernels from disk, whoever makes it
    few = thrifty.Source.from_array(X[:400], feature_names=names, allow_missing=True)
    thrifty.Lifetime(thrifty.Models(), prices=rates).learn("died", few, y[:400], spend=5000.0)
    Tariff.bill = timed
    try:
        begun = time.process_time()
        life = thrifty.Lifetime(thrifty.Models(), prices=rates)
        life.learn("died", source, y, spend=usd * len(X))
        whole = time.process_time() - begun
    finally:
        Tariff.bill = plain
    return {
        "run": f"PhysioNet, {usd:g} USD a patient",
        "bills": spent[1],
        "pricing (s)": round(spent[0], 3),
        "run (s)": round(whole, 2),
        "share": f"{spent[0] / whole:.1%}",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", action="store_true", help="what pricing costs of a run")
    parser.add_argument("--depth", type=int, default=6)
    given = parser.parse_args()
    if given.share:
        print(table([pricing_share()]))
        raise SystemExit
    groups = ["any condition", "grp:hyperthyroid", "grp:hypothyroid", "grp:binding protein"]
    print(table(measure("heart_cost", ["heart_disease"], given.depth)))
    print(table(measure("thyroid0387_cost", groups, given.depth)))
