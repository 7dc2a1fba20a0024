"""Cells: one feature on one example, what is bought. ``Cells`` is the only door to them."""

from thrifty.cells.budget import Budget
from thrifty.cells.door import Cells
from thrifty.cells.ledger import Balance, Ledger, OpenPurchase
from thrifty.cells.meter import Owned
from thrifty.cells.price_list import PriceList
from thrifty.cells.prices import read_prices
from thrifty.cells.receipt import Receipt
from thrifty.cells.sources import Source, as_source

__all__ = [
    "Balance",
    "Budget",
    "Cells",
    "Ledger",
    "OpenPurchase",
    "Owned",
    "PriceList",
    "Receipt",
    "Source",
    "as_source",
    "read_prices",
]
