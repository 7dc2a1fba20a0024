"""From bought tables to what is fitted on them; and reading it back from JSON.

Values are those of the table's features, in their order, NaN for gaps. There is one fit of ours,
the stack, with a first stage where features are known of every row; and a user's own estimator,
prepared. A new kind of ours is a class with the methods of :class:`Fitted` and a line in `_LOADED`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from thrifty.errors import BadParameter, ThriftyError
from thrifty.models.fits.quality import Quality
from thrifty.models.fits.stack import fit_quickly, fit_stacks, stack_from_dict
from thrifty.models.fits.two_stage import fit_two_stages, two_stage_from_dict
from thrifty.models.scorecard import CategoryNames, Points, Scorecard
from thrifty.models.table import Table
from thrifty.typing import AnyArray, EstimatorLike, Floats, Ints, Json, JsonLike

if TYPE_CHECKING:
    import pandas


class Fitted(Protocol):
    """What every kind can: a classifier over class codes, or a regressor."""

    @property
    def classes_(self) -> AnyArray: ...
    @property
    def quality(self) -> Quality | None:
        """From held-out rows; None where they cannot show it, or were not asked."""

    @property
    def measured(self) -> bool:
        """Whether its quality was looked for when it was fitted; if not, it can be later."""

    @property
    def error(self) -> float:
        """Of numbers: root mean square on held-out rows; NaN where it was not measured."""

    def predict_proba(self, values: Floats) -> Floats: ...
    def predict(self, values: Floats) -> AnyArray: ...
    def summary(self) -> str:
        """What it is, in a sentence."""

    def scorecard(
        self, names: Sequence[str], words: CategoryNames, classes: Sequence[Hashable]
    ) -> Scorecard | None:
        """Its scorecard, or that of the part of it that is one; None where none is."""

    def to_dict(self) -> Json | None:
        """Plain data, for JSON; None for those of others, which are fitted again."""


_LOADED: dict[str, Callable[[JsonLike], Fitted]] = {
    "Stack 3": stack_from_dict,
    "TwoStage": two_stage_from_dict,
}


def fitted_from_dict(data: JsonLike) -> Fitted | None:
    """The inverse of ``to_dict``; None where the format is of an earlier version."""
    load = _LOADED.get(str(data.get("model")))
    return None if load is None else load(data)


def fit_table(table: Table, estimator: EstimatorLike | None = None, *, seed: int = 0) -> Fitted:
    """Fit what was bought; None: the stack."""
    return fit_tables([table], estimator, seed)[0][0]


def fit_tables(
    tables: Sequence[Table], estimator: EstimatorLike | None = None, seed: int = 0
) -> list[tuple[Fitted, Floats | None]]:
    """The same for several labels, with what is said of their rows had they been left out."""
    if estimator is not None:
        return [(fit_user(table, estimator, seed), None) for table in tables]
    plain = [table for table in tables if not table.first]
    stacks = iter(fit_stacks(plain, seed)) if plain else iter(())
    return [fit_two_stages(table, seed) if table.first else next(stacks) for table in tables]


def fit_prefixes_together(
    tables: Sequence[Table], estimators: Sequence[EstimatorLike | None], seed: int
) -> list[Fitted]:
    """Models of a beginning of the features, quickly, since others scale them.

    Labels of the same rows and cells share their forests.
    """
    ours = [table for table, estimator in zip(tables, estimators) if estimator is None]
    stacks = iter(fit_quickly(ours, seed))
    return [
        next(stacks) if estimator is None else fit_user(table, estimator, seed)
        for table, estimator in zip(tables, estimators)
    ]


class NotBrought:
    """Stands in a store's model for a user's estimator that was not brought along.

    >>> NotBrought({"class": "lib.Forest", "parameters": "Forest()"}).predict_proba(None)
    Traceback (most recent call last):
    ...
    thrifty.errors.ThriftyError: this model was fitted with lib.Forest, which a store keeps as \
text only: Forest(). Open it with Lifetime.open(store, family=thrifty.Models(that estimator)); it \
is then fitted again on the cells that were bought, for nothing.
    """

    quality = None
    measured = True
    error = np.nan

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = dict(words)
        self.classes_ = np.zeros(0, dtype=np.int64)

    def predict_proba(self, values: object) -> Floats:
        raise ThriftyError(
            f"this model was fitted with {self.words['class']}, which a store keeps as text only: "
            f"{self.words['parameters']}. Open it with Lifetime.open(store, "
            "family=thrifty.Models(that estimator)); it is then fitted again on the cells that "
            "were bought, for nothing."
        )

    predict = predict_proba

    def summary(self) -> str:
        """What it is, in a sentence."""
        return f"{type(self).__name__}, fitted on what was bought."

    def scorecard(self, names: object, words: object, classes: object) -> None:
        """None: what it was is not here."""

    def to_dict(self) -> None:
        """None: the store keeps the words."""


#: a class of ours that has moved, by the name that stores know it by
_KEPT_AS = {
    "thrifty.models.scorecard_classifier.ScorecardClassifier": (
        "thrifty.models.scorecard.ScorecardClassifier"
    )
}


def in_words(estimator: object) -> dict[str, str] | None:
    """Class name and parameters as text, for a store; never read back as code.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> in_words(GaussianNB())["class"]
    'sklearn.naive_bayes.GaussianNB'
    """
    if estimator is None:
        return None
    kind = type(estimator)
    name = f"{kind.__module__}.{kind.__qualname__}"
    return {"class": _KEPT_AS.get(name, name), "parameters": repr(estimator)}


def check_estimator(estimator: object, *, numbers: bool = False) -> None:
    """Say at once what an estimator lacks."""
    if estimator is None:
        return
    what = f"estimator={estimator!r}"
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise BadParameter(
            f"estimator must be a scikit-learn estimator, for instance LogisticRegression(); got "
            f"{estimator!r}."
        )
    if not numbers and not hasattr(estimator, "predict_proba"):
        raise BadParameter(
            f"{what} must have predict_proba. Wrap it: CalibratedClassifierCV(it, "
            "ensemble=False), which fits probabilities to its decisions."
        )


class Prepared:
    """A fitted estimator with what turns bought values into its columns.

    Gaps are imputed and categories become columns of their own where the estimator takes no NaN;
    a category never seen is in none of them. ``framed`` makes a frame for an estimator that
    chooses columns by name.
    """

    def __init__(
        self,
        fitted: BaseEstimator,
        fills: Floats | None,
        categories: tuple[int, ...],
        framed: Callable[[Floats], pandas.DataFrame] | None = None,
    ) -> None:
        self.fitted, self.fills, self.categories = fitted, fills, categories
        self.framed = framed
        self.quality: Quality | None = None
        self.measured, self.error = False, np.nan
        if hasattr(fitted, "classes_"):
            self.classes_: AnyArray = fitted.classes_

    def __getattr__(self, name: str) -> object:
        """What was learned, ``coef_`` or ``feature_importances_``, is the estimator's own."""
        fitted = self.__dict__.get("fitted")
        if fitted is None or not name.endswith("_") or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(fitted, name)

    def columns(self, values: Floats) -> Floats | pandas.DataFrame:
        """What the estimator is given."""
        if self.framed is not None:
            return self.framed(values)
        if self.fills is None:
            return values
        filled = np.where(np.isnan(values), self.fills, values)
        gaps = np.isnan(values)
        parts = []
        for j, n in enumerate(self.categories):
            if n:
                parts.append((filled[:, [j]] == np.arange(n)) & ~gaps[:, [j]])
            else:
                parts.append(filled[:, [j]])
        return np.column_stack(parts).astype(np.float64) if parts else filled

    def predict_proba(self, values: Floats) -> Floats:
        """Probabilities, a column per class."""
        found: Floats = self.fitted.predict_proba(self.columns(values))
        return found

    def predict(self, values: Floats) -> AnyArray:
        """Classes or numbers."""
        found: AnyArray = self.fitted.predict(self.columns(values))
        return found

    def summary(self) -> str:
        """What it is, in a sentence."""
        return f"{type(self.fitted).__name__}, fitted on what was bought."

    def scorecard(
        self, names: Sequence[str], words: CategoryNames, classes: Sequence[Hashable]
    ) -> Scorecard | None:
        """The card of a scorecard; None for other estimators."""
        points = getattr(self.fitted, "points_", None)
        if not isinstance(points, Points):
            return None
        labels = [classes[code] for code in self.classes_.tolist()]
        return points.card(names, words, labels, self.fitted.doubling)

    def to_dict(self) -> None:
        """None: a store keeps its words, and it is fitted again."""


def fit_user(table: Table, estimator: EstimatorLike, seed: int) -> Prepared:
    """A user's estimator, cloned, with the rows' weights; seeds come from the lifetime."""
    made = clone(estimator)
    given = made.get_params()
    seeds = [name for name in given if name.split("__")[-1] == "random_state"]
    made.set_params(**{name: seed for name in seeds if given[name] is None})
    _say_categories(made, table.categories)
    made_of, labels = _prepared_for(made, table), table.labels
    last = made.steps[-1][1] if isinstance(made, Pipeline) else made
    if has_fit_parameter(last, "sample_weight"):
        step = f"{made.steps[-1][0]}__" if isinstance(made, Pipeline) else ""
        weights = {f"{step}sample_weight": table.weights / table.weights.mean()}
        return made_of(made.fit(made_of(None).columns(table.values), labels, **weights))
    drawn = drawn_by_weight(table.weights, labels, seed)
    return made_of(made.fit(made_of(None).columns(table.values[drawn]), labels[drawn]))


def _prepared_for(made: BaseEstimator, table: Table) -> Callable[[BaseEstimator], Prepared]:
    """How the values of a table are prepared for an estimator, which is told of its columns."""
    categories = table.categories or (0,) * table.width
    if table.columns is None or not chooses(made):
        fills = None if _takes_gaps(made) else _middles(table.values)
        return partial(Prepared, fills=fills, categories=categories)
    features, columns = table.features, table.columns
    there = columns.named(features)
    told_of(made, columns.names, there)
    kept = np.array(kept_as_gaps(made, there)) | (np.array(categories) > 0)
    middles = np.where(kept, np.nan, _middles(table.values))

    def framed(values: Floats) -> pandas.DataFrame:
        return columns.frame(features, np.where(np.isnan(values), middles, values))

    return partial(Prepared, fills=None, categories=categories, framed=framed)


# An estimator that chooses columns of the user's table, as a ``ColumnTransformer`` does by name,
# place or kind, is given those that were bought, under their names, and told of no others.


def chooses(estimator: object) -> bool:
    """Whether an estimator chooses among the columns that it is given.

    >>> from sklearn.pipeline import make_pipeline
    >>> chooses(make_pipeline(ColumnTransformer([("a", "passthrough", ["age"])]), "passthrough"))
    True
    """
    return any(True for _ in _choosers(estimator))


def told_of(estimator: object, columns: Sequence[str], there: Sequence[str]) -> None:
    """Tell an estimator, a clone, which of the columns of the whole table are there."""
    for chooser in _choosers(estimator):
        chooser.transformers = [
            (name, how, _of_them(chosen, columns, there))
            for name, how, chosen in chooser.transformers
        ]


def kept_as_gaps(estimator: object, there: Sequence[str]) -> list[bool]:
    """Of each column, whether gaps are left in it: something made for them comes first."""
    kept = set[str]()
    for chooser in _choosers(estimator):
        for _, how, chosen in chooser.transformers:
            if not callable(chosen) and _takes_gaps(
                how.steps[0][1] if isinstance(how, Pipeline) else how
            ):
                kept |= set(chosen)
    return [name in kept for name in there]


def _choosers(estimator: object) -> Iterator[ColumnTransformer]:
    """Those that see the columns as they come: what comes later sees what these make of them."""
    if isinstance(estimator, ColumnTransformer):
        yield estimator
    elif isinstance(estimator, Pipeline):
        yield from _choosers(estimator.steps[0][1])
    elif isinstance(estimator, FeatureUnion):
        for _, part in estimator.transformer_list:
            yield from _choosers(part)
    elif (inner := getattr(estimator, "estimator", None)) is not None:
        yield from _choosers(inner)


def _of_them(chosen: object, columns: Sequence[str], there: Sequence[str]) -> object:
    """A choice of columns of the whole table, as names of those that are there."""
    if callable(chosen):
        return chosen
    names = np.array(columns, dtype=object)
    if isinstance(chosen, slice):
        wanted = names[_by_place(chosen, list(columns))]
    else:
        wanted = np.atleast_1d(np.asarray(chosen))
        if wanted.dtype.kind not in "UO":  # places or a mask
            wanted = names[wanted.astype(bool if wanted.dtype.kind == "b" else np.int64)]
    return [name for name in wanted.tolist() if name in there]


def _by_place(chosen: slice, columns: list[str]) -> slice:
    """A slice by place of one that may be by name, of which the last name is chosen too."""
    if not isinstance(chosen.start, str) and not isinstance(chosen.stop, str):
        return chosen
    first = None if chosen.start is None else columns.index(chosen.start)
    last = None if chosen.stop is None else columns.index(chosen.stop) + 1
    return slice(first, last, chosen.step)


def drawn_by_weight(weights: Floats, labels: AnyArray, seed: int) -> Ints:
    """As many rows as there are, each about as often as it weighs; for estimators without weights.

    One after another at even steps along the sum of the weights (systematic resampling): rows that
    weigh alike come once each. A class whose rows would all be missed keeps its heaviest.

    >>> drawn_by_weight(np.ones(4), np.array([0, 0, 1, 1]), 0).tolist()
    [0, 1, 2, 3]
    >>> np.bincount(drawn_by_weight(np.array([2.0, 1, 1, 0]), np.array([0, 0, 1, 1]), 0)).tolist()
    [2, 1, 1]
    """
    ends = np.cumsum(weights)
    steps = (np.arange(len(weights)) + np.random.default_rng(seed).random()) / len(weights)
    drawn = np.minimum(np.searchsorted(ends, steps * ends[-1], side="right"), len(weights) - 1)
    if labels.dtype.kind in "biu":
        lost = np.setdiff1d(labels, labels[drawn])
        heaviest = [np.flatnonzero(labels == c)[weights[labels == c].argmax()] for c in lost]
        drawn = np.append(drawn, np.array(heaviest, dtype=np.int64))
    return np.sort(drawn).astype(np.int64)


def _say_categories(estimator: BaseEstimator, categories: tuple[int, ...]) -> None:
    """Tell an estimator that can be told which columns are categories, unless the user did.

    Cells of a category are places in a list: taken for numbers they would have an order.
    """
    said = estimator.get_params(deep=False).get("categorical_features", ())
    if any(categories) and (said is None or (isinstance(said, str) and said == "from_dtype")):
        places = [j for j, n in enumerate(categories) if n]
        estimator.set_params(categorical_features=places)


def _takes_gaps(estimator: object) -> bool:
    tags = getattr(estimator, "__sklearn_tags__", None)
    if tags is None:
        return False
    try:
        return bool(tags().input_tags.allow_nan)
    except (AttributeError, TypeError):
        return False


def _middles(values: Floats) -> Floats:
    """The median of every column; 0 where all are gaps."""
    middles = np.zeros(values.shape[1])
    for j in range(values.shape[1]):
        here = values[~np.isnan(values[:, j]), j]
        middles[j] = np.median(here) if len(here) else 0.0
    return middles


def in_one_thread(where: bool = True) -> AbstractContextManager[object]:
    """A context in which numerical libraries use one thread."""
    return _libraries(len(sys.modules)).limit(limits=1) if where else nullcontext()


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Libraries with threads; looked for, in 3.4 ms, when modules were loaded since."""
    return ThreadpoolController()
