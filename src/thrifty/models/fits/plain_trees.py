"""A fitted model as a sum of small decision trees, in plain data that twenty lines can read.

A leaf is a list, what it adds for each class; a node asks one question. The format is that of
:mod:`thrifty.serving`, which writes the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.errors import BadInput
from thrifty.models.fits.bins import Bins
from thrifty.typing import Json

__all__ = [
    "Leaf", "Node", "PlainTrees", "Words", "before", "both", "no_plain_trees",
    "points_as_trees",
]  # fmt: skip

Leaf = list[float]
Node = Json | Leaf
#: what the codes of categories stand for, by the feature's name
Words = Mapping[str, Sequence[object]]


@dataclass(frozen=True, eq=False)
class PlainTrees:
    """Scores of the classes with these codes: a base, what every tree adds, and rows that are near.

    ``near``: how values become columns, and the rows as columns with what each of them says.
    """

    codes: Ints
    base: Floats
    trees: list[Node]
    near: Json | None = None


def no_plain_trees(own: object) -> BadInput:
    """What to say of a model that is no sum of small trees."""
    return BadInput(
        f"this model was fitted with {type(own).__name__}, which cannot be written for serving "
        "as plain data; Thrifty's own model and scorecards can."
    )


def both(scores: Floats) -> Leaf:
    """A score for each class; of two classes the first has 0."""
    found = [float(score) for score in scores]
    return [0.0, *found] if len(found) == 1 else found


def before(threshold: float) -> float:
    """At least the threshold is above the number before it."""
    return float(np.nextafter(threshold, -np.inf))


def points_as_trees(
    bins: Sequence[Bins],
    intercepts: Floats,
    tables: Sequence[Floats],
    names: Sequence[str],
    words: Words,
    times: float,
) -> tuple[Floats, list[Node]]:
    """A tree for each feature that has points."""
    trees: list[Node] = []
    for name, of, table in zip(names, bins, tables):
        leaves = [both(times * row) for row in table]
        if any(any(leaf) for leaf in leaves):
            trees.append(_bins(str(name), of, leaves, words.get(str(name))))
    return times * intercepts, trees


def _bins(name: str, bins: Bins, leaves: list[Leaf], words: Sequence[object] | None) -> Node:
    """First whether it is a gap, then which bin; a category never seen adds nothing."""
    nothing = [0.0] * len(leaves[0])
    gap = leaves[-1] if bins.weight[-1] > 0 else nothing
    if bins.groups is None:
        known = _between(name, bins.edges.tolist(), leaves[:-1])
    else:
        known = nothing
        for group, leaf in zip(bins.groups, leaves):
            told = [_word(code, words) for code in group]
            known = {"feature": name, "in": told, "yes": leaf, "no": known}
    return {"feature": name, "in": [], "gap": True, "yes": gap, "no": known}


def _between(name: str, edges: list[float], leaves: list[Leaf]) -> Node:
    """Halve the limits until one bin is left."""
    if not edges:
        return leaves[0]
    middle = len(edges) // 2
    return {
        "feature": name,
        "above": before(edges[middle]),
        "no": _between(name, edges[:middle], leaves[: middle + 1]),
        "yes": _between(name, edges[middle + 1 :], leaves[middle + 1 :]),
    }


def _word(code: float, words: Sequence[object] | None) -> object:
    return code if words is None else words[int(code)]
