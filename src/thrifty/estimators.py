"""Models that stand alone, as scikit-learn's: ``fit``, ``predict``, and what they would ask for."""

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
