"""What a kind of label makes of the cells that were bought: all that the search rests on."""

from __future__ import annotations

from typing import Protocol

from thrifty.array_types import Floats, Ints
from thrifty.models.evidence.worth import Curve, Shape
from thrifty.models.memory.memory import Lesson
from thrifty.models.purses.purse import Basket
from thrifty.models.table import Table
from thrifty.typing import JsonLike

__all__ = ["Evidence"]


class Evidence(Protocol):
    """What a kind of label makes of the cells that were bought."""

    basket: Basket
    shape: Shape

    def trust(self, features: Ints, looked: int) -> None:
        """After the first look: what was believed beforehand is checked, or given up."""

    def scores(self, features: Ints, looked: int, present: Floats | None) -> Floats:
        """How well each tells the labels, alone or beyond a present model; by chance 1."""

    def seen(self, features: Ints, looked: int) -> Floats:
        """The rows that each score rests on."""

    def present(self, features: Ints, rows: int) -> Curve:
        """What the features say of rows left out, and how they learn from rows."""

    def rare(self, rows: int) -> int:
        """Rows of the rarest kind of label among the first."""

    def enough_rows(self, cells: float) -> float:
        """How many rows a table of so many cells has at most while features wait."""

    def table(self, features: Ints, rows: int, looked: int) -> Table:
        """The features on the rows that all of them were bought on."""

    def lesson(self, table: Table) -> Lesson:
        """What the memory keeps of it."""

    def told(self, table: Table) -> JsonLike:
        """What a reader may want to know."""
