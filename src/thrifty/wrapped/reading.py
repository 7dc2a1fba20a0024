"""Which library made a model, and how its trees are read.

Nothing has to be entered anywhere for a library that is not named here: whoever can say what its
trees ask for makes a :class:`Readable` of a model, and brings that in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thrifty.errors import BadInput
from thrifty.lazy import Forest
from thrifty.typing import AnyArray

__all__ = ["Readable", "read_model", "unknown_model"]

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
    >>> from thrifty.wrapped import metered
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
        read = _reader(kind.__module__.partition(".")[0])
        if read is not None:
            return read(model)
    raise unknown_model(model)


def _reader(library: str) -> Callable[[object], Readable] | None:
    """The reader of a library's models; the library itself is imported only with a model of it."""
    if library == "thrifty":
        from thrifty.wrapped import thrifty_trees

        return thrifty_trees.read
    if library == "sklearn":
        from thrifty.wrapped import sklearn_trees

        return sklearn_trees.read
    if library == "lightgbm":
        from thrifty.wrapped import lightgbm_trees

        return lightgbm_trees.read
    if library == "xgboost":
        from thrifty.wrapped import xgboost_trees

        return xgboost_trees.read
    return None


def unknown_model(model: object, why: str = "") -> BadInput:
    """A model that cannot be read."""
    reason = f" ({why})" if why else ""
    return BadInput(
        f"thrifty.metered reads trees and forests that are fitted: {_KNOWN}. Got "
        f"{type(model).__name__}{reason}."
    )
