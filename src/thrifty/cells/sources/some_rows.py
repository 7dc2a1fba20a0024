"""Some of a source's examples: those that have a label, those that come once."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.callable import CallableSource
from thrifty.cells.sources.checks import checked_ids
from thrifty.cells.sources.questions import QuestionSource
from thrifty.errors import BadInput, BadParameter
from thrifty.typing import AnyArray

__all__ = ["Duplicates", "SomeRows", "of_rows", "rows_to_keep"]

#: what to do with an id that comes more than once
Duplicates = Literal["refuse", "first", "newest"]


def of_rows(source: Source, rows: NDArray[np.int64]) -> Source:
    """A source with some of its examples, in the order of ``rows``; nothing is read.

    >>> some = of_rows(Source.from_array(np.eye(3)), np.array([2, 0]))
    >>> some.read(np.arange(2), np.arange(3)).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    rows = np.asarray(rows, dtype=np.int64)
    if isinstance(source, CallableSource):
        some = copy.copy(source)
        some.examples = tuple(source.examples[i] for i in rows.tolist())
        some.n_examples = len(rows)
        some.present = None if source.present is None else source.present[rows]
        if isinstance(some, QuestionSource):
            some.per_call = some.per_call[rows]
        return some
    return SomeRows(source, rows)


class SomeRows(Source):
    """Some examples of a source that is free to read; made by :func:`of_rows`."""

    def __init__(self, source: Source, rows: NDArray[np.int64]) -> None:
        super().__init__(len(rows), source.feature_names, source.boolean)
        self.named, self.name, self.unread = source.named, source.name, source.unread
        ids = source.examples
        self.examples = None if ids is None else tuple(ids[i] for i in rows.tolist())
        self.index = None if source.index is None else source.index[rows]
        self.gaps, self.values = source.gaps, source.values
        self.told_kinds = source.told_kinds
        self.present = None if source.present is None else source.present[rows]
        self._source, self._rows = source, rows

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:  # type: ignore[override]
        return self._source.categories

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        return self._source.read(self._rows[rows], features)

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        values = self.read(np.arange(self.n_examples), features)
        return np.array(
            [kernels.mask_of_rows(np.flatnonzero(v), self.n_examples) for v in values.T],
            dtype=np.uint64,
        ).reshape(len(features), kernels.words_for(self.n_examples))

    def tiles(self) -> NDArray[np.uint64]:
        return kernels.pack_tiles(self.table(), as_bool=True)


def rows_to_keep(ids: Sequence[object], duplicates: Duplicates) -> NDArray[np.int64] | None:
    """Rows of a table of which each id is kept once; None: all of them.

    "newest" is the last row of an id, as tables are written down in time.

    >>> rows_to_keep(["a", "b", "a"], "newest").tolist()
    [1, 2]
    """
    if duplicates not in ("refuse", "first", "newest"):
        raise BadParameter(f"duplicates must be 'refuse', 'first' or 'newest'; got {duplicates!r}.")
    texts = [str(i) for i in ids]
    if len(set(texts)) == len(texts):
        return None
    if duplicates == "refuse":
        try:
            checked_ids(ids, len(texts))
        except BadInput as error:
            raise BadInput(
                f"{error} Where an example was written down several times, "
                "duplicates='first' or 'newest' takes one of its rows."
            ) from error
    at: dict[str, int] = {}
    for i, text in enumerate(texts):
        if duplicates == "newest" or text not in at:
            at[text] = i
    return np.array(sorted(at.values()), dtype=np.int64)
