"""Looks at a lifetime in a store, again and again, without ever writing.

Each look reads only what is new: tasks learned since, the representation if it changed, and the
ledger's latest lines.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

from thrifty.agnostic import Counts
from thrifty.cells import Balance
from thrifty.cells.ledger.ledger import Ledger, OpenPurchase
from thrifty.cells.ledger.owner import is_alive
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.prices.money import to_units
from thrifty.errors import StoreError
from thrifty.lifetime.bill import balance_of, rows_beside
from thrifty.lifetime.learned import Learned, parts_of_row
from thrifty.lifetime.outcomes import read_monitors
from thrifty.report.view import (
    LedgerView,
    LifetimeView,
    PurchaseView,
    TaskView,
    members_of,
    task_view,
)
from thrifty.stores.base import open_to_read
from thrifty.stores.model_pages import VersionPages
from thrifty.stores.pages import SqlPages
from thrifty.stores.saved import SavedLifetime, Snapshot
from thrifty.typing import Json

#: seconds after its last purchase for which a task counts as being learned
_RECENT = 120.0


def read_store(where: str, name: str | None = None) -> LifetimeView:
    """What there is to see of a lifetime in a store."""
    return Reader(where, name).look()


class Reader:
    """One lifetime of a store.

    Parameters
    ----------
    where : str
        a file name or a ``postgresql://`` URL
    name : str or None
        of the lifetime; may be left out where the store holds only one
    """

    def __init__(self, where: str, name: str | None = None) -> None:
        self.where = where
        self.store = open_to_read(where)
        self.name = self._choose(name)
        self.title = Path(where).stem if "://" not in where else (self.name or "lifetime")
        self._saved: SavedLifetime | None = None
        self._now: Snapshot | None = None
        self._tasks: list[TaskView] = []
        self._lock = threading.Lock()

    def look(self) -> LifetimeView:
        """The lifetime as it stands now; an empty view where nothing was begun yet."""
        with self._lock:
            if self.name is None:
                self.name = self._choose(None)
            if self.name is None:
                return LifetimeView(title=self.title)
            if self._saved is None:
                self._saved = SavedLifetime.open(self.store, self.name, None, None)
            return self._read(self._saved)

    def _choose(self, wanted: str | None) -> str | None:
        names = self.store.lifetimes()
        if wanted is None and len(names) <= 1:
            return names[0] if names else None
        if wanted not in names:
            listed = ", ".join(map(repr, names[:8])) or "none"
            asked = "give one with --lifetime" if wanted is None else f"there is no {wanted!r}"
            # The store knows how to write itself without a password.
            where = self.where if "://" not in self.where else repr(self.store)
            raise StoreError(f"{where} holds these lifetimes: {listed}; {asked}.")
        return wanted

    def _read(self, saved: SavedLifetime) -> LifetimeView:
        before = self._now or Snapshot(saved.family.start(), Counts(), None, False, -1)
        now, heads, forgets = saved.news(before)
        position = before.position
        if forgets != before.forgets:  # all were read again, and places may be taken again
            self._tasks.clear()
            position = -1
        position = heads[-1].position if heads else position
        self._now = replace(now or before, position=position, forgets=forgets)
        names = self._now.features or ()
        for head in heads:
            parts = parts_of_row(saved.family, saved.row(head.name), names)
            self._tasks.append(task_view(Learned(head.name, head.route, parts)))
        currency, ledger = self._ledger(saved)
        balance, beside = self._bill(saved)
        beside = [
            {**row, "route": "in progress"} if row["task"] in ledger.running else row
            for row in beside
        ]
        return LifetimeView(
            title=self.title,
            balance=balance,
            beside=tuple(beside),
            monitors=tuple(saved.book.read(read_monitors)),
            feature_names=names,
            currency=currency,
            tasks=tuple(self._tasks),
            ledger=ledger,
            **members_of(self._now.representation, names),
        )

    def _bill(self, saved: SavedLifetime) -> tuple[Balance, list[Json]]:
        budget = saved.settings.budget
        total = None if budget is None else budget.limits("").total
        learned = {task.name: task.receipt.cost for task in self._tasks}

        def work(pages: SqlPages) -> tuple[Balance, list[Json]]:
            beside = rows_beside(
                learned,
                pages.predictions(),
                pages.accounts(),
                VersionPages(pages).heads(),
                pages.over_by_task(),
            )
            return balance_of(pages, total), beside

        return saved.book.read(work)

    def _ledger(self, saved: SavedLifetime) -> tuple[str, LedgerView]:
        waiting = Ledger(saved.book).open_purchases()
        learned = {task.name for task in self._tasks}

        def work(pages: SqlPages) -> tuple[str, LedgerView]:
            reserved, spent = pages.balance(None)
            latest = pages.latest(200)
            ended = {one.account for one in pages.predictions() if one.receipt is not None}
            ended |= {head.name for head in VersionPages(pages).heads()}
            over = learned | ended | {p.task for p in waiting}  # these wait for a word, not for us
            running = {p.task for p in latest if p.task not in over and _goes_on(p)}
            return pages.currency(""), LedgerView(
                spent=to_units(spent),
                reserved=to_units(reserved),
                running={task: to_units(sum(pages.balance(task))) for task in sorted(running)},
                purchases=tuple(_line(p) for p in latest),
                in_doubt=tuple(_waits(p) for p in waiting),
            )

        return saved.book.read(work)


def _goes_on(p: Purchase) -> bool:
    """Whether what ordered this is still at work, as far as one can tell from here.

    A process that lives may have given the task up, and of one elsewhere nothing is known: only
    what was ordered a moment ago counts, or what is on its way.
    """
    alive = is_alive(p.owner)
    recent = time.time() - p.created_at < (_RECENT if alive else _RECENT / 4)
    return alive is not False and (recent or (alive is True and p.status == "pending"))


def _line(p: Purchase) -> PurchaseView:
    price = to_units(p.spent or p.reserved)
    made = (p.id, p.task, p.provider, p.status, p.block.n_cells, price, p.created_at)
    return PurchaseView(*made, note=p.note)


def _waits(p: OpenPurchase) -> PurchaseView:
    return PurchaseView(
        p.id, p.task, p.provider, p.status, len(p.examples) * len(p.features), p.price,
        p.created_at, waits=True, note=p.note, features=p.features, examples=p.examples,
    )  # fmt: skip
