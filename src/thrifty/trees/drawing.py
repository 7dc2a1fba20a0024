"""Looking at trees: text with origins, Graphviz, and a picture; data first, drawing second.

>>> from thrifty.trees.tree import Leaf, Node, Split
>>> print(graphviz_text(Node(Split(3), Leaf("well"), Leaf("sick"))))
digraph tree {
  node [shape=box, style=rounded, fontname="Helvetica"];
  n0 [label="x3?"];
  n1 [label="well", style=filled, fillcolor="#eeeeee"];
  n0 -> n1 [label="no"];
  n2 [label="sick", style=filled, fillcolor="#eeeeee"];
  n0 -> n2 [label="yes"];
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.errors import BadInput
from thrifty.on_demand import needed
from thrifty.trees.representation import Origin, origins
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, tree_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Names = Callable[[int], str]
#: colours of metafeatures, in turn; legible with black text
_COLOURS = ("#9ecae1", "#fdd0a2", "#a1d99b", "#dadaeb", "#fcbba1", "#d9d9d9", "#fee391", "#c7e9c0")
_LEAF_COLOUR = "#eeeeee"
_NEW_COLOUR = "#ffffff"


def _x(i: int) -> str:
    return f"x{i}"


def text_with_origins(tree: Tree, metafeatures: Iterable[Tree], names: Names = _x) -> str:
    """The tree as text, each split with the metafeature it came from.

    >>> from thrifty.trees.tree import stump
    >>> print(text_with_origins(stump(2), [stump(2)]))
    x2?  [metafeature 0]
    ├─ no: ·
    └─ yes: ·
    """
    found = origins(tree, metafeatures)

    def note(path: Path) -> str:
        return f"  [metafeature {found[path].metafeature}]" if path in found else "  [new]"

    return tree_text(tree, names, note)


def graphviz_text(tree: Tree, names: Names = _x, found: Mapping[Path, Origin] | None = None) -> str:
    """The tree in the DOT language; with ``found`` (see ``origins``) nodes wear their colours."""
    lines = ["digraph tree {", '  node [shape=box, style=rounded, fontname="Helvetica"];']
    numbers: dict[Path, int] = {}
    for box in layout(tree, names):
        number = numbers[box.path] = len(numbers)
        colour = _LEAF_COLOUR if box.is_leaf else _colour_of(box.path, found)
        style = f', style=filled, fillcolor="{colour}"' if colour != _NEW_COLOUR else ""
        lines.append(f"  n{number} [label={_quoted(box.text)}{style}];")
        if box.path:
            above = numbers[box.path[:-1]]
            answer = "yes" if box.path[-1] else "no"
            lines.append(f'  n{above} -> n{number} [label="{answer}"];')
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    """A DOT string: what a user called a feature must not become markup."""
    safe = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{safe}"'


def _colour_of(path: Path, found: Mapping[Path, Origin] | None) -> str:
    if found is None or path not in found:
        return _NEW_COLOUR
    return _COLOURS[found[path].metafeature % len(_COLOURS)]


@dataclass(frozen=True, slots=True)
class Box:
    """A node or leaf of a picture: ``x`` in leaves from the left, ``y`` the depth."""

    path: Path
    x: float
    y: int
    text: str
    is_leaf: bool


def layout(tree: Tree, names: Names = _x) -> list[Box]:
    """Where everything goes, parents first, false branch left: a node stands above its children.

    >>> from thrifty.trees.tree import stump
    >>> [(box.x, box.y, box.text) for box in layout(stump(4))]
    [(0.5, 0, 'x4?'), (0.0, 1, '·'), (1.0, 1, '·')]
    """
    boxes: list[Box] = []
    leaves = 0

    def place(at: Tree, path: Path) -> float:
        nonlocal leaves
        slot = len(boxes)
        if isinstance(at, Leaf):
            text = "·" if at.label is None else str(at.label)
            boxes.append(Box(path, float(leaves), len(path), text, True))
            leaves += 1
            return float(leaves - 1)
        boxes.append(Box(path, 0.0, len(path), "", False))  # its place; x is known below
        x = (place(at.false, (*path, False)) + place(at.true, (*path, True))) / 2
        boxes[slot] = Box(path, x, len(path), f"{at.split.text(names)}?", False)
        return x

    place(tree, ())
    return boxes


def draw_tree(
    tree: Tree,
    names: Names = _x,
    found: Mapping[Path, Origin] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw with matplotlib; returns the axes. Colours as in :func:`graphviz_text`."""
    ax = ax if ax is not None else _new_axes(tree)
    boxes = {box.path: box for box in layout(tree, names)}
    for path, box in boxes.items():
        if path:
            above = boxes[path[:-1]]
            ax.plot([above.x, box.x], [-above.y, -box.y], color="#888888", linewidth=1, zorder=1)
            middle = ((above.x + box.x) / 2, -(above.y + box.y) / 2)
            ax.text(*middle, "yes" if path[-1] else "no", fontsize=7, color="#555555", zorder=2)
        colour = _LEAF_COLOUR if box.is_leaf else _colour_of(path, found)
        ax.text(
            box.x,
            -box.y,
            box.text,
            ha="center",
            va="center",
            fontsize=9,
            zorder=3,
            parse_math=False,
            bbox={"boxstyle": "round", "facecolor": colour, "edgecolor": "#888888"},
        )
    ax.set_xlim(-0.7, max(box.x for box in boxes.values()) + 0.7)
    ax.set_ylim(-max(box.y for box in boxes.values()) - 0.5, 0.5)
    ax.set_axis_off()
    return ax


def _new_axes(tree: Tree) -> Axes:
    boxes = layout(tree)
    wide = max(4.0, 1.1 * (max(box.x for box in boxes) + 1))
    high = max(2.0, 0.9 * (max(box.y for box in boxes) + 1))
    axes: Axes = needed("matplotlib.pyplot", "drawing", "plots").subplots(figsize=(wide, high))[1]
    return axes


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
    """A decision list in words, on one line; ``between="\\n"`` puts each test on its own.

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
