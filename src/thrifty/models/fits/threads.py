"""Small fits in one thread: on a busy machine several wait for each other."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["in_one_thread"]


def in_one_thread(where: bool = True) -> AbstractContextManager[object]:
    """A context in which numerical libraries use one thread."""
    return _libraries(len(sys.modules)).limit(limits=1) if where else nullcontext()


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Libraries with threads; looked for, in 3.4 ms, when modules were loaded since."""
    return ThreadpoolController()
