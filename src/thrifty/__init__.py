"""Thrifty: learn many related tasks while paying for few feature values.

>>> import thrifty
>>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))

Public are the names in ``thrifty.__all__`` and the modules ``thrifty.bounds``, ``thrifty.errors``,
``thrifty.protocol``, ``thrifty.stores``, ``thrifty.streams``, ``thrifty.testing``,
``thrifty.trees`` (``Gain``, ``Learner``) and ``thrifty.wrapped`` (``Readable``). Every other module
and name is private, whatever it is called, and may change from one version to the next.

Every name is imported when it is first used: whoever asks for a bill does not wait for compilers
and solvers.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from thrifty.on_demand import on_demand as _on_demand

if _TYPE_CHECKING:
    from thrifty import bounds, errors, streams
    from thrifty.agnostic import Balanced, Doubling, Expansion, Restart
    from thrifty.cells import (
        Answered,
        Budget,
        Cells,
        ChatServer,
        Oracle,
        PriceList,
        Question,
        Rates,
        Receipt,
        Reply,
        Source,
    )
    from thrifty.certified.certificate import Certificate
    from thrifty.lazy import Sure, Worth
    from thrifty.lifetime import (
        Answers,
        JointPrediction,
        Learned,
        Lifetime,
        Prediction,
        PredictionFiles,
    )
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
    from thrifty.wrapped import metered

__version__ = "0.2.0"

#: where each public name lives
_HOMES = {
    "agnostic": ("Balanced", "Doubling", "Expansion", "Restart"),
    "cells": (
        "Answered", "Budget", "Cells", "ChatServer", "Oracle", "PriceList", "Question", "Rates",
        "Receipt", "Reply", "Source",
    ),
    "certified.certificate": ("Certificate",),
    "lazy": ("Sure", "Worth"),
    "lifetime": ("Answers", "JointPrediction", "Learned", "Lifetime", "Prediction",
        "PredictionFiles"),
    "models": ("ModelClassifier", "ModelRegressor", "Models", "ScorecardClassifier"),
    "powers": ("MonomialRegressor", "Monomials", "PolynomialRegressor", "Polynomials"),
    "trees": (
        "ListClassifier", "Lists", "Paper", "Race", "Tested", "TreeClassifier", "Trees",
        "Verified", "WarmUp",
    ),
    "wrapped": ("metered",),
}  # fmt: skip
#: rooms that are public themselves
_ROOMS = ("bounds", "errors", "streams")
#: names of 0.1, which warn
_OLD = ("Consistent", "ThriftyListClassifier", "ThriftyTreeClassifier")

__all__ = [
    "Answered",
    "Answers",
    "Balanced",
    "Budget",
    "Cells",
    "Certificate",
    "ChatServer",
    "Doubling",
    "Expansion",
    "JointPrediction",
    "Learned",
    "Lifetime",
    "ListClassifier",
    "Lists",
    "ModelClassifier",
    "ModelRegressor",
    "Models",
    "MonomialRegressor",
    "Monomials",
    "Oracle",
    "Paper",
    "PolynomialRegressor",
    "Polynomials",
    "Prediction",
    "PredictionFiles",
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


def _otherwise(name: str) -> object:
    if name in _ROOMS:
        return _import_module(f"thrifty.{name}")
    if name in _OLD:
        from thrifty.trees.version_0_1 import old_name

        return old_name(name)
    raise AttributeError(f"module 'thrifty' has no attribute {name!r}")


__getattr__, __dir__ = _on_demand(__name__, _HOMES, _otherwise)
