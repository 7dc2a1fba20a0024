"""What models of classes and of numbers share: a fitted estimator over all N features that reads
only those it was given."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from thrifty.array_types import Floats
from thrifty.cells import Cells, Source, as_source
from thrifty.cells.cells import open_cells
from thrifty.cells.features import match_features
from thrifty.cells.ledger.allowance import read_spend
from thrifty.cells.sources.checks import default_names, refuse_masked
from thrifty.cells.sources.some_rows import of_rows
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.labels.partly import read_groups, read_row_weights, with_rows
from thrifty.models.asking.ask import Keeper
from thrifty.models.asking.certificate import Certificate
from thrifty.models.cascade import Step, on_cascade, step_to_dict, steps_from
from thrifty.models.fits.estimators import Prepared, in_words
from thrifty.models.fits.fitting import Fitted, NotBrought, fit_table, fitted_from_dict
from thrifty.models.fits.threads import in_one_thread
from thrifty.models.held.importances import (
    coefficients_by_name,
    column_names,
    own_importances,
    rise_of_loss,
)
from thrifty.models.table import Table, table_from_dict
from thrifty.typing import AnyArray, EstimatorLike, Json, JsonLike, LabelsLike, MoneyLike, TableLike

__all__ = ["OnCells", "check_lengths", "one_column", "words_of"]

P = TypeVar("P")  # what is kept for a beginning of its features
L = TypeVar("L", Labels, Numbers)
Q = TypeVar("Q")  # how its quality is told


class OnCells(BaseEstimator, Generic[P, Q]):
    """An estimator that was fitted on the few cells it needs; see its two kinds."""

    classes_: AnyArray
    #: how things with alternatives are asked: see :mod:`thrifty.models.cascade`
    steps_: tuple[Step, ...] = ()

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        spend: MoneyLike = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.spend = spend
        self.random_state = random_state

    def _read(
        self,
        X: TableLike,
        y: LabelsLike,
        read: Callable[[AnyArray], L],
        sample_weight: object,
        groups: object,
    ) -> tuple[Cells, Source, L]:
        """For ``fit``: a door to the rows of X that weigh something, and their labels."""
        if y is None:
            raise BadInput(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        source = as_source(X, allow_missing=True, categories=True)
        labels = read(one_column(y))
        n = source.n_examples
        check_lengths(n, len(labels))
        weights, together = read_row_weights(sample_weight, n), read_groups(groups, n)
        labels, rows = with_rows(labels, None, weights, together)
        if rows is not None:
            source = of_rows(source, rows)
        everything = float(source.n_examples * source.n_features)
        spend = read_spend(self.spend, "", lambda: everything)
        cells = Cells(source, spend=spend)
        cells.row_seed = self.random_state or 0
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
        self._prefixes: dict[object, P] = {}
        self._certificates: dict[object, Certificate] = {}
        self._keeper: Keeper | None = None
        self._measured: list[Q | None] = []
        self._fewer: dict[frozenset[str], Self] = {}
        self._rises: dict[int, dict[str, tuple[float, float]]] = {}
        return self

    def _of_classes(self, other: Self) -> None:
        """Tell the classes that another does; numbers have none."""

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
            keep = [
                j
                for j, f in enumerate(self.features_.tolist())
                if self.feature_names_[f] not in gone
            ]
            if not keep:
                raise BadInput(f"no feature is left: the model asks for {sorted(gone)[:5]} alone.")
            table = self.table_.of_features(np.array(keep, dtype=np.int64))
            made = type(self)(self.estimator, self.spend, self.random_state)
            made._of_classes(self)
            fitted = fit_table(table, self.estimator, seed=self.random_state or 0)
            made._set(table, fitted, self.feature_names_, self.words_)
            made.steps_ = self.steps_
            self._fewer[gone] = made
        return self._fewer[gone]

    def of_rows(self, rows: NDArray[np.int64]) -> Self:
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
            raise BadInput("no row is left of a class that the model tells.")
        made = type(self)(self.estimator, self.spend, self.random_state)
        made._of_classes(self)
        made.steps_ = self.steps_
        fitted = fit_table(table, self.estimator, seed=self.random_state or 0)
        return made._set(table, fitted, self.feature_names_, self.words_)

    def columns(self, X: TableLike) -> NDArray[np.float64]:
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
        names = [self.feature_names_[f] for f in self.features_.tolist()]
        if not isinstance(self.estimator_, Prepared):
            return names
        return column_names(self.estimator_, names, self.words_)

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
        classes = self.classes_.tolist() if hasattr(self, "classes_") else []
        return coefficients_by_name(fitted, self.column_names_, classes)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
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
            own = own_importances(fitted, self.table_.block().values)
        if own is None or len(own) != len(self.features_):
            rise = self.permutation_importances()
            names = [self.feature_names_[f] for f in self.features_.tolist()]
            means = [max(rise.get(name, (0.0, 0.0))[0], 0.0) for name in names]
            total = sum(means)
            own = np.array(means) / total if total > 0 else np.zeros(len(means))
        out[self.features_] = own
        return out

    def permutation_importances(self, repeats: int = 5) -> dict[str, tuple[float, float]]:
        """How much the loss rises on rows left out when a feature's values are dealt to other rows.

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
        if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
            raise BadInput(f"repeats must be an integer, 1 or more; got {repeats!r}.")
        if repeats not in self._rises:
            table, seed = self.table_, self.random_state or 0
            classes = hasattr(self, "classes_")
            with in_one_thread(self.estimator is None):
                rise = rise_of_loss(table, self._fit_loss, seed, repeats, classes=classes)
            names = [self.feature_names_[f] for f in table.block().features.tolist()]
            found = (
                {}
                if rise is None
                else {name: (float(r.mean()), float(r.std())) for name, r in zip(names, rise)}
            )
            self._rises[repeats] = dict(sorted(found.items(), key=lambda one: -one[1][0]))
        return dict(self._rises[repeats])

    def _fit_loss(self, table: Table) -> Callable[[Floats, AnyArray], Floats]:
        """Of each row of some values and their labels, by a model of other rows."""
        fitted = fit_table(table, self.estimator, seed=self.random_state or 0)
        return partial(self._losses, fitted)

    def _losses(self, fitted: Fitted, values: Floats, y: AnyArray) -> Floats:
        """What a model of the same kind loses on each row."""
        raise NotImplementedError

    def _values(self, X: TableLike) -> NDArray[np.float64]:
        """The values of ``features_`` on every row of X."""
        check_is_fitted(self, "estimator_")
        source = as_source(X, allow_missing=True, categories=True).recoded(self.words_)
        match = match_features(
            self.feature_names_, source, needed=self.features_.tolist(), whose=type(self).__name__
        )
        cells = open_cells(source, match=match)
        cells = on_cascade(cells, self.steps_) if self.steps_ else cells
        self.check_kinds(cells)
        values = cells.get(np.arange(cells.n_examples), self.features_)
        return np.asarray(values, dtype=np.float64)

    def check_kinds(self, cells: Cells) -> None:
        """Texts where the model knows numbers have places in a list, which mean nothing to it."""
        names = self.feature_names_
        for f in self.features_.tolist():
            texts = cells.categories.get(f)
            if texts and names[f] not in self.words_:
                raise BadInput(
                    f"the model knows {names[f]!r} as numbers; X holds texts there "
                    f"({', '.join(map(repr, texts[:3]))}). Bring numbers, or say "
                    f"kinds={{{names[f]!r}: 'number'}} where they are numbers written as text."
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
        }

    @classmethod
    def from_dict(
        cls, data: JsonLike, estimator: EstimatorLike | None = None, seed: int = 0
    ) -> Self:
        """The inverse of :meth:`to_dict`; a user's estimator has to be brought again."""
        table, words = table_from_dict(data["table"]), data["estimator"]
        at = table.features
        if len(at) and not 0 <= int(at.min()) <= int(at.max()) < len(data["feature_names"]):
            raise ValueError(f"a table of feature {int(at.max())}, which is not there")
        fitted: Fitted | None = None
        if data["fitted"] is not None:
            fitted = fitted_from_dict(data["fitted"])
            if fitted is None:
                _announce_once()
                fitted = fit_table(table, seed=seed)
        elif words is None or in_words(estimator) == words:
            fitted = fit_table(table, estimator, seed=seed)
        else:
            fitted = NotBrought(words)
        assert fitted is not None
        lacks = isinstance(fitted, NotBrought) or words is None
        made = cls(None if lacks else estimator)
        made._set(table, fitted, data["feature_names"], words_of(data))
        made._words = words
        made.steps_ = steps_from(data.get("steps", ()))
        if any(
            not 0 <= f < len(made.feature_names_) for s in made.steps_ for f in (s.cheap, s.dear)
        ):
            raise ValueError("a thing is asked of a feature that is not there")
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


_announced: list[bool] = []


def _announce_once() -> None:
    """Models of 0.2 are of a kind that is gone: said once for all of them."""
    if not _announced:
        _announced.append(True)
        warnings.warn(
            "this store holds models of an earlier version: each is fitted again, on the cells "
            "that were bought for it, for nothing, when it is first used.",
            FutureWarning,
            stacklevel=2,
        )


def words_of(data: JsonLike) -> Mapping[str, tuple[str, ...]]:
    """The categories that a store keeps with a model."""
    return {name: tuple(said) for name, said in data.get("words", {}).items()}


def one_column(y: LabelsLike) -> AnyArray:
    """A column of labels is taken with scikit-learn's warning."""
    refuse_masked(y)
    labels = np.asarray(y)
    column = labels.ndim == 2 and labels.shape[1] == 1
    return np.asarray(column_or_1d(labels, warn=True, dtype=labels.dtype)) if column else labels


def check_lengths(n_examples: int, n_labels: int) -> None:
    """One label per example."""
    if n_examples != n_labels:
        raise BadInput(
            f"y must hold one label per example; X has {n_examples} examples and y has "
            f"{n_labels} labels (inconsistent numbers of samples)."
        )
