"""The bill: a row per task, per prediction, and per task that was paid for and not learned.

Its columns stand here once: ``life.bill()``, ``thrifty bill``, the report's and the dashboard's
tables and what they read from a store take theirs from :data:`COLUMNS`. A new one is a new entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.cells import Balance, Receipt
from thrifty.cells.ledger.receipt import all_there_is
from thrifty.cells.prices.money import minor_units, to_units
from thrifty.errors import ThriftyError
from thrifty.html import facts_html, table_html
from thrifty.stores.lifetime_pages import PredictionRow, VersionHead
from thrifty.stores.pages import SqlPages
from thrifty.typing import Json, JsonLike

if TYPE_CHECKING:
    import pandas

    from thrifty.lifetime.learned import Learned
    from thrifty.lifetime.state import LifetimeState


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


#: what a report shows of a prediction and a bill does not
_DATED = ("at", "examples", "lines", "purpose")


#: of money that moved after a receipt was written: a doubt that was resolved, an answer that was
#: lost, another process that learned the same name
_LATER = "settled later"
#: of what a provider billed beyond its own price: owed, and not in what was spent
_BEYOND = "billed beyond its price"
#: what money was spent for
_LEARNING, _PREDICTIONS = "learning", "predictions"


def rows_beside(
    learned: Mapping[str, float],
    predictions: Sequence[PredictionRow],
    accounts: Mapping[str, tuple[int, int]],
    versions: Sequence[VersionHead] = (),
    over: Mapping[str, int] | None = None,
) -> list[Json]:
    """What was spent beside the tasks that were learned, whose receipts say what they cost.

    Predictions with "at", "examples" and "lines". Whatever an account holds and no receipt says has
    a row of its own, so that all rows together are what was spent; so has what is owed beyond the
    prices (``over``, by account), which is not spent.
    """
    updates = [version for version in versions if version.number > 1]
    rows = [_update_row(version) for version in updates]
    learned = {**learned, **{v.name: float(v.receipt["cost"]) for v in updates}}
    settled = [_later(task, cost, accounts) for task, cost in learned.items()]
    rows += [row for row in settled if row["cost"]]
    for one in predictions:
        data = dict(one.receipt or {"finished": False})
        finished = data.pop("finished", True)
        receipt = Receipt.from_dict(data) if data else None
        row = nothing_bought() if receipt is None else bill_cells(receipt)
        if not finished and one.account in accounts:
            # purchases that were open when it was given up may have been settled since
            row["cost"] = to_units(accounts[one.account][1])
        route = "prediction" if finished else "prediction, not finished"
        when = {
            "at": one.begun_at,
            "examples": 0 if receipt is None else receipt.n_examples,
            "lines": () if receipt is None else receipt.lines,
            "purpose": _PREDICTIONS,
        }
        rows.append({"task": one.task, "route": route, **row, **when})
        told = row["cost"]
        assert isinstance(told, int | float)
        later = {**_later(one.account, told, accounts), "task": one.task}
        rows += [{**later, "purpose": _PREDICTIONS}] if later["cost"] else []
    known = learned.keys() | {one.account for one in predictions}
    for task, (_, spent) in accounts.items():
        if task not in known and spent:
            row = {**nothing_bought(), "cost": to_units(spent)}
            route = "background" if task.startswith("background ") else "not learned"
            rows.append({"task": task or "no task", "route": route, **row})
    told_as = {one.account: one.task for one in predictions}
    for account, owed in (over or {}).items():
        row = {**nothing_bought(), "over": to_units(owed)}
        task = told_as.get(account, account) or "no task"
        rows.append({"task": task, "route": _BEYOND, **row})
    return rows


def bill_lines(
    learned: Iterable[Receipt], beside: Iterable[JsonLike]
) -> dict[str, list[tuple[str, int, float]]]:
    """The bill by line, (what, how often, amount), the most expensive first, by what it was for.

    ``learned`` are the receipts of the tasks, ``beside`` the rows of :func:`rows_beside`. Updates
    are learning. Cells without an order, a fee or a call to name are a line together, so is what
    no receipt says: the lines of "learning" and "predictions" sum to what the balance says of each.

    >>> receipt = Receipt(2, 13.9, 0, 0, 1, 1, 2, lines=(("blood draw", 1, 9.09),))
    >>> bill_lines([receipt], [])["learning"]
    [('blood draw', 1, 9.09), ('other', 1, 4.81)]
    """
    found: dict[str, dict[str, list[int]]] = {_LEARNING: {}, _PREDICTIONS: {}}

    def add(purpose: str, what: str, count: int, amount: int) -> None:
        line = found[purpose].setdefault(what, [0, 0])
        line[0], line[1] = line[0] + count, line[1] + amount

    rows: list[tuple[str, str, int, float, Sequence[tuple[str, int, float]]]] = [
        (_LEARNING, "cells", receipt.cells, receipt.cost, receipt.lines) for receipt in learned
    ]
    for row in beside:
        cells = int(row["cells"])
        what = "cells" if cells else str(row["route"])
        purpose = str(row.get("purpose", _LEARNING))
        rows.append((purpose, what, cells, float(row["cost"]), row.get("lines", ())))
    for purpose, what, cells, cost, lines in rows:
        rest = minor_units(cost)
        for name, count, amount in lines:
            add(purpose, name, count, minor_units(amount))
            rest -= minor_units(amount)
        if rest:
            add(purpose, "other" if lines else what, cells if not lines and cells else 1, rest)
    return {
        purpose: sorted(
            ((what, n, to_units(amount)) for what, (n, amount) in lines.items()),
            key=lambda line: (-line[2], line[0]),
        )
        for purpose, lines in found.items()
    }


def _later(account: str, cost: float, accounts: Mapping[str, tuple[int, int]]) -> Json:
    """What an account holds beyond a receipt; a credit where it holds less."""
    told = minor_units(cost)
    spent = accounts[account][1] if account in accounts else told
    return {"task": account, "route": _LATER, **nothing_bought(), "cost": to_units(spent - told)}


def _update_row(version: VersionHead) -> Json:
    """The line of an update: what it bought, and whether it was taken."""
    known = {k: v for k, v in version.receipt.items() if k in Receipt.__slots__}
    receipt = Receipt.from_dict(known)
    aside = ", kept aside" if version.state == "kept aside" else ""
    when = {"at": version.at, "examples": receipt.n_examples, "lines": receipt.lines}
    return {"task": version.name, "route": f"update{aside}", **bill_cells(receipt), **when}


def balance_of(pages: SqlPages, total: int | None) -> Balance:
    """What a lifetime in a store has spent, and what there is."""
    reserved, spent = pages.balance(None)
    over = pages.over()
    accounts = pages.accounts()
    predicted = sum(accounts.get(p.account, (0, 0))[1] for p in pages.predictions())
    cells, price = all_there_is(pages.to_buy())
    return Balance(
        spent=to_units(spent),
        reserved=to_units(reserved),
        currency=pages.currency(""),
        left=None if total is None else to_units(max(0, total - spent - reserved - over)),
        learning=to_units(spent - predicted),
        predictions=to_units(predicted),
        everything_cells=cells,
        everything=to_units(price),
        over=to_units(over),
    )


def lifetime_html(family: str, balance: Balance, tasks: Sequence[Learned]) -> str:
    """The balance and the latest tasks, for notebooks."""
    unit = f" ({balance.currency})" if balance.currency else ""
    facts = {
        "tasks learned": len(tasks),
        f"spent on learning{unit}": balance.learning,
        f"spent on predictions{unit}": balance.predictions,
        f"saved{unit}": balance.saved or None,
        f"reserved{unit}": balance.reserved or None,
        f"left of the budget{unit}": balance.left,
    }
    rows = [(t.name, t.receipt.cells, t.receipt.cost, t.route) for t in tasks[-10:]]
    latest = table_html(["task", "cells", f"cost{unit}", "route"], rows) if rows else ""
    return facts_html(f"lifetime of {family}", facts) + latest


def balance(state: LifetimeState) -> Balance:
    """Spent, reserved, left; and what everything would cost."""
    budget = state.settings.budget
    total = None if budget is None else budget.limits("").total
    return state.saved.book.read(lambda pages: balance_of(pages, total))


def bill_rows(state: LifetimeState) -> list[Json]:
    """Every line of the bill."""
    rows = [task.bill_row() for task in state.tasks.values()]
    return rows + [{k: v for k, v in row.items() if k not in _DATED} for row in lines_beside(state)]


def lines_beside(state: LifetimeState) -> list[Json]:
    """The lines that are no learned task; predictions with when, and how many examples."""
    known = {name: task.receipt.cost for name, task in state.tasks.items()}

    def work(pages: SqlPages) -> list[Json]:
        runs, heads = pages.predictions(), pages.versions()
        return rows_beside(known, runs, pages.accounts(), heads, pages.over_by_task())

    return state.saved.book.read(work)


def bill_frame(state: LifetimeState) -> pandas.DataFrame:
    """Every line of the bill as a table of pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ThriftyError(
            "life.bill() returns a pandas DataFrame and pandas is not installed. "
            "Type: pip install 'thrifty[frames]'"
        ) from error
    return pandas.DataFrame(bill_rows(state))
