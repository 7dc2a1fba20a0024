"""Reading XGBoost's trees from the JSON form of the model.

A value, rounded to float32, below the threshold goes left; NaN goes the way the node learned.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.lazy.forest import Forest, join
from thrifty.typing import AnyArray, JsonLike
from thrifty.wrapped.reading import Predict, Readable, unknown_model

if TYPE_CHECKING:
    import xgboost

__all__ = ["read"]


def read(model: Any) -> Readable:
    """The trees that prediction uses: up to the best iteration, where one was kept."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        raise unknown_model(model)
    learner = json.loads(booster.save_raw("json"))["learner"]
    gradient = learner["gradient_booster"]
    if gradient["name"] == "gblinear":
        raise unknown_model(model, "a linear booster asks for every feature")
    forest = gradient.get("gbtree", gradient)["model"]  # dart wraps a gbtree
    trees = forest["trees"][: _used(model, booster, forest)]
    if not trees:
        raise unknown_model(model, "it has no trees")
    names = booster.feature_names
    bare = booster is model
    return Readable(
        forest=join([_tree(tree, model) for tree in trees]),
        n_features=int(booster.num_features()),
        feature_names=None if names is None else tuple(names),
        predict=_booster_predicts(booster) if bare else _estimator_predicts(model.predict),
        predict_proba=None
        if bare or not hasattr(model, "predict_proba")
        else _estimator_predicts(model.predict_proba),
        classes=None if bare else getattr(model, "classes_", None),
    )


def _used(model: object, booster: object, forest: JsonLike) -> int | None:
    """How many trees the model's own predict adds up; None for all of them."""
    if booster is model:
        return None
    best = getattr(model, "best_iteration", None) if _stopped_early(model) else None
    if best is None:
        return None
    return int(forest["iteration_indptr"][best + 1])


def _stopped_early(model: object) -> bool:
    return getattr(model, "early_stopping_rounds", None) is not None


def _estimator_predicts(predict: Callable[..., AnyArray]) -> Predict:
    def on_arrays(table: AnyArray) -> AnyArray:
        return predict(table, validate_features=False)

    return on_arrays


def _booster_predicts(booster: xgboost.Booster) -> Predict:
    def on_arrays(table: AnyArray) -> AnyArray:
        import xgboost

        return np.asarray(booster.predict(xgboost.DMatrix(table), validate_features=False))

    return on_arrays


def _tree(tree: JsonLike, model: object) -> Forest:
    first = np.array(tree["left_children"], dtype=np.int64)
    second = np.array(tree["right_children"], dtype=np.int64)
    leaf = first < 0
    if np.any(np.array(tree["split_type"])[~leaf] != 0):
        raise unknown_model(model, "categorical splits are not read; encode them as numbers")
    to_first = np.array(tree["default_left"], dtype=np.bool_)
    return Forest(
        feature=np.where(leaf, -1, np.array(tree["split_indices"], dtype=np.int64)),
        threshold=np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64),
        first=first,
        second=second,
        missing=np.where(to_first, first, second),
        roots=np.zeros(1, dtype=np.int64),
        strict=True,
        single=True,
    )
