"""A lifetime as small JSON for the browser: rows of tasks, trees as nested lists.

A leaf is ``[label, training rows]``; a node is ``[feature, threshold, metafeature, false, true]``
with -1 where no metafeature induced it. Short on purpose: a report holds thousands of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from thrifty.lifetime.bill_columns import COLUMNS, BillColumn
from thrifty.models.held.text import quality_words
from thrifty.report.lineage import Lineage, metafeature_of_nodes
from thrifty.report.view import LifetimeView, TaskView
from thrifty.trees.tree import Leaf, Path, Tree

__all__ = [
    "beside_columns",
    "metafeature_rows",
    "small_tree",
    "task_columns",
    "task_detail",
    "task_row",
]

_TOP_FEATURES = 8
#: lines of a card that a page shows
_CARD_LINES = 150
_FIRST_USERS = 12


def small_tree(
    tree: Tree, view: LifetimeView, origin: Mapping[Path, int], path: Path = ()
) -> list[object]:
    """The tree as nested lists, features by name."""
    if isinstance(tree, Leaf):
        label = None if tree.label is None else str(tree.label)
        return [label, None if tree.counts is None else round(sum(tree.counts))]
    return [
        view.name_of(tree.split.feature),
        tree.split.threshold,
        origin.get(path, -1),
        small_tree(tree.false, view, origin, (*path, False)),
        small_tree(tree.true, view, origin, (*path, True)),
    ]


def task_columns() -> list[BillColumn]:
    """The columns of the bill that stand in the table of tasks beside cells and cost."""
    return [column for column in COLUMNS if column.tasks_heading]


def beside_columns() -> list[BillColumn]:
    """The columns of the bill that stand in the table of predictions beside the cost."""
    return [column for column in COLUMNS if column.beside_heading]


def task_row(number: int, task: TaskView) -> list[object]:
    """One line of the table.

    Number, name, route, cells, share, cost, quality (-1: not measured), the quality in words; then
    the further columns of the bill that a page lists.
    """
    part = task.cells / task.everything if task.everything else 0.0
    measured = None if task.quality is None else task.quality.average_precision
    return [
        number,
        task.name,
        task.route,
        task.cells,
        round(100 * part, 3),
        round(task.cost, 6),
        -1 if measured is None else round(measured.value, 4),
        "not measured" if measured is None else str(measured),
        *(column.read(task.receipt) for column in task_columns()),
    ]


def task_detail(task: TaskView, view: LifetimeView) -> dict[str, object]:
    """What opening a task shows."""
    top = sorted(task.receipt.per_feature.items(), key=lambda item: (-item[1], item[0]))
    detail: dict[str, object] = {
        "examples": task.receipt.n_examples,
        "avoided": task.receipt.avoided_cells,
        "features": top[:_TOP_FEATURES],
        "more": max(0, len(top) - _TOP_FEATURES),
    }
    if task.failure:
        detail["failure"] = task.failure
    if task.about:
        detail["about"] = f"{task.about} {_quality_words(task)}"
    if task.card is not None:
        lines = task.card.lines()
        detail["card"] = {
            "classes": len(task.card.base) > 1,
            "lines": lines[:_CARD_LINES],
            "more": max(0, len(lines) - _CARD_LINES),
            "legend": task.card.legend,
        }
    elif task.tree is None:
        detail["text"] = task.text
    else:
        origin = metafeature_of_nodes(task.tree, view.metafeatures)
        detail["tree"] = small_tree(task.tree, view, origin)
    return detail


def _quality_words(task: TaskView) -> str:
    rare = None if task.quality is None else task.quality.rare
    return quality_words(task.quality, {} if rare is None else {rare: task.positive})


def metafeature_rows(view: LifetimeView, lineage: Lineage) -> list[dict[str, object]]:
    """Each metafeature: drawn where it is a tree, who taught it, whom it served first."""
    if not view.metafeatures:
        texts = view.metafeature_texts
        return [{"text": text, "taught": None, "used": [], "n_used": 0} for text in texts]

    def named(task: int) -> list[object]:
        return [task, view.tasks[task].name]

    return [
        {
            "tree": small_tree(tree, view, {}),
            "taught": None if taught is None else named(taught),
            "used": [named(task) for task in used[:_FIRST_USERS]],
            "n_used": len(used),
        }
        for tree, taught, used in zip(view.metafeatures, lineage.taught_by, lineage.used_by)
    ]
