"""From a failure to an error: what a user sees when a task cannot be learned at all."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from thrifty.attempt import Failure
from thrifty.errors import NotEnoughExamples, NotInFamily

__all__ = ["correlated", "correlation_between", "refuse", "too_few_rows"]

#: Pairs of features are compared on at most this many of them.
COMPARED = 500


def too_few_rows(n_rows: int, needed: float, message: str) -> Failure:
    """There may be a formula, and there are fewer examples than finding it takes."""
    return Failure("too-few-rows", message, {"rows": n_rows, "rows_needed": needed})


def refuse(failure: Failure) -> NoReturn:
    """Raise the error that fits the failure; it carries the failure's reason and numbers."""
    message = f"{failure.message} ({failure.reason}). "
    if "too-few-rows" in failure.reason or failure.reason == "coarse-values":
        raise NotEnoughExamples(message + "Bring more examples of this task.", failure)
    raise NotInFamily(
        message + "Check the limits of the family, the precision of the labels, and that all "
        "features behind them are there.",
        failure,
    )


def correlation_between(columns: np.ndarray) -> tuple[float, float, tuple[int, int]]:
    """The largest |correlation| of two columns, what chance allows, and which two they are.

    Chance allows 4 standard errors for a few columns; among very many, the largest of all pairs
    is expected beyond that, and the limit rises with the logarithm of their number.
    """
    n_rows, width = columns.shape
    if n_rows < 4 or width < 2:
        return 0.0, 1.0, (0, 0)
    varying = np.flatnonzero(columns.std(axis=0) > 0)[:COMPARED]
    if len(varying) < 2:
        return 0.0, 1.0, (0, 0)
    table = np.abs(np.corrcoef(columns[:, varying], rowvar=False))
    np.fill_diagonal(table, 0.0)
    at = np.unravel_index(int(table.argmax()), table.shape)
    limit = max(4.0, 1.5 + math.sqrt(4.0 * math.log(len(varying)))) / math.sqrt(n_rows)
    pair = (int(varying[at[0]]), int(varying[at[1]]))
    return float(table.max()), min(1.0, limit), pair


def correlated(columns: np.ndarray, features: np.ndarray) -> Failure | None:
    """A failure that names two correlated features, or None where all look independent."""
    largest, limit, (first, second) = correlation_between(columns)
    if largest <= limit:
        return None
    return Failure(
        "correlated-features",
        f"features {int(features[first])} and {int(features[second])} have a correlation of "
        f"{largest:.2f} where independence allows {limit:.2f} on {len(columns)} examples. To look "
        "at one feature at a time is then wrong; method='lattice' does not need independence",
        {"correlation": largest, "limit": limit},
    )
