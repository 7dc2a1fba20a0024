"""An answer of which some cells failed: the call's purchase is cut in parts, each with its end.

The parts are rectangles. Together they cost what the call costs by the list, so that cutting moves
no money; each is then settled, refused, failed or in doubt like a purchase of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.answers import as_table
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.purchase import CellBlock, Purchase
from thrifty.cells.sources.answered import FAILED
from thrifty.errors import MalformedAnswer
from thrifty.typing import AnyArray

__all__ = ["Part", "cut", "parts_beside", "table_of"]

_ANSWERED = 0
_NOT_BILLED, _BILLED, _UNKNOWN = (FAILED.index(w) + 1 for w in ("not-billed", "billed", "unknown"))
#: who of a row's parts pays what the row pays once (fees, orders): the first of these
_MAIN = (_ANSWERED, _BILLED, _UNKNOWN, _NOT_BILLED)
#: the purchase itself becomes the first of these; what is unknown keeps its key only if it is all
_ORDER = (_ANSWERED, _BILLED, _NOT_BILLED, _UNKNOWN)


class Part(NamedTuple):
    """Cells of a call that ended alike."""

    #: 0: answered, else 1 and its place in FAILED
    end: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    #: what each row costs by the list
    costs: NDArray[np.int64]
    #: whether it pays what its rows pay once
    main: bool
    purchase: Purchase

    @property
    def word(self) -> str:
        """What became of it, as the provider said."""
        return FAILED[self.end - 1] if self.end else ""


def cut(
    pages: Pages, whole: Purchase, ends: NDArray[np.int8], own: NDArray[np.int64], lifetime: int
) -> list[Part]:
    """The parts of a purchase, written down; ``own`` is what a cell of each column costs by itself.

    The purchase itself becomes the first part, the others are written beside it.
    """
    parts = sorted(_parts(whole, ends, own), key=lambda part: _ORDER.index(part.end))
    written = []
    for i, part in enumerate(parts):
        block = _block(whole.block, part)
        if i == 0:
            # ``paid`` makes the store write the block anew
            smaller = block if len(parts) == 1 else replace(block, paid=block.costs)
            mine = whole.with_(block=smaller, reserved=block.price)
        else:
            mine = pages.add(
                whole.with_(key=f"{whole.key}#{i}", block=block, reserved=block.price, id=0)
            )
            if whole.lifetime != lifetime:  # another lifetime began it: what we add is ours
                pages.move(whole.task, -block.price, 0, whole.lifetime)
                pages.move(whole.task, block.price, 0)
                pages.add_example_costs(block.examples, -block.costs, whole.lifetime)
                pages.add_example_costs(block.examples, block.costs)
        written.append(part._replace(purchase=mine))
    return written


def parts_beside(pages: Pages, whole: Purchase) -> list[Purchase]:
    """What :func:`cut` wrote beside a purchase, where its commit was not heard of."""
    found: list[Purchase] = []
    while True:
        first = len(found) + 1
        more = pages.with_keys([f"{whole.key}#{i}" for i in range(first, first + 8)])
        found += more
        if len(more) < 8:
            return found


def _parts(whole: Purchase, ends: NDArray[np.int8], own: NDArray[np.int64]) -> list[Part]:
    found: list[Part] = []
    kinds, which = np.unique(ends, axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        rows = np.flatnonzero(which.ravel() == k)
        left = whole.block.costs[rows].copy()
        main, *others = [end for end in _MAIN if (kind == end).any()]
        for end in others:
            columns = np.flatnonzero(kind == end)
            mine = np.minimum(left, int(own[columns].sum()))
            left = left - mine
            found.append(Part(end, rows, columns, mine, False, whole))
        found.append(Part(main, rows, np.flatnonzero(kind == main), left, True, whole))
    return found


def _block(block: CellBlock, part: Part) -> CellBlock:
    rows, columns = part.rows, part.columns
    draws, draw_rows = block.draws, block.draw_rows[:, rows]
    if not part.main:
        draws, draw_rows = draws[:0], draw_rows[:0]
    return CellBlock(
        block.examples[rows],
        block.features[columns],
        block.boolean[columns],
        draws,
        draw_rows,
        part.costs,
    )


def table_of(
    values: object, ends: NDArray[np.int8], examples: list[object], features: list[str]
) -> AnyArray:
    """The answer as a table whose failed cells are None; a row that failed may be anything."""
    if ends.all():
        return np.full(ends.shape, None, dtype=object)
    if isinstance(values, list | tuple) and len(values) == len(examples):
        nothing = [None] * len(features)
        values = [nothing if e.all() else v for v, e in zip(values, ends)]
    table = as_table(values, examples, features).copy()
    if table.shape != ends.shape:
        raise MalformedAnswer(
            f"the provider was asked for {ends.shape[0]} examples x {ends.shape[1]} features and "
            f"answered with shape {table.shape}; where a cell failed, leave None in its place."
        )
    table[ends != 0] = None
    return table
