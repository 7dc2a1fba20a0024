"""One task of a stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thrifty.typing import AnyArray

__all__ = ["Task"]


@dataclass(frozen=True, eq=False)
class Task:
    """What a learner is shown (name, X, y) and what only the experimenter knows (target, good)."""

    name: str
    X: AnyArray
    y: AnyArray
    target: Any = field(default=None, repr=False)
    good: bool = True

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {np.shape(self.X)[0]} examples x {np.shape(self.X)[1]})"
