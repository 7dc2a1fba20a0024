"""The family tree of a lifetime: which task taught each metafeature, and which it served."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thrifty.report.view import LifetimeView
from thrifty.trees.origins import origins
from thrifty.trees.tree import Node, Path, Tree, features_of, internal_nodes, is_prefix, skeleton

__all__ = ["Lineage", "lineage_of", "metafeature_of_nodes"]


@dataclass(frozen=True)
class Lineage:
    """The family tree of a lifetime.

    Attributes
    ----------
    taught_by : tuple of int or None
        for each metafeature the number of the task that taught it; None where no tree of the
        lifetime holds it
    used_by : tuple of tuple of int
        for each metafeature the numbers of the tasks learned with it, in order
    """

    taught_by: tuple[int | None, ...]
    used_by: tuple[tuple[int, ...], ...]


def lineage_of(view: LifetimeView) -> Lineage:
    """Who taught each metafeature, and which tasks it served.

    A screened task both uses what is known and teaches; it is not counted as its own pupil.
    """
    known = [skeleton(metafeature) for metafeature in view.metafeatures]
    taught: list[int | None] = [None] * len(known)
    used: list[list[int]] = [[] for _ in known]
    for number, task in enumerate(view.tasks):
        if task.tree is None:
            continue
        if task.route != "scratch":
            for metafeature in sorted(set(metafeature_of_nodes(task.tree, known).values())):
                if task.route == "reused" or taught[metafeature] is not None:
                    used[metafeature].append(number)
        if task.route != "reused":
            for metafeature in _held_by(task.tree, known):
                if taught[metafeature] is None:
                    taught[metafeature] = number
    return Lineage(tuple(taught), tuple(tuple(tasks) for tasks in used))


def metafeature_of_nodes(tree: Tree, metafeatures: Sequence[Tree]) -> dict[Path, int]:
    """The metafeature behind each node of a tree; nodes that none explains are left out.

    >>> from thrifty.trees.tree import affix, stump
    >>> known = affix(stump(1), (True,), stump(2))
    >>> metafeature_of_nodes(affix(stump(1), (False,), stump(9)), [stump(4), known])
    {(): 1}
    """
    near = _rooted_in(tree, metafeatures)
    found = origins(tree, [metafeatures[number] for number in near])
    return {path: near[origin.metafeature] for path, origin in found.items()}


def _rooted_in(tree: Tree, metafeatures: Sequence[Tree]) -> list[int]:
    """Those whose root the tree asks about; the others cannot be laid anywhere on it."""
    asked = features_of(tree)
    return [
        number
        for number, metafeature in enumerate(metafeatures)
        if isinstance(metafeature, Node) and metafeature.split.feature in asked
    ]


def _held_by(tree: Tree, metafeatures: Sequence[Tree]) -> Iterator[int]:
    """Metafeatures that are a part of the tree."""
    near = _rooted_in(tree, metafeatures)
    for _, node in internal_nodes(skeleton(tree)):
        for number in near:
            if is_prefix(metafeatures[number], node, by_feature=True):
                yield number
