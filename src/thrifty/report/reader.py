"""Looks at a lifetime in a store, again and again, without ever writing.

Each look reads only what is new: tasks learned since, the representation if it changed, and the
ledger's latest lines.
"""

from __future__ import annotations

import threading
import time
from copy import copy
from dataclasses import replace
from pathlib import Path

from thrifty.cells.ledger.ledger import OpenPurchase
from thrifty.cells.ledger.owner import is_alive
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.prices.money import to_units
from thrifty.errors import StoreError
from thrifty.lifetime import Learned, Lifetime
from thrifty.lifetime.outcomes import read_monitors
from thrifty.report.view import LedgerView, LifetimeView, PurchaseView, TaskView, seen, task_view
from thrifty.stores.base import open_to_read
from thrifty.stores.model_pages import VersionPages
from thrifty.stores.pages import SqlPages

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
        self._life: Lifetime | None = None
        #: by name; those that stay are not read again
        self._tasks: dict[str, tuple[Learned, TaskView]] = {}
        self._lock = threading.Lock()

    def look(self) -> LifetimeView:
        """The lifetime as it stands now; an empty view where nothing was begun yet."""
        with self._lock:
            if self.name is None:
                self.name = self._choose(None)
            if self.name is None:
                return LifetimeView(title=self.title)
            if self._life is None:
                self._life = Lifetime.open(self.store, name=self.name)
            return self._read(self._life)

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

    def _read(self, life: Lifetime) -> LifetimeView:
        life._refresh()
        before, self._tasks = self._tasks, {}
        for learned in life.tasks:
            known = before.get(learned.name)
            if known is None or known[0] is not learned:
                known = learned, task_view(copy(learned))  # the copy's model is let go
            self._tasks[learned.name] = known
        tasks = [view for _, view in self._tasks.values()]
        view = seen(life, self.title, tasks, life.ledger.book.read(read_monitors))
        ledger = self._ledger(life)
        beside = [
            {**row, "route": "in progress"} if row["task"] in ledger.running else row
            for row in view.beside
        ]
        return replace(view, ledger=ledger, beside=tuple(beside))

    def _ledger(self, life: Lifetime) -> LedgerView:
        waiting = life.ledger.open_purchases()
        learned = set(self._tasks)

        def work(pages: SqlPages) -> LedgerView:
            reserved, spent = pages.balance(None)
            latest = pages.latest(200)
            ended = {one.account for one in pages.predictions() if one.receipt is not None}
            ended |= {head.name for head in VersionPages(pages).heads()}
            over = learned | ended | {p.task for p in waiting}  # these wait for a word, not for us
            running = {p.task for p in latest if p.task not in over and _goes_on(p)}
            return LedgerView(
                spent=to_units(spent),
                reserved=to_units(reserved),
                running={task: to_units(sum(pages.balance(task))) for task in sorted(running)},
                purchases=tuple(_line(p) for p in latest),
                in_doubt=tuple(_waits(p) for p in waiting),
            )

        return life.ledger.book.read(work)


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
