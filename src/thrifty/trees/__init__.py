"""Decision trees and lists: the values, the learners, the families and the models."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

# at once: a module imported later would take the place of the function of its name
from thrifty.trees.origins import Origin, origins, uses

if TYPE_CHECKING:
    from thrifty.trees.family import Trees
    from thrifty.trees.gains.gain import Gain
    from thrifty.trees.learner import Learner
    from thrifty.trees.list_model import ListClassifier
    from thrifty.trees.lists import Lists
    from thrifty.trees.look.pictures import (
        draw_metafeatures,
        draw_tree,
        graphviz_text,
        text_with_origins,
    )
    from thrifty.trees.model import TreeClassifier
    from thrifty.trees.paper.learner import Paper
    from thrifty.trees.paper.warm_up import WarmUp
    from thrifty.trees.race.learner import Race
    from thrifty.trees.representation import Metafeatures
    from thrifty.trees.tested import Tested
    from thrifty.trees.tree import Leaf, Node, Split, Tree
    from thrifty.trees.verified.learner import Verified

__all__ = [
    "Gain",
    "Leaf",
    "Learner",
    "ListClassifier",
    "Lists",
    "Metafeatures",
    "Node",
    "Origin",
    "Paper",
    "Race",
    "Split",
    "Tested",
    "Tree",
    "TreeClassifier",
    "Trees",
    "Verified",
    "WarmUp",
    "draw_metafeatures",
    "draw_tree",
    "graphviz_text",
    "origins",
    "text_with_origins",
    "uses",
]


def _otherwise(name: str) -> object:
    if name not in ("Consistent", "ThriftyListClassifier", "ThriftyTreeClassifier"):
        raise AttributeError(f"module 'thrifty.trees' has no attribute {name!r}")
    from thrifty.trees.version_0_1 import old_name

    return old_name(name)


__getattr__, __dir__ = on_demand(
    __name__,
    {
        "family": ["Trees"],
        "gains.gain": ["Gain"],
        "learner": ["Learner"],
        "list_model": ["ListClassifier"],
        "lists": ["Lists"],
        "look.pictures": ["draw_metafeatures", "draw_tree", "graphviz_text", "text_with_origins"],
        "model": ["TreeClassifier"],
        "paper.learner": ["Paper"],
        "paper.warm_up": ["WarmUp"],
        "race.learner": ["Race"],
        "representation": ["Metafeatures"],
        "tested": ["Tested"],
        "tree": ["Leaf", "Node", "Split", "Tree"],
        "verified.learner": ["Verified"],
    },
    _otherwise,
)
