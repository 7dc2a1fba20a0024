"""Categories in their places: of a source that counts them otherwise, of a provider's answers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.answered import Answered
from thrifty.cells.sources.base import Source
from thrifty.typing import AnyArray

__all__ = ["RecodedSource", "answers_in_codes"]


class RecodedSource(Source):
    """Another source, its categories in given places; made by :meth:`Source.recoded`.

    >>> source = Source.from_array(np.array([["red"], ["green"]], dtype=object))
    >>> source.recoded({"x0": ["blue", "red"]}).read(np.arange(2), np.arange(1)).ravel().tolist()
    [1.0, 2.0]
    """

    def __init__(self, source: Source, known: Mapping[str, Sequence[str]]) -> None:
        super().__init__(source.n_examples, source.feature_names, source.boolean)
        self.named, self.free, self.examples = source.named, source.free, source.examples
        self.name, self.gaps, self.kept = source.name, source.gaps, source.kept
        self._source, self._known = source, known

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:  # type: ignore[override]
        """Asked anew each time: a table that is read by columns learns them when it is read."""
        names = self.feature_names
        return {
            f: _extended(self._known.get(names[f], ()), here)
            for f, here in self._source.categories.items()
        }

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        out = self._source.read(rows, features)
        here, there = self._source.categories, self.categories
        for j, f in enumerate(features.tolist()):
            if f in here:
                place = np.array([there[f].index(c) for c in here[f]], dtype=np.float64)
                out[:, j] = _moved(out[:, j], place)
        return out

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._source.columns(features)

    def tiles(self) -> NDArray[np.uint64]:
        return self._source.tiles()


def _extended(known: Sequence[str], here: Sequence[str]) -> tuple[str, ...]:
    return (*known, *(c for c in here if c not in set(known)))


def _moved(codes: AnyArray, place: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.full(len(codes), np.nan)
    there = ~np.isnan(codes)
    out[there] = place[codes[there].astype(np.int64)]
    return out


def answers_in_codes(
    fn: Callable[..., object], categories: Mapping[str, Sequence[str]]
) -> Callable[..., object]:
    """A provider whose answers name categories by text, as one that gives their places.

    A text that is no category stays as it is: the ledger, which checks every answer, says so.
    """
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def later(ids: object, names: Sequence[str], **more: object) -> object:
            return _in_codes(await fn(ids, names, **more), names, categories)

        return later

    @functools.wraps(fn)
    def now(ids: object, names: Sequence[str], **more: object) -> object:
        return _in_codes(fn(ids, names, **more), names, categories)

    return now


def _in_codes(
    answer: object, names: Sequence[str], categories: Mapping[str, Sequence[str]]
) -> object:
    if not any(name in categories for name in names):
        return answer
    if isinstance(answer, Answered):
        return Answered(_in_codes(answer.values, names, categories), answer.cost)
    if isinstance(answer, Exception):
        return answer
    try:
        table = np.array(answer, dtype=object)
    except ValueError:  # ragged: the ledger says so
        return answer
    if table.ndim != 2 or table.shape[1] != len(names):
        return answer
    for j, name in enumerate(names):
        place = {c: float(i) for i, c in enumerate(categories.get(name, ()))}
        if place:
            table[:, j] = [
                np.nan if v is None else place.get(v, v) if isinstance(v, str) else v
                for v in table[:, j]
            ]
    return table
