"""Untrusted input may be anything: somebody else's store, a damaged file, an odd YAML.

Reading it ends in a value or in an error of Thrifty's, never in a traceback from somewhere inside.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from thrifty.errors import StoreError, ThriftyError

__all__ = ["readable", "visible"]

#: what code that takes data apart raises when the data is not what it was written as
_ODD = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip


@contextmanager
def readable(what: str, kind: type[ThriftyError] = StoreError) -> Iterator[None]:
    """Whatever goes wrong inside is said as an error of this kind about ``what``.

    >>> with readable("the store"):
    ...     {}["family"]
    Traceback (most recent call last):
    thrifty.errors.StoreError: the store cannot be read: it was damaged, or not written by \
Thrifty (KeyError: 'family'). Restore a copy.
    """
    try:
        yield
    except ThriftyError:
        raise
    except _ODD as error:
        said = str(error)[:200]
        raise kind(
            f"{what} cannot be read: it was damaged, or not written by Thrifty "
            f"({type(error).__name__}: {said}). Restore a copy."
        ) from error


def visible(text: str) -> str:
    """Text that does nothing to a terminal: a store may come from a stranger.

    >>> visible("task \\x1b[31mred")
    'task \\\\x1b[31mred'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)
