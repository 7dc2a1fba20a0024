"""What users hold: any fitted estimator over all N features that reads only those it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from thrifty.cells import Cells, as_source
from thrifty.lazy import Asked
from thrifty.models.at_the_door import ask_model
from thrifty.models.fitting import fit
from thrifty.models.learning import learn_table
from thrifty.models.memory import Memory
from thrifty.models.table import Table, table_from_dict
from thrifty.trees.labels import read_classes

__all__ = ["ModelClassifier"]


class ModelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that was fitted on the few cells it needs.

    Lifetimes hand out fitted ones.

    Parameters
    ----------
    estimator : any scikit-learn classifier that takes ``sample_weight``; None: Thrifty's own
    random_state : seed of what is drawn

    Attributes
    ----------
    features_ : indices of the features that it needs, most useful first
    estimator_ : what was fitted, on those features
    table_ : the cells it was fitted on, a :class:`thrifty.models.Table`
    classes_, n_features_in_ : as everywhere in scikit-learn
    """

    def __init__(self, estimator: Any = None, random_state: int | None = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the cells that the default rule buys of X."""
        source = as_source(X, allow_missing=True)
        labels = read_classes(y)
        seed = self.random_state or 0
        learned = learn_table(Cells(source), labels, Memory(), self.estimator, seed)
        return self._set(
            learned.bought.table, learned.fitted, labels.classes, source.feature_names
        )

    @classmethod
    def around(
        cls,
        table: Table,
        fitted: Any,
        classes: NDArray[Any],
        feature_names: Sequence[str],
        estimator: Any = None,
    ) -> Self:
        """A fitted classifier around an estimator that knows class codes."""
        return cls(estimator)._set(table, fitted, classes, feature_names)

    def _set(
        self, table: Table, fitted: Any, classes: NDArray[Any], feature_names: Sequence[str]
    ) -> Self:
        self.table_, self.estimator_ = table, fitted
        self.features_ = table.features
        self.classes_ = classes
        self.n_features_in_ = len(feature_names)
        self.feature_names_ = tuple(feature_names)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, a column per class; X holds all features, only ``features_`` are read."""
        check_is_fitted(self, "estimator_")
        X = validate_data(
            self, X, reset=False, dtype="numeric", ensure_all_finite=False, skip_check_array=False
        )
        return self.probabilities(np.asarray(X[:, self.features_], dtype=np.float64))

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities from the values of ``features_`` alone, NaN for gaps."""
        found = np.zeros((len(values), len(self.classes_)))
        found[:, np.asarray(self.estimator_.classes_, dtype=np.int64)] = (
            self.estimator_.predict_proba(values)
        )
        return found

    def ask(
        self, cells: Cells, rows: NDArray[np.int64], *, stop: Any = None,
        spend: float | None = None, per_row: float | None = None,
    ) -> Asked:  # fmt: skip
        """Answer rows through a door; with a rule or a limit in order, until each is decided."""
        return ask_model(self, cells, rows, stop=stop, spend=spend, per_row=per_row)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of every row."""
        chosen: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: the bought table, from which the estimator is fitted again."""
        return {
            "table": self.table_.to_dict(),
            "classes": self.classes_.tolist(),
            "feature_names": list(self.feature_names_),
            "estimator": None if self.estimator is None else repr(self.estimator),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], estimator: Any = None, seed: int = 0) -> Self:
        """The inverse of :meth:`to_dict`; a user's estimator has to be brought again."""
        table = table_from_dict(data["table"])
        fitted = fit(table, estimator, seed=seed)
        classes = np.array(data["classes"])
        return cls.around(table, fitted, classes, data["feature_names"], estimator)
