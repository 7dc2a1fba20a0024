"""What one try at a task gave: the value that the three verbs of a family pass along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Attempt", "Failure", "Route"]

Route = Literal["reused", "screened", "scratch"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the representation was not enough.

    >>> print(Failure("no-candidate", "no metafeature reaches node root"))
    no metafeature reaches node root
    """

    reason: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Attempt:
    """A model and how it was learned, or why it was not.

    ``grown`` is what UseRep had built when it failed; only the family that made it reads it.
    """

    route: Route
    model: Any | None
    failure: Failure | None = None
    grown: Any = None
