"""What users hold of a task: a model of classes or of numbers over all N features, which reads only
those it was given.

A feature's permutation importance is how much the loss rises on held-out rows when the values of
that feature are dealt to other rows (Breiman, 2001): the logarithmic loss of classes, the squared
error of numbers. A model that was fitted without a row judges it; rows of one group are left out
together. Nothing is bought: it is measured on the cells that the model was fitted on.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from thrifty.cells import Cells, Source, as_source
from thrifty.cells.features import match_features
from thrifty.cells.prices.money import read_spend
from thrifty.cells.sources.checks import default_names, refuse_masked
from thrifty.checks import whole_number
from thrifty.errors import BadInput
from thrifty.html import pre_html
from thrifty.labels import (
    Labels,
    class_of_interest,
    read_classes,
    read_groups,
    read_numbers,
    read_row_weights,
    with_rows,
)
from thrifty.lazy import Asked, Asks
from thrifty.models.asking.ask import Keeper, ask, enough_of
from thrifty.models.asking.certificate import CertifiedPrefixes
from thrifty.models.asking.ladder import Ladder
from thrifty.models.cascade import CascadeStep, on_cascade, step_to_dict, steps_from
from thrifty.models.fits.fitting import (
    Fitted,
    NotBrought,
    Prepared,
    check_estimator,
    fit_table,
    fitted_from_dict,
    in_one_thread,
    in_words,
)
from thrifty.models.fits.folds import FOLDS, make_folds
from thrifty.models.fits.quality import (
    NumberQuality,
    Quality,
    losses,
    numbers_left_out,
    quality_left_out,
    quality_words,
    said_left_out,
    says,
)
from thrifty.models.learning import learn_tasks
from thrifty.models.memory import Memory
from thrifty.models.scorecard import Scorecard
from thrifty.models.table import NamedColumns, Table, table_from_dict
from thrifty.stopping import StoppingRule
from thrifty.typing import (
    AnyArray,
    EstimatorLike,
    Floats,
    Ints,
    Json,
    JsonLike,
    LabelsLike,
    MoneyLike,
    TableLike,
)

#: a screen of features, which a model names when it is printed
SHOWN = 30

Q = TypeVar("Q")  # how its quality is told


class OnCells(BaseEstimator, Generic[Q]):
    """An estimator that was fitted on the few cells it needs; see its two kinds."""

    classes_: AnyArray
    #: of two classes the code of the one of interest: quality and scorecard are of it
    positive_: int | None = None
    #: how things with alternatives are asked: see :mod:`thrifty.models.cascade`
    steps_: tuple[CascadeStep, ...] = ()
    #: how labels are read
    _reads: ClassVar[Any]
    _of_numbers: ClassVar[bool]

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        spend: MoneyLike = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.spend = spend
        self.random_state = random_state

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
        check_estimator(self.estimator, numbers=self._of_numbers)
        cells, source, labels = self._read(X, y, sample_weight, groups)
        (one,) = learn_tasks(cells, [labels], Memory(), self.estimator, self._seed)
        if labels.numbers is None:
            self.classes_, self.positive_ = labels.classes, class_of_interest(labels)
        return self._set(one.table, one.fitted, source.feature_names, one.words, source.named)

    @property
    def _seed(self) -> int:
        return self.random_state or 0

    def _read(
        self, X: TableLike, y: LabelsLike, sample_weight: object, groups: object
    ) -> tuple[Cells, Source, Labels]:
        """For ``fit``: a reader to the rows of X that weigh something, and their labels."""
        if y is None:
            raise BadInput(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        source = as_source(X, allow_missing=True, categories=True)
        labels = type(self)._reads(_one_column(y))
        n = source.n_examples
        if n != len(labels):
            raise BadInput(
                f"y must hold one label per example; X has {n} examples and y has {len(labels)} "
                "labels (inconsistent numbers of samples)."
            )
        weights, together = read_row_weights(sample_weight, n), read_groups(groups, n)
        labels, rows = with_rows(labels, None, weights, together)
        if rows is not None:
            source = source.of_rows(rows)
        everything = float(source.n_examples * source.n_features)
        spend = read_spend(self.spend, "", lambda: everything)
        cells = Cells(source, spend=spend)
        cells.row_seed = self._seed
        return cells, source, labels

    def _set(
        self,
        table: Table,
        fitted: Fitted,
        feature_names: Sequence[str],
        words: Mapping[str, Sequence[str]],
        named: bool | None = None,
    ) -> Self:
        self.table_, self.estimator_ = table, fitted
        self.features_ = table.features
        self.n_features_in_ = len(feature_names)
        self.feature_names_ = tuple(feature_names)
        told = self.feature_names_ != default_names(self.n_features_in_)
        if told if named is None else named:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        #: what the numbers of category features stand for
        self.words_ = {name: tuple(said) for name, said in words.items()}
        self._words = None if self.estimator is None else in_words(self.estimator)
        self._ladders: dict[object, Ladder] = {}
        self._certificates: dict[object, CertifiedPrefixes] = {}
        self._enough: dict[object, Asks] = {}
        self._keeper: Keeper | None = None
        self._measured: list[Q | None] = []
        self._fewer: dict[frozenset[str], Self] = {}
        self._rises: dict[int, dict[str, tuple[float, float]]] = {}
        return self

    def around(
        self,
        table: Table,
        fitted: Fitted,
        names: Sequence[str] | None = None,
        words: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """The same around another table and what was fitted on it: classes, cascade, parameters."""
        made = type(self)(self.estimator, self.spend, self.random_state)
        if hasattr(self, "classes_"):
            made.classes_, made.positive_ = self.classes_, self.positive_
        made.steps_ = self.steps_
        names = self.feature_names_ if names is None else names
        return made._set(table, fitted, names, self.words_ if words is None else words)

    def _fit_table(self, table: Table) -> Fitted:
        """The same estimator on another table."""
        return fit_table(table, self.estimator, seed=self._seed)

    def without(self, names: Collection[str]) -> Self:
        """The same, fitted again on the cells it has without some of its features; for nothing.

        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> from thrifty.models import ModelClassifier
        >>> model = ModelClassifier().fit(X, X[:, 0] + X[:, 1] > 0)
        >>> sorted(model.without(["x0"]).features_.tolist())
        [1, 2]
        """
        gone = frozenset(names)
        if gone not in self._fewer:
            keep = [j for j, name in enumerate(self._names) if name not in gone]
            if not keep:
                raise BadInput(f"no feature is left: the model asks for {sorted(gone)[:5]} alone.")
            table = self.table_.of_features(np.array(keep, dtype=np.int64))
            self._fewer[gone] = self.around(table, self._fit_table(table))
        return self._fewer[gone]

    def of_rows(self, rows: Ints) -> Self:
        """The same, fitted again on some of the rows of its table, by their places there.

        >>> from thrifty.models import ModelClassifier
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = ModelClassifier().fit(X, X[:, 0] > 0)
        >>> model.of_rows(np.arange(100)).table_.n_rows
        100
        """
        table = self.table_.of_rows(rows)
        lost = np.setdiff1d(self.table_.labels, table.labels) if hasattr(self, "classes_") else ()
        if len(lost) or not len(rows):
            raise BadInput("no row is left of one of the classes that the model predicts.")
        return self.around(table, self._fit_table(table))

    @property
    def _names(self) -> list[str]:
        """Those of ``features_``."""
        return [self.feature_names_[f] for f in self.features_.tolist()]

    def columns(self, X: TableLike) -> Floats:
        """What the fitted estimator is given of X, a row for each of its rows.

        The values of ``features_``; for an estimator that takes no gaps they are filled, and a
        category is a column for each of its words (``column_names_``). For tools that look into
        an estimator: ``shap.TreeExplainer(model.estimator_.fitted).shap_values(model.columns(X))``.
        """
        values = self._values(X)
        return self.estimator_.columns(values) if isinstance(self.estimator_, Prepared) else values

    @property
    def column_names_(self) -> list[str]:
        """The names of :meth:`columns`."""
        check_is_fitted(self, "estimator_")
        model = self.estimator_
        if not isinstance(model, Prepared) or model.fills is None:
            return self._names
        found: list[str] = []
        for name, n in zip(self._names, model.categories):
            said = self.words_.get(name, ())
            each = [f"{name}={said[i] if i < len(said) else i}" for i in range(n)]
            found += each if n else [name]
        return found

    @property
    def coef_(self) -> dict[str, float] | dict[object, dict[str, float]]:
        """Coefficients by the name of their column, where a user's estimator has them.

        Of more than two classes: by class.
        """
        fitted = self.__dict__.get("estimator_")
        if not isinstance(fitted, Prepared) or not hasattr(fitted, "coef_"):
            raise AttributeError(
                "coefficients are a linear estimator's; feature_importances_ is there for all."
            )
        lines = np.atleast_2d(np.asarray(_last(fitted).coef_, dtype=np.float64))
        each = [dict(zip(self.column_names_, line)) for line in lines.tolist()]
        return each[0] if len(each) == 1 else dict(zip(self.classes_.tolist(), each))

    @property
    def feature_importances_(self) -> Floats:
        """What each of the ``n_features_in_`` features does for the model; in all 1.

        As a user's estimator says it (``feature_importances_``, or coefficients times the spread of
        their columns); of Thrifty's own models, and of estimators that say nothing, from
        :meth:`permutation_importances`, what is below 0 taken for 0.
        """
        fitted = self.__dict__.get("estimator_")
        if fitted is None or isinstance(fitted, NotBrought):
            raise AttributeError("feature_importances_ needs a fitted estimator; call fit first.")
        out = np.zeros(self.n_features_in_)
        own = None
        if isinstance(fitted, Prepared):
            own = _own_importances(fitted, self.table_.block().values)
        if own is None or len(own) != len(self.features_):
            rise = self.permutation_importances()
            means = [max(rise.get(name, (0.0, 0.0))[0], 0.0) for name in self._names]
            total = sum(means)
            own = np.array(means) / total if total > 0 else np.zeros(len(means))
        out[self.features_] = own
        return out

    def permutation_importances(self, repeats: int = 5) -> dict[str, tuple[float, float]]:
        """How much the loss rises on held-out rows when a feature's values are dealt to other rows.

        By name, the largest first: the mean over ``repeats`` and their standard deviation, in
        logarithmic loss or squared error. Empty where rows are too few to leave some out. Nothing
        is bought: it is measured on the cells that were, those that were bought together.

        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 3))
        >>> from thrifty.models import ModelClassifier
        >>> model = ModelClassifier(random_state=0).fit(X, X[:, 1] > 0)
        >>> next(iter(model.permutation_importances()))
        'x1'
        """
        check_is_fitted(self, "estimator_")
        repeats = whole_number("repeats", repeats)
        if repeats not in self._rises:
            table = self.table_ if self.table_.first else self.table_.block()
            with in_one_thread(self.estimator is None):
                rise = self._rise_of_loss(table, repeats)
            names = [self.feature_names_[f] for f in table.features.tolist()]
            found = {name: (float(r.mean()), float(r.std())) for name, r in zip(names, rise)}
            self._rises[repeats] = dict(sorted(found.items(), key=lambda one: -one[1][0]))
        return dict(self._rises[repeats])

    def _rise_of_loss(self, table: Table, repeats: int) -> Floats:
        """(features, repeats) how much it rises on held-out rows; empty with too few rows."""
        codes = None if self._of_numbers else table.labels.astype(np.int64)
        rng = np.random.default_rng(self._seed)
        folds = make_folds(table.n_rows, FOLDS, self._seed, codes, table.groups)
        if folds is None or table.n_rows < 2 * FOLDS:
            return np.zeros((0, repeats))
        rise = np.zeros((table.width, repeats))
        judged = table.judged
        share = table.weights / table.weights[judged].sum()
        for fold in range(FOLDS):
            out = np.flatnonzero((folds == fold) & judged)
            fitted = self._fit_table(table.of_rows(np.flatnonzero(folds != fold)))
            values, y = table.values[out], table.labels[out]
            before = share[out] @ self.losses(values, y, fitted)
            for j in range(table.width):
                other = values.copy()
                for r in range(repeats):
                    other[:, j] = values[rng.permutation(len(out)), j]
                    rise[j, r] += share[out] @ self.losses(other, y, fitted) - before
        return rise

    def losses(self, values: Floats, y: AnyArray, fitted: Fitted | None = None) -> Floats:
        """What it loses on each row, or another model of the same classes."""
        n_classes = 0 if self._of_numbers else len(self.classes_)
        return losses(says(self.estimator_ if fitted is None else fitted, values, n_classes), y)

    def ask(
        self,
        cells: Cells,
        rows: Ints,
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows through a reader; with a rule or a limit in order, until each is decided."""
        self.check_kinds(cells)
        cells = on_cascade(cells, self.steps_)
        return ask(self, cells, rows, stop=stop, spend=spend, per_row=per_row)

    def enough(self, cells: Cells) -> Asks:
        """Itself, or what asks no further than it is worth at the prices of a reader."""
        return enough_of([self], cells)[0]

    def _values(self, X: TableLike) -> Floats:
        """The values of ``features_`` on every row of X."""
        check_is_fitted(self, "estimator_")
        source = as_source(X, allow_missing=True, categories=True).recoded(self.words_)
        match = match_features(
            self.feature_names_, source, needed=self.features_.tolist(), whose=type(self).__name__
        )
        cells = Cells(source, match=match)
        cells = on_cascade(cells, self.steps_)
        self.check_kinds(cells)
        values = cells.get(np.arange(cells.n_examples), self.features_)
        return np.asarray(values, dtype=np.float64)

    def check_kinds(self, cells: Cells) -> None:
        """Texts where the model knows numbers have places in a list, which mean nothing to it."""
        for f, name in zip(self.features_.tolist(), self._names):
            texts = cells.categories.get(f)
            if texts and name not in self.words_:
                raise BadInput(
                    f"the model knows {name!r} as numbers; X holds texts there "
                    f"({', '.join(map(repr, texts[:3]))}). Bring numbers, or say "
                    f"kinds={{{name!r}: 'number'}} where they are numbers written as text."
                )

    def to_dict(self) -> Json:
        """Plain data, for JSON: the bought table, and the model where it is our own."""
        return {
            "table": self.table_.to_dict(),
            "fitted": self.estimator_.to_dict(),
            "words": {name: list(said) for name, said in self.words_.items()},
            "feature_names": list(self.feature_names_),
            "estimator": self._words,
            **({"steps": [step_to_dict(s) for s in self.steps_]} if self.steps_ else {}),
            **({"numbers": True} if self._of_numbers else {"classes": self.classes_.tolist()}),
            **({} if self.positive_ is None else {"positive": self.positive_}),
        }

    @classmethod
    def from_dict(
        cls, data: JsonLike, estimator: EstimatorLike | None = None, seed: int = 0
    ) -> Self:
        """The inverse of :meth:`to_dict`; a user's estimator has to be brought again."""
        table, words = table_from_dict(data["table"]), data["estimator"]
        steps, names = steps_from(data.get("steps", ())), data["feature_names"]
        asked = [*table.features.tolist(), *(f for s in steps for f in (s.cheap, s.expensive))]
        if any(not 0 <= f < len(names) for f in asked):
            raise ValueError("a model of features that are not there")
        table = replace(table, columns=NamedColumns(names, data.get("words", {})))
        fitted: Fitted | None = NotBrought(words) if words is not None else None
        if data["fitted"] is not None:
            fitted = fitted_from_dict(data["fitted"])
            if fitted is None:
                _announce_once()
                fitted = fit_table(table, seed=seed)
        elif words is None or in_words(estimator) == words:
            fitted = fit_table(table, estimator, seed=seed)
        assert fitted is not None
        lacks = isinstance(fitted, NotBrought) or words is None
        made = cls(None if lacks else estimator)
        made._set(table, fitted, names, data.get("words", {}))
        made._words, made.steps_ = words, steps
        if not cls._of_numbers:
            made.classes_, made.positive_ = np.array(data["classes"]), data.get("positive")
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


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

    def held_out_scores(self) -> tuple[Floats, Floats] | None:
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

    def predict_proba(self, X: TableLike) -> Floats:
        """Probabilities, a column per class; X holds all features, only ``features_`` are read."""
        return self.probabilities(self._values(X))

    def probabilities(self, values: Floats) -> Floats:
        """Probabilities from the values of ``features_`` alone, NaN for gaps."""
        return says(self.estimator_, values, len(self.classes_))

    def predict(self, X: TableLike) -> AnyArray:
        """The most likely class of every row."""
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])


class ModelRegressor(RegressorMixin, OnCells[NumberQuality]):
    """A regressor that was fitted on the few cells it needs.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` reads only the cells it chooses.

    Parameters
    ----------
    estimator : estimator
        any scikit-learn regressor; one that takes no ``sample_weight`` gets rows drawn by their
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
    n_features_in_ : int
        as everywhere in scikit-learn

    Raises
    ------
    thrifty.errors.BadInput
        in ``fit``: labels that are no numbers, or X that is no table

    See Also
    --------
    thrifty.Models : the family that learns it
    thrifty.ModelClassifier : for classes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> model = ModelRegressor(spend="20 %").fit(X, X[:, 3] - 2 * X[:, 7])
    >>> sorted(model.features_[:2].tolist()), bool(model.score(X, X[:, 3] - 2 * X[:, 7]) > 0.9)
    ([3, 7], True)
    """

    _reads, _of_numbers = staticmethod(read_numbers), True

    @property
    def quality_(self) -> NumberQuality | None:
        """R squared and error on held-out rows, with intervals; measured when first asked for.

        None with too few rows, and where the user's estimator was not brought along.
        """
        check_is_fitted(self, "estimator_")
        if isinstance(self.estimator_, NotBrought):
            return None
        if not self._measured:
            with in_one_thread(self.estimator is None):
                self._measured.append(numbers_left_out(self.table_, self._fit_table, self._seed))
        return self._measured[0]

    def __str__(self) -> str:
        if not hasattr(self, "features_"):
            return repr(self)
        names, error = self._names, self.estimator_.error
        head = f"a model of numbers on {len(names)} of {self.n_features_in_} features."
        if not np.isnan(error):
            head += f" On held-out rows it is off by {error:.4g} (root mean square)."
        return f"{head}\n{shown_names(names)}"

    def predict(self, X: TableLike) -> Floats:
        """A number for every row; X holds all features, only ``features_`` are read."""
        return self.numbers(self._values(X))

    def numbers(self, values: Floats) -> Floats:
        """Numbers from the values of ``features_`` alone, NaN for gaps."""
        return np.asarray(self.estimator_.predict(values), dtype=np.float64).reshape(-1)


@cache
def _announce_once() -> None:
    """Models of 0.2 are of a kind that is gone: said once for all of them."""
    warnings.warn(
        "this store holds models of an earlier version: each is fitted again, on the cells that "
        "were bought for it, for nothing, when it is first used.",
        FutureWarning,
        stacklevel=2,
    )


def _one_column(y: LabelsLike) -> AnyArray:
    """A column of labels is taken with scikit-learn's warning."""
    refuse_masked(y)
    labels = np.asarray(y)
    column = labels.ndim == 2 and labels.shape[1] == 1
    return np.asarray(column_or_1d(labels, warn=True, dtype=labels.dtype)) if column else labels


def _own_importances(model: Prepared, values: Floats) -> Floats | None:
    """What a user's estimator says of each feature, in all 1; None where it says nothing.

    Its ``feature_importances_``, else the size of its coefficients times the spread of their
    columns; those of a category's columns together.
    """
    last = _last(model)
    columns = model.columns(values)
    if hasattr(last, "feature_importances_"):
        each = np.asarray(last.feature_importances_, dtype=np.float64)
    elif hasattr(last, "coef_"):
        size = np.abs(np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))).sum(axis=0)
        each = size * np.nanstd(columns, axis=0) if len(size) == columns.shape[1] else size
    else:
        return None
    if len(each) != columns.shape[1]:  # steps before it made other columns
        return None
    wide = [max(n, 1) if model.fills is not None else 1 for n in model.categories]
    found = np.add.reduceat(each, np.cumsum([0, *wide[:-1]])) if len(each) else each
    return np.asarray(found / found.sum()) if found.sum() > 0 else np.zeros(len(wide))


def _last(model: Prepared) -> BaseEstimator:
    steps = getattr(model.fitted, "steps", None)
    return steps[-1][1] if steps else model.fitted


def shown_names(names: Sequence[str]) -> str:
    """A screen of them, a line each."""
    shown = "\n".join(f"  {name}" for name in names[:SHOWN])
    return f"{shown}\n  and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
