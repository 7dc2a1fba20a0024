"""The bill: a row per task, per prediction, and per task that was paid for and not learned."""

from __future__ import annotations

from collections.abc import Sequence

from thrifty.cells import Balance, Receipt
from thrifty.cells.ledger.everything import all_there_is
from thrifty.cells.prices.money import to_units
from thrifty.lifetime.booking import Desk
from thrifty.lifetime.learned import Learned, receipt_row
from thrifty.stores.pages import PredictionRow, SqlPages
from thrifty.typing import Json

__all__ = ["Bills", "balance_of", "rows_beside"]

_NOTHING = {
    "cells": 0, "cost": 0.0, "reused_cells": 0, "avoided_cells": 0, "max_cells_per_example": 0,
}  # fmt: skip
#: what a report shows of a prediction and a bill does not
_DATED = ("at", "examples", "lines")


def rows_beside(
    learned: set[str], predictions: Sequence[PredictionRow], accounts: dict[str, tuple[int, int]]
) -> list[Json]:
    """What was spent beside the tasks that were learned.

    Predictions with "at", "examples" and "lines".
    """
    rows: list[Json] = []
    for one in predictions:
        data = dict(one.receipt or {"finished": False})
        finished = data.pop("finished", True)
        receipt = Receipt.from_dict(data) if data else None
        row = dict(_NOTHING) if receipt is None else receipt_row(receipt)
        if not finished and one.account in accounts:
            # purchases that were open when it was given up may have been settled since
            row["cost"] = to_units(accounts[one.account][1])
        route = "prediction" if finished else "prediction, not finished"
        when = {
            "at": one.begun_at,
            "examples": 0 if receipt is None else receipt.n_examples,
            "lines": () if receipt is None else receipt.lines,
        }
        rows.append({"task": one.task, "route": route, **row, **when})
    known = learned | {one.account for one in predictions}
    for task, (_, spent) in accounts.items():
        if task not in known and spent:
            row = {**_NOTHING, "cost": to_units(spent)}
            route = "background" if task.startswith("background ") else "not learned"
            rows.append({"task": task or "no task", "route": route, **row})
    return rows


def balance_of(pages: SqlPages, total: int | None) -> Balance:
    """What a lifetime in a store has spent, and what there is."""
    reserved, spent = pages.balance(None)
    accounts = pages.accounts()
    predicted = sum(accounts.get(p.account, (0, 0))[1] for p in pages.predictions())
    cells, price = all_there_is(pages.to_buy())
    return Balance(
        spent=to_units(spent),
        reserved=to_units(reserved),
        currency=pages.currency(""),
        left=None if total is None else to_units(max(0, total - spent - reserved)),
        learning=to_units(spent - predicted),
        predictions=to_units(predicted),
        everything_cells=cells,
        everything=to_units(price),
    )


class Bills:
    """What a lifetime's tasks and predictions have cost."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._forgotten: list[Learned] = []

    def forget(self, learned: Learned) -> None:
        """A forgotten task has cost what it has cost: in the ledger's accounts, or in memory."""
        if self._desk.has_ledger:
            book = self._desk.ledger.book
            if learned.name in book.read(lambda pages: pages.accounts()):
                book.write(lambda pages: pages.forget(learned.name))
                return
        self._forgotten.append(learned)

    def _total(self) -> int | None:
        budget = self._desk.settings.budget
        return None if budget is None else budget.limits("").total

    def balance(self, tasks: Sequence[Learned]) -> Balance:
        """Spent, reserved, left; and what everything would cost."""
        desk, total = self._desk, self._total()
        if desk.saved is not None:
            return desk.ledger.book.read(lambda pages: balance_of(pages, total))
        receipts = [task.receipt for task in (*tasks, *self._forgotten)]
        learning = sum(r.cost for r in receipts) + self._not_learned(tasks)
        predictions = 0.0 + sum(float((p.receipt or _NOTHING)["cost"]) for p in desk.predictions)
        reserved, currency = 0.0, next((r.currency for r in receipts if r.currency), "")
        if desk.has_ledger:
            kept = desk.ledger.balance()
            reserved, currency = kept.reserved, kept.currency or currency
        spent = learning + predictions
        cells, price = all_there_is(desk.to_buy.values())
        left = None if total is None else max(0.0, to_units(total) - spent - reserved)
        return Balance(
            spent, reserved, currency, left, learning, predictions, cells, to_units(price)
        )

    def _not_learned(self, tasks: Sequence[Learned]) -> float:
        if not self._desk.has_ledger:
            return 0.0
        known = {task.name for task in tasks} | {p.account for p in self._desk.predictions}
        known |= {task.name for task in self._forgotten}
        accounts = self._desk.ledger.book.read(lambda pages: pages.accounts())
        return to_units(sum(spent for task, (_, spent) in accounts.items() if task not in known))

    def rows(self, tasks: Sequence[Learned]) -> list[Json]:
        """Every line of the bill."""
        rows = [task.bill_row() for task in tasks]
        beside = self.beside(tasks)
        return rows + [{k: v for k, v in row.items() if k not in _DATED} for row in beside]

    def beside(self, tasks: Sequence[Learned]) -> list[Json]:
        """The lines that are no learned task; predictions with when, and how many examples."""
        desk = self._desk
        rows = [{**task.bill_row(), "route": "forgotten"} for task in self._forgotten]
        known = {task.name for task in tasks} | {task.name for task in self._forgotten}
        if not desk.has_ledger:
            return rows + rows_beside(known, desk.predictions, {})

        def work(pages: SqlPages) -> list[Json]:
            runs = pages.predictions() if desk.saved is not None else desk.predictions
            return rows_beside(known, runs, pages.accounts())

        return rows + desk.ledger.book.read(work)
