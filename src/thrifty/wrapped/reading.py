"""Which library made a model, and how its trees are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thrifty.errors import BadInput
from thrifty.lazy import Forest

__all__ = ["Readable", "read_model"]

_KNOWN = (
    "Thrifty's trees and lists; scikit-learn's DecisionTree*, ExtraTree*, RandomForest*, "
    "ExtraTrees*, GradientBoosting* and HistGradientBoosting*; LightGBM's Booster and LGBM*; "
    "XGBoost's Booster and XGB*"
)


@dataclass(frozen=True, eq=False)
class Readable:
    """A model as Thrifty sees it: its trees, its features, and its own way to predict.

    ``predict`` and ``predict_proba`` are the model's own, called on tables in which everything that
    no path asks for is 0: the answers are the model's, to the last bit.
    """

    forest: Forest
    n_features: int
    feature_names: tuple[str, ...] | None
    predict: Callable[[Any], Any]
    predict_proba: Callable[[Any], Any] | None
    classes: Any = None


def read_model(model: object) -> Readable:
    """Find the reader for a fitted model, by the module its class comes from."""
    for kind in type(model).__mro__:
        library = kind.__module__.partition(".")[0]
        if library == "thrifty":
            from thrifty.wrapped.thrifty_trees import read

            return read(model)
        if library == "lightgbm":
            from thrifty.wrapped.lightgbm_trees import read

            return read(model)
        if library == "xgboost":
            from thrifty.wrapped.xgboost_trees import read

            return read(model)
        if library == "sklearn":
            from thrifty.wrapped.sklearn_trees import read

            return read(model)
    raise unknown_model(model)


def unknown_model(model: object, why: str = "") -> BadInput:
    """A model that cannot be read."""
    reason = f" ({why})" if why else ""
    return BadInput(
        f"thrifty.metered reads trees and forests that are fitted: {_KNOWN}. Got "
        f"{type(model).__name__}{reason}."
    )
