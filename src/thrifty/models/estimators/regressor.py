"""What users hold of a task of numbers: any regressor, fitted on the few cells it needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.labels import read_numbers
from thrifty.models.estimators.base import OnCells, shown_names
from thrifty.models.fits.fitting import NotBrought, in_one_thread
from thrifty.models.fits.quality import NumberQuality, numbers_left_out
from thrifty.typing import Json, TableLike


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
        error = self.estimator_.error
        off = f" On held-out rows it is off by {error:.4g} (root mean square)."
        off = "" if np.isnan(error) else off
        names = self._names
        return (
            f"a model of numbers on {len(names)} of {self.n_features_in_} features.{off}\n"
            f"{shown_names(names)}"
        )

    def predict(self, X: TableLike) -> NDArray[np.float64]:
        """A number for every row; X holds all features, only ``features_`` are read."""
        return self.numbers(self._values(X))

    def numbers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers from the values of ``features_`` alone, NaN for gaps."""
        return np.asarray(self.estimator_.predict(values), dtype=np.float64).reshape(-1)

    def to_dict(self) -> Json:
        """Plain data, for JSON: the bought table, and the model where it is our own."""
        return {**super().to_dict(), "numbers": True}
