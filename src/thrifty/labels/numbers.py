"""Numeric labels, checked once before any cell is bought, and when labels are numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from thrifty.cells.sources.checks import refuse_masked
from thrifty.checks import warn_user
from thrifty.errors import BadInput, BadParameter
from thrifty.labels.classes import Labels, in_one_spelling, read_classes
from thrifty.typing import AnyArray, Floats, Ints, LabelsLike

Said = Literal["classes", "numbers"]

_SMALLEST_NORMAL = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Numbers:
    """One number per example; ``row_weights`` and ``groups`` as for classes."""

    values: Floats
    row_weights: Floats | None = None
    groups: Ints | None = None

    def __len__(self) -> int:
        return len(self.values)


def real_labels(y: LabelsLike) -> np.ndarray:
    """``y`` as finite float64, one per example.

    >>> real_labels([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    refuse_masked(y)
    try:
        labels = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"labels must be numbers, but could not be read as such: {error}") from error
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) == 0:
        raise BadInput(f"labels must be one number per example, but have shape {labels.shape}.")
    if np.isnan(labels).any():
        row = int(np.argmax(np.isnan(labels)))
        raise BadInput(f"labels must be finite, but label {row} is NaN. Leave that example out.")
    if np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise BadInput(
            f"labels must be finite, but label {row} is infinite: it has probably overflowed. "
            "For monomials, give logarithms instead: Monomials(..., log_labels=True)."
        )
    return labels


def log_labels(y: LabelsLike, given_as_logs: bool) -> np.ndarray:
    """Natural logs of the labels of a monomial task."""
    labels = real_labels(y)
    if given_as_logs:
        return labels
    if (labels < 0).any():
        row = int(np.argmax(labels < 0))
        raise BadInput(
            f"a monomial of positive features is positive, but label {row} is {labels[row]}. "
            "Learn with thrifty.Polynomials, which takes labels of either sign."
        )
    if (labels < _SMALLEST_NORMAL).any():
        row = int(np.argmax(labels < _SMALLEST_NORMAL))
        raise BadInput(
            f"a monomial of positive features is positive, but label {row} is {labels[row]}: "
            "zero, or underflowed below the smallest normal double. Give logarithms instead: "
            "Monomials(..., log_labels=True)."
        )
    return np.asarray(np.log(labels))


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
    from sklearn.base import is_classifier, is_regressor

    if is_regressor(estimator):
        return "numbers"
    return "classes" if is_classifier(estimator) else None


def read_any_labels(y: LabelsLike, said: Said | None) -> Labels | Numbers:
    """Classes or numbers: what was said, else what the labels show.

    Labels with a fraction are numbers, and so are whole numbers with more than 20 different values
    and fewer than 10 rows of each. Texts, Booleans and other whole numbers are classes.

    >>> [type(read_any_labels(y, None)).__name__ for y in ([0.5, 1.0], [0, 1])]
    ['Numbers', 'Labels']
    """
    if said == "numbers":
        return read_numbers(y)
    if said is None:
        array = np.asarray(y)
        if array.dtype.kind in "iuf" and np.isfinite(array).all() and _are_amounts(array):
            return read_numbers(y)
    return read_classes(in_one_spelling(y))


def _are_amounts(array: AnyArray, many: int = 20, rows_each: int = 10) -> bool:
    # both were set by hand, and not measured: what is in doubt is said
    if (array % 1 != 0).any():
        return True
    different = len(np.unique(array))
    doubtful = different > many and different * rows_each > array.size
    if doubtful:
        warn_user(
            f"the labels are {different} different whole numbers on {array.size} rows, and taken "
            "for amounts. Where they name classes, bring them as texts: y.astype(str).",
            UserWarning,
        )
    return doubtful
