"""Fitted trees of other libraries: their own predictions, paid for cell by cell.

Nothing has to be entered anywhere for a library that is not named here: whoever can say what its
trees ask for makes a :class:`Readable` of a model, and brings that in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Budget, Cells, Receipt, Source, as_source
from thrifty.cells.features import Match, match_features
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.sources.checks import default_names
from thrifty.errors import BadInput, BadParameter
from thrifty.lazy import Explanation, Forest, Stopping, Walked, explain, walk
from thrifty.typing import AnyArray, TableLike

__all__ = ["Metered", "Readable", "metered"]

_KNOWN = (
    "Thrifty's trees and lists; scikit-learn's DecisionTree*, ExtraTree*, RandomForest*, "
    "ExtraTrees*, GradientBoosting* and HistGradientBoosting*; LightGBM's Booster and LGBM*; "
    "XGBoost's Booster and XGB*; of any other library a thrifty.wrapped.Readable that you make"
)

#: a model's own way to predict: a table in, an answer a row out
Predict = Callable[[AnyArray], AnyArray]


@dataclass(frozen=True, eq=False)
class Readable:
    """A model as Thrifty sees it: its trees, its features, and its own way to predict.

    ``predict`` and ``predict_proba`` are the model's own, called on tables in which everything that
    no path asks for is 0: the answers are the model's, to the last bit. ``name`` is what bills
    call it.

    Examples
    --------
    A stump of one's own: at most 2 on the second feature is "low".

    >>> import numpy as np
    >>> from thrifty.lazy import Forest
    >>> first, second = np.array([1, 1, 2]), np.array([2, 1, 2])
    >>> stump = Forest(np.array([1, -1, -1]), np.array([2.0, 0, 0]), first, second, second,
    ...                roots=np.array([0]))
    >>> own = Readable(stump, 3, None, lambda X: np.where(X[:, 1] <= 2, "low", "high"))
    >>> lazy = metered(own, [[9, 1, 9], [9, 5, 9]])
    >>> lazy.predict().tolist(), lazy.receipt.cells
    (['low', 'high'], 2)
    """

    forest: Forest
    n_features: int
    feature_names: tuple[str, ...] | None
    predict: Predict
    predict_proba: Predict | None = None
    classes: AnyArray | None = None
    name: str = "Readable"


def read_model(model: object) -> Readable:
    """A fitted model as it is read: one of a library that is known, or what its user made of it."""
    if isinstance(model, Readable):
        return model
    for kind in type(model).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("thrifty", "sklearn", "lightgbm", "xgboost"):
            # the library itself is imported only with a model of it
            from thrifty.wrapped import readers

            read: Callable[[object], Readable] = getattr(readers, f"read_{library}")
            return read(model)
    raise unknown_model(model)


def unknown_model(model: object, why: str = "") -> BadInput:
    """A model that cannot be read."""
    reason = f" ({why})" if why else ""
    return BadInput(
        f"thrifty.metered reads trees and forests that are fitted: {_KNOWN}. Got "
        f"{type(model).__name__}{reason}."
    )


#: cells of one table that is handed to the model
_AT_ONCE = 2**24


def metered(
    model: object,
    source: TableLike,
    *,
    prices: PricesLike = None,
    confidence: float | None = None,
    budget: Budget | float | None = None,
) -> Metered:
    """Predict with a fitted model from a source, buying only what its paths ask for.

    Parameters
    ----------
    model : estimator
        fitted trees of Thrifty, scikit-learn, LightGBM or XGBoost; of another library a
        :class:`thrifty.wrapped.Readable` that you make of it
    source : Source, array, frame or scipy sparse matrix
        a :class:`thrifty.Source`, or an array, frame or sparse matrix to be counted
    prices : None, number, sequence, mapping or PriceList
        what a cell costs, where the source does not say it; 1 each
    confidence : float or None
        stop an example once its most common class has this share (classification trees and forests
        of Thrifty and scikit-learn)
    budget : None, number or Budget
        a number, or ``thrifty.Budget(total=..., per_example=...)``: the best answers for it

    Raises
    ------
    thrifty.errors.BadInput
        a model of no library that is known, or a source that lacks its features
    thrifty.errors.BadParameter
        ``confidence`` or ``budget`` that the model cannot use
    thrifty.errors.BudgetExceeded
        when predicting: a source that costs, and no money left

    See Also
    --------
    thrifty.Lifetime.metered : the same through a lifetime's ledger

    Notes
    -----
    Without ``confidence`` and ``budget`` the predictions are the model's own, to the last bit.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
    >>> model = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 1, 1])
    >>> lazy = metered(model, X)
    >>> lazy.predict().tolist(), lazy.receipt.cells
    ([0, 1, 1, 1], 6)
    """
    readable = read_model(model)
    cells_from = as_source(source, allow_missing=True)
    cells = Cells(cells_from, prices, match=match_model(readable, cells_from))
    return Metered(readable, cells, confidence, budget)


class Metered:
    """A model, a source, and what the predictions have bought so far.

    Attributes
    ----------
    receipt : Receipt
        the bill; 0 before the first prediction
    sure : array of float
        how sure each answer is: the share of its class where the example stopped
    finished : array of bool
        which examples reached the leaves of all trees
    """

    def __init__(
        self,
        model: Readable,
        cells: Cells,
        confidence: float | None = None,
        budget: Budget | float | None = None,
        booked: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Through a reader; what is bought through it is bought within ``booked``."""
        self._model, self._cells, self._booked = model, cells, booked
        stops = confidence is not None or budget is not None
        self._stopping = Stopping(confidence, budget) if stops else None
        if stops and model.forest.share is None:
            raise BadParameter(
                "confidence and budget stop an example at an inner node, whose class shares only "
                "Thrifty's trees and scikit-learn's classification trees and forests keep. Predict "
                "without them: only the cells on the paths are bought."
            )
        self._walked: Walked | None = None

    @property
    def receipt(self) -> Receipt:
        return self._cells.receipt()

    def predict(self) -> AnyArray:
        """What ``model.predict`` says of every example."""
        if self._stopping is not None:
            likely = self._shares().argmax(axis=1)
            classes = self._model.classes
            return likely if classes is None else np.asarray(classes[likely])
        return self._by_the_model(self._model.predict)

    def predict_proba(self) -> NDArray[np.float64]:
        """What ``model.predict_proba`` says of every example."""
        if self._model.predict_proba is None:
            raise BadParameter("this model does not predict probabilities; use predict().")
        if self._stopping is not None:
            return self._shares()
        return self._by_the_model(self._model.predict_proba)

    @property
    def sure(self) -> NDArray[np.float64]:
        return np.asarray(self._shares().max(axis=1))

    @property
    def finished(self) -> NDArray[np.bool_]:
        return self._walk().finished

    def cells_per_example(self) -> NDArray[np.int64]:
        """How many cells each example needed."""
        return np.asarray(self._walk().known.sum(axis=1, dtype=np.int64))

    def explain(self, example: int) -> Explanation:
        """Path, cells and cost of one example."""
        n = self._cells.n_examples
        if not 0 <= example < n:
            raise BadParameter(f"example must lie in 0..{n - 1}; got {example!r}.")
        answer = self.predict()[example]
        return explain(self._model.forest, self._walk(), example, answer, self._cells)

    def _walk(self) -> Walked:
        if self._walked is None:
            with self._booked():
                self._walked = walk(self._cells, self._model.forest, self._stopping)
        return self._walked

    def _shares(self) -> NDArray[np.float64]:
        share = self._model.forest.share
        if share is None:
            raise BadParameter("the inner nodes of this model carry no class shares.")
        return np.asarray(share[self._walk().at].mean(axis=1))

    def _by_the_model(self, predict: Predict) -> AnyArray:
        """The model's own answer to tables that hold what was bought, a few rows at a time."""
        walked = self._walk()
        n = self._cells.n_examples
        step = max(1, _AT_ONCE // self._model.n_features)
        parts = [
            np.asarray(predict(walked.filled(slice(i, i + step), self._model.n_features)))
            for i in range(0, n, step)
        ]
        return np.concatenate(parts)


def match_model(model: Readable, source: Source) -> Match | None:
    """The source's columns of the model's features: by name, or by place without names."""
    names = model.feature_names
    return match_features(
        default_names(model.n_features) if names is None else names,
        source,
        needed=model.forest.features().tolist(),
        whose="the model",
        named=names is not None,
    )
