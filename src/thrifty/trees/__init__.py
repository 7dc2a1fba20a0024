"""Decision trees and lists: how they are learned, and the families and models they make."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.trees.family import Lists, Trees
    from thrifty.trees.gains import Gain
    from thrifty.trees.learned_trees import Learner
    from thrifty.trees.model import ListClassifier, TreeClassifier
    from thrifty.trees.paper import Paper
    from thrifty.trees.race import Race
    from thrifty.trees.tested import Tested
    from thrifty.trees.warm_up import WarmUp

__all__ = [
    "Gain",
    "Learner",
    "ListClassifier",
    "Lists",
    "Paper",
    "Race",
    "Tested",
    "TreeClassifier",
    "Trees",
    "WarmUp",
]
__getattr__, __dir__ = on_demand(
    __name__,
    {
        "family": ["Lists", "Trees"],
        "gains": ["Gain"],
        "learned_trees": ["Learner"],
        "model": ["ListClassifier", "TreeClassifier"],
        "paper": ["Paper"],
        "race": ["Race"],
        "tested": ["Tested"],
        "warm_up": ["WarmUp"],
    },
)
