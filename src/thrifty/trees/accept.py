"""When is a learned tree good enough? Three answers, one small value each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from thrifty.errors import BadParameter

__all__ = ["Accept", "Consistent", "Tested", "Verified", "accept_from_dict", "accept_to_dict"]


@dataclass(frozen=True)
class Consistent:
    """The paper's test: right on every training example, within depth and size."""


@dataclass(frozen=True)
class Tested:
    """Right on enough fresh examples: error at most ``error`` with probability ``confidence``.

    The bill of a reused task then does not grow with the number of examples.
    """

    __test__: ClassVar[bool] = False  # the name is no test of pytest's

    error: float = 0.01
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _share("error", self.error)
        _share("confidence", self.confidence)


@dataclass(frozen=True)
class Verified:
    """Evidence instead of consistency, for real and noisy data.

    A rival feature is dropped once it is believed, with probability ``1 - delta`` over all rivals,
    not to explain more than ``epsilon`` of the label's entropy beyond the feature that was chosen;
    :mod:`thrifty.trees.verified.way` says what that promises and what it does not. Smaller values
    buy more; only their product sets the price of a cell. ``certain`` drops rivals by confidence
    bounds instead: a theorem (:mod:`thrifty.trees.verified.certain`) for many more cells.
    """

    epsilon: float = 0.125
    delta: float = 0.1
    certain: bool = False

    def __post_init__(self) -> None:
        _share("epsilon", self.epsilon)
        _share("delta", self.delta)
        if not isinstance(self.certain, bool):
            raise BadParameter(f"certain must be True or False; got {self.certain!r}.")


Accept = Consistent | Tested | Verified
_BY_NAME: dict[str, type[Any]] = {c.__name__: c for c in (Consistent, Tested, Verified)}


def accept_to_dict(accept: Accept) -> dict[str, Any]:
    """Name and parameters, for JSON."""
    return {"accept": type(accept).__name__, **asdict(accept)}


def accept_from_dict(data: dict[str, Any]) -> Accept:
    """The inverse of :func:`accept_to_dict`."""
    parameters = {key: value for key, value in data.items() if key != "accept"}
    made: Accept = _BY_NAME[data["accept"]](**parameters)
    return made


def _share(name: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise BadParameter(f"{name} must be a number strictly between 0 and 1; got {value!r}.")
