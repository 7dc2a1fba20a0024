"""Decision trees and lists: the values, the learners, the families and the models."""

from thrifty.trees.accept import Consistent, Tested, Verified
from thrifty.trees.family import Trees
from thrifty.trees.list_model import ThriftyListClassifier
from thrifty.trees.lists import Lists
from thrifty.trees.look.pictures import (
    draw_metafeatures,
    draw_tree,
    graphviz_text,
    text_with_origins,
)
from thrifty.trees.model import ThriftyTreeClassifier
from thrifty.trees.origins import Origin, origins, uses
from thrifty.trees.paper.warm_up import WarmUp
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Split, Tree

__all__ = [
    "Consistent",
    "Leaf",
    "Lists",
    "Metafeatures",
    "Node",
    "Origin",
    "Split",
    "Tested",
    "ThriftyListClassifier",
    "ThriftyTreeClassifier",
    "Tree",
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
