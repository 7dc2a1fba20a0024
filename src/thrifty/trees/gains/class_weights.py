"""Class weights: how much a row of each class counts in the gains.

Counts stay whole numbers and are multiplied by the weight of their class, so a gain is still a pure
function of the counts, and a reused tree still equals the scratch tree to the last bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from thrifty.array_types import Floats
from thrifty.errors import BadInput, BadParameter
from thrifty.labels.classes import Labels
from thrifty.trees.gains.gain import Gain
from thrifty.trees.tree import Leaf, Node, Tree
from thrifty.typing import AnyArray

__all__ = [
    "ClassWeight",
    "check_class_weight",
    "class_weight_from_json",
    "class_weight_to_json",
    "weigh",
    "weigh_leaves",
    "weighted",
]

#: None, "balanced", or what a row of each class weighs
ClassWeight: TypeAlias = str | Mapping[Hashable, float] | None


def check_class_weight(class_weight: object) -> None:
    """None, "balanced", or positive numbers by class."""
    if class_weight is None or class_weight == "balanced":
        return
    if not isinstance(class_weight, Mapping):
        raise BadParameter(
            f"class_weight must be None, 'balanced' or a mapping class -> weight; got "
            f"{class_weight!r}."
        )
    for label, weight in class_weight.items():
        number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not number or not 0 < weight < np.inf:
            raise BadParameter(
                f"a class weight must be a finite number above 0; got {weight!r} for class "
                f"{label!r}."
            )


def class_weight_to_json(class_weight: ClassWeight) -> object:
    """Pairs instead of a mapping: JSON would turn the classes 0 and 1 into texts."""
    if class_weight is None or isinstance(class_weight, str):
        return class_weight
    return [[_plain(label), float(weight)] for label, weight in class_weight.items()]


def class_weight_from_json(data: list[list[Any]] | str | None) -> ClassWeight:
    """The inverse of :func:`class_weight_to_json`."""
    return dict(data) if isinstance(data, list) else data


def _plain(label: object) -> object:
    return label.item() if hasattr(label, "item") else label


def weigh(labels: Labels, class_weight: ClassWeight) -> Labels:
    """The labels with the weight of each class; classes that are not named weigh 1.

    >>> from thrifty.labels.classes import read_classes
    >>> weigh(read_classes(["a", "b", "b", "b"]), "balanced").weights.round(2).tolist()
    [2.0, 0.67]
    """
    if class_weight is None:
        return labels
    if isinstance(class_weight, str):
        sizes = np.bincount(labels.codes, minlength=labels.n_classes)
        return replace(labels, weights=len(labels) / (labels.n_classes * sizes))
    known = [labels.value(code) for code in range(labels.n_classes)]
    strangers = [label for label in class_weight if label not in known]
    if strangers:
        raise BadInput(
            f"class_weight names classes that y does not hold: {strangers[:5]}; its classes are "
            f"{known[:10]}. Remove or rename them."
        )
    weights = np.array([float(class_weight.get(label, 1.0)) for label in known])
    return replace(labels, weights=weights)


def weighted(gain: Gain, labels: Labels) -> Gain:
    """The gain on weighted counts; the gain itself where the labels carry no weights."""
    weights = labels.weights
    if weights is None:
        return gain

    def by_weight(counts: AnyArray, totals: AnyArray, prices: Floats) -> Floats:
        gains = gain(counts * weights[:, None], totals * weights, prices)
        n_true = counts.sum(axis=0)
        constant = (n_true == 0) | (n_true == totals.sum())
        return np.where(constant, -np.inf, gains)

    return Gain(f"{gain.name}, classes weighted", by_weight, None, by_price=gain.by_price)


def weigh_leaves(tree: Tree, labels: Labels) -> Tree:
    """Leaves of several classes take the class of the most weight; pure ones stay as they are."""
    if labels.weights is None:
        return tree
    if isinstance(tree, Node):
        return Node(tree.split, weigh_leaves(tree.false, labels), weigh_leaves(tree.true, labels))
    if tree.counts is None:
        return tree
    return Leaf(int(np.argmax(np.array(tree.counts) * labels.weights)), tree.counts)
