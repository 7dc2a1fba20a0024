"""Cells: one feature on one example, the unit that is bought; ``Cells`` is the door to them."""

from thrifty.cells.door import Cells
from thrifty.cells.meter import Owned
from thrifty.cells.prices import read_prices
from thrifty.cells.receipt import Receipt
from thrifty.cells.sources import Source, as_source

__all__ = ["Cells", "Owned", "Receipt", "Source", "as_source", "read_prices"]
