"""Rows of a form as a source: what was told is its answers, what was not is what it wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import numpy as np

from thrifty.cells.sources.callable import CallableSource, CallLimits
from thrifty.errors import NotBilled
from thrifty.lazy import Asks
from thrifty.lazy.stopping import StoppingRule
from thrifty.typing import AnyArray

__all__ = ["Form", "Row"]

#: orders that one purchase may take: each is a call
_AT_ONCE = 64


@dataclass(frozen=True)
class Row:
    """What is known of a row: its id, its values by name; None is a gap that is known."""

    id: str
    values: Mapping[str, object]
    stop: StoppingRule | None = None
    per_row: float | None = None


class Form(CallableSource):
    """The features of a model, asked of rows with ids of their own.

    Attributes
    ----------
    wanted : dict
        by id, the features that a row was asked for and was not told: those of the first purchase
        that lacked any. Whatever it is asked later may depend on them
    rehearsed : bool
        whether something takes the place of what is lacking, so that the other rows go on; else a
        purchase that lacks a value is refused, and nothing is billed
    """

    def __init__(self, rows: Sequence[Row], model: Asks, name: str, *, rehearsed: bool) -> None:
        self._told = {row.id: row.values for row in rows}
        self.wanted: dict[str, list[str]] = {}
        self.rehearsed = rehearsed
        self._purchases = 0
        self._lacked_in: dict[str, int] = {}
        words = getattr(model, "words_", {})
        names = list(model.feature_names_)
        #: what takes the place of a value, by feature: a word where it has words
        self._instead = {name: words[name][0] for name in names if words.get(name)}
        super().__init__(
            self._answer,
            examples=list(self._told),
            features=names,
            name=name,
            allow_missing=True,
            kinds={name: list(words[name]) if name in words else "number" for name in names},
            # what was not told is not told a moment later; all that is bought is asked for at once
            limits=CallLimits(attempts=1, concurrency=_AT_ONCE),
        )
        self.proven = True  # nobody's answer is waited for

    def connected(self) -> AbstractAsyncContextManager[None]:
        """Called once for a purchase, however many calls it takes."""
        self._purchases += 1
        return super().connected()

    async def _answer(self, ids: Sequence[str], names: Sequence[str]) -> AnyArray:
        out = np.empty((len(ids), len(names)), dtype=object)
        for i, id in enumerate(ids):
            told = self._told[id]
            self._note(id, [name for name in names if name not in told])
            for j, name in enumerate(names):
                value = told.get(name) if name in told else self._instead.get(name, 0.0)
                out[i, j] = np.nan if value is None else value
        if self.wanted and not self.rehearsed:
            raise NotBilled("not every value that is wanted was told.")
        return out

    def _note(self, id: str, lacking: list[str]) -> None:
        if lacking and self._lacked_in.setdefault(id, self._purchases) == self._purchases:
            self.wanted.setdefault(id, []).extend(lacking)
