"""What a ledger knows of some examples and features, in the order of their rows.

Packed like every Boolean column (a bit per example), so that paid cells are served as fast as those
of an array. An expired value counts as unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import repeat

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.compacted import Facts, read_column
from thrifty.cells.ledger.purchase import CellBlock, Purchase, unpack_values
from thrifty.errors import BadInput, StoreError
from thrifty.typing import AnyArray, Bools, Floats, Ints, Numbers, Words


class Known:
    """Bitmaps over rows: column f < N is a feature, column N + d is draw d.

    ``as_of`` is the moment that decides what has expired: one moment for a whole task, so that a
    cell that was valid when the task began stays so until its end.

    With ``numbered``, a source's, a feature is looked up when it is first asked for, by
    :meth:`load`: a task that looks at 40 of 100,000 features reads 40 columns. Cells that were
    asked for in vain count as known where ``with_gaps``; elsewhere they are asked for again.
    """

    def __init__(
        self,
        examples: Numbers,
        features: Numbers,
        draws: Numbers,
        boolean: Bools,
        valid: Floats,
        as_of: float,
        numbered: Callable[..., Numbers] | None = None,
        *,
        with_gaps: bool = False,
    ) -> None:
        self.examples, self.features, self.draws = examples, features, draws
        self.n_examples, self.n_features = len(examples), len(features)
        words = kernels.words_for(self.n_examples)
        self.known = np.zeros((len(features) + len(draws), words), dtype=np.uint64)
        self.bits = np.zeros((len(features), words), dtype=np.uint64)
        self.reals: dict[int, Floats] = {}
        self.boolean, self.valid, self.as_of = boolean, valid, as_of
        self.absent: Words | None = None
        self.sequence = 0
        #: the last sequence that the columns had taken in when they were read
        self._columns_as_of = -1
        #: (feature, rows) that came with columns, from tasks that others have finished
        self.gained: list[tuple[int, Words]] = []
        self._numbered = numbered
        #: rows that count as known, and hold no value, by feature; read where ``with_gaps``
        self.gaps: dict[int, Words] = {}
        self._with_gaps = with_gaps
        self.loaded = np.full(len(features), numbered is None)
        self._row_of = _inverse(examples)
        self._feature_of = {int(features[f]): f for f in np.flatnonzero(features >= 0).tolist()}
        #: where the draws stand, by their numbers
        self.draw_of = {int(draws[d]): d for d in np.flatnonzero(draws >= 0).tolist()}
        nothing = np.zeros(0, dtype=np.int64)
        #: what was placed last: its examples and features, the names known then, and where
        self._placed = (examples, features, -1, (nothing, nothing))
        #: purchases of an earlier, unfinished run of our task: unknown until it asks for them again
        self.held: dict[int, Purchase] = {}
        #: when the latest value that we have taken in was bought
        self.newest = -math.inf
        #: purchases that no column has taken in, by the numbers of their features
        self._recent: defaultdict[int, list[Purchase]] = defaultdict(list)

    def never(self, absent: Words | None) -> None:
        """These cells are known not to exist: (N, W). They are gaps, and nobody is asked."""
        self.absent = absent
        if absent is not None:
            self.known[: self.n_features] |= absent

    def also(self, rows: Mapping[int, int]) -> None:
        """Numbers of our rows before a purge took their ids: to place what is still open."""
        if rows:
            longer = max(max(rows) + 1 - len(self._row_of), 0)
            self._row_of = np.append(self._row_of, np.full(longer, -1, dtype=np.int64))
            self._row_of[list(rows)] = list(rows.values())

    def load(self, pages: Pages, at: Ints) -> Ints:
        """Look up features that were not asked for before; returns them."""
        new = np.unique(at[~self.loaded[at]])
        if not len(new):
            return new
        self._look_up_numbers(pages, new, write=False)
        if not self.loaded.any():
            self._columns_as_of = pages.last_compacted()
            self._read_draws(pages)
        self.loaded[new] = True
        there = self.features[new]
        heard = len(self.gained)
        self._read(pages, there)
        del self.gained[heard:]  # it was there before we asked
        for number in there[there >= 0].tolist():
            for purchase in self._recent.get(number, ()):
                self.apply(purchase)
        return new

    def number(self, pages: Pages, at: Ints) -> None:
        """Give a number to features that have none, before they are bought."""
        self._look_up_numbers(pages, np.unique(at), write=True)

    def _look_up_numbers(self, pages: Pages, at: Ints, *, write: bool) -> None:
        new = at[self.features[at] < 0]
        if self._numbered is None or not len(new):
            return
        self.features[new] = self._numbered(pages.number if write else pages.numbers, new.tolist())
        found = new[self.features[new] >= 0].tolist()
        self._feature_of.update((int(self.features[f]), f) for f in found)

    def follow(self, pages: Pages) -> list[Purchase]:
        """Take in what was settled since the last look; returns those purchases."""
        before, (compacted, last) = self.sequence, pages.sequences()
        if compacted > self._columns_as_of:
            self._columns_as_of = compacted
            self._read(pages, self.features[self.loaded])
            self._read_draws(pages)
        # Open tasks keep their purchases as they are, so some may be older than a compacted one.
        news = pages.settled_after(before) if last > before else []
        news = [purchase for purchase in news if purchase.id not in self.held]
        for purchase in news:
            self.take_in(purchase)
        self.sequence = max(self.sequence, compacted)
        return news

    def take_in(self, purchase: Purchase) -> None:
        """Take in one settled purchase, and remember it for features that are looked up later."""
        for number in purchase.block.features.tolist():
            self._recent[number].append(purchase)
        self.apply(purchase)

    def _read(self, pages: Pages, features: Numbers) -> None:
        """Columns of these features, by their numbers in the store; and their gaps."""
        listed = features[features >= 0].tolist()
        for column in pages.columns("feature", listed):
            self._read_column(column, self._feature_of.get(column.number, -1))
        for column in pages.columns("gap", listed) if self._with_gaps else ():
            f = self._feature_of.get(column.number, -1)
            rows = self._fresh_rows(read_column(column), f)[0]
            self.set_gaps(f, rows[~self.is_known(f, rows)])

    def _read_draws(self, pages: Pages) -> None:
        for column in pages.columns("draw", list(self.draw_of)):
            self._read_column(column, self.n_features + self.draw_of[column.number])

    def _fresh_rows(self, facts: Facts, at: int) -> tuple[Ints, Bools]:
        """Our rows of what has not expired, and which of the facts these are."""
        rows = _look_up(self._row_of, facts.examples)
        good = (rows >= 0) & (facts.times >= self.as_of - self.valid[at])
        return rows[good], good

    def _read_column(self, column: Column, at: int) -> None:
        facts = read_column(column)
        rows, good = self._fresh_rows(facts, at)
        if at < self.n_features:
            mask = kernels.mask_of_rows(rows, self.n_examples) & ~self.known[at]
            if mask.any():
                self.gained.append((at, mask))
        self.newest = max(self.newest, float(facts.times[good].max(initial=-math.inf)))
        self._set(np.array([at]), rows, facts.values[good][:, None])

    def set_gaps(self, f: int, rows: Ints) -> None:
        """Rows of a feature, not Boolean, that count as known and hold no value."""
        if not len(rows):
            return
        mask = kernels.mask_of_rows(np.sort(rows), self.n_examples)
        self._set(np.array([f]), rows, np.full((len(rows), 1), np.nan))
        self.gaps[f] = self.gaps.get(f, np.zeros_like(mask)) | mask

    def drop_gaps(self, f: int, rows: Ints) -> None:
        """Rows of a feature that were gaps are unknown again."""
        gaps = self.gaps.get(f)
        if gaps is not None:
            mask = kernels.mask_of_rows(np.sort(rows), self.n_examples)
            self.known[f] &= ~(mask & gaps)
            self.gaps[f] = gaps & ~mask

    def _features_at(self, numbers: Numbers) -> Ints:
        at = map(self._feature_of.get, numbers.tolist(), repeat(-1))
        return np.fromiter(at, dtype=np.int64, count=len(numbers))

    def apply(self, purchase: Purchase) -> None:
        """Take in one settled purchase."""
        self.sequence = max(self.sequence, purchase.sequence)
        if purchase.compacted or purchase.answer is None:
            return
        block = purchase.block
        rows = _look_up(self._row_of, block.examples)
        here = rows >= 0
        if not here.any():
            return
        at = self._features_at(block.features)
        fresh = at >= 0
        fresh[fresh] = self.loaded[at[fresh]]
        fresh[fresh] = purchase.settled_at >= self.as_of - self.valid[at[fresh]]
        if fresh.any():
            self.newest = max(self.newest, purchase.settled_at)
            values = unpack_values(purchase.answer, block)
            self._set(at[fresh], rows[here], values[np.ix_(here, fresh)])
        for i, number in enumerate(block.draws.tolist()):
            column = self.n_features + self.draw_of.get(number, -1)
            if number in self.draw_of and purchase.settled_at >= self.as_of - self.valid[column]:
                paid = rows[here & block.draw_rows[i]]
                self.known[column] |= kernels.mask_of_rows(paid, self.n_examples)

    def _set(self, at: Ints, rows: Ints, values: Floats) -> None:
        if not len(rows):
            return
        lo, hi = int(rows.min()) >> 6, (int(rows.max()) >> 6) + 1
        mask = kernels.mask_of_rows(rows, self.n_examples)[lo:hi]
        self.known[at, lo:hi] |= mask
        ours = at < self.n_features
        at, values = at[ours], values[:, ours]
        for f in self.gaps.keys() & set(at.tolist()):  # a value ends a gap
            self.gaps[f] = self.gaps[f].copy()
            self.gaps[f][lo:hi] &= ~mask
        boolean = self.boolean[at]
        if boolean.any():
            self._set_bits(at[boolean], rows, values[:, boolean], lo, hi, mask)
        for j in np.flatnonzero(~boolean).tolist():
            f = int(at[j])
            if f not in self.reals:
                self.reals[f] = np.full(self.n_examples, np.nan)
            self.reals[f][rows] = values[:, j]

    def _set_bits(
        self, at: Ints, rows: Ints, values: Floats, lo: int, hi: int, mask: Words
    ) -> None:
        odd = (values != 0) & (values != 1)
        if odd.any():
            row, column = map(int, np.argwhere(odd)[0])
            raise BadInput(
                f"feature {int(at[column])} is declared Boolean here, and the ledger holds "
                f"{values[row, column]:g} for it from an earlier task. Declare it real-valued."
            )
        dense = np.zeros((len(at), (hi - lo) * 64), dtype=np.uint8)
        dense[:, rows - lo * 64] = values.T != 0
        packed = np.packbits(dense, axis=1, bitorder="little").view("<u8")
        self.bits[at, lo:hi] = (self.bits[at, lo:hi] & ~mask) | packed

    def there(self, features: Ints) -> Words:
        """What is known of features, as a tariff asks for it."""
        return self.known[features]

    def paid(self, which: Ints) -> Words:
        """Where draws are paid."""
        return self.known[self.n_features + which]

    def missing(self, columns: Ints, mask: Words) -> Words:
        """Rows of the mask on which each column is unknown: (k, W)."""
        return mask & ~self.known[columns]

    def place(self, block: CellBlock) -> tuple[Ints, Ints]:
        """Which of our features and rows a block is about; -1 where it is none of ours.

        The answer is read, not written to: four times for every call it is about the same block.
        """
        examples, features, n, found = self._placed
        if block.examples is examples and block.features is features and n == len(self._feature_of):
            return found
        found = self._features_at(block.features), _look_up(self._row_of, block.examples)
        self._placed = block.examples, block.features, len(self._feature_of), found
        return found

    def is_known(self, column: int, rows: Ints) -> Bools:
        """Whether each row is known; rows that are -1 are not."""
        bits = kernels.unpack_columns(self.known[column : column + 1], np.maximum(rows, 0))[:, 0]
        return np.asarray((bits != 0) & (rows >= 0))

    def is_gap(self, f: int, rows: Ints) -> Bools:
        """Whether each row counts as known without a value."""
        if f not in self.gaps:
            return np.zeros(len(rows), dtype=np.bool_)
        bits = kernels.unpack_columns(self.gaps[f][None], np.maximum(rows, 0))[:, 0]
        return np.asarray((bits != 0) & (rows >= 0))

    def known_somewhere(self, columns: Ints, rows: Ints) -> Bools:
        """Whether each column is known on any of the rows; -1 is no column, and no row."""
        mask = kernels.mask_of_rows(rows[rows >= 0], self.n_examples)
        there = (self.known[np.maximum(columns, 0)] & mask).any(axis=1)
        return np.asarray(there & (columns >= 0))

    def column(self, f: int, rows: Ints) -> Floats:
        """Values of one feature on known rows."""
        if self.boolean[f]:
            return kernels.unpack_columns(self.bits[f : f + 1], rows)[:, 0].astype(np.float64)
        column = self.reals.get(f)
        return np.full(len(rows), np.nan) if column is None else column[rows]

    def forget(self) -> None:
        """Start again from the store: what is in memory may be ahead of it."""
        self.known[self.loaded.nonzero()[0]] = 0
        self.known[self.n_features :] = 0
        self.bits[self.loaded] = 0
        self.never(self.absent)
        self.reals.clear()
        self.gaps.clear()
        self._recent.clear()
        self._columns_as_of = -1
        self.sequence = 0  # numbers stay: they were written before anything was bought


def _inverse(numbers: Numbers) -> Ints:
    """Where each number stands, -1 where it does not; what has no number (-1) stands nowhere."""
    # names get consecutive numbers; a store that holds larger ones was tampered with
    if len(numbers) and not -1 <= int(numbers.min()) <= int(numbers.max()) < 50_000_000:
        raise StoreError(
            f"the store numbers a name {int(numbers.max())}, which it never does by itself: it was "
            "damaged, or changed by something else than Thrifty. Restore a copy."
        )
    out = np.full(int(numbers.max()) + 1 if len(numbers) else 0, -1, dtype=np.int64)
    there = numbers >= 0
    out[numbers[there]] = np.flatnonzero(there)
    return out


def _look_up(inverse: Ints, numbers: AnyArray) -> Ints:
    if len(numbers) == 1:  # one text after another
        at = int(numbers[0])
        return np.array([inverse[at] if 0 <= at < len(inverse) else -1], dtype=np.int64)
    out = np.full(len(numbers), -1, dtype=np.int64)
    inside = (numbers >= 0) & (numbers < len(inverse))
    out[inside] = inverse[numbers[inside]]
    return out
