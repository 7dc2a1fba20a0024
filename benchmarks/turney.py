"""Tests plus errors on Turney's benchmark: python benchmarks/turney.py.

Heart disease (Cleveland) and thyroid disease with the fees of Ontario that Turney (1995) used,
group discounts included: the second test of a group is cheaper, FTI is free once TT4 and T4U are
there.
Ten random splits, two thirds for learning. A wrong decision costs 10 to 10,000; the figure is the
mean price of the tests of a patient plus the mean price of errors, on the last third.

Ours finds an order of the tests on the learning rows, fits a model at every prefix of it, and asks
a patient for the next test while that is expected to save more in errors than it costs
(thrifty.Worth(errors=...)). Random forests below 1,000 rows, boosted trees and a forest of wide
trees above, their probabilities averaged; nothing else is chosen by hand. EG2, CS-ID3, IDX and a
plain tree run on the same splits and prices (studies/cost_trees.py). Learning reads every
cell, for all of them. With --save a run that was stopped goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from scipy.stats import t
from sklearn.base import ClassifierMixin
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from threadpoolctl import threadpool_limits

import thrifty
from studies.asking import ask_in_order, prefixes_of
from studies.cost_trees import RULES, grow_cost_tree
from studies.kept import append, measured_at
from studies.measure import table
from thrifty.models.asking.order import find_order
from thrifty.models.table import Table

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
ERRORS = (10, 50, 100, 500, 1000, 5000, 10000)
SETS = ("heart_cost", "ann_thyroid")


def load(name: str) -> tuple[np.ndarray, np.ndarray, thrifty.PriceList, list[str]]:
    """Values, classes 0.., prices and names of the tests."""
    z = np.load(DATA / f"{name}.npz", allow_pickle=False)
    groups = DATA / "turney_groups.json"
    if name == "heart_cost":
        names = z["test_names"].tolist()
        single = dict(zip(names, z["test_cost"].astype(float).round(2).tolist()))
        prices = thrifty.PriceList.from_json(groups, part="heart", single=single)
        return z["X_raw"].astype(float), z["Y"][:, 0].astype(int), prices, names
    names = z["feature_names"].tolist()
    prices = thrifty.PriceList.from_json(groups, part=name)
    return z["X"].astype(float), z["y"].astype(int) - 1, prices, names


def estimator_for(n_rows: int, seed: int) -> ClassifierMixin:
    """What is fitted at every prefix.

    Boosting cuts a number at 255 ranks and smooths; the trees of a forest that sees most features
    cut where two patients part, and single ones of them are too sure. The mean of both is neither.
    """
    if n_rows < 1000:
        return RandomForestClassifier(200, min_samples_leaf=3, random_state=seed)
    boosted = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=16, min_samples_leaf=5, random_state=seed
    )
    forest = RandomForestClassifier(60, max_features=0.6, min_samples_leaf=2, random_state=seed)
    return VotingClassifier([("boosted", boosted), ("forest", forest)], voting="soft")


def ours(train, test, price, orders, n_classes, seed) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """(decision, cost) of every test row for each price of an error."""
    X, y = train
    every = np.arange(X.shape[1])
    bought = Table(every, np.arange(len(X)), X, np.ones(X.shape, bool), np.ones(len(X)), y)

    def pay(owned, wanted):
        return price(frozenset(owned), frozenset(wanted))

    order = find_order(bought, pay, orders, seed=seed)
    prefixes = prefixes_of(bought, order, pay, estimator_for(len(X), seed), seed=seed)
    out = {}
    for error in ERRORS:
        rule = thrifty.Worth(errors=[error] * n_classes)
        asked = ask_in_order(prefixes, lambda r, f: test[np.ix_(r, f)], len(test), stop=rule)
        out[error] = (asked.values, asked.cost)
    return out


def one_split(name: str, seed: int) -> list[dict[str, object]]:
    X, y, prices, names = load(name)
    tariff, n_classes = prices.tariff(names), int(y.max()) + 1
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))
    cut = 2 * len(X) // 3
    train, test = rows[:cut], rows[cut:]

    def price(owned, wanted):
        return tariff.priced(owned, wanted)[0] / 1e6

    groups = [tuple(draw.members) for draw in tariff.draws if draw.kind == "group"]
    found = ours((X[train], y[train]), X[test], price, groups, n_classes, seed)
    results = {("ours", error): both for error, both in found.items()}
    for rule in RULES:
        tree = grow_cost_tree(X[train], y[train], price, rule, n_classes)
        for error in ERRORS:
            results[rule, error] = tree.decide(X[test], price)
    everything = price(frozenset(), frozenset(range(len(names))))
    return [
        {
            "set": name,
            "seed": seed,
            "method": method,
            "error": error,
            "tests": float(cost.mean()),
            "wrong": float((decision != y[test]).mean()),
            "total": float(cost.mean() + error * (decision != y[test]).mean()),
            "everything": everything,
        }
        for (method, error), (decision, cost) in results.items()
    ]


def summary(runs: list[dict[str, object]]) -> list[dict[str, object]]:
    """A row per set and price of an error: mean tests plus errors of each method."""
    methods = ["ours", *RULES]
    rows = []
    for name in dict.fromkeys(r["set"] for r in runs):
        for error in ERRORS:
            here = [r for r in runs if r["set"] == name and r["error"] == error]
            row: dict[str, object] = {"set": name, "an error costs": error}
            for method in methods:
                totals = [r["total"] for r in here if r["method"] == method]
                row[method] = round(float(np.mean(totals)), 2)
            best = min(row[m] for m in methods[1:])
            mine = [r for r in here if r["method"] == "ours"]
            row["ours / best tree"] = round(row["ours"] / best, 3)
            tree = next(m for m in methods[1:] if row[m] == best)
            row["90 %"] = _interval(here, tree, best)
            row["ours: tests"] = round(float(np.mean([r["tests"] for r in mine])), 2)
            row["ours: wrong"] = f"{100 * float(np.mean([r['wrong'] for r in mine])):.2f} %"
            rows.append(row)
    return rows


def _interval(here: list[dict[str, object]], tree: str, best: float) -> str:
    """Of ours less the best tree in hindsight, over the splits, as a share of the tree's."""
    totals = {m: np.array([r["total"] for r in here if r["method"] == m]) for m in ("ours", tree)}
    lead = (totals["ours"] - totals[tree]) / best
    if len(lead) < 2:
        return ""
    half = t.ppf(0.95, len(lead) - 1) * lead.std(ddof=1) / len(lead) ** 0.5
    return f"{lead.mean() - half:+.3f} to {lead.mean() + half:+.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    runs: list[dict[str, object]] = []
    if given.save and given.save.exists():
        runs = json.loads(given.save.read_text())
    done = {(r["set"], r["seed"]) for r in runs}
    start = time.process_time()
    with threadpool_limits(1):
        for name in given.sets:
            for seed in range(given.splits):
                if (name, seed) not in done:
                    runs += [append(None, run) for run in one_split(name, seed)]
                    if given.save:
                        given.save.write_text(json.dumps(runs, indent=0))
    print(measured_at(runs))
    print(table(summary([r for r in runs if r["set"] in given.sets and r["seed"] < given.splits])))
    print(f"\n{time.process_time() - start:.0f} s of CPU time")
