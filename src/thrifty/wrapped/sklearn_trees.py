"""Reading scikit-learn's trees: single ones, forests, gradient boosting.

Values are rounded to float32 before they are compared (not by HistGradientBoosting); at most the
threshold goes left.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree
from sklearn.utils.validation import check_is_fitted

from thrifty.lazy.forest import Forest, join
from thrifty.typing import AnyArray
from thrifty.wrapped.reading import Predict, Readable, unknown_model

__all__ = ["read"]

_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
_BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
_HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def read(model: object) -> Readable:
    """The trees of a fitted scikit-learn model."""
    if not isinstance(model, (BaseDecisionTree, *_FORESTS, *_BOOSTED, *_HISTOGRAMS)):
        raise unknown_model(model)
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    several = isinstance(classes, list)  # several outputs at once: no shares of one label
    return Readable(
        forest=_forest(model, shares=classes is not None and not several),
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else tuple(map(str, names)),
        predict=_without_names(model.predict),
        predict_proba=_without_names(model.predict_proba) if classes is not None else None,
        classes=None if several else classes,
    )


def _forest(model: BaseEstimator, *, shares: bool) -> Forest:
    if isinstance(model, BaseDecisionTree):
        return _tree(model.tree_, shares)
    if isinstance(model, _FORESTS):
        return join([_tree(one.tree_, shares) for one in model.estimators_])
    if isinstance(model, _BOOSTED):
        if type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor", "str"):
            raise unknown_model(model, "its init estimator may ask for any feature")
        return join([_tree(one.tree_, False) for one in model.estimators_.ravel()])
    if getattr(model, "is_categorical_", None) is not None:
        raise unknown_model(model, "categorical splits are not read; encode them as numbers")
    return join([_histogram_tree(one.nodes) for stage in model._predictors for one in stage])


def _tree(tree: Tree, shares: bool) -> Forest:
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
