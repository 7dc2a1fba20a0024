"""Cells: one feature on one example, what is bought. ``Cells`` is the only door to them."""

from thrifty.cells.door import Cells
from thrifty.cells.ledger.ledger import Balance, Ledger, OpenPurchase
from thrifty.cells.ledger.meter import Owned
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.prices.budget import Budget
from thrifty.cells.prices.per_feature import read_prices
from thrifty.cells.prices.price_list import PriceList
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
