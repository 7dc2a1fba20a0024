"""Untrusted input may be anything: somebody else's store, a damaged file, an odd YAML.

Reading it ends in a value or in an error of Thrifty's, never in a traceback from somewhere inside.
"""

from __future__ import annotations

import struct
import zlib
from types import TracebackType

from thrifty.errors import StoreError, ThriftyError

#: what code that takes data apart raises when the data is not what it was written as
ODD = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip


class readable:
    """Whatever goes wrong inside is said as an error of this kind about ``what``.

    >>> with readable("the store"):
    ...     {}["family"]
    Traceback (most recent call last):
    thrifty.errors.StoreError: the store cannot be read: it was damaged, or not written by \
Thrifty (KeyError: 'family'). Restore a copy.
    """

    # a class, not a generator: it stands around much of what is read
    __slots__ = ("_kind", "_what")

    def __init__(self, what: str, kind: type[ThriftyError] = StoreError) -> None:
        self._what, self._kind = what, kind

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, ThriftyError) and isinstance(error, ODD):
            raise unreadable(self._what, error, self._kind) from error


def unreadable(
    what: str, error: BaseException, kind: type[ThriftyError] = StoreError
) -> ThriftyError:
    """What is said of untrusted data that could not be taken apart."""
    return kind(
        f"{what} cannot be read: it was damaged, or not written by Thrifty "
        f"({type(error).__name__}: {str(error)[:200]}). Restore a copy."
    )


def visible(text: str) -> str:
    """Text that does nothing to a terminal: a store may come from a stranger.

    >>> visible("task \\x1b[31mred")
    'task \\\\x1b[31mred'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
