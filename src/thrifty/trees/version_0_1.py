"""What 0.1 said, in the words of 0.2: its parameters of Trees, its names, what its stores hold.

In 0.1 one class had the parameters of every learner, ``compare=`` and ``accept=`` picked the
learner, and parameters that it did not use were ignored. ``docs/changes_0_2.md`` has the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from thrifty.checks import a_choice
from thrifty.errors import BadParameter
from thrifty.trees.learner import AnyLearner
from thrifty.trees.learners import learner_from_dict
from thrifty.trees.paper.learner import Paper
from thrifty.trees.race.learner import Race
from thrifty.trees.tested import Tested
from thrifty.trees.verified.learner import Verified
from thrifty.typing import JsonLike

__all__ = ["Consistent", "learner_of_0_1", "old_name", "warn_of_old_parameters"]

_OLD = {
    "max_nodes", "gain", "improve", "compare", "accept", "warm_up", "match", "missing",
    "class_weight",
}  # fmt: skip
_NAMES = {"ThriftyTreeClassifier": "TreeClassifier", "ThriftyListClassifier": "ListClassifier"}


@dataclass(frozen=True)
class Consistent:
    """0.1's name for what Paper and Race do; only ``accept=`` takes it."""


def old_name(name: str) -> object:
    """What a name of 0.1 stands for now, with a warning."""
    if name == "Consistent":
        _warn("thrifty.Consistent()", "a learner: thrifty.Paper() or thrifty.Race()")
        return Consistent
    _warn(f"thrifty.{name}", f"thrifty.{_NAMES[name]}")
    return getattr(import_module("thrifty"), _NAMES[name])


def warn_of_old_parameters(old: JsonLike, learner: object) -> None:
    """Refuse what 0.1 did not know either, and what says two things; warn of the rest."""
    unknown = sorted(set(old) - _OLD)
    if unknown:
        raise TypeError(
            f"Trees() takes max_depth and learner; got {unknown[0]!r}. A learner's parameters are "
            "its own, as in Trees(learner=thrifty.Race(gain='gini'))."
        )
    given = ", ".join(f"{name}=" for name in old)
    if learner is not None:
        raise BadParameter(f"{given} belong to the learner: give them to it, not to Trees().")
    new = learner_of_0_1(old)
    _warn(f"Trees({given})", f"Trees(learner=thrifty.{new!r})", level=4)


def learner_of_0_1(old: JsonLike) -> AnyLearner:
    """The learner that 0.1's parameters meant, as arguments or as a store holds them."""
    given = dict(old)
    compare = a_choice("compare", given.pop("compare", "all"), ["all", "race"])
    accept = _accept(given.pop("accept", Consistent()))
    weight = given.pop("class_weight", None)
    weight = dict(map(tuple, weight)) if isinstance(weight, list) else weight
    if isinstance(given.get("warm_up"), dict):
        given["warm_up"] = Paper.from_dict(given).warm_up
    exact = compare == "all" and isinstance(accept, Consistent)
    if weight is not None and not exact:
        raise BadParameter("class_weight is a parameter of thrifty.Paper() alone.")
    if isinstance(accept, Verified):
        if given.get("warm_up"):
            raise BadParameter("warm_up is for metafeatures; Verified() has none: leave it out.")
        return accept
    if isinstance(accept, Tested):
        return Tested(accept.error, accept.confidence, race=compare == "race", **given)
    return Race(**given) if compare == "race" else Paper(class_weight=weight, **given)


def _accept(accept: object) -> Consistent | Tested | Verified:
    """0.1's acceptance rule, as a value or as its stores hold it."""
    if isinstance(accept, Mapping):
        data = {**accept, "learner": accept.get("accept")}
        name = data.pop("accept", None)
        accept = Consistent() if name == "Consistent" else learner_from_dict(data)
    if not isinstance(accept, Consistent | Tested | Verified):
        raise BadParameter(
            "accept must be thrifty.Consistent(), thrifty.Tested() or thrifty.Verified(); got "
            f"{accept!r}."
        )
    return accept


def _warn(old: str, new: str, level: int = 3) -> None:
    warnings.warn(
        f"Thrifty 0.1 said {old}; say {new} (docs/changes_0_2.md). The old way works until 0.3.",
        FutureWarning,
        stacklevel=level,
    )
