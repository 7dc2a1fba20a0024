"""Where growing cannot go on: what is said there, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from thrifty.array_types import Ints
from thrifty.errors import ContradictoryLabels, NotInFamily
from thrifty.labels.classes import Labels
from thrifty.trees.growing.grow import Half, OnStuck, Place, Reason, leaf_of
from thrifty.trees.tree import Leaf, Path

__all__ = ["Stuck", "consistent_within", "contradiction", "or_leaf", "too_deep"]

P = TypeVar("P", bound=Place)
#: (path, rows by class, where each class starts, labels) -> what to raise
Stuck = Callable[[Path, Ints, Ints, Labels], Exception]


def consistent_within(max_depth: int) -> Stuck:
    """For learners of consistent trees: too deep at the depth, a contradiction above it."""

    def stuck(path: Path, rows: Ints, starts: Ints, labels: Labels) -> Exception:
        if len(path) >= max_depth:
            return too_deep(max_depth, np.diff(starts), labels)
        return contradiction(path, rows, starts, labels)

    return stuck


def or_leaf(
    stuck: Stuck | None,
    max_depth: int | None,
    labels: Labels,
    by_class: Callable[[P], tuple[Ints, Ints]],
) -> OnStuck[P]:
    """Raise what ``stuck`` makes of a node; a leaf where there is a depth and no ``stuck``.

    ``by_class`` gives a node's rows, those of one class together, and where each class starts.
    """
    if stuck is None and max_depth is None:
        stuck = contradiction

    def on_stuck(place: P, reason: Reason, half: Half) -> Leaf:
        if stuck is None:
            return leaf_of(place)
        raise stuck(place.path, *by_class(place), labels)

    return on_stuck


def too_deep(max_depth: int, totals: Ints, labels: Labels, what: str = "tree") -> NotInFamily:
    """A node at max_depth that is not pure: another tree than the greedy one might be right."""
    classes = ", ".join(repr(labels.value(int(c))) for c in np.flatnonzero(totals)[:4])
    return NotInFamily(
        f"the {what} grown by the largest gain at each split does not get every example right "
        f"within max_depth={max_depth}: at depth {max_depth} {int(totals.sum())} examples of the "
        f"classes {classes} are still together. Another {what} of that depth might (features that "
        "tell nothing alone can tell together), but none is searched for. Where labels are exact "
        "allow a larger max_depth; where they are noisy use "
        "thrifty.Trees(learner=thrifty.Verified()) or thrifty.Models()."
    )


def contradiction(path: Path, rows: Ints, starts: Ints, labels: Labels) -> ContradictoryLabels:
    """Rows that agree on every feature and differ in their label."""
    by_class = [rows[starts[c] : starts[c + 1]] for c in range(labels.n_classes)]
    named = [(int(some[0]), labels.value(c)) for c, some in enumerate(by_class) if len(some)]
    (a, ya), (b, yb) = named[:2]
    return ContradictoryLabels(
        f"a consistent tree is impossible: examples {a} and {b} agree on every feature, yet their "
        f"labels are {ya!r} and {yb!r} ({len(rows)} examples are alike there). Mend or drop "
        "such rows, or learn from noisy labels with thrifty.Trees(learner=thrifty.Verified()) or "
        "thrifty.Models()."
    )
