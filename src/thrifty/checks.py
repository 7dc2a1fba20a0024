"""Checks of parameters: each error names the parameter, what it must be, and what came.

Each check gives the value back as plain Python, so that numpy's numbers may be given and JSON can
still be written. Families, learners and rules of your own may use them too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from thrifty.errors import BadParameter


def whole_number(name: str, value: object, *, least: int = 1) -> int:
    """An integer, numpy's included, at least so large.

    >>> import numpy as np
    >>> whole_number("max_depth", np.int64(6))
    6
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise BadParameter(f"{name} must be an integer, {least} or more; got {value!r}.")
    return int(value)


def a_share(name: str, value: object) -> float:
    """A number above 0 and below 1.

    >>> a_share("delta", 0.05)
    0.05
    """
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not 0 < value < 1:  # type: ignore[operator]
        raise BadParameter(f"{name} must be a number strictly between 0 and 1; got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def a_probability(name: str, value: object) -> float:
    """A number above 0 and at most 1.

    >>> a_probability("p_min", 1)
    1.0
    """
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not 0 < value <= 1:  # type: ignore[operator]
        raise BadParameter(f"{name} must be a probability, above 0 and at most 1; got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def a_flag(name: str, value: object) -> bool:
    """True or False, and nothing that only looks like it."""
    if not isinstance(value, bool | np.bool_):
        raise BadParameter(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def a_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of a few words.

    >>> a_choice("match", "feature", ["feature", "threshold"])
    'feature'
    """
    if not isinstance(value, str) or value not in choices:
        raise BadParameter(f"{name} must be one of {list(choices)}; got {value!r}.")
    return str(value)


def set_checked(made: object, **values: object) -> None:
    """Put checked values into a frozen dataclass, from its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line, the nearest that is not Thrifty's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "thrifty"
