"""What users hold of a task of numbers: any regressor, fitted on the few cells it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.array_types import Floats
from thrifty.cells import Cells
from thrifty.labels.numbers import read_numbers
from thrifty.labels.partly import PartlyLabelled
from thrifty.lazy import Asked
from thrifty.lazy.stopping import StoppingRule
from thrifty.models.asking.ask import ask_numbers
from thrifty.models.cascade import on_cascade
from thrifty.models.fits.estimators import check_estimator
from thrifty.models.fits.fitting import Fitted, NotBrought, fit_table
from thrifty.models.fits.quality import NumberQuality, numbers_left_out
from thrifty.models.fits.threads import in_one_thread
from thrifty.models.held.base import OnCells
from thrifty.models.learning import learn_tasks
from thrifty.models.memory import Memory
from thrifty.models.table import Table
from thrifty.typing import AnyArray, EstimatorLike, Json, LabelsLike, TableLike

__all__ = ["ModelRegressor"]

#: features that a model names when it is printed; a screen of them, set by hand
_SHOWN = 30


class ModelRegressor(RegressorMixin, OnCells[Fitted, NumberQuality]):
    """A regressor that was fitted on the few cells it needs.

    Lifetimes hand out fitted ones; on its own, ``fit(X, y)`` reads only the cells it chooses.

    Parameters
    ----------
    estimator : estimator
        any scikit-learn regressor; one that takes no ``sample_weight`` gets rows drawn by their
        weights; None: Thrifty's own, a line, points
        over bins and boosted trees, mixed
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

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 40))
    >>> model = ModelRegressor(spend="20 %").fit(X, X[:, 3] - 2 * X[:, 7])
    >>> sorted(model.features_[:2].tolist()), bool(model.score(X, X[:, 3] - 2 * X[:, 7]) > 0.9)
    ([3, 7], True)
    """

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
        check_estimator(self.estimator, numbers=True)
        cells, source, labels = self._read(X, y, read_numbers, sample_weight, groups)
        whole = PartlyLabelled(labels, np.arange(len(labels)), len(labels))
        seed = self.random_state or 0
        (learned,) = learn_tasks(cells, [whole], Memory(), self.estimator, seed)
        return self._set(
            learned.table, learned.fitted, source.feature_names, learned.words, source.named
        )

    @classmethod
    def around(
        cls,
        table: Table,
        fitted: Fitted,
        feature_names: Sequence[str],
        estimator: EstimatorLike | None = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Self:
        """A fitted regressor around an estimator."""
        return cls(estimator)._set(table, fitted, feature_names, words or {})

    @property
    def quality_(self) -> NumberQuality | None:
        """R squared and error on rows left out, with intervals; measured when first asked for.

        None with too few rows, and where the user's estimator was not brought along.
        """
        check_is_fitted(self, "estimator_")
        if isinstance(self.estimator_, NotBrought):
            return None
        if not self._measured:
            seed = self.random_state or 0
            with in_one_thread(self.estimator is None):
                fit_again = partial(fit_table, estimator=self.estimator, seed=seed)
                self._measured.append(numbers_left_out(self.table_, fit_again, seed))
        return self._measured[0]

    def _losses(self, fitted: Fitted, values: Floats, y: AnyArray) -> Floats:
        """The square of what was wrong on each row."""
        said = np.asarray(fitted.predict(values), dtype=np.float64).reshape(-1)
        return np.asarray((said - y) ** 2, dtype=np.float64)

    def __str__(self) -> str:
        if not hasattr(self, "features_"):
            return repr(self)
        names = [self.feature_names_[f] for f in self.features_.tolist()]
        shown = "\n".join(f"  {name}" for name in names[:_SHOWN])
        more = f"\n  and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        error = self.estimator_.error
        off = f" On rows left out it is off by {error:.4g} (root mean square)."
        off = "" if np.isnan(error) else off
        return (
            f"a model of numbers on {len(names)} of {self.n_features_in_} features.{off}\n"
            f"{shown}{more}"
        )

    def predict(self, X: TableLike) -> NDArray[np.float64]:
        """A number for every row; X holds all features, only ``features_`` are read."""
        return self.numbers(self._values(X))

    def numbers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers from the values of ``features_`` alone, NaN for gaps."""
        return np.asarray(self.estimator_.predict(values), dtype=np.float64).reshape(-1)

    def ask(
        self,
        cells: Cells,
        rows: NDArray[np.int64],
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows through a door; with a limit as many of its features as may be paid."""
        self.check_kinds(cells)
        cells = on_cascade(cells, self.steps_) if self.steps_ else cells
        return ask_numbers(self, cells, rows, stop=stop, spend=spend, per_row=per_row)

    def to_dict(self) -> Json:
        """Plain data, for JSON: the bought table, and the model where it is our own."""
        return {**super().to_dict(), "numbers": True}
