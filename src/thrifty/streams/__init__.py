"""Task streams for experiments: lazy, seeded, satisfying the assumptions of the theory."""

from thrifty.streams.adversary import AdversaryStream, adversary
from thrifty.streams.anchor_tasks import (
    AnchorStream,
    FamilyStream,
    ListStream,
    anchored_families,
    anchors,
    lists,
)
from thrifty.streams.power_tasks import monomials, polynomials
from thrifty.streams.tree_tasks import (
    DeepStream,
    RealStream,
    StreamTask,
    TreeStream,
    deep,
    reals,
    trees,
)

__all__ = [
    "AdversaryStream",
    "AnchorStream",
    "DeepStream",
    "FamilyStream",
    "ListStream",
    "RealStream",
    "StreamTask",
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
