"""What users hold of a task of classes: any classifier, fitted on the few cells it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.html import pre_html
from thrifty.labels import read_classes
from thrifty.models.estimators.base import SHOWN, OnCells, shown_names
from thrifty.models.fits.quality import Quality, quality_left_out, said_left_out, says
from thrifty.models.scorecard import Scorecard
from thrifty.typing import AnyArray, EstimatorLike, Json, JsonLike, TableLike


class ModelClassifier(ClassifierMixin, OnCells[Quality]):
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
    card_ : Scorecard
        its scorecard, where it is one or has one in its mixture
    quality_ : Quality or None
        cross-validated, with an interval; None where it was not measured
    positive_ : int or None
        of two classes the code of the one of interest: quality and scorecard are of it
    classes_, n_features_in_ : array and int
        as everywhere in scikit-learn

    Raises
    ------
    thrifty.errors.BadInput
        in ``fit``: labels of one class alone, or X that is no table

    See Also
    --------
    thrifty.Models : the family that learns it
    thrifty.ModelRegressor : for numbers
    thrifty.serving : the model as JSON

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 100)) < 0.2
    >>> model = ModelClassifier(spend="20 %").fit(X, X[:, 3] | X[:, 7])
    >>> sorted(model.features_[:2].tolist())
    [3, 7]
    """

    _reads, _of_numbers = staticmethod(read_classes), False

    @property
    def card_(self) -> Scorecard:
        """The scorecard, where the model is one or has one as a part; with the user's names."""
        check_is_fitted(self, "estimator_")
        classes = self.classes_.tolist()
        card = self.estimator_.scorecard(self._names, self.words_, classes)
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
                self._measured.append(quality_left_out(self.table_, self._fit_table, self._seed))
            found = self._measured[0]
        return None if found is None else found.of(self.positive_)

    def held_out_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Of two classes: probabilities of the second on held-out rows of the fit, by class.

        Three fits on what was bought; None where a class has too few rows.
        """
        codes = self.table_.labels.astype(np.int64)
        if len(self.classes_) != 2 or len(np.unique(codes)) != 2:
            return None
        said = said_left_out(self.table_, self._fit_table, self._seed)
        judged = self.table_.judged & self.table_.chose_nothing
        if said is None or len(np.unique(codes[judged])) != 2:
            return None
        return said[judged & (codes == 0), 1], said[judged & (codes == 1), 1]

    def __str__(self) -> str:
        return self._in_words(card=True) if hasattr(self, "features_") else repr(self)

    def _in_words(self, *, card: bool) -> str:
        """What it is made of and how good it is, with its card or without."""
        classes, names = self.classes_.tolist(), self._names
        head = f"a model of {', '.join(map(str, classes))} on {len(names)} of "
        head += f"{self.n_features_in_} features. {self.estimator_.summary()}\n"
        head += quality_words(self.quality_, classes)
        points = getattr(self, "card_", None)
        if points is None:
            return f"{head}\n{shown_names(names)}"
        lines = str(points).split("\n") if card else []
        if len(lines) > 2 * SHOWN:
            rest = len(lines) - 2 * SHOWN - 1
            lines = [*lines[: 2 * SHOWN], f"and {rest:,} more lines: model.card_", lines[-1]]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        """For notebooks: what it is and its card, in place of scikit-learn's diagram."""
        if not hasattr(self, "features_") or not hasattr(self, "card_"):
            return pre_html(str(self))
        return pre_html(self._in_words(card=False)) + self.card_._repr_html_()

    def _repr_mimebundle_(self, **given: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """Probabilities, a column per class; X holds all features, only ``features_`` are read."""
        return self.probabilities(self._values(X))

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities from the values of ``features_`` alone, NaN for gaps."""
        return says(self.estimator_, values, len(self.classes_))

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


def quality_words(quality: Quality | None, classes: Sequence[object] | Mapping[int, object]) -> str:
    """What was measured, in a sentence.

    >>> quality_words(None, [0, 1])
    'Quality was not measured.'
    """
    if quality is None:
        return "Quality was not measured."
    of = "mean over the classes" if quality.positive is None else f"of {classes[quality.positive]}"
    nothing = " These rows show nothing beyond guessing; intervals then hold in 85 %."
    return (
        f"On {quality.rows:,} held-out rows (cross-validated, weighted as they were "
        f"bought): average precision {quality.average_precision} {of}, where guessing has "
        f"{quality.guessing:.2f}; AUC {quality.auc}; 95 % intervals."
        f"{'' if quality.beyond_guessing else nothing}"
    )
