"""Reading Thrifty's own trees and lists."""

from __future__ import annotations

import copy

from sklearn.utils.validation import check_is_fitted

from thrifty.trees.model import TreeClassifier
from thrifty.wrapped.reading import Readable, unknown_model

__all__ = ["read"]


def read(model: object) -> Readable:
    """The one tree of a learned model."""
    if not isinstance(model, TreeClassifier):
        raise unknown_model(model)
    check_is_fitted(model, "tree_")
    names = getattr(model, "feature_names_in_", None)
    twin = copy.copy(model)
    twin._told_names = False  # it is given plain tables, in the model's order
    return Readable(
        forest=model._flat.forest(),
        n_features=model.n_features_in_,
        feature_names=None if names is None or not model._told_names else tuple(map(str, names)),
        predict=twin.predict,
        predict_proba=twin.predict_proba,
        classes=model.classes_,
    )
