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
from types import ModuleType
from typing import TYPE_CHECKING

from thrifty.errors import ThriftyError
from thrifty.trees.origins import Origin, origins, uses
from thrifty.trees.tree import Leaf, Path, Tree, tree_text
from thrifty.typing import Fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Box",
    "draw_metafeatures",
    "draw_tree",
    "graphviz_text",
    "layout",
    "metafeatures_data",
    "text_with_origins",
]

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


def metafeatures_data(
    metafeatures: Iterable[Tree], trees: Iterable[Tree] = (), names: Names = _x
) -> list[Fields]:
    """What the picture of a representation shows: each metafeature, its text, its uses."""
    known = list(metafeatures)
    counts = uses(trees, known)
    return [
        {"metafeature": i, "text": tree_text(tree, names), "uses": n, "tree": tree}
        for i, (tree, n) in enumerate(zip(known, counts))
    ]


def draw_metafeatures(
    metafeatures: Iterable[Tree], trees: Iterable[Tree] = (), names: Names = _x
) -> Figure:
    """Draw every metafeature, four to a row, with how often these trees used it."""
    plt = _pyplot()
    rows = metafeatures_data(metafeatures, trees, names)
    across = min(4, max(1, len(rows)))
    down = max(1, -(-len(rows) // across))
    figure: Figure
    figure, grid = plt.subplots(down, across, figsize=(3 * across, 2.2 * down), squeeze=False)
    for ax in grid.flat:
        ax.set_axis_off()
    for row, ax in zip(rows, grid.flat):
        whole = {box.path: Origin(row["metafeature"], ()) for box in layout(row["tree"], names)}
        draw_tree(row["tree"], names, whole, ax)
        times = "once" if row["uses"] == 1 else f"{row['uses']} times"
        ax.set_title(f"metafeature {row['metafeature']}, used {times}", fontsize=9)
    figure.tight_layout()
    return figure


def _pyplot() -> ModuleType:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ThriftyError(
            "drawing needs matplotlib, which is not installed. Type: pip install 'thrifty[plots]'"
        ) from error
    return pyplot


def _new_axes(tree: Tree) -> Axes:
    boxes = layout(tree)
    wide = max(4.0, 1.1 * (max(box.x for box in boxes) + 1))
    high = max(2.0, 0.9 * (max(box.y for box in boxes) + 1))
    axes: Axes = _pyplot().subplots(figsize=(wide, high))[1]
    return axes
