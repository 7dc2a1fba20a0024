"""Lifetimes that learn one task after another, and what it means that two are the same."""

from collections.abc import Iterable
from typing import Any

import thrifty

#: for families that buy all that their algorithm needs, and a limit is asked for
AMPLE = thrifty.Budget(10**9)


def paper(max_depth: int, **how: Any) -> thrifty.Trees:
    """Trees as the paper learns them: every candidate on every row."""
    return thrifty.Trees(max_depth=max_depth, learner=thrifty.trees.Paper(**how))


def one_by_one(tasks: Iterable[Any], family: Any, **settings: Any) -> thrifty.Lifetime:
    """A lifetime that has learned these tasks in their order."""
    life = thrifty.Lifetime(family, **settings)
    for task in tasks:
        life.learn(task.name, task.X, task.y)
    return life


def assert_same(one: thrifty.Lifetime, other: thrifty.Lifetime) -> None:
    """The same trees, routes, bills and representation."""
    assert list(one) == list(other)
    for a, b in zip(one.tasks, other.tasks):
        assert (a.name, a.route, a.receipt, a.failure) == (b.name, b.route, b.receipt, b.failure)
        assert a.model.tree_ == b.model.tree_
    assert one.representation == other.representation
