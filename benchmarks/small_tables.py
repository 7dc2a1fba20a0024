"""What a new user tries first: small tables, python benchmarks/small_tables.py.

thrifty.ModelClassifier at 5 and 10 % of the cells, area under the ROC curve on held-out rows, mean
of the seeds, beside what one would write instead for the same bill: logistic regression on random
whole rows, and a pilot (half of the bill for whole rows of both classes, then logistic regression
on the best third of the columns on as many rows as the rest pays for).

wine (is it class 1), breast_cancer, diabetes (its upper 30 %) and digits (is it an 8) are
scikit-learn's; six and three have so many informative features of 15 (make_classification); linear
is a sum of ten effects of numbers, counts, categories and gaps among 15.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import thrifty
from studies.measure import table

SETS = ("six", "three", "linear", "breast_cancer", "diabetes", "digits", "wine")
SHARES = (0.05, 0.1)
#: of the rows to learn from
LEARN = 0.6


def made(informative: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        600, 15, n_informative=informative, n_redundant=0, weights=[0.7], random_state=seed
    )


def linear(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten of 15 columns matter: numbers, counts, few categories as numbers, gaps here and there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 15))
    X[:, 5:9] = rng.poisson(2.0, size=(600, 4))
    X[:, 9:12] = rng.integers(0, 3, size=(600, 3))
    effects = np.zeros(15)
    effects[rng.permutation(15)[:10]] = rng.choice([-0.7, 0.7], 10)
    score = ((X - X.mean(axis=0)) / X.std(axis=0)) @ effects + rng.logistic(size=600)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (score > np.quantile(score, 0.7)).astype(int)


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if name in ("six", "three"):
        return made({"six": 6, "three": 3}[name], seed)
    if name == "linear":
        return linear(seed)
    ways = {
        "breast_cancer": load_breast_cancer,
        "diabetes": load_diabetes,
        "digits": load_digits,
        "wine": load_wine,
    }
    X, y = ways[name](return_X_y=True)
    if name == "diabetes":
        return X, (y > np.quantile(y, 0.7)).astype(int)
    return X, (y == {"digits": 8}.get(name, 1)).astype(int)


def logistic() -> object:
    return make_pipeline(
        SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=500)
    )


def whole_rows(X, y, spend: float, rng) -> tuple[object, np.ndarray]:
    """Logistic regression on random whole rows; two of each class at least."""
    rows = rng.permutation(len(X))[: max(4, int(spend // X.shape[1]))]
    for c in (0, 1):
        rows = np.append(rows, np.flatnonzero(y == c)[: max(0, 2 - (y[rows] == c).sum())])
    return logistic().fit(X[rows], y[rows]), np.arange(X.shape[1])


def pilot(X, y, spend: float, rng) -> tuple[object, np.ndarray]:
    """Half of the bill for whole rows of both classes, then the best third of the columns."""
    order = rng.permutation(len(X))
    a, b = order[y[order] == 1], order[y[order] == 0]
    n = max(2, int(spend / 2 / X.shape[1] / 2))
    few = np.append(a[:n], b[:n])
    Z = np.nan_to_num(X[few] - np.nanmean(X[few], axis=0)) / (np.nanstd(X[few], axis=0) + 1e-9)
    best = np.argsort(-np.abs(Z.T @ (y[few] - y[few].mean())))[: max(1, X.shape[1] // 3)]
    more = int((spend - len(few) * X.shape[1]) / len(best) / 2)
    rows = np.concatenate([a[: n + more], b[: n + more]])
    return logistic().fit(X[np.ix_(rows, best)], y[rows]), best


def one(name: str, share: float, seed: int) -> dict[str, float]:
    X, y = load(name, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    cut = int(LEARN * len(X))
    X, y, X_test, y_test = X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]
    spend = share * X.size
    ours = thrifty.ModelClassifier(spend=spend, random_state=seed).fit(X, y)
    found = {"ours": roc_auc_score(y_test, ours.predict_proba(X_test)[:, 1])}
    for way in (whole_rows, pilot):
        model, columns = way(X, y, spend, np.random.default_rng(seed))
        found[way.__name__] = roc_auc_score(y_test, model.predict_proba(X_test[:, columns])[:, 1])
    full = logistic().fit(X, y)
    return {**found, "every cell": roc_auc_score(y_test, full.predict_proba(X_test)[:, 1])}


def measure(share: float, names: list[str], seeds: range) -> list[dict[str, object]]:
    rows = []
    for name in names:
        runs = [one(name, share, seed) for seed in seeds]
        rows.append({key: float(np.mean([run[key] for run in runs])) for key in runs[0]})
    mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return [
        {"set": name, "bill": f"{share:.0%}"}
        | {key.replace("_", " "): round(value, 3) for key, value in row.items()}
        for name, row in zip([*names, "mean"], [*rows, mean])
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), help="from and up to")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    with threadpool_limits(1):
        for share in SHARES:
            print(table(measure(share, given.sets, range(*given.seeds))) + "\n", flush=True)
    spent = time.process_time() - start
    print(f"AUROC on held-out rows, seeds {given.seeds[0]} to {given.seeds[1] - 1}; {spent:.0f} s")
