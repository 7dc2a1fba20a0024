"""Thrifty: learn many related tasks while paying for few feature values.

>>> import thrifty
>>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))

Public are the names in ``thrifty.__all__`` and the modules ``thrifty.bounds``, ``thrifty.errors``,
``thrifty.protocol``, ``thrifty.stores``, ``thrifty.streams``, ``thrifty.testing``,
``thrifty.trees`` (``Gain``, ``Learner``) and ``thrifty.wrapped`` (``Readable``). Every other module
and name is private, whatever it is called, and may change from one version to the next.
"""

from typing import Any as _Any

from thrifty import bounds, errors, streams
from thrifty.agnostic import Balanced, Doubling, Expansion, Restart
from thrifty.cells import (
    Answered,
    Budget,
    Cells,
    ChatServer,
    PriceList,
    Question,
    Rates,
    Receipt,
    Reply,
    Source,
)
from thrifty.lazy import Sure, Worth
from thrifty.lifetime import Learned, Lifetime
from thrifty.lifetime.prediction import Prediction
from thrifty.models import ModelClassifier, ModelRegressor, Models, ScorecardClassifier
from thrifty.powers import MonomialRegressor, Monomials, PolynomialRegressor, Polynomials
from thrifty.trees import (
    ListClassifier,
    Lists,
    Paper,
    Race,
    Tested,
    TreeClassifier,
    Trees,
    Verified,
    WarmUp,
)
from thrifty.trees.version_0_1 import old_name as _old_name
from thrifty.wrapped import metered

__version__ = "0.2.0.dev0"

__all__ = [
    "Answered",
    "Balanced",
    "Budget",
    "Cells",
    "ChatServer",
    "Doubling",
    "Expansion",
    "Learned",
    "Lifetime",
    "ListClassifier",
    "Lists",
    "ModelClassifier",
    "ModelRegressor",
    "Models",
    "MonomialRegressor",
    "Monomials",
    "Paper",
    "PolynomialRegressor",
    "Polynomials",
    "Prediction",
    "PriceList",
    "Question",
    "Race",
    "Rates",
    "Receipt",
    "Reply",
    "Restart",
    "ScorecardClassifier",
    "Source",
    "Sure",
    "Tested",
    "TreeClassifier",
    "Trees",
    "Verified",
    "WarmUp",
    "Worth",
    "bounds",
    "errors",
    "metered",
    "streams",
]


def __getattr__(name: str) -> _Any:
    return _old_name(name, globals())
