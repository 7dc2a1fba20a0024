"""An event loop without a clock: when nothing is left to do now, it is the next moment."""

from __future__ import annotations

import asyncio


class Deadlock(Exception):
    """Everybody waits and nothing will happen any more."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Deterministic: callbacks run in the order of their moments, then as they came."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self  # what the base class waits with

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> list[object]:
        """Nothing comes from outside; time passes at once."""
        if timeout is None:
            raise Deadlock
        # a little with every turn, too: a wait too short for a float to show would never end
        self._now += max(timeout, 1e-8)
        return []

    def _process_events(self, event_list: object) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody has to be woken up."""
