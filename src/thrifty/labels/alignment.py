"""Labels in the order of the examples, where both say which row is which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thrifty.errors import BadInput
from thrifty.typing import TableLike

__all__ = ["aligned_labels"]


def aligned_labels(X: TableLike, y: Any) -> Any:
    """The labels in the order of the examples, where both say which row is which.

    A pandas series and a pandas frame (or the source made of one) carry an index. Where the two
    differ the labels are put in the frame's order; where they are not of the same rows, that is an
    error: by position they would be the labels of others.

    >>> import pandas
    >>> X = pandas.DataFrame({"a": [1, 0]}, index=["p", "q"])
    >>> aligned_labels(X, pandas.Series([7, 8], index=["q", "p"])).tolist()
    [8, 7]
    """
    mine = y.index if hasattr(y, "index") and hasattr(y, "reindex") else None
    theirs: Any = getattr(X, "index", None)
    if mine is None:
        return y
    if theirs is None:
        return _by_ids(getattr(X, "examples", None), y)
    if callable(theirs) or mine.equals(theirs):
        return y
    if len(mine) == len(theirs) and mine.is_unique and not len(mine.symmetric_difference(theirs)):
        return y.reindex(theirs)
    odd = next((label for label in theirs if label not in mine), None)
    odd = mine[0] if odd is None else odd
    raise BadInput(
        f"X and y have an index each ({len(theirs)} and {len(mine)} rows) and they are not of the "
        f"same rows: {odd!r} is in one of them alone, or comes twice. Bring the labels of these "
        "rows, y.loc[X.index]; or, where row i of y is for row i of X whatever the index says, "
        "y.to_numpy()."
    )


def _by_ids(ids: Sequence[str] | None, y: Any) -> Any:
    """Labels whose index holds the ids of the examples, in the order of the examples."""
    said = [str(label) for label in y.index] if ids is not None and len(ids) == len(y) else None
    if ids is None or said is None or tuple(said) == tuple(ids) or set(said) != set(ids):
        return y
    at = {label: i for i, label in enumerate(said)}
    return y.iloc[[at[i] for i in ids]]
