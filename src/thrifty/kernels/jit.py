"""One decorator for every kernel, which costs nothing until the first kernel is called.

numba takes half a second to import, which whoever asks for a bill should not wait for. So ``jit``
only wraps; the first call of any kernel imports numba and puts the compiled functions in the place
of the wrappers, in the modules of this kernel and of those it calls: numba looks names up there
when it compiles, and must find functions of its own.
Compiling is shown: the first call takes seconds, and silence looks like a hang.

``nogil`` lets plain threads run kernels side by side; ``cache`` keeps the machine code on disk:
beside the source where that may be written, else in the user's own cache. Numba's own threading
layers are avoided: the omp layer kills forked children and workqueue aborts under threads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias, TypeVar, cast

#: what numba makes of a function, which has no types
Compiled: TypeAlias = Any

F = TypeVar("F", bound=Callable[..., object])

_COMPILING = "thrifty: compiling kernels for this processor (once, then kept on disk)\n"

#: one thread at a time puts compiled functions in place
_LOCK = RLock()


class _Later:
    """Something of numba's that is made at its first use."""

    def __init__(
        self, make: Callable[[], Compiled], home: dict[str, Compiled] | None = None
    ) -> None:
        self._make, self._home = make, home
        self._made: Compiled = None

    def made(self) -> Compiled:
        """The thing itself."""
        if self._made is None:
            with _LOCK:
                if self._made is None:
                    self._made = self._make()
                    _put_in_place(self._home or {})
        return self._made

    def __call__(self, *arguments: Compiled) -> Compiled:
        return self.made()(*arguments)

    def __getattr__(self, name: str) -> Compiled:
        if name.startswith("__"):  # copying and pickling look for these before anything is made
            raise AttributeError(name)
        return getattr(self.made(), name)


def _put_in_place(home: dict[str, Compiled]) -> None:
    """In a module's names, what is made instead of what makes it."""
    for name, value in list(home.items()):
        if isinstance(value, _Later):
            home[name] = value.made()


def jit(function: F) -> F:
    """Compile at the first call, keep the result on disk, release the interpreter lock."""

    def make() -> Compiled:
        import numba

        _show_compiling()
        return numba.njit(nogil=True, cache=True, error_model="numpy")(function)

    later = _Later(make, function.__globals__)
    later.__doc__, later.__module__ = function.__doc__, function.__module__
    return cast(F, later)


def deferred(module: str, name: str) -> Compiled:
    """A name of a module that needs numba to be imported, for kernels to use."""
    return _Later(lambda: getattr(import_module(module), name))


@cache
def _show_compiling() -> None:
    """Listen from now on, once; numba tells of compilations, not of kernels loaded from disk."""
    from numba.core import event

    class Compiling(event.Listener):
        """Says on stderr that kernels are compiled."""

        told = False

        def on_start(self, happened: object) -> None:
            if self.told or not _is_ours(happened):
                return
            self.told = True
            if _first_on_this_machine() and sys.stderr is not None:
                sys.stderr.write(_COMPILING)
                sys.stderr.flush()

        def on_end(self, happened: object) -> None:
            """Nothing is said."""

    listen: Compiled = event.register
    listen("numba:compile", Compiling())


def _first_on_this_machine() -> bool:
    """Whether nobody was told before, by a mark beside what is kept on disk.

    Each command uses kernels of its own; those of a second one compile in less than a second.
    """
    import numba

    version = sys.modules["thrifty"].__version__  # kernels import nothing of the package
    kept = getattr(numba.njit(cache=True)(_is_ours), "_cache", None)
    place = getattr(kept, "cache_path", None)
    if place is None:
        return True
    mark = Path(place) / f"compiled-{version}"
    if mark.exists():
        return False
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return True


def _is_ours(happened: Compiled) -> bool:
    """Whether it is one of our kernels; users may compile functions of their own."""
    function = getattr(happened.data.get("dispatcher"), "py_func", None)
    return getattr(function, "__module__", "").startswith("thrifty.")
