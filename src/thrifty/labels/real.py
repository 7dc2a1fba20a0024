"""Reading labels: real numbers, checked once, before any cell is bought."""

from __future__ import annotations

import numpy as np

from thrifty.cells.sources.checks import refuse_masked
from thrifty.errors import BadInput
from thrifty.typing import LabelsLike

__all__ = ["log_labels", "real_labels"]

SMALLEST_NORMAL = np.finfo(np.float64).tiny


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
    if (labels < SMALLEST_NORMAL).any():
        row = int(np.argmax(labels < SMALLEST_NORMAL))
        raise BadInput(
            f"a monomial of positive features is positive, but label {row} is {labels[row]}: "
            "zero, or underflowed below the smallest normal double. Give logarithms instead: "
            "Monomials(..., log_labels=True)."
        )
    return np.asarray(np.log(labels))
