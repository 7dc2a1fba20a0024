"""The columns of a bill, once: whatever shows a bill goes through this list.

``life.bill()``, ``thrifty bill``, the report's and the dashboard's tables and what they read from
a store take their columns from :data:`COLUMNS`. A new column is a new entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thrifty.cells import Receipt
from thrifty.typing import Json


@dataclass(frozen=True)
class BillColumn:
    """One column of the bill.

    Parameters
    ----------
    name : str
        in the rows of ``life.bill()``
    read : callable
        what it says of a receipt
    nothing : int or float
        what it says where nothing was bought
    is_money : bool
        whether it is written as a sum of money; else with thousands apart
    in_terminal : bool
        whether ``thrifty bill`` prints it; its JSON has every column
    only_where_some : bool
        whether it is printed only where a row has something in it
    tasks_heading, beside_heading : str
        over it in a page's table of tasks and of predictions; "" where the table does not list it
        (of tasks, cells and cost have a place of their own)
    """

    name: str
    read: Callable[[Receipt], int | float]
    nothing: int | float = 0
    is_money: bool = False
    in_terminal: bool = True
    only_where_some: bool = False
    tasks_heading: str = ""
    beside_heading: str = ""


#: in the order in which they are shown
COLUMNS = [
    BillColumn("cells", lambda receipt: receipt.cells, beside_heading="Cells"),
    BillColumn("cost", lambda receipt: receipt.cost, 0.0, is_money=True),
    BillColumn(
        "reused_cells",
        lambda receipt: receipt.reused_cells,
        tasks_heading="Already owned",
        beside_heading="Already owned",
    ),
    BillColumn("avoided_cells", lambda receipt: receipt.avoided_cells),
    BillColumn(
        "max_cells_per_example",
        lambda receipt: receipt.max_cells_per_example,
        in_terminal=False,
        tasks_heading="Max per row",
    ),
    # of a receipt nothing is over: what a provider billed beyond its price has rows of its own
    BillColumn("over", lambda receipt: 0.0, 0.0, is_money=True, only_where_some=True),
]


def bill_cells(receipt: Receipt) -> Json:
    """What a bill says of a receipt.

    >>> said = bill_cells(Receipt(2, 13.9, 0, 4, 1, 3, 2))
    >>> said["cost"], said["over"]
    (13.9, 0.0)
    """
    return {column.name: column.read(receipt) for column in COLUMNS}


def nothing_bought() -> Json:
    """What a bill says where there is no receipt."""
    return {column.name: column.nothing for column in COLUMNS}
