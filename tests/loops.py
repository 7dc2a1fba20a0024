"""Lifetimes that learn one task after another, and what it means that two are the same."""

from collections.abc import Iterable
from typing import Any

import thrifty


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
