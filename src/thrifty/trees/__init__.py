"""Decision trees: the values, the learners, the family and the model."""

from thrifty.trees.family import Trees
from thrifty.trees.model import ThriftyTreeClassifier
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Split, Tree

__all__ = ["Leaf", "Metafeatures", "Node", "Split", "ThriftyTreeClassifier", "Tree", "Trees"]
