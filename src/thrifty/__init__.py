"""Thrifty: learn many related tasks while paying for few feature values.

>>> import thrifty
>>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
"""

from thrifty import bounds, errors, streams
from thrifty.agnostic import Balanced, Doubling, Expansion, Restart
from thrifty.cells import Budget, Cells, PriceList, Receipt, Source
from thrifty.lazy import Sure, Worth
from thrifty.lifetime import Learned, Lifetime
from thrifty.models import ModelClassifier, Models, ScorecardClassifier
from thrifty.powers import MonomialRegressor, Monomials, PolynomialRegressor, Polynomials
from thrifty.prediction import Prediction
from thrifty.trees import (
    Consistent,
    Lists,
    Tested,
    ThriftyListClassifier,
    ThriftyTreeClassifier,
    Trees,
    Verified,
    WarmUp,
)
from thrifty.wrapped import metered

__version__ = "0.2.0.dev0"

__all__ = [
    "Balanced",
    "Budget",
    "Cells",
    "Consistent",
    "Doubling",
    "Expansion",
    "Learned",
    "Lifetime",
    "Lists",
    "ModelClassifier",
    "Models",
    "MonomialRegressor",
    "Monomials",
    "PolynomialRegressor",
    "Polynomials",
    "Prediction",
    "PriceList",
    "Receipt",
    "Restart",
    "ScorecardClassifier",
    "Source",
    "Sure",
    "Tested",
    "ThriftyListClassifier",
    "ThriftyTreeClassifier",
    "Trees",
    "Verified",
    "WarmUp",
    "Worth",
    "bounds",
    "errors",
    "metered",
    "streams",
]
