"""Cells from a table that is read a column at a time: a Parquet file, a table of a database.

Only the columns that are looked at are read, and each of them once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.kinds import ToldKind, read_column
from thrifty.errors import BadInput
from thrifty.typing import AnyArray

__all__ = ["ColumnSource", "LongColumnSource", "chosen_features", "told_boolean"]

#: bytes of a whole table in memory up to which columns are kept once they are read
_KEPT = 512 * 2**20


class ColumnSource(Source):
    """A source whose columns are fetched when they are first needed, and kept."""

    named = True

    def __init__(
        self,
        n_examples: int,
        names: Sequence[str],
        boolean: NDArray[np.bool_],
        *,
        allow_missing: bool = False,
        told: Mapping[str, ToldKind] | None = None,
        text: Collection[int] = (),
    ) -> None:
        if n_examples == 0 or len(names) == 0:
            raise BadInput(
                f"a source needs at least one example and one feature; the table has {n_examples} "
                f"rows and {len(names)} features."
            )
        super().__init__(n_examples, names, boolean)
        self._allow_missing = allow_missing
        self._told = dict(told or {})
        # A category's values are known once its column was read.
        said = ((f, self._told.get(name)) for f, name in enumerate(names))
        listed = {f: told for f, told in said if isinstance(told, tuple)}
        self._found: dict[int, tuple[str, ...]] = {**dict.fromkeys(text, ()), **listed}
        self.categories = MappingProxyType(self._found)
        self._table: dict[int, NDArray[np.float64]] = {}
        self._packed: dict[int, NDArray[np.uint64]] = {}

    @abstractmethod
    def fetch(self, names: Sequence[str]) -> Sequence[Sequence[object] | AnyArray]:
        """Whole columns, one per name, in the order of the examples."""

    def _load(self, features: NDArray[np.int64]) -> None:
        missing = [f for f in dict.fromkeys(features.tolist()) if f not in self._table]
        if not missing:
            return
        columns = self.fetch([self.feature_names[f] for f in missing])
        for f, column in zip(missing, columns, strict=True):
            self._table[f] = self._checked(f, column)

    def _checked(self, f: int, column: object) -> NDArray[np.float64]:
        name = self.feature_names[f]
        if f in self._found or name in self._told:
            told = self._told.get(name, "category")
            read = read_column(np.asarray(column, dtype=object), name, told)
            if read.categories is not None:
                self._found[f] = read.categories
            column = read.values
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"every feature must hold numbers or Booleans; {name!r} does not ({error}). Encode "
                "it first, or leave it out with features=."
            ) from error
        if len(values) != self.n_examples:
            raise BadInput(
                f"the table has changed while it was read: {name!r} has {len(values)} values now, "
                f"and there were {self.n_examples} examples."
            )
        return self._checked_values(f, values)

    def _checked_values(
        self, f: int, values: NDArray[np.float64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Values of a column that may be; of these rows, None: of all."""
        name = self.feature_names[f]
        bad = ~np.isfinite(values)
        if self._allow_missing and not self.boolean[f]:
            bad &= ~np.isnan(values)
        if self.boolean[f]:
            bad |= (values != 0) & (values != 1)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            row = at if rows is None else int(rows[at])
            wanted = "0 or 1" if self.boolean[f] else "a finite number"
            raise BadInput(
                f"{name!r} must be {wanted}; got {values[at]:g} on example {row} "
                "(nan where there is none). Mend the value, or leave the feature out."
            )
        return values

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        self._load(features)
        out = np.empty((len(rows), len(features)))
        for j, f in enumerate(features.tolist()):
            out[:, j] = self._table[f][rows]
        return out

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        self._load(features)
        out = np.empty((len(features), kernels.words_for(self.n_examples)), dtype=np.uint64)
        for i, f in enumerate(features.tolist()):
            if f not in self._packed:
                rows = np.flatnonzero(self._table[f])
                self._packed[f] = kernels.mask_of_rows(rows, self.n_examples)
            out[i] = self._packed[f]
        return out

    def tiles(self) -> NDArray[np.uint64]:
        everything = np.arange(self.n_features)
        return kernels.pack_tiles(self.read(np.arange(self.n_examples), everything), as_bool=True)


class LongColumnSource(ColumnSource):
    """A table that may not fit into memory: of numbers, what is looked at is read and not kept."""

    @abstractmethod
    def numbers_of(
        self, features: Sequence[int], rows: NDArray[np.int64]
    ) -> Sequence[NDArray[np.float64]]:
        """Columns of numbers on some rows, NaN for gaps."""

    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray:
        if 8 * self.n_examples * self.n_features <= _KEPT:
            return super().read(rows, features)
        # what a word stands for, the whole column says
        whole = [f for f in features.tolist() if f in self._table or self._has_words(f)]
        self._load(np.array(whole, dtype=np.int64))
        others = [f for f in dict.fromkeys(features.tolist()) if f not in self._table]
        found = dict(zip(others, self.numbers_of(others, rows) if others else [], strict=True))
        out = np.empty((len(rows), len(features)))
        for j, f in enumerate(features.tolist()):
            if f in found:
                out[:, j] = self._checked_values(f, found[f], rows)
            else:
                out[:, j] = self._table[f][rows]
        return out

    def _has_words(self, f: int) -> bool:
        return f in self._found or self.feature_names[f] in self._told


def chosen_features(
    there: Sequence[str], wanted: Sequence[str] | None, without: Collection[str], where: str
) -> list[str]:
    """The features a user named, checked against what is there; all of them for None."""
    if wanted is None:
        return [name for name in there if name not in without]
    unknown = [name for name in wanted if name not in set(there)]
    if unknown:
        raise BadInput(
            f"{where} has no column {unknown[0]!r} ({len(unknown)} of {len(wanted)} are missing); "
            f"it has {', '.join(map(repr, there[:8]))}{', ...' if len(there) > 8 else ''}."
        )
    return list(wanted)


def told_boolean(
    boolean: bool | Collection[str] | None, names: Sequence[str]
) -> NDArray[np.bool_] | None:
    """What the user said about Booleans; None where nothing was said."""
    if boolean is None:
        return None
    if isinstance(boolean, bool):
        return np.full(len(names), boolean)
    return np.isin(np.array(names, dtype=object), list(boolean))
