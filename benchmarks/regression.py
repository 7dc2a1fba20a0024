"""Labels that are numbers, on few cells: python benchmarks/regression.py.

thrifty.ModelRegressor at 5, 10 and 20 % of the cells, R2 on held-out rows, mean of the seeds,
beside what one would write instead: ridge regression on as many whole rows, and on the columns that
a pilot of whole rows found best (nine ways to divide the bill, the best of them in hindsight).
Everything: the better of ridge and boosted trees on every cell.

diabetes is scikit-learn's (442 x 10). friedmanN is its make_friedman1: five of N features matter,
two of them through a product. linear100: ten of 100 matter. The constants of the regressor were
chosen on diabetes, linear100 and friedman60 and 110; friedman210 was not looked at.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

import thrifty
from studies.measure import table

SETS = ("friedman210", "friedman60", "linear100", "diabetes")
SHARES = (0.05, 0.1, 0.2)
PENALTIES = np.logspace(-3, 3, 13)
PILOTS = [(pilot, rows) for pilot in (0.3, 0.5, 0.7) for rows in (0.3, 0.6, 1.0)]


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Values, labels, and how many of the rows are for learning."""
    rng = np.random.default_rng(seed)
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        order = rng.permutation(len(X))
        return X[order], y[order], 300
    if name.startswith("friedman"):
        n = int(name.removeprefix("friedman"))
        X, y = make_friedman1(2500, n_features=n, noise=1.0, random_state=seed)
        return X, y, 1500
    X = rng.normal(size=(2500, 100))
    weights = np.zeros(100)
    weights[:10] = rng.normal(size=10)
    return X, X @ weights + rng.normal(size=2500), 1500


def best_columns(X, y, spend: float, rng, pilot: float, share_of_rows: float):
    """A ridge on the columns that correlate most on a pilot, and which they are."""
    n, width = X.shape
    order = rng.permutation(n)
    looked = min(max(4, int(pilot * spend / width)), n)
    few = order[:looked]
    Z = X[few] - X[few].mean(axis=0)
    found = np.abs(Z.T @ (y[few] - y[few].mean())) / (Z.std(axis=0) + 1e-9)
    left = spend - looked * width
    rows = max(looked, int(share_of_rows * n))
    k = width if rows == looked else int(min(width, left // (rows - looked)))
    if k < 1:
        k, rows = 1, min(n, looked + int(left))
    columns = np.argsort(-found)[:k]
    return RidgeCV(PENALTIES).fit(X[np.ix_(order[:rows], columns)], y[order[:rows]]), columns


def one(name: str, share: float, seed: int) -> dict[str, float]:
    X, y, cut = load(name, seed)
    (X, X_test), (y, y_test) = (X[:cut], X[cut:]), (y[:cut], y[cut:])
    spend = share * X.size
    whole = np.random.default_rng(seed).permutation(cut)[: max(3, int(spend // X.shape[1]))]
    out = {
        "whole rows": r2_score(y_test, RidgeCV(PENALTIES).fit(X[whole], y[whole]).predict(X_test))
    }
    for pilot, rows in PILOTS:
        model, columns = best_columns(X, y, spend, np.random.default_rng(seed), pilot, rows)
        out[f"pilot {pilot} {rows}"] = r2_score(y_test, model.predict(X_test[:, columns]))
    ours = thrifty.ModelRegressor(spend=spend, random_state=seed).fit(X, y)
    out["ours"] = r2_score(y_test, ours.predict(X_test))
    full = (RidgeCV(PENALTIES), HistGradientBoostingRegressor(random_state=0))
    out["everything"] = max(r2_score(y_test, m.fit(X, y).predict(X_test)) for m in full)
    return out


def measure(name: str, seeds: int) -> list[dict[str, object]]:
    rows = []
    for share in SHARES:
        runs = [one(name, share, seed) for seed in range(seeds)]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        pilots = max(value for key, value in mean.items() if key.startswith("pilot"))
        rows.append(
            {
                "set": name,
                "bill": f"{share:.0%}",
                "ours": round(mean["ours"], 3),
                "ridge on whole rows": round(mean["whole rows"], 3),
                "ridge on best columns": round(pilots, 3),
                "everything": round(mean["everything"], 3),
            }
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    with threadpool_limits(1):
        found = [row for name in given.sets for row in measure(name, given.seeds)]
    print(table(found))
    spent = time.process_time() - start
    print(f"\nR2 on held-out rows, {given.seeds} seeds; {spent:.0f} s of CPU time")
