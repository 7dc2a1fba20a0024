"""Wrapped models on real data: identical predictions, and the cells they need."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from studies.data import DataSet, data_sets
from thrifty.typing import Json
from thrifty.wrapped import metered

__all__ = ["measure", "models"]


def models() -> Json:
    """A tree, a forest, and boosted trees of every library that is installed."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    made: Json = {
        "tree": DecisionTreeClassifier(criterion="entropy", random_state=0),
        "forest of 100": RandomForestClassifier(100, random_state=0, n_jobs=1),
    }
    try:
        import lightgbm

        made["LightGBM, 100 trees"] = lightgbm.LGBMClassifier(
            n_estimators=100, n_jobs=1, random_state=0, verbose=-1
        )
    except ImportError:
        pass
    try:
        import xgboost

        made["XGBoost, 100 trees"] = xgboost.XGBClassifier(
            n_estimators=100, n_jobs=1, random_state=0
        )
    except ImportError:
        pass
    return made


def measure(max_rows: int = 2_000) -> list[Json]:
    """A row per data set and model: fitted on half of the rows, metered on the other half."""
    return [
        _row(data, name, model) for data in data_sets(max_rows) for name, model in models().items()
    ]


def _row(data: DataSet, name: str, model: BaseEstimator) -> Json:
    order = np.random.default_rng(0).permutation(len(data.y))
    half = len(order) // 2
    train, test = order[:half], order[half:]
    model.fit(data.X[train], data.y[train])
    X = data.X[test]
    lazy = metered(model, X)
    same = np.array_equal(lazy.predict(), model.predict(X)) and np.array_equal(
        lazy.predict_proba(), model.predict_proba(X)
    )
    cells = lazy.cells_per_example()
    longest = model.get_depth() if name == "tree" else ""
    return {
        "data": data.name,
        "model": name,
        "features": data.X.shape[1],
        "identical": same,
        "cells per example": float(cells.mean()),
        "most": int(cells.max()),
        "longest path": longest,
        "share of cells": f"{100 * cells.mean() / data.X.shape[1]:.1f} %",
    }
