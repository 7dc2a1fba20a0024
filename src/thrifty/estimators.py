"""Models that stand alone, as scikit-learn's: ``fit``, ``predict``, and what they would ask for."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.models import ModelClassifier, ModelRegressor, ScorecardClassifier
    from thrifty.powers import MonomialRegressor, PolynomialRegressor
    from thrifty.trees import ListClassifier, TreeClassifier

__all__ = [
    "ListClassifier",
    "ModelClassifier",
    "ModelRegressor",
    "MonomialRegressor",
    "PolynomialRegressor",
    "ScorecardClassifier",
    "TreeClassifier",
]

__getattr__, __dir__ = on_demand(
    "thrifty",
    {
        "models": ["ModelClassifier", "ModelRegressor", "ScorecardClassifier"],
        "powers": ["MonomialRegressor", "PolynomialRegressor"],
        "trees": ["ListClassifier", "TreeClassifier"],
    },
    holder=__name__,
)
