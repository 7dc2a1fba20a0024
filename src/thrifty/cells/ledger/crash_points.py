"""Places where a crash is interesting. Tests put a hook here; in use it is None and costs nothing.

Each name is a moment in the life of a purchase or a task, in order.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["POINTS", "on_point", "reached"]

POINTS = (
    "before-intent",
    "in-intent",
    "after-intent",
    "before-call",
    "after-call",
    "before-settle",
    "in-settle",
    "after-settle",
    "before-commit",
    "in-compaction",
    "in-commit",
    "after-commit",
)

_hook: Callable[[str], None] | None = None


def on_point(hook: Callable[[str], None] | None) -> None:
    """Call the hook at every point from now on; None takes it away."""
    global _hook
    _hook = hook


def reached(point: str) -> None:
    """This moment has come."""
    if _hook is not None:
        _hook(point)
