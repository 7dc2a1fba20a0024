"""Decision trees and lists: the values, the learners, the families and the models."""

from typing import Any

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
from thrifty.trees.origins import Origin, origins, uses
from thrifty.trees.paper.learner import Paper
from thrifty.trees.paper.warm_up import WarmUp
from thrifty.trees.race.learner import Race
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tested import Tested
from thrifty.trees.tree import Leaf, Node, Split, Tree
from thrifty.trees.verified.learner import Verified
from thrifty.trees.version_0_1 import old_name

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


def __getattr__(name: str) -> Any:
    return old_name(name, globals())
