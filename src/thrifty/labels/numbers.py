"""Numeric labels, and when labels are numbers rather than names of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor

from thrifty.array_types import Floats
from thrifty.errors import BadInput, BadParameter
from thrifty.labels.classes import Labels, read_classes
from thrifty.labels.real import real_labels
from thrifty.typing import AnyArray, LabelsLike

__all__ = ["Numbers", "Said", "check_said", "labels_said_by", "read_any_labels", "read_numbers"]

Said = Literal["classes", "numbers"]

#: whole numbers with more different values than this, and fewer rows of each than that, may be
#: either
_MANY, _ROWS_EACH = 20, 10


@dataclass(frozen=True, eq=False)
class Numbers:
    """One number per example."""

    values: Floats

    def __len__(self) -> int:
        return len(self.values)


def read_numbers(y: LabelsLike) -> Numbers:
    """Labels as finite numbers, two rows at least.

    >>> read_numbers([1, 2.5]).values.tolist()
    [1.0, 2.5]
    """
    values = real_labels(y)
    if len(values) < 2:
        raise BadInput(f"a model of numbers needs 2 rows at least; got {len(values)} sample(s).")
    return Numbers(values)


def check_said(labels: object) -> Said | None:
    """What a user said of the labels."""
    if labels not in (None, "classes", "numbers"):
        raise BadParameter(
            f"labels must be 'classes', 'numbers' or None (look at them); got {labels!r}."
        )
    said: Said | None = labels
    return said


def labels_said_by(estimator: object) -> Said | None:
    """A classifier learns classes, a regressor numbers; None: it does not say."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return None  # none was given, or none that can be used, which is said elsewhere
    if is_regressor(estimator):
        return "numbers"
    return "classes" if is_classifier(estimator) else None


def read_any_labels(y: LabelsLike, said: Said | None) -> Labels | Numbers:
    """Classes or numbers: what was said, else what the labels show.

    Labels with a fraction are numbers. Texts, Booleans and whole numbers are classes; whole numbers
    with more than 20 different values and fewer than 10 rows of each may be either, and have to be
    said.

    >>> [type(read_any_labels(y, None)).__name__ for y in ([0.5, 1.0], [0, 1])]
    ['Numbers', 'Labels']
    """
    if said == "numbers":
        return read_numbers(y)
    if said is None:
        array = np.asarray(y)
        if array.dtype.kind == "f" and np.isfinite(array).all() and (array % 1 != 0).any():
            return read_numbers(y)
        if array.dtype.kind in "iuf":
            _refuse_doubtful(array)
    return read_classes(y)


def _refuse_doubtful(array: AnyArray) -> None:
    different = len(np.unique(array))
    if different > _MANY and different * _ROWS_EACH > array.size:
        raise BadInput(
            f"y holds {different} different whole numbers on {array.size} rows: are they amounts "
            "or names of classes? Say thrifty.Models(labels='numbers') or "
            "thrifty.Models(labels='classes')."
        )
