"""Cells: one feature on one example, what is bought. ``Cells`` is the only reader of them."""

from typing import TYPE_CHECKING

from thrifty.cells.cells import Cells
from thrifty.cells.ledger.ledger import Balance, Ledger, OpenPurchase
from thrifty.cells.ledger.meter import Owned
from thrifty.cells.ledger.receipt import Receipt
from thrifty.cells.prices.money import Budget, Rates
from thrifty.cells.prices.price_list import PriceList
from thrifty.cells.sources import Source, as_source
from thrifty.cells.sources.answered import Answered
from thrifty.cells.sources.oracle import Oracle
from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.cells.sources.chat import ChatServer
    from thrifty.cells.sources.prompts import Question
    from thrifty.cells.sources.questions import Reply

__all__ = [
    "Answered",
    "Balance",
    "Budget",
    "Cells",
    "ChatServer",
    "Ledger",
    "OpenPurchase",
    "Oracle",
    "Owned",
    "PriceList",
    "Question",
    "Rates",
    "Receipt",
    "Reply",
    "Source",
    "as_source",
]

#: connections and event loops are for whoever asks a language model
__getattr__, __dir__ = on_demand(
    __name__,
    {
        "sources.chat": ["ChatServer"],
        "sources.prompts": ["Question"],
        "sources.questions": ["Reply"],
    },
)
