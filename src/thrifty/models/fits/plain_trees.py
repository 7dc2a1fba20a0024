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
from thrifty.models.fits.tree_sums import TreeSum
from thrifty.typing import Json

__all__ = [
    "Leaf", "Node", "PlainTrees", "Words", "before", "both", "linear_as_trees", "no_plain_trees",
    "points_as_trees", "tree_sum_as_trees",
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


def linear_as_trees(
    coefficients: Floats, centres: Floats, intercept: float, names: Sequence[str], times: float
) -> tuple[Floats, list[Node]]:
    """A Boolean feature adds its effect times its distance from the background; a gap nothing."""
    trees: list[Node] = []
    for name, effect, centre in zip(names, coefficients.tolist(), centres.tolist()):
        yes, no = [0.0, times * effect * (1 - centre)], [0.0, -times * effect * centre]
        known = {"feature": name, "above": 0.5, "yes": yes, "no": no}
        trees.append({"feature": name, "in": [], "gap": True, "yes": [0.0, 0.0], "no": known})
    return np.array([times * intercept]), trees


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


def tree_sum_as_trees(
    trees: TreeSum, names: Sequence[str], words: Words, times: float
) -> tuple[Floats, list[Node]]:
    """The trees of a sum, each as nodes."""
    n_columns = len(trees.base)

    def grown(at: int, column: int) -> Node:
        if trees.left[at] == at:
            leaf = np.zeros(n_columns)
            leaf[column] = times * trees.value[at]
            return both(leaf)
        left, right = grown(int(trees.left[at]), column), grown(int(trees.right[at]), column)
        name, gap_left = str(names[int(trees.feature[at])]), bool(trees.gap_left[at])
        node: Json = {"feature": name}
        texts, threshold = words.get(name), float(trees.threshold[at])
        if at in trees.sets:
            known, chosen = trees.sets[at]
            node["known"] = [_word(code, texts) for code in known]
            node["in"] = [_word(code, texts) for code in chosen]
        elif texts is not None:  # very many categories are cut as numbers are, by their places
            node["in"] = [text for code, text in enumerate(texts) if code <= threshold]
        elif np.isfinite(threshold):
            return {**node, "above": threshold, "gap": not gap_left, "yes": right, "no": left}
        else:  # gaps on one side, whatever is known on the other
            return {**node, "in": [], "gap": not gap_left, "yes": right, "no": left}
        return {**node, "gap": gap_left, "yes": left, "no": right}

    each = zip(trees.roots.tolist(), trees.column.tolist())
    return times * trees.base, [grown(root, column) for root, column in each]
