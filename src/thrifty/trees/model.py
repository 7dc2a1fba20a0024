"""A learned tree as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.cells import Cells, Source, as_source
from thrifty.errors import FeaturesChanged
from thrifty.trees.flat import FlatTree, flatten
from thrifty.trees.gain import Gain, gain_named
from thrifty.trees.labels import Labels, read_classes
from thrifty.trees.scratch import grow_from_scratch
from thrifty.trees.tree import Tree, features_of, relabel, tree_from_dict, tree_text

__all__ = ["ThriftyTreeClassifier"]


class ThriftyTreeClassifier(ClassifierMixin, BaseEstimator):
    """A decision tree over Boolean features.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` learns from scratch.

    Parameters
    ----------
    max_depth : None grows until the leaves are pure
    gain : "entropy", "gini", or a function (counts, totals, prices) -> gains

    Attributes
    ----------
    tree_ : the tree, its leaves labelled with the classes
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> model = ThriftyTreeClassifier().fit(X, [0, 1, 1, 0])
    >>> model.predict(X).tolist()
    [0, 1, 1, 0]
    """

    def __init__(self, max_depth: int | None = None, gain: str | Gain = "entropy") -> None:
        self.max_depth = max_depth
        self.gain = gain

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from scratch on every cell of X."""
        cells = Cells(X)
        labels = read_classes(y)
        tree = grow_from_scratch(
            cells.everything(), labels, self._learning_gain(), cells.prices,
            max_depth=self.max_depth,
        )  # fmt: skip
        return self._set(tree, labels, cells.feature_names)

    def _learning_gain(self) -> Gain:
        return gain_named(self.gain)

    @classmethod
    def around(
        cls, tree: Tree, labels: Labels, feature_names: Sequence[str]
    ) -> Self:
        """A fitted classifier around a tree whose leaves carry class codes."""
        return cls()._set(tree, labels, feature_names)

    def _set(
        self, tree: Tree, labels: Labels, feature_names: Sequence[str]
    ) -> Self:
        self.tree_ = relabel(tree, labels.value)
        self.classes_ = labels.classes
        self.n_features_in_ = len(feature_names)
        self.feature_names_in_ = np.array(feature_names, dtype=object)
        self._flat = flatten(tree, labels.n_classes)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each example."""
        leaves = self._leaves(X)
        return np.asarray(self.classes_[self._flat.label[leaves]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The share of each class among the training rows of each example's leaf."""
        leaves = self._leaves(X)
        return self._flat.share[leaves]

    def _leaves(self, X: Any) -> NDArray[np.int64]:
        check_is_fitted(self, "tree_")
        source = as_source(X)
        if source.n_features != self.n_features_in_:
            raise FeaturesChanged(
                f"X has {source.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return _route(source, self._flat, sorted(features_of(self.tree_)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        check_is_fitted(self, "tree_")
        return {
            "tree": self.tree_.to_dict(),
            "classes": self.classes_.tolist(),
            "feature_names": self.feature_names_in_.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`."""
        classes = np.array(data["classes"])
        codes = {value: code for code, value in enumerate(data["classes"])}
        tree = relabel(tree_from_dict(data["tree"]), codes.__getitem__)
        labels = Labels(np.zeros(0, dtype=np.int64), classes)
        return cls.around(tree, labels, data["feature_names"])

    def __str__(self) -> str:
        if not hasattr(self, "tree_"):
            return repr(self)
        return tree_text(self.tree_, lambda i: str(self.feature_names_in_[i]))


def _route(source: Source, flat: FlatTree, features: list[int]) -> NDArray[np.int64]:
    """The leaf of every example, level by level."""
    at = np.zeros(source.n_examples, dtype=np.int64)
    if not features:
        return at
    rows = np.arange(source.n_examples)
    values = source.read(rows, np.array(features, dtype=np.int64))
    column = np.full(source.n_features, -1, dtype=np.int64)
    column[features] = np.arange(len(features))
    while True:
        moving = np.flatnonzero(flat.feature[at] >= 0)
        if not len(moving):
            return at
        nodes = at[moving]
        asked = values[moving, column[flat.feature[nodes]]]
        at[moving] = flat.child[nodes, (asked >= flat.threshold[nodes]).astype(np.int64)]
