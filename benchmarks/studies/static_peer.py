"""The simplest peer of predictions that ask: one order for all rows, two models for each length.

Forward selection by cross-validated small boostings among the features that a first boosting
uses most; then LightGBM and extra trees on the first 1, 2, 3, 4, 6, ... features, the mean of their
probabilities, tempered by one power that held-out rows choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold

from thrifty.typing import Floats, Ints

if TYPE_CHECKING:  # imported where it is used: a bare system has no OpenMP library for it
    import lightgbm as lgb

__all__ = ["StaticPeer", "row_losses"]

LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16)
#: features that are tried at the first steps, at later ones, and steps that are tried at all
TRIED, TRIED_LATER, STEPS = 30, 20, 8
POWERS = np.linspace(0.4, 2.5, 43)


class StaticPeer:
    """Fitted on whole rows; ``at(X, k)`` answers from the first k features of its order."""

    def __init__(self, X: Floats, y: Ints, seed: int = 0) -> None:
        X, self.classes = np.asarray(X, dtype=float), int(y.max()) + 1
        self.order = self._selected(X, y, seed)
        self.lengths = sorted({min(k, len(self.order)) for k in LENGTHS})
        self.models, self.powers = {}, {}
        for k in self.lengths:
            Z, held_out = X[:, self.order[:k]], np.zeros((len(y), self.classes))
            for rest, out in StratifiedKFold(3, shuffle=True, random_state=seed + 1).split(Z, y):
                held_out[out] = _said(_both(Z[rest], y[rest], seed), Z[out])
            losses = [row_losses(_tempered(held_out, power), y).mean() for power in POWERS]
            self.models[k], self.powers[k] = _both(Z, y, seed), POWERS[int(np.argmin(losses))]

    def at(self, X: Floats, k: int) -> Floats:
        k = max(length for length in self.lengths if length <= max(k, self.lengths[0]))
        said = _said(self.models[k], np.asarray(X, dtype=float)[:, self.order[:k]])
        return _tempered(said, self.powers[k])

    def _selected(self, X: Floats, y: Ints, seed: int) -> list[int]:
        uses = _boosted(X, y, seed).booster_.feature_importance("gain")
        waiting: list[int] = np.argsort(-uses)[:TRIED].tolist()
        order: list[int] = []
        some = np.random.default_rng(seed).permutation(len(y))[:1500]
        folds = StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y)
        parts = [(np.intersect1d(rest, some), np.intersect1d(out, some)) for rest, out in folds]
        while waiting and len(order) < LENGTHS[-1]:
            if len(order) < STEPS:
                tried = waiting[: TRIED if len(order) < 4 else TRIED_LATER]
                losses = [self._loss(X[:, np.array([*order, j])], y, parts) for j in tried]
                waiting = [tried[i] for i in np.argsort(losses)] + waiting[len(tried) :]
            order.append(waiting.pop(0))
        return order

    def _loss(self, Z: Floats, y: Ints, parts: list[tuple[Ints, Ints]]) -> float:
        import lightgbm as lgb

        many = {"objective": "multiclass", "num_class": self.classes}
        told = {
            "num_leaves": 6, "learning_rate": 0.25, "min_data_in_leaf": 5, "num_threads": 1,
            "feature_pre_filter": False, "verbose": -1,
            **(many if self.classes > 2 else {"objective": "binary"}),
        }  # fmt: skip
        total = 0.0
        for rest, out in parts:
            data = lgb.Dataset(Z[rest], y[rest], params={"verbose": -1, "max_bin": 32})
            p = np.asarray(lgb.train(told, data, 15).predict(Z[out]))
            total += row_losses(p if p.ndim == 2 else np.column_stack([1 - p, p]), y[out]).sum()
        return total


def _boosted(X: Floats, y: Ints, seed: int) -> lgb.LGBMClassifier:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=80, num_leaves=15, learning_rate=0.06, subsample=0.8, subsample_freq=1,
        colsample_bytree=0.8, min_child_samples=min(20, max(3, len(y) // 50)), verbose=-1, n_jobs=1,
        random_state=seed,
    ).fit(X, y)  # fmt: skip


def _both(X: Floats, y: Ints, seed: int) -> list[Any]:
    forest = ExtraTreesClassifier(
        150,
        min_samples_leaf=3,
        max_features=0.5 if X.shape[1] < 10 else "sqrt",
        n_jobs=1,
        random_state=seed,
    )
    return [_boosted(X, y, seed), forest.fit(X, y)]


def _said(models: list[Any], X: Floats) -> Floats:
    said = np.mean([model.predict_proba(X) for model in models], axis=0)
    return np.asarray(np.clip(said, 1e-5, 1))


def _tempered(p: Floats, power: float) -> Floats:
    raised = np.clip(p, 1e-6, 1) ** power
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def row_losses(p: Floats, y: Ints) -> Floats:
    """The log loss of each row.

    >>> row_losses(np.array([[0.5, 0.5]]), np.array([1])).round(3).tolist()
    [0.693]
    """
    return -np.log(np.clip(p[np.arange(len(y)), y], 1e-5, 1))
