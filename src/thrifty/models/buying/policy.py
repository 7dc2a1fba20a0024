"""How a table is bought: the one protocol that every way of buying follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from thrifty.cells import Cells
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.table import Table
from thrifty.typing import JsonLike

__all__ = ["Bought", "Policy"]


@dataclass(frozen=True)
class Bought:
    """A table, what it teaches the memory, and whatever a reader may want to know of it."""

    table: Table
    lesson: Lesson
    info: JsonLike = field(default_factory=dict)


#: classes, or numbers
L = TypeVar("L", contravariant=True)


class Policy(Protocol[L]):
    """A way to choose cells."""

    def buy(
        self, cells: Cells, labels: L, memory: Memory, allowance: float, rng: np.random.Generator
    ) -> Bought:
        """Buy a table for at most ``allowance``, in the unit of the prices."""
