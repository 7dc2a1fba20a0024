"""A running line for whatever takes more than a second: cells, money, rate, what is left."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from thrifty.cells import Cells
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.prices.money import to_units
from thrifty.lifetime.state import LifetimeState

#: one line on the screen at a time, whatever several threads are doing
_SCREEN = threading.Lock()


def line_of(
    what: str, cells: int, most: int, spent: int, currency: str, seconds: float, left: float | None
) -> str:
    """What the line says.

    >>> line_of("stroke", 1200, 9000, 30_000_000, "EUR", 4.0, 70.0)
    'stroke: 1,200 of at most 9,000 cells, 30.00 EUR, 300 cells a second, 70.00 EUR left'
    """
    unit = f" {currency}" if currency else ""
    rest = "" if left is None else f", {left:,.2f}{unit} left"
    rate = f"{cells / max(seconds, 1e-9):,.0f} cells a second"
    money = f"{to_units(spent):,.2f}{unit}"
    name = "".join(c if c.isprintable() else "?" for c in what)
    return f"{name}: {cells:,} of at most {max(cells, most):,} cells, {money}, {rate}{rest}"


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, whose cells show what is written."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and hasattr(found, "kernel")


class Progress:
    """Whether and how a lifetime says what it is doing.

    ``wanted``: True and False are an order; None shows the line where the screen is a terminal or a
    notebook.
    Where it is none, such as a file or a pipe, True writes a plain line now and then.
    """

    def __init__(self, wanted: bool | None = None, patience: float = 1.0) -> None:
        self.wanted, self.patience = wanted, patience

    @contextmanager
    def shown(self, what: str, cells: Cells, state: LifetimeState) -> Iterator[None]:
        """Watch a reader while something is bought through it."""
        by_itself = sys.stderr.isatty() or in_notebook()
        shown = by_itself if self.wanted is None else self.wanted
        if not (shown and _SCREEN.acquire(blocking=False)):
            yield
            return
        try:
            watch = _Watch(what, cells, state, self.patience)
            watch.start()
            try:
                yield
            finally:
                watch.stop()
        finally:
            _SCREEN.release()


def _write(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


class _Watch(threading.Thread):
    def __init__(self, what: str, cells: Cells, state: LifetimeState, patience: float) -> None:
        super().__init__(daemon=True)
        self.what, self.cells, self.patience = what, cells, patience
        self.begun, self.over = time.monotonic(), threading.Event()
        self.bought = self.spent = 0
        self.left = cells.allowance
        whole = cells.n_examples * cells.n_offered
        self.most = whole - cells.meter.owned.count(cells.offered)
        self._ledger = None if cells.is_free else state.ledger
        self._before: Callable[[Purchase], None] | None = None
        if self._ledger is not None:
            self._before, self._ledger.on_purchase = self._ledger.on_purchase, self._note

    def _note(self, purchase: Purchase) -> None:
        self.spent += purchase.spent
        self.bought += purchase.block.n_cells if purchase.status == "settled" else 0
        if self._before is not None:
            self._before(purchase)

    def _line(self) -> str:
        cells, spent = self.bought, self.spent
        if self._ledger is None:
            cells, spent = self.cells.n_bought, self.cells.counted
        left = None if self.left is None else max(0.0, self.left - to_units(spent))
        seconds = time.monotonic() - self.begun
        return line_of(self.what, cells, self.most, spent, self.cells.currency, seconds, left)

    def run(self) -> None:
        """A line that writes itself over, where the screen can; else one now and then."""
        terminal = sys.stderr.isatty()
        moving = terminal or in_notebook()
        wait, widest = self.patience, 0
        while not self.over.wait(wait):
            line, wait = self._line(), 0.25 if moving else 10.0
            if terminal:  # of a line that is wider than the screen a part would stay
                line = line[: shutil.get_terminal_size().columns - 1]
            widest = max(widest, len(line))
            _write(f"\r{line.ljust(widest)}" if moving else f"{line}\n")
        if widest and moving:  # wiped; a notebook knows no such code and keeps the last one
            _write("\r\x1b[2K" if terminal else f"\r{self._line().ljust(widest)}\n")

    def stop(self) -> None:
        self.over.set()
        if self._ledger is not None:
            self._ledger.on_purchase = self._before
        self.join()
