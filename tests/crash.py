"""Dying at an interesting moment, in earnest or in play."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from thrifty.cells.ledger.book import POINTS, on_point
from thrifty.cells.ledger.owner import process
from thrifty.errors import BadParameter


class Crash(BaseException):
    """The process would be dead now."""


def kill_at(point: str, nth: int = 1) -> None:
    """Let this process be killed (SIGKILL) when it reaches a point for the n-th time."""
    on_point(_counting(point, nth, lambda: os.kill(os.getpid(), signal.SIGKILL)))


@contextmanager
def crash_at(point: str, nth: int = 1) -> Iterator[None]:
    """Raise :class:`Crash` when a point is reached for the n-th time.

    What the process held in memory about its open purchases is forgotten, as in a real crash.
    """

    def crash() -> None:
        raise Crash(point)

    on_point(_counting(point, nth, crash))
    try:
        yield
    finally:
        on_point(None)
        process().in_flight.clear()


@contextmanager
def from_another_machine() -> Iterator[None]:
    """What this process is buying looks as it does from elsewhere, once its time is over."""
    mine = set(process().in_flight)
    process().in_flight.clear()
    yield
    process().in_flight.update(mine)


def _counting(point: str, nth: int, act: Callable[[], None]) -> Callable[[str], None]:
    if point not in POINTS:
        raise BadParameter(f"point must be one of {POINTS}; got {point!r}.")
    left = nth

    def hook(reached: str) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                act()

    return hook
