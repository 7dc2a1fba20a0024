"""Thrifty: learn many related tasks while paying for few feature values.

>>> import thrifty
>>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4))

Public are the names in ``thrifty.__all__`` and, by module, those in ``__all__`` of
``thrifty.trees`` (how trees are learned), ``thrifty.agnostic`` (rules for unrelated tasks),
``thrifty.estimators`` (models that stand alone), ``thrifty.results`` (what a lifetime gives),
``thrifty.protocol`` (families, and their reader of cells), ``thrifty.serving``,
``thrifty.stopping``,
``thrifty.stores``, ``thrifty.streams``, ``thrifty.bounds``, ``thrifty.errors``,
``thrifty.testing`` and ``thrifty.wrapped`` (``Readable``). Every other module and name is private,
whatever it is called, and may change from one version to the next.

Every name is imported when it is first used: whoever asks for a bill does not wait for compilers
and solvers.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from thrifty.on_demand import on_demand as _on_demand

if _TYPE_CHECKING:
    from thrifty import agnostic, bounds, errors, streams
    from thrifty import estimators as estimators
    from thrifty import protocol as protocol
    from thrifty import results as results
    from thrifty import serving as serving
    from thrifty import stopping as stopping
    from thrifty import stores as stores
    from thrifty import testing as testing
    from thrifty import trees as trees
    from thrifty.cells import (
        Answered,
        Budget,
        ChatServer,
        Oracle,
        PriceList,
        Question,
        Rates,
        Source,
    )
    from thrifty.lifetime.lifetime import Lifetime
    from thrifty.models import ModelClassifier, ModelRegressor, Models
    from thrifty.powers import Monomials, Polynomials
    from thrifty.stopping import Sure, Worth
    from thrifty.trees import Lists, TreeClassifier, Trees
    from thrifty.wrapped import metered

__version__ = "0.3.0"

#: where each public name lives
_HOMES = {
    "cells": (
        "Answered", "Budget", "ChatServer", "Oracle", "PriceList", "Question", "Rates", "Source",
    ),
    "lifetime.lifetime": ("Lifetime",),
    "models": ("ModelClassifier", "ModelRegressor", "Models"),
    "powers": ("Monomials", "Polynomials"),
    "stopping": ("Sure", "Worth"),
    "trees": ("Lists", "TreeClassifier", "Trees"),
    "wrapped": ("metered",),
}  # fmt: skip
#: modules that are public themselves
_MODULES = (
    "agnostic", "bounds", "errors", "estimators", "protocol", "results", "serving", "stopping",
    "stores", "streams", "testing", "trees",
)  # fmt: skip

__all__ = [
    "Answered",
    "Budget",
    "ChatServer",
    "Lifetime",
    "Lists",
    "ModelClassifier",
    "ModelRegressor",
    "Models",
    "Monomials",
    "Oracle",
    "Polynomials",
    "PriceList",
    "Question",
    "Rates",
    "Source",
    "Sure",
    "TreeClassifier",
    "Trees",
    "Worth",
    "agnostic",
    "bounds",
    "errors",
    "metered",
    "streams",
]


def _otherwise(name: str) -> object:
    if name in _MODULES:
        return _import_module(f"thrifty.{name}")
    raise AttributeError(f"module 'thrifty' has no attribute {name!r}")


__getattr__, __dir__ = _on_demand(__name__, _HOMES, _otherwise)
