"""Any model as a family: the three verbs of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from thrifty.attempt import Expected, Failed, Found, Traits
from thrifty.cells import Cells
from thrifty.checks import whole_number
from thrifty.errors import BadInput, BadParameter
from thrifty.labels import Labels, Said, check_said, labels_said_by, read_any_labels
from thrifty.models.memory import Memory, MemoryUpdate, categories_of
from thrifty.typing import EstimatorLike, Ints, Json, JsonLike, LabelsLike

if TYPE_CHECKING:
    from thrifty.models.estimators import ModelClassifier, ModelRegressor
    from thrifty.models.learning import LearnedTable
    from thrifty.models.updating import Updated


class Models:
    """Any scikit-learn classifier or regressor, on the few cells it needs.

    A task spends what ``spend=`` says; where nothing is said at most a tenth of everything, or what
    30,000 cells cost where that is more. What it buys is decided in money
    (:mod:`thrifty.models.acquisition`); what is fitted on it is a stack of a scorecard, trees and a
    kernel model (:mod:`thrifty.models.fits.stack`), or the estimator given.

    Parameters
    ----------
    estimator : estimator
        a classifier or a regressor; one that takes no ``sample_weight`` gets rows drawn by their
        weights; None: Thrifty's own
    labels : Said or None
        "classes" or "numbers"; None: what the estimator learns, else what each task's labels show:
        those with a fraction are numbers, others are classes. Whole numbers with more than 20
        different values and fewer than 10 rows of each have to be said
    predictions : int or None
        how many predictions are to come, so that learning weighs what it spends once against what
        every prediction will cost; None: unknown
    errors : array-like or mapping
        what wrong predictions cost, for classes; None: alike
    random_state : int or None
        seed of what is drawn

    Raises
    ------
    thrifty.errors.BadParameter
        an estimator that is none, or ``labels``, ``predictions``, ``errors`` that cannot be
    thrifty.errors.BadInput
        in ``learn``: labels that the estimator cannot learn

    See Also
    --------
    thrifty.ModelClassifier, thrifty.ModelRegressor : what is learned
    thrifty.Trees : where labels follow from the features without noise

    Examples
    --------
    >>> Models().kind
    'classifier'
    """

    #: gaps are values like others; a task ahead of its turn would be thrown away, since each
    #: teaches something that the next uses
    traits: ClassVar[Traits] = Traits(
        stops_anywhere=True,
        takes_absent=True,
        allows_missing=True,
        reads_categories=True,
        one_after_another=True,
        remembers="features found useful",
        draws=True,
        buys_background=True,
        weighs_rows=True,
    )

    def __init__(
        self,
        estimator: EstimatorLike | None = None,
        *,
        labels: Said | None = None,
        predictions: int | None = None,
        errors: ArrayLike | None = None,
        random_state: int | None = None,
    ) -> None:
        self.labels = check_said(labels)
        self._said = self.labels or labels_said_by(estimator)
        # the protocol's verb has the parameter's name
        self.given = estimator
        #: how many are to come; None: nobody said
        self.predictions = predictions
        if predictions is not None:
            self.predictions = whole_number("predictions", predictions, least=0)
        self.errors = errors
        self.random_state = random_state
        self._words: dict[str, str] | None = None
        if estimator is not None:
            from thrifty.models.fits.fitting import check_estimator, in_words

            check_estimator(estimator, numbers=self._said == "numbers")
            self._words = in_words(estimator)

    def __repr__(self) -> str:
        return f"Models({'' if self.given is None else repr(self.given)})"

    @property
    def kind(self) -> Literal["classifier", "regressor"]:
        """What its estimators are, unless a task's labels show otherwise."""
        return "regressor" if self._said == "numbers" else "classifier"

    def start(self) -> Memory:
        return Memory()

    def read_labels(self, y: LabelsLike) -> Labels:
        labels = read_any_labels(y, self._said)
        if labels.numbers is not None and self.errors is not None:
            raise BadParameter(
                f"errors= says what taking one class for another costs, and y holds numbers: got "
                f"errors={self.errors!r}. Leave it out, or say labels='classes'."
            )
        return labels

    def expected_cells(self, representation: Memory, cells: Cells) -> Expected:
        """Known from earlier receipts alone."""
        return Expected()

    def allowance(self, cells: Cells) -> float:
        """What a task may spend through this reader, where nothing was said too."""
        from thrifty.models.learning import allowance_of

        return allowance_of(cells)

    def use_rep(self, representation: Memory, cells: Cells, labels: Labels) -> Found[LearnedTable]:
        return self.learn_together(representation, cells, [labels])[0]

    def learn_together(
        self, representation: Memory, cells: Cells, tasks: Sequence[Labels]
    ) -> list[Found[LearnedTable]]:
        """One task, or several on the same rows: one table for all, a model of each."""
        from thrifty.models.cascade import for_predictions
        from thrifty.models.learning import learn_tasks, with_steps

        prices = np.asarray(cells.prices, dtype=np.float64)
        cells, steps = with_steps(cells, self.random_state or 0)
        every = learn_tasks(
            cells, tasks, representation, self.given, self.random_state or 0,
            predictions=self.predictions, errors=self.errors,
        )  # fmt: skip
        if steps:
            every = [
                replace(one, steps=for_predictions(steps, one.table.features.tolist(), prices))
                for one in every
            ]
        whole = cells.n_bought >= cells.n_features * cells.n_examples
        route: Literal["bought", "scratch"] = "scratch" if whole else "bought"
        return [
            Found(route, one, grown=(one.update, cells.n_features), promise=one.stopped)
            for one in every
        ]

    def learn_again(
        self, cells: Cells, tasks: Sequence[Labels], models: Sequence[object]
    ) -> list[LearnedTable | None]:
        """Fit earlier tasks again on all that is known of their rows; None: the old one stays.

        Where rows that the old model never saw can judge both, the new one must not be worse.
        """
        from thrifty.models.learning import learn_again
        from thrifty.models.updating import is_not_worse

        if cells.alternatives:  # the stronger model was asked where the cheap one left doubt
            return [None] * len(tasks)
        every = np.arange(cells.n_features)
        asked = [np.asarray(getattr(model, "features_", every)) for model in models]
        found = learn_again(cells, tasks, asked, self.given, self.random_state or 0)
        return [
            new if is_not_worse(new, old, task, cells) else None
            for new, old, task in zip(found, models, tasks)
        ]

    def from_scratch(
        self, cells: Cells, labels: Labels, failed: Failed | None
    ) -> Found[LearnedTable]:
        return self.use_rep(Memory(), cells, labels)

    def improve_rep(self, representation: Memory, found: Found[LearnedTable]) -> Memory:
        if not isinstance(found.grown, tuple):
            return representation
        return representation.after(*found.grown)

    def buy_background(self, cells: Cells, rows: int) -> MemoryUpdate:
        """Buy rows drawn without regard to a label, whole: later tasks own them."""
        n = cells.n_examples
        if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or not 1 <= rows <= n:
            raise BadInput(
                f"rows must be a number of rows between 1 and the {n} there are; got {rows!r}."
            )
        drawn = np.random.default_rng(self.random_state or 0).permutation(n)[:rows]
        boolean = np.flatnonzero(cells.boolean)
        ones = np.zeros(len(boolean))
        at_once = 512  # rows that are read at a time, for memory alone
        for start in range(0, int(rows), at_once):
            some = cells.get(drawn[start : start + at_once], np.arange(cells.n_features))
            ones += np.asarray(some, dtype=np.float64)[:, boolean].sum(axis=0)
        samples = np.full(len(boolean), float(rows))
        return MemoryUpdate(boolean, samples, ones, is_task=False, categories=categories_of(cells))

    def with_background(
        self, representation: Memory, update: MemoryUpdate, n_features: int
    ) -> Memory:
        """The memory with a cohort's update."""
        return representation.after(update, n_features)

    def estimator(
        self, model: LearnedTable, labels: Labels, feature_names: Sequence[str]
    ) -> ModelClassifier | ModelRegressor:
        from thrifty.models.estimators import ModelClassifier, ModelRegressor

        made: ModelClassifier | ModelRegressor
        if labels.numbers is None:
            made = ModelClassifier(self.given)
            made.classes_, made.positive_ = labels.classes, labels.positive
        else:
            made = ModelRegressor(self.given)
        made.steps_ = model.steps
        return made._set(model.table, model.fitted, feature_names, model.words)

    def update(
        self, model: ModelClassifier | ModelRegressor, cells: Cells, labels: Labels, known: Ints
    ) -> Updated:
        """Go on with rows that came since; ``known`` are those that it has learned from."""
        from thrifty.models.updating import update_model

        return update_model(model, cells, labels, self.random_state or 0, known)

    def load_representation(self, data: JsonLike) -> Memory:
        return Memory.from_dict(data)

    def load_estimator(self, data: JsonLike) -> ModelClassifier | ModelRegressor:
        from thrifty.models.estimators import ModelClassifier, ModelRegressor

        kind = ModelRegressor if data.get("numbers") else ModelClassifier
        return kind.from_dict(data, self.given, self.random_state or 0)

    def to_dict(self) -> Json:
        """Name and parameters, for JSON; a user's estimator by its text, which is never run."""
        return {
            "family": "Models",
            "estimator": self._words,
            "predictions": self.predictions,
            "errors": self.errors,
            "random_state": self.random_state,
            **({} if self.labels is None else {"labels": self.labels}),
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> Models:
        """The inverse of :meth:`to_dict`, without a user's estimator."""
        kept = ("predictions", "errors", "random_state")
        made = cls(**{key: data[key] for key in kept}, labels=data.get("labels"))
        made._words = data["estimator"]
        return made
