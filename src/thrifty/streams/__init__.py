"""Task streams for experiments: lazy, seeded, satisfying the assumptions of the theory."""

from thrifty.streams.adversary import AdversaryStream, adversary
from thrifty.streams.anchor_tasks import AnchorStream, FamilyStream, anchored_families, anchors
from thrifty.streams.deep_tasks import DeepStream, deep
from thrifty.streams.list_tasks import ListStream, lists
from thrifty.streams.monomial_tasks import monomials
from thrifty.streams.polynomial_tasks import polynomials
from thrifty.streams.real_tasks import RealStream, reals
from thrifty.streams.task import Task
from thrifty.streams.tree_tasks import TreeStream, trees

__all__ = [
    "AdversaryStream",
    "AnchorStream",
    "DeepStream",
    "FamilyStream",
    "ListStream",
    "RealStream",
    "Task",
    "TreeStream",
    "adversary",
    "anchored_families",
    "anchors",
    "deep",
    "lists",
    "monomials",
    "polynomials",
    "reals",
    "trees",
]
