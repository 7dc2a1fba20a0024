"""What users hold of a task of classes: any classifier, fitted on the few cells it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.html import pre_html
from thrifty.labels.classes import class_of_interest, read_classes
from thrifty.labels.partly import PartlyLabelled
from thrifty.lazy import Asked
from thrifty.lazy.stopping import StoppingRule
from thrifty.models.asking.ask import Orders, ask_classes
from thrifty.models.card import Card
from thrifty.models.cascade import on_cascade
from thrifty.models.fits.estimators import check_estimator
from thrifty.models.fits.fitting import Fitted, fit_table
from thrifty.models.fits.folds import make_folds
from thrifty.models.fits.quality import Quality, quality_left_out
from thrifty.models.held.base import OnCells
from thrifty.models.held.importances import log_loss_of
from thrifty.models.held.text import in_plain_words
from thrifty.models.learning import learn_tasks
from thrifty.models.memory import Memory
from thrifty.models.table import Table
from thrifty.typing import AnyArray, EstimatorLike, Json, JsonLike, LabelsLike, TableLike

__all__ = ["ModelClassifier"]


class ModelClassifier(ClassifierMixin, OnCells[Orders, Quality]):
    """A classifier that was fitted on the few cells it needs.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` reads only the cells it chooses.

    Parameters
    ----------
    estimator : estimator
        any scikit-learn classifier; one that takes no ``sample_weight`` gets rows drawn by their
        weights; None: Thrifty's own
    spend : None, number or str
        how many cells ``fit`` may read, as a number or a share such as "5 %"; None: the default
        rule of :class:`thrifty.Models`
    random_state : int or None
        seed of what is drawn

    Attributes
    ----------
    features_ : array of int
        indices of the features that it needs, most useful first
    estimator_ : estimator
        what was fitted, on those features
    table_ : Table
        the cells it was fitted on, a :class:`thrifty.models.Table`
    card_ : Card
        its scorecard, where it is one or has one in its mixture
    quality_ : Quality or None
        cross-validated, with an interval; None where it was not measured
    positive_ : int or None
        of two classes the code of the one of interest: quality and scorecard are of it
    classes_, n_features_in_ : array and int
        as everywhere in scikit-learn

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 100)) < 0.2
    >>> model = ModelClassifier(spend="20 %").fit(X, X[:, 3] | X[:, 7])
    >>> sorted(model.features_[:2].tolist())
    [3, 7]
    """

    positive_: int | None = None

    def fit(
        self, X: TableLike, y: LabelsLike, sample_weight: object = None, groups: object = None
    ) -> Self:
        """Learn from the cells of X that ``spend`` buys, or the default rule.

        Parameters
        ----------
        X, y : array-like
            a table and its labels
        sample_weight : array-like or None
            how many rows each row counts for; nothing is bought on a row that weighs 0
        groups : array-like or None
            which group each row belongs to, a patient for instance: its rows are left out together
            whenever a model is judged
        """
        check_estimator(self.estimator)
        cells, source, labels = self._read(X, y, read_classes, sample_weight, groups)
        whole = PartlyLabelled(labels, np.arange(len(labels)), len(labels))
        seed = self.random_state or 0
        (learned,) = learn_tasks(cells, [whole], Memory(), self.estimator, seed)
        self.classes_, self.positive_ = labels.classes, class_of_interest(labels)
        return self._set(
            learned.table, learned.fitted, source.feature_names, learned.words, source.named
        )

    @classmethod
    def around(
        cls,
        table: Table,
        fitted: Fitted,
        classes: AnyArray,
        feature_names: Sequence[str],
        estimator: EstimatorLike | None = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
        positive: int | None = None,
    ) -> Self:
        """A fitted classifier around an estimator that knows class codes."""
        made = cls(estimator)
        made.classes_, made.positive_ = classes, positive
        return made._set(table, fitted, feature_names, words or {})

    def _of_classes(self, other: Self) -> None:
        self.classes_, self.positive_ = other.classes_, other.positive_

    @property
    def card_(self) -> Card:
        """The scorecard, where the model is one or has one as a part; with the user's names."""
        check_is_fitted(self, "estimator_")
        names = [self.feature_names_[f] for f in self.features_.tolist()]
        classes = self.classes_.tolist()
        card = self.estimator_.scorecard(names, self.words_, classes)
        if card is None:
            raise AttributeError(
                f"{type(self.estimator_).__name__} has no scorecard in it; learn with "
                "thrifty.Models(thrifty.estimators.ScorecardClassifier()) for one."
            )
        return card.of(classes[0], other=classes[1]) if self.positive_ == 0 else card

    @property
    def quality_(self) -> Quality | None:
        """Cross-validated quality with an interval; None where it was not measured.

        A user's own estimator is measured when this is first asked for.
        """
        found = self.estimator_.quality
        if not self.estimator_.measured and self.estimator is not None:
            if not self._measured:
                seed = self.random_state or 0
                fit_again = partial(fit_table, estimator=self.estimator, seed=seed)
                self._measured.append(quality_left_out(self.table_, fit_again, seed))
            found = self._measured[0]
        return None if found is None else found.of(self.positive_)

    def scores_left_out(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Of two classes: probabilities of the second on rows left out of the fit, by class.

        Three fits on what was bought; None where a class has too few rows.
        """
        table, seed = self.table_, self.random_state or 0
        codes = table.labels.astype(np.int64)
        if len(self.classes_) != 2 or len(np.unique(codes)) != 2:
            return None
        folds = make_folds(len(codes), 3, seed, codes, table.groups)
        if folds is None:
            return None
        scores = np.zeros(len(codes))
        for fold in range(3):
            out, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            fitted = fit_table(table.of_rows(rest), self.estimator, seed=seed)
            scores[out] = fitted.predict_proba(table.values[out])[:, 1]
        return scores[codes == 0], scores[codes == 1]

    def _losses(self, fitted: Fitted, values: Floats, y: AnyArray) -> Floats:
        """The logarithm of what was said of each row's class."""
        p = np.zeros((len(values), len(self.classes_)))
        p[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(values)
        return log_loss_of(p, y)

    def __str__(self) -> str:
        return repr(self) if not hasattr(self, "features_") else in_plain_words(self)

    def _repr_html_(self) -> str:
        """For notebooks: what it is and its card, in place of scikit-learn's diagram."""
        if not hasattr(self, "features_") or not hasattr(self, "card_"):
            return pre_html(str(self))
        head = in_plain_words(self, card=False)
        return pre_html(head) + self.card_._repr_html_()

    def _repr_mimebundle_(self, **given: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Probabilities, a column per class; X holds all features, only ``features_`` are read."""
        return self.probabilities(self._values(X))

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities from the values of ``features_`` alone, NaN for gaps."""
        found = np.zeros((len(values), len(self.classes_)))
        found[:, np.asarray(self.estimator_.classes_, dtype=np.int64)] = (
            self.estimator_.predict_proba(values)
        )
        return found

    def ask(
        self,
        cells: Cells,
        rows: NDArray[np.int64],
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows through a door; with a rule or a limit in order, until each is decided."""
        self.check_kinds(cells)
        cells = on_cascade(cells, self.steps_) if self.steps_ else cells
        return ask_classes(self, cells, rows, stop=stop, spend=spend, per_row=per_row)

    def predict(self, X: TableLike) -> AnyArray:
        """The most likely class of every row."""
        likely = self.predict_proba(X).argmax(axis=1)
        chosen: AnyArray = self.classes_[likely]
        return chosen

    def to_dict(self) -> Json:
        """Plain data, for JSON: the bought table, and the model where it is our own."""
        said = {} if self.positive_ is None else {"positive": self.positive_}
        return {**super().to_dict(), "classes": self.classes_.tolist(), **said}

    @classmethod
    def from_dict(
        cls, data: JsonLike, estimator: EstimatorLike | None = None, seed: int = 0
    ) -> Self:
        """The inverse of :meth:`to_dict`; a user's estimator has to be brought again."""
        made = super().from_dict(data, estimator, seed)
        made.classes_, made.positive_ = np.array(data["classes"]), data.get("positive")
        return made
