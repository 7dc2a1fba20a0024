"""Keeps an eye on a store, so that a page is answered from what was seen last.

One thread looks twice a second and reads only what is new. Pictures are drawn by another, at most
every few seconds; a page gets the last one meanwhile. A store that is busy is looked at again
later; the last state stays on show, with its age.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thrifty.errors import StoreError
from thrifty.report.lineage import Lineage, lineage_of
from thrifty.report.pictures import pictures_of
from thrifty.report.rows import task_row
from thrifty.report.view import LifetimeView

__all__ = ["Drawn", "Scene", "Watcher"]

_EVERY = 0.5
#: what took long to work out is worked out again only after this many times as long
_REST = 8.0


@dataclass(frozen=True)
class Drawn:
    """A picture as it was drawn last."""

    heading: str
    caption: str
    svg: bytes
    curious: bool = False


@dataclass(frozen=True)
class Scene:
    """What was seen last. ``version`` rises with every change; ``drawn`` with new pictures."""

    view: LifetimeView
    lineage: Lineage
    rows: tuple[list[Any], ...] = ()
    version: int = 0
    seen_at: float = 0.0
    trouble: str = ""
    drawn: int = 0
    pictures: dict[str, Drawn] = field(default_factory=dict)


class Watcher:
    """Looks at a store in the background; ``scene`` is always there and never waits."""

    def __init__(self, look: Callable[[], LifetimeView], every: float = _EVERY) -> None:
        self._look, self._every = look, every
        self._stop = threading.Event()
        self._view = LifetimeView()
        self._lineage = Lineage((), ())
        self._rows: tuple[list[Any], ...] = ()
        self._pictures: dict[str, Drawn] = {}
        self._version = self._drawn = 0
        self._seen_at, self._trouble = 0.0, ""
        self._drawn_of: LifetimeView | None = None
        self._threads = [
            threading.Thread(target=self._repeat, args=(work,), daemon=True)
            for work in (self.look_once, self.draw_once)
        ]

    @property
    def scene(self) -> Scene:
        return Scene(
            self._view,
            self._lineage,
            self._rows,
            self._version,
            self._seen_at,
            self._trouble,
            self._drawn,
            self._pictures,
        )

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=5)

    def _repeat(self, work: Callable[[], bool]) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            changed = work()
            took = time.monotonic() - began
            # Reading a little is done often; drawing much leaves the machine to those who learn.
            rest = max(self._every, took * _REST) if changed else self._every
            self._stop.wait(min(rest, 20.0) if work == self.draw_once else self._every)

    def look_once(self) -> bool:
        """Take in what is new; says whether there was something."""
        try:
            view = self._look()
            trouble = ""
        except StoreError as error:
            view, trouble = self._view, str(error)
        changed = _mark(view) != _mark(self._view) or trouble != self._trouble
        if len(view.tasks) != len(self._rows):
            new = enumerate(view.tasks[len(self._rows) :], len(self._rows))
            self._rows = (*self._rows, *(task_row(i, task) for i, task in new))
        self._trouble = trouble
        if changed or not self._seen_at:
            self._view = view  # an unchanged one keeps the sums it has worked out
        if not trouble:
            self._seen_at = time.time()
        if changed:
            self._version += 1
        return changed

    def draw_once(self) -> bool:
        """Work out lineage and pictures, if something was learned since."""
        view = self._view
        before = self._drawn_of
        if before is not None and _drawing_mark(before) == _drawing_mark(view):
            return False
        lineage = lineage_of(view)
        self._lineage = lineage
        drawn = {p.name: (p, p.svg()) for p in pictures_of(view, lineage)}
        self._pictures = {
            name: Drawn(p.heading, p.caption, svg.encode(), p.curious)
            for name, (p, svg) in drawn.items()
        }
        self._drawn_of = view
        self._drawn += 1
        return True


def _drawing_mark(view: LifetimeView) -> tuple[object, ...]:
    told = tuple((one.task, one.version, one.outcomes) for one in view.monitors)
    return (len(view.tasks), view.metafeature_texts, len(view.beside), told)


def _mark(view: LifetimeView) -> tuple[object, ...]:
    """What changes when something happened."""
    ledger = view.ledger
    spent: tuple[object, ...] = ()
    if ledger is not None:
        spent = (
            ledger.spent,
            ledger.reserved,
            ledger.purchases[:1],
            tuple(p.id for p in ledger.in_doubt),
            tuple(ledger.running),
        )
    told = sum(one.outcomes for one in view.monitors)
    return (len(view.tasks), len(view.metafeature_texts), len(view.beside), told, *spent)
