"""A rule of your own for unrelated tasks: forget everything after every tenth scratch.

A rule subclasses ``thrifty.agnostic.Rule`` and overrides what it does otherwise; given again, it
opens its store.
"""

from __future__ import annotations

from dataclasses import dataclass

import thrifty
from thrifty.agnostic import Counts, Rule


@dataclass(frozen=True)
class Spring(Rule):
    """Clean up once ``every`` tasks were learned from scratch."""

    every: int = 10

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        """Forget, then improve?"""
        return counts.scratch >= self.every


def main(store: str | None = None) -> thrifty.Lifetime:
    """A stream with unrelated tasks under the rule."""
    family = thrifty.Trees(max_depth=1, learner=thrifty.trees.Paper())
    life = thrifty.Lifetime(family, agnostic=Spring(3), store=store)
    for task in thrifty.streams.trees(12, 30, 6, 200, 1, random_state=1):
        if task.name not in life:
            life.learn(task.name, task.X, task.y)
    print(f"{len(life)} tasks, {len(life.representation)} metafeatures kept")
    return life


if __name__ == "__main__":
    main()
