"""What is imported when it is first used: names of a package (PEP 562), packages of others.

A package says where its names live, and imports nothing itself: whoever asks for a bill does not
wait for compilers and solvers. Type checkers read the imports under ``TYPE_CHECKING`` beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType

from thrifty.errors import ThriftyError


def needed(module: str, what: str, extra: str, otherwise: str = "") -> ModuleType:
    """A module of a package that is an extra; without it, what to install.

    >>> needed("json", "reading JSON", "frames").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = {"yaml": "pyyaml"}.get(module, module.partition(".")[0])
        raise ThriftyError(
            f"{what} needs the package {name}. Type: pip install 'thrifty[{extra}]'{otherwise}"
        ) from error


def on_demand(
    package: str,
    homes: Mapping[str, Sequence[str]],
    otherwise: Callable[[str], object] | None = None,
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names live in the modules of ``homes``.

    Parameters
    ----------
    package : str
        its ``__name__``
    homes : mapping
        from a module of the package to the names in it that are the package's too
    otherwise : callable or None
        what gives names that are not listed; it raises AttributeError where there is none

    Examples
    --------
    >>> get, names = on_demand("thrifty", {"attempt": ["Found"]})
    >>> get("Found").__name__
    'Found'
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name in home_of:
            found: object = getattr(import_module(f"{package}.{home_of[name]}"), name)
            setattr(sys.modules[package], name, found)  # the next use asks nobody
            return found
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return get, names
