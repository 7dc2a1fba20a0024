"""Reading LightGBM's trees from its own description of the model.

A value at most the threshold goes left. What counts as missing is a property of the node: NaN,
zero (where ``zero_as_missing``), or nothing, and then NaN is taken for 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.lazy.forest import Forest, join
from thrifty.typing import AnyArray, Fields
from thrifty.wrapped.reading import Predict, Readable, unknown_model

if TYPE_CHECKING:
    import lightgbm

__all__ = ["read"]


def read(model: Any) -> Readable:
    """The trees that prediction uses: up to the best iteration, where one was kept."""
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "dump_model"):
        raise unknown_model(model)
    described = booster.dump_model(num_iteration=booster.best_iteration)
    trees = [_tree(tree["tree_structure"], model) for tree in described["tree_info"]]
    if not trees:
        raise unknown_model(model, "it has no trees")
    names = tuple(described["feature_names"])
    plain = names == tuple(f"Column_{i}" for i in range(len(names)))
    wrapper = booster is not model
    return Readable(
        forest=join(trees),
        n_features=len(names),
        feature_names=None if plain else names,
        # The wrapper predicts labels; a bare booster has no classes and predicts scores.
        predict=_on_arrays(model) if wrapper else booster.predict,
        predict_proba=getattr(model, "predict_proba", None) if wrapper else None,
        classes=getattr(model, "classes_", None) if wrapper else None,
    )


def _on_arrays(model: lightgbm.LGBMModel) -> Predict:
    def predict(table: AnyArray) -> AnyArray:
        return np.asarray(model.predict(table, validate_features=False))

    return predict


def _tree(structure: Fields, model: object) -> Forest:
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
            raise unknown_model(model, "categorical splits are not read; encode them as numbers")
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
