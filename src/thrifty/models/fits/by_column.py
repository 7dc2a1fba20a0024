"""Estimators that choose columns of the user's table: what was bought of them, as a frame.

A ``ColumnTransformer`` says by name, place or kind which columns it works on. Few of them are
bought, in an order of their own: it is given those, under their names, and told of no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

__all__ = ["chooses", "kept_as_gaps", "told_of"]


def chooses(estimator: object) -> bool:
    """Whether an estimator chooses among the columns that it is given.

    >>> from sklearn.pipeline import make_pipeline
    >>> chooses(make_pipeline(ColumnTransformer([("a", "passthrough", ["age"])]), "passthrough"))
    True
    """
    return any(True for _ in _choosers(estimator))


def told_of(estimator: object, columns: Sequence[str], there: Sequence[str]) -> None:
    """Tell an estimator, a clone, which of the columns of the whole table are there."""
    for chooser in _choosers(estimator):
        chooser.transformers = [
            (name, how, _of_them(chosen, columns, there))
            for name, how, chosen in chooser.transformers
        ]


def kept_as_gaps(estimator: object, there: Sequence[str]) -> list[bool]:
    """Of each column, whether gaps are left in it: something made for them comes first."""
    kept = set[str]()
    for chooser in _choosers(estimator):
        for _, how, chosen in chooser.transformers:
            if not callable(chosen) and _takes_gaps(how):
                kept |= set(chosen)
    return [name in kept for name in there]


def _choosers(estimator: object) -> Iterator[ColumnTransformer]:
    """Those that see the columns as they come: what comes later sees what these make of them."""
    if isinstance(estimator, ColumnTransformer):
        yield estimator
    elif isinstance(estimator, Pipeline):
        yield from _choosers(estimator.steps[0][1])
    elif isinstance(estimator, FeatureUnion):
        for _, part in estimator.transformer_list:
            yield from _choosers(part)
    elif (inner := getattr(estimator, "estimator", None)) is not None:
        yield from _choosers(inner)


def _of_them(chosen: object, columns: Sequence[str], there: Sequence[str]) -> object:
    """A choice of columns of the whole table, as names of those that are there."""
    if callable(chosen):
        return chosen
    names = np.array(columns, dtype=object)
    if isinstance(chosen, slice):
        wanted = names[_by_place(chosen, list(columns))]
    else:
        wanted = np.atleast_1d(np.asarray(chosen))
        if wanted.dtype.kind not in "UO":  # places or a mask
            wanted = names[wanted.astype(bool if wanted.dtype.kind == "b" else np.int64)]
    return [name for name in wanted.tolist() if name in there]


def _by_place(chosen: slice, columns: list[str]) -> slice:
    """A slice by place of one that may be by name, of which the last name is chosen too."""
    if not isinstance(chosen.start, str) and not isinstance(chosen.stop, str):
        return chosen
    first = None if chosen.start is None else columns.index(chosen.start)
    last = None if chosen.stop is None else columns.index(chosen.stop) + 1
    return slice(first, last, chosen.step)


def _takes_gaps(how: object) -> bool:
    first = how.steps[0][1] if isinstance(how, Pipeline) else how
    tags = getattr(first, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)
