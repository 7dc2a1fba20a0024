"""Compiling is shown: the first call of a kernel takes seconds, and silence looks like a hang."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from numba.core import event

__all__ = ["show_compiling"]


class _Compiling(event.Listener):
    """Says on stderr that kernels are compiled; names each where the line can be rewritten."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, happened: object) -> None:
        name = _kernel(happened)
        if name is None:
            return
        if not self._told:
            self._told = True
            _say("thrifty: compiling kernels for this processor (once, then kept on disk)\n")
        if _can_rewrite():
            _say(f"\r\033[K  {name} ...")

    def on_end(self, happened: object) -> None:
        if _kernel(happened) is not None and _can_rewrite():
            _say("\r\033[K")


def _kernel(happened: Any) -> str | None:
    """The name of one of our kernels; users may compile functions of their own."""
    function = getattr(happened.data.get("dispatcher"), "py_func", None)
    module = getattr(function, "__module__", "")
    return function.__name__ if module.startswith("thrifty.") and function is not None else None


def _can_rewrite() -> bool:
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


@cache
def show_compiling() -> None:
    """Listen from now on, once; numba tells of compilations, not of kernels loaded from disk."""
    listen: Any = event.register  # numba is untyped here
    listen("numba:compile", _Compiling())
