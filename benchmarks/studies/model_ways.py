"""What a user would write instead: the full models, and a pilot in nine ways to divide a bill."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from studies.model_tasks import ModelTask
from thrifty.typing import AnyArray, Fields, Floats

__all__ = ["full_models", "log_loss_fall", "pilots", "scores", "usefulness", "whole_rows"]

#: of the bill for the pilot; rows of the other class per rare row
_SHARES, _OTHERS = (0.3, 0.5, 0.7), (2, 5, 99)


def logistic(X: AnyArray, y: NDArray[np.int64]) -> object:
    return LogisticRegression(C=0.3, max_iter=300, solver="liblinear").fit(X, y)


def boosted(X: AnyArray, y: NDArray[np.int64]) -> BaseEstimator:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=100,
        num_leaves=8,
        min_child_samples=8,
        learning_rate=0.06,
        n_jobs=1,
        verbose=-1,
        colsample_bytree=0.5 if X.shape[1] > 60 else 1.0,
    )
    return model.fit(X.astype(np.float32), y)


def extra_trees(X: AnyArray, y: NDArray[np.int64]) -> BaseEstimator:
    """A gap is a number of its own."""
    forest = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=0, n_jobs=1)
    model = make_pipeline(SimpleImputer(strategy="constant", fill_value=-9), forest)
    return model.fit(X.astype(np.float32), y)


def log_loss_fall(p: Floats, y: NDArray[np.int64]) -> float:
    """How far the log-loss is below that of the base rate, per row."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    base = y.mean()
    loss = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    return float(-(base * np.log(base) + (1 - base) * np.log(1 - base)) - loss)


def scores(p: Floats, y: NDArray[np.int64]) -> dict[str, float]:
    """Average precision, what calibration needs, and the fall of the log-loss."""
    return {
        "ap": float(average_precision_score(y, p)),
        "predicted": float(p.mean()),
        "true": float(y.mean()),
        "fall": log_loss_fall(p, y),
        "positives": float(y.sum()),
    }


def _probability(model: BaseEstimator, X: AnyArray) -> Floats:
    p: Floats = model.predict_proba(X.astype(np.float32))[:, 1]
    return p


def full_models(task: ModelTask) -> dict[str, dict[str, float]]:
    """What LightGBM and, on Boolean features, logistic regression reach that bought everything."""
    ways: Fields = {"LightGBM": boosted}
    if task.X.dtype == np.uint8:
        ways["logistic"] = logistic
    return {name: _scored(way(task.X, task.y), task) for name, way in ways.items()}


def _scored(model: object, task: ModelTask) -> dict[str, float]:
    return scores(_probability(model, task.X_test), task.y_test)


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    entropy: Floats = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    return entropy


def usefulness(X: AnyArray, y: NDArray[np.int64]) -> Floats:
    if X.dtype == np.uint8:
        one = (X[y == 1].sum(0) + 0.5) / ((y == 1).sum() + 1)
        zero = (X[y == 0].sum(0) + 0.5) / ((y == 0).sum() + 1)
        return _entropy((one + zero) / 2) - (_entropy(one) + _entropy(zero)) / 2
    found = np.zeros(X.shape[1])
    for f in range(X.shape[1]):
        here = ~np.isnan(X[:, f])
        n1, n0 = y[here].sum(), (1 - y[here]).sum()
        ranked = 0.0
        if n1 and n0 and here.sum() > 4:
            u = rankdata(X[here, f])[y[here] == 1].sum() - n1 * (n1 + 1) / 2
            ranked = abs(u / (n1 * n0) - 0.5) * here.mean()
        found[f] = max(ranked, abs(here[y == 1].mean() - here[y == 0].mean()) / 2)
    return found


def pilots(task: ModelTask, bill: float) -> dict[str, float]:
    """Average precision of the nine ways, each within the bill, by "share/others"."""
    X, y = task.X, task.y
    S, N = X.shape
    fit = logistic if X.dtype == np.uint8 else boosted
    rare = int(y.mean() <= 0.5)
    few, many = np.flatnonzero(y == rare), np.flatnonzero(y != rare)
    found = {}
    for share in _SHARES:
        half = int(share * bill * S / 2)
        if half < 2:
            continue
        pilot = np.concatenate([few[:half], many[:half]])
        best = np.argsort(-usefulness(X[pilot], y[pilot]))
        for others in _OTHERS:
            rows = np.union1d(np.concatenate([few, many[: int(others * len(few))]]), pilot)
            k = min(N, int((bill * S * N - len(pilot) * N) / max(1, len(rows) - len(pilot))))
            if k >= 1:
                model = fit(X[np.ix_(rows, best[:k])], y[rows])
                p = _probability(model, task.X_test[:, best[:k]])
                found[f"{share}/{others}"] = float(average_precision_score(task.y_test, p))
    return found


def whole_rows(task: ModelTask, bill: float) -> dict[str, float]:
    """Average precision of whole rows for the bill, as they come or half of them rare.

    With the model that is best on every cell as a rule, and with a forest, which needs fewer rows.
    """
    X, y = task.X, task.y
    fits = {"": logistic if X.dtype == np.uint8 else boosted, ", extra trees": extra_trees}
    rare = int(y.mean() <= 0.5)
    few, many = np.flatnonzero(y == rare), np.flatnonzero(y != rare)
    n = int(bill * len(y))
    half = min(len(few), n // 2)
    balanced = np.concatenate([few[:half], many[: n - half]])
    found = {}
    for how, rows in (("rows as they come", np.arange(n)), ("rows balanced", balanced)):
        if min(y[rows].sum(), len(rows) - y[rows].sum()) >= 2:
            for name, fit in fits.items():
                p = _probability(fit(X[rows], y[rows]), task.X_test)
                found[how + name] = float(average_precision_score(task.y_test, p))
    return found
