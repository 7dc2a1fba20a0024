"""Where each node of a tree came from: which metafeature induced it, and who taught that one.

A metafeature laid with its root on a node w covers the nodes below w on which both trees ask the
same features (their thresholds may have been re-fitted). A node of a learned tree comes from the
metafeature that covers it with the most nodes; ties go to the older one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thrifty.report.view import LifetimeView, TaskView
from thrifty.trees.tree import Node, Path, Tree, internal_nodes, is_prefix, skeleton

__all__ = ["Lineage", "lineage_of", "origins"]


@dataclass(frozen=True)
class Lineage:
    """The family tree of a lifetime.

    Attributes
    ----------
    taught_by : for each metafeature the number of the task that taught it; None where no tree of
        the lifetime holds it
    used_by : for each metafeature the numbers of the tasks learned with it, in order
    """

    taught_by: tuple[int | None, ...]
    used_by: tuple[tuple[int, ...], ...]


def origins(tree: Tree, metafeatures: Sequence[Tree]) -> dict[Path, int]:
    """The metafeature behind each node of a tree; nodes that none induces are left out.

    >>> from thrifty.trees.tree import affix, stump
    >>> known = affix(stump(1), (True,), stump(2))
    >>> origins(affix(stump(1), (False,), stump(9)), [known])
    {(): 0}
    """
    return _origins(tree, _by_root(metafeatures))


def _by_root(metafeatures: Sequence[Tree]) -> dict[int, list[tuple[int, Node]]]:
    found: dict[int, list[tuple[int, Node]]] = {}
    for number, tree in enumerate(metafeatures):
        if isinstance(tree, Node):
            found.setdefault(tree.split.feature, []).append((number, tree))
    return found


def _origins(tree: Tree, roots: Mapping[int, list[tuple[int, Node]]]) -> dict[Path, int]:
    best: dict[Path, tuple[int, int]] = {}
    for path, node in internal_nodes(tree):
        for number, metafeature in roots.get(node.split.feature, ()):
            covered = [(*path, *below) for below in _overlap(node, metafeature)]
            for at in covered:
                if len(covered) > best.get(at, (0, 0))[0]:
                    best[at] = (len(covered), number)
    return {path: number for path, (_, number) in sorted(best.items())}


def _overlap(tree: Tree, other: Tree) -> Iterator[Path]:
    """Paths, from the roots down, on which both trees ask the same questions."""
    stack: list[tuple[Path, Tree, Tree]] = [((), tree, other)]
    while stack:
        path, a, b = stack.pop()
        if not (isinstance(a, Node) and isinstance(b, Node)):
            continue
        if a.split.feature == b.split.feature:
            yield path
            stack += [((*path, go), a.child(go), b.child(go)) for go in (False, True)]


def lineage_of(view: LifetimeView) -> Lineage:
    """Who taught each metafeature, and which tasks it served."""
    roots = _by_root(view.metafeatures)
    taught: list[int | None] = [None] * len(view.metafeatures)
    used: list[list[int]] = [[] for _ in view.metafeatures]
    for number, task in enumerate(view.tasks):
        if task.tree is None:
            continue
        if task.route != "reused":
            for metafeature in _held_by(task, roots):
                if taught[metafeature] is None:
                    taught[metafeature] = number
        else:
            for metafeature in sorted(set(_origins(task.tree, roots).values())):
                used[metafeature].append(number)
    return Lineage(tuple(taught), tuple(tuple(tasks) for tasks in used))


def _held_by(task: TaskView, roots: Mapping[int, list[tuple[int, Node]]]) -> Iterator[int]:
    """Metafeatures that are a part of this task's tree."""
    assert task.tree is not None
    for _, node in internal_nodes(skeleton(task.tree)):
        for number, metafeature in roots.get(node.split.feature, ()):
            if is_prefix(metafeature, node, by_feature=True):
                yield number
