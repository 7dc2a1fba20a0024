"""What users hold: any fitted estimator over all N features that reads only those it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.cells import Cells, as_source
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.matched import open_cells
from thrifty.cells.matching import match_features
from thrifty.errors import BadInput
from thrifty.lazy import Asked
from thrifty.models.as_card import model_card
from thrifty.models.at_the_door import ask_model
from thrifty.models.card import Card
from thrifty.models.estimators import check_estimator, in_words
from thrifty.models.fitting import NotBrought, fit, fitted_from_dict, fitted_to_dict
from thrifty.models.learning import learn_table
from thrifty.models.measured import Quality
from thrifty.models.memory import Memory
from thrifty.models.printed import in_plain_words
from thrifty.models.table import Table, table_from_dict
from thrifty.trees.labels import read_classes

__all__ = ["ModelClassifier"]


class ModelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that was fitted on the few cells it needs.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` reads only the cells it chooses.

    Parameters
    ----------
    estimator : any scikit-learn classifier that takes ``sample_weight``; None: Thrifty's own
    spend : how many cells ``fit`` may read, as a number or a share such as "5 %"; None: the default
        rule of :class:`thrifty.Models`
    random_state : seed of what is drawn

    Attributes
    ----------
    features_ : indices of the features that it needs, most useful first
    estimator_ : what was fitted, on those features
    table_ : the cells it was fitted on, a :class:`thrifty.models.Table`
    card_ : its scorecard, where it is one or has one in its mixture
    quality_ : cross-validated, with an interval; None where it was not measured
    classes_, n_features_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 100)) < 0.2
    >>> model = ModelClassifier(spend="20 %").fit(X, X[:, 3] | X[:, 7])
    >>> sorted(model.features_[:2].tolist())
    [3, 7]
    """

    def __init__(
        self, estimator: Any = None, spend: Any = None, random_state: int | None = None
    ) -> None:
        self.estimator = estimator
        self.spend = spend
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the cells of X that ``spend`` buys, or the default rule."""
        check_estimator(self.estimator)
        source = as_source(X, allow_missing=True, categories=True)
        labels = read_classes(y)
        if len(labels) != source.n_examples:
            raise BadInput(
                f"y must hold one label per example; X has {source.n_examples} examples and y has "
                f"{len(labels)} labels (inconsistent numbers of samples)."
            )
        seed = self.random_state or 0
        everything = float(source.n_examples * source.n_features)
        spend = read_spend(self.spend, "", lambda: everything)
        cells = Cells(source, spend=spend)
        learned = learn_table(cells, labels, Memory(), self.estimator, seed)
        return self._set(
            learned.bought.table, learned.fitted, labels.classes, source.feature_names,
            learned.words,
        )  # fmt: skip

    @classmethod
    def around(
        cls,
        table: Table,
        fitted: Any,
        classes: NDArray[Any],
        feature_names: Sequence[str],
        estimator: Any = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Self:
        """A fitted classifier around an estimator that knows class codes."""
        return cls(estimator)._set(table, fitted, classes, feature_names, words or {})

    def _set(
        self,
        table: Table,
        fitted: Any,
        classes: NDArray[Any],
        feature_names: Sequence[str],
        words: Mapping[str, tuple[str, ...]],
    ) -> Self:
        self.table_, self.estimator_ = table, fitted
        self.features_ = table.features
        self.classes_ = classes
        self.n_features_in_ = len(feature_names)
        self.feature_names_ = tuple(feature_names)
        #: what the numbers of category features stand for
        self.words_ = dict(words)
        self._words = in_words(self.estimator)
        return self

    @property
    def card_(self) -> Card:
        """The scorecard, where the model is one or has one as a part; with the user's names."""
        names = [self.feature_names_[f] for f in self.features_.tolist()]
        card = model_card(self.estimator_, names, self.words_, self.classes_.tolist())
        if card is None:
            raise AttributeError(f"{type(self.estimator_).__name__} has no scorecard in it.")
        return card

    @property
    def quality_(self) -> Quality | None:
        """Cross-validated quality with an interval; None where it was not measured."""
        found: Quality | None = getattr(self.estimator_, "quality", None)
        return found

    def __str__(self) -> str:
        return repr(self) if not hasattr(self, "features_") else in_plain_words(self)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, a column per class; X holds all features, only ``features_`` are read."""
        check_is_fitted(self, "estimator_")
        source = as_source(X, allow_missing=True, categories=True).recoded(self.words_)
        match = match_features(
            self.feature_names_, source, needed=self.features_.tolist(), whose="the model"
        )
        cells = open_cells(source, match=match)
        values = cells.get(np.arange(cells.n_examples), self.features_)
        return self.probabilities(np.asarray(values, dtype=np.float64))

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
        """Plain data, for JSON: the bought table, and the model where it is our own."""
        return {
            "table": self.table_.to_dict(),
            "fitted": fitted_to_dict(self.estimator_),
            "classes": self.classes_.tolist(),
            "words": {name: list(said) for name, said in self.words_.items()},
            "feature_names": list(self.feature_names_),
            "estimator": self._words,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], estimator: Any = None, seed: int = 0) -> Self:
        """The inverse of :meth:`to_dict`; a user's estimator has to be brought again."""
        table = table_from_dict(data["table"])
        words = data["estimator"]
        if data["fitted"] is not None:
            fitted = fitted_from_dict(data["fitted"])
        elif words is None or in_words(estimator) == words:
            fitted = fit(table, estimator, seed=seed)
        else:
            fitted = NotBrought(words)
        brought = None if isinstance(fitted, NotBrought) or words is None else estimator
        made = cls.around(
            table, fitted, np.array(data["classes"]), data["feature_names"], brought,
            {name: tuple(said) for name, said in data.get("words", {}).items()},
        )  # fmt: skip
        made._words = words
        return made
