"""Checks of a family's parameters: each error names the parameter, what it must be, what came."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from thrifty.errors import BadParameter

__all__ = ["a_choice", "a_positive_integer", "a_share"]


def a_positive_integer(name: str, value: Any) -> None:
    """1, 2, 3, ..."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise BadParameter(f"{name} must be an integer of at least 1; got {value!r}.")


def a_share(name: str, value: Any) -> None:
    """A number above 0 and below 1."""
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0 < value < 1:
        raise BadParameter(f"{name} must be a number above 0 and below 1; got {value!r}.")


def a_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of a few words."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise BadParameter(f"{name} must be one of {listed}; got {value!r}.")
