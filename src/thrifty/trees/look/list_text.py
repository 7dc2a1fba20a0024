"""A decision list in words: ``if x3: + / elif not x7: - / else: +``."""

from __future__ import annotations

from collections.abc import Callable

from thrifty.errors import BadInput
from thrifty.trees.tree import Leaf, Node, Split, Tree

__all__ = ["is_list", "list_text", "sign"]


def is_list(tree: Tree) -> bool:
    """Whether every node has a leaf child.

    >>> from thrifty.trees.tree import stump
    >>> is_list(stump(1)), is_list(Node(Split(0), stump(1), stump(2)))
    (True, False)
    """
    while isinstance(tree, Node):
        if isinstance(tree.false, Node) and isinstance(tree.true, Node):
            return False
        tree = tree.true if isinstance(tree.false, Leaf) else tree.false
    return True


def sign(label: object) -> str:
    """The usual signs for the two classes 0 and 1, the class itself for all others."""
    if label is None:
        return "·"
    return {"0": "-", "1": "+", "-1": "-", "False": "-", "True": "+"}.get(str(label), str(label))


def list_text(
    tree: Tree,
    names: Callable[[int], str] = lambda i: f"x{i}",
    between: str = " / ",
    labels: Callable[[object], str] = sign,
) -> str:
    """The list on one line; ``between="\\n"`` puts each test on its own.

    >>> print(list_text(Node(Split(3), Node(Split(7), Leaf(0), Leaf(1)), Leaf(1))))
    if x3: + / elif x7: + / else: -
    """
    if not is_list(tree):
        raise BadInput("expected a decision list; a node of this tree has no leaf child.")
    parts: list[str] = []
    while isinstance(tree, Node):
        exits = isinstance(tree.true, Leaf)  # of two leaves, the true one is told first
        word = "elif" if parts else "if"
        leaf = tree.child(exits)
        assert isinstance(leaf, Leaf)
        parts.append(f"{word} {_test(tree.split, exits, names)}: {labels(leaf.label)}")
        tree = tree.child(not exits)
    assert isinstance(tree, Leaf)
    last = labels(tree.label)
    return between.join([*parts, f"else: {last}"]) if parts else last


def _test(split: Split, is_true: bool, names: Callable[[int], str]) -> str:
    if is_true:
        return split.text(names)
    if split.threshold is None:
        return f"not {names(split.feature)}"
    return f"{names(split.feature)} < {split.threshold:g}"
