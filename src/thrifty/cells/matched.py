"""Doors are opened here: to a source as it is, or to its features as somebody knows them."""

from __future__ import annotations

from typing import TypedDict, Unpack

from thrifty.cells.cells import Cells
from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.ledger.meter import Owned
from thrifty.cells.matching import Match
from thrifty.cells.prices.price_list import PricesLike
from thrifty.typing import TableLike

__all__ = ["Opening", "open_cells"]


class Opening(TypedDict, total=False):
    """What a door may be opened with beside a source and its prices."""

    owned: Owned | None
    ledger: Ledger | None
    task: str
    spend: float | None
    is_task: bool
    to_buy: bool


def open_cells(
    source: TableLike, prices: PricesLike = None, *, match: Match | None, **how: Unpack[Opening]
) -> Cells:
    """A door to a source; with a match, to the features that the match names, in its order.

    Unlike ``Cells(source)`` it asks for the match: no door is opened without a thought to names.
    """
    return Cells(source, prices, match=match, **how)
