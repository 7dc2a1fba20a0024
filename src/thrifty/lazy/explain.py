"""The path of one example: what was asked, what came, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.cells import Cells
from thrifty.lazy.forest import Forest
from thrifty.lazy.walk import Walked

__all__ = ["Explanation", "Step", "explain", "explain_cells"]


@dataclass(frozen=True, slots=True)
class Step:
    """One question: the feature, the limit it was compared with, the value, what it cost.

    ``threshold`` is NaN where the value was not compared but computed with; ``text`` is the
    category that the value stands for.
    """

    tree: int
    feature: str
    threshold: float
    value: float
    cost: float
    text: str | None = None

    def __str__(self) -> str:
        paid = f"paid {self.cost:g}" if self.cost else "known already"
        limit = "" if np.isnan(self.threshold) else f" (compared with {self.threshold:g})"
        gap = np.isnan(self.value)
        said = self.text if self.text is not None else "missing" if gap else f"{self.value:g}"
        return f"{self.feature} = {said}{limit}, {paid}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of one example, its answer, its cells and their cost."""

    example: int
    steps: tuple[Step, ...]
    answer: object
    cells: int
    cost: float

    def __str__(self) -> str:
        head = f"example {self.example}: {self.answer} for {self.cells} cells, cost {self.cost:g}"
        several = len({step.tree for step in self.steps}) > 1
        lines = [f"  tree {s.tree}: {s}" if several else f"  {s}" for s in self.steps]
        return "\n".join([head, *lines])


def explain(
    forest: Forest, walked: Walked, example: int, answer: object, cells: Cells
) -> Explanation:
    """Walk one example again over the values it has; each feature is paid at its first use."""
    path: list[tuple[int, int, float, float]] = []
    for tree, root in enumerate(forest.roots.tolist()):
        node = root
        while node != walked.at[example, tree]:
            f = int(forest.feature[node])
            value = walked.value(example, f)
            path.append((tree, f, float(forest.threshold[node]), value))
            node = int(forest.step(np.array([node]), np.array([value]))[0])
    return _explained(example, path, answer, cells)


def explain_cells(
    cells: Cells, example: int, features: Sequence[int], answer: object
) -> Explanation:
    """What one example was asked for, where the model computes with all of it at once."""
    values = cells.get([example], list(features))[0] if len(features) else np.zeros(0)
    path = [(0, f, float("nan"), float(v)) for f, v in zip(features, values)]
    return _explained(example, path, answer, cells)


def _explained(
    example: int, path: Sequence[tuple[int, int, float, float]], answer: object, cells: Cells
) -> Explanation:
    asked = list(dict.fromkeys(f for _, f, _, _ in path))
    costs = dict(zip(asked, cells.paid_on(example, asked)))
    names, words = cells.feature_names, cells.categories
    steps = [
        Step(tree, names[f], limit, value, costs.pop(f, 0.0), _text(words.get(f), value))
        for tree, f, limit, value in path
    ]
    total = float(sum(step.cost for step in steps))
    return Explanation(example, tuple(steps), answer, len(asked), total)


def _text(words: Sequence[str] | None, value: float) -> str | None:
    """The category at a place of the list.

    >>> _text(["never", "daily"], 0.0), _text(["never", "daily"], 2.0)
    ('never', None)
    """
    if words is None or np.isnan(value) or not 0 <= value < len(words):
        return None
    return str(words[int(value)])
