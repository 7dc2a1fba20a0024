"""Reading fitted trees: Thrifty's, scikit-learn's, LightGBM's, XGBoost's.

scikit-learn: values are rounded to float32 before they are compared (not by HistGradientBoosting);
at most the threshold goes left.

LightGBM, from its own description of the model: a value at most the threshold goes left. What
counts as missing is a property of the node: NaN, zero (where ``zero_as_missing``), or nothing, and
then NaN is taken for 0.

XGBoost, from the JSON form of the model: a value, rounded to float32, below the threshold goes
left; NaN goes the way the node learned.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import ensemble
from sklearn.base import BaseEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from thrifty.lazy import Forest, join
from thrifty.trees.model import TreeClassifier
from thrifty.typing import AnyArray, Fields, JsonLike
from thrifty.wrapped import Predict, Readable, unknown_model

if TYPE_CHECKING:
    import xgboost

_CATEGORIES = "categorical splits are not read; encode them as numbers"
_FORESTS = (
    ensemble.RandomForestClassifier,
    ensemble.RandomForestRegressor,
    ensemble.ExtraTreesClassifier,
    ensemble.ExtraTreesRegressor,
)
_BOOSTED = (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)
_HISTOGRAMS = (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)


def read_thrifty(model: object) -> Readable:
    """The one tree of a learned model."""
    if not isinstance(model, TreeClassifier) or (hasattr(model, "bits_") and model.bits_):
        raise unknown_model(model)
    check_is_fitted(model, "tree_")
    names = getattr(model, "feature_names_in_", None)
    twin = copy.copy(model)
    twin._told_names = False  # it is given plain tables, in the model's order
    return Readable(
        forest=model._flat.forest,
        n_features=model.n_features_in_,
        feature_names=None if names is None or not model._told_names else tuple(map(str, names)),
        predict=twin.predict,
        predict_proba=twin.predict_proba,
        classes=model.classes_,
    )


def read_sklearn(model: object) -> Readable:
    """The trees of a fitted scikit-learn model."""
    if not isinstance(model, (BaseDecisionTree, *_FORESTS, *_BOOSTED, *_HISTOGRAMS)):
        raise unknown_model(model)
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    several = isinstance(classes, list)  # several outputs at once: no shares of one label
    return Readable(
        forest=_sklearn_forest(model, shares=classes is not None and not several),
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else tuple(map(str, names)),
        predict=_without_names(model.predict),
        predict_proba=_without_names(model.predict_proba) if classes is not None else None,
        classes=None if several else classes,
    )


def _sklearn_forest(model: BaseEstimator, *, shares: bool) -> Forest:
    if isinstance(model, BaseDecisionTree):
        return _sklearn_tree(model.tree_, shares)
    if isinstance(model, _FORESTS):
        return join([_sklearn_tree(one.tree_, shares) for one in model.estimators_])
    if isinstance(model, _BOOSTED):
        if type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor", "str"):
            raise unknown_model(model, "its init estimator may ask for any feature")
        return join([_sklearn_tree(one.tree_, False) for one in model.estimators_.ravel()])
    if getattr(model, "is_categorical_", None) is not None:
        raise unknown_model(model, _CATEGORIES)
    return join([_histogram_tree(one.nodes) for stage in model._predictors for one in stage])


def _sklearn_tree(tree: Tree, shares: bool) -> Forest:
    feature = np.asarray(tree.feature, dtype=np.int64)
    leaf = np.asarray(tree.children_left) < 0
    first = np.asarray(tree.children_left, dtype=np.int64)
    second = np.asarray(tree.children_right, dtype=np.int64)
    to_left = np.asarray(tree.missing_go_to_left, dtype=np.bool_)
    share = None
    if shares:
        value = np.asarray(tree.value)[:, 0, :]
        share = value / value.sum(axis=1, keepdims=True)
    return Forest(
        feature=np.where(leaf, -1, feature),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        first=first,
        second=second,
        missing=np.where(to_left, first, second),
        roots=np.zeros(1, dtype=np.int64),
        single=True,
        share=share,
    )


def _histogram_tree(nodes: AnyArray) -> Forest:
    leaf = nodes["is_leaf"].astype(np.bool_)
    first, second = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    return Forest(
        feature=np.where(leaf, -1, nodes["feature_idx"].astype(np.int64)),
        threshold=nodes["num_threshold"].astype(np.float64),
        first=first,
        second=second,
        missing=np.where(nodes["missing_go_to_left"].astype(np.bool_), first, second),
        roots=np.zeros(1, dtype=np.int64),
    )


def _without_names(predict: Predict) -> Predict:
    """The table is in the model's order already; that it carries no names needs no warning."""

    def quietly(table: AnyArray) -> AnyArray:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return predict(table)

    return quietly


def read_lightgbm(model: Any) -> Readable:
    """The trees that prediction uses: up to the best iteration, where one was kept."""
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "dump_model"):
        raise unknown_model(model)
    described = booster.dump_model(num_iteration=booster.best_iteration)
    trees = [_lightgbm_tree(tree["tree_structure"], model) for tree in described["tree_info"]]
    if not trees:
        raise unknown_model(model, "it has no trees")
    names = tuple(described["feature_names"])
    plain = names == tuple(f"Column_{i}" for i in range(len(names)))
    probabilities = getattr(model, "predict_proba", None)
    return Readable(
        forest=join(trees),
        n_features=len(names),
        feature_names=None if plain else names,
        # The wrapper predicts labels; a bare booster has no classes and predicts scores.
        predict=_without_names(model.predict),
        predict_proba=_without_names(probabilities) if probabilities is not None else None,
        classes=getattr(model, "classes_", None),
    )


def _lightgbm_tree(structure: Fields, model: object) -> Forest:
    nodes: list[Fields] = [structure]
    children: list[tuple[int, int]] = []
    for node in nodes:  # grows while it is read: parents first
        if "split_feature" in node:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left_child"], node["right_child"]]
        else:
            if "leaf_features" in node or "leaf_coeff" in node:
                raise unknown_model(model, "its leaves are linear models and ask for features")
            children.append((-1, -1))
    n = len(nodes)
    feature = np.full(n, -1, dtype=np.int64)
    threshold, default = np.zeros(n), np.zeros(n, dtype=np.int64)
    zero = np.zeros(n, dtype=np.bool_)
    for i, node in enumerate(nodes):
        if children[i][0] < 0:
            continue
        if node["decision_type"] != "<=":
            raise unknown_model(model, _CATEGORIES)
        feature[i], threshold[i] = node["split_feature"], node["threshold"]
        kind = node["missing_type"]
        zero[i] = kind == "Zero"
        to_left = node["default_left"] if kind in ("Zero", "NaN") else threshold[i] >= 0.0
        default[i] = children[i][0 if to_left else 1]
    pairs = np.array(children, dtype=np.int64).reshape(n, 2)
    return Forest(
        feature,
        threshold,
        pairs[:, 0],
        pairs[:, 1],
        default,
        np.zeros(1, dtype=np.int64),
        zero_is_missing=zero,
    )


def read_xgboost(model: Any) -> Readable:
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
        forest=join([_xgboost_tree(tree, model) for tree in trees]),
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


def _xgboost_tree(tree: JsonLike, model: object) -> Forest:
    first = np.array(tree["left_children"], dtype=np.int64)
    second = np.array(tree["right_children"], dtype=np.int64)
    leaf = first < 0
    if np.any(np.array(tree["split_type"])[~leaf] != 0):
        raise unknown_model(model, _CATEGORIES)
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
