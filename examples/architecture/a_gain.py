"""A gain of your own: how many more examples a split gets right. One value, no entry anywhere."""

from __future__ import annotations

import numpy as np

import thrifty
from thrifty.trees import Gain


def right(counts: np.ndarray, totals: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Examples that the most common class of each side gets right, beyond one leaf."""
    both = counts.max(axis=0) + (totals[:, None] - counts).max(axis=0)
    constant = (counts.sum(axis=0) == 0) | (counts.sum(axis=0) == totals.sum())
    return np.where(constant, -np.inf, (both - totals.max()) / totals.sum())


#: the largest value over a box of counts is at a corner, so it may be raced
RIGHT = Gain("right", right, raced="corners", by_price=False)


def main() -> thrifty.Lifetime:
    """Learn with it, raced and stored by its name."""
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=thrifty.trees.Race(gain=RIGHT)))
    for task in thrifty.streams.trees(6, 40, 2, 400, 2, random_state=3):
        learned = life.learn(task.name, task.X, task.y)
        print(task.name, learned.route, learned.receipt.cells)
    return life


if __name__ == "__main__":
    main()
