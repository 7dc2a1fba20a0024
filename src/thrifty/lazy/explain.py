"""The path of one example: what was asked, what came, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.lazy.forest import Forest
from thrifty.lazy.walk import Walked

__all__ = ["Explanation", "Step", "explain"]


@dataclass(frozen=True, slots=True)
class Step:
    """One question: the feature, the limit it was compared with, the value, what it cost."""

    tree: int
    feature: str
    threshold: float
    value: float
    cost: float

    def __str__(self) -> str:
        paid = f"paid {self.cost:g}" if self.cost else "known already"
        return f"{self.feature} = {self.value:g} (compared with {self.threshold:g}), {paid}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of one example, its answer, its cells and their cost."""

    example: int
    steps: tuple[Step, ...]
    answer: Any
    cells: int
    cost: float

    def __str__(self) -> str:
        head = f"example {self.example}: {self.answer} for {self.cells} cells, cost {self.cost:g}"
        several = len({step.tree for step in self.steps}) > 1
        lines = [f"  tree {s.tree}: {s}" if several else f"  {s}" for s in self.steps]
        return "\n".join([head, *lines])


def explain(
    forest: Forest,
    walked: Walked,
    example: int,
    answer: Any,
    feature_names: Sequence[str],
    prices: NDArray[np.float64],
) -> Explanation:
    """Walk one example again over the values it has; each feature is paid at its first use."""
    steps: list[Step] = []
    paid: set[int] = set()
    for tree, root in enumerate(forest.roots.tolist()):
        node = root
        while node != walked.at[example, tree]:
            f = int(forest.feature[node])
            value = walked.value(example, f)
            cost = 0.0 if f in paid else float(prices[f])
            paid.add(f)
            limit = float(forest.threshold[node])
            steps.append(Step(tree, feature_names[f], limit, value, cost))
            node = int(forest.step(np.array([node]), np.array([value]))[0])
    total = float(sum(step.cost for step in steps))
    return Explanation(example, tuple(steps), answer, len(paid), total)
