"""What a kind of label makes of the cells that were bought: all that the search rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from thrifty.array_types import Floats, Ints
from thrifty.models.memory.memory import Lesson
from thrifty.models.purses.purse import Basket
from thrifty.models.table import Table
from thrifty.typing import JsonLike

__all__ = ["Curve", "Evidence", "Shape"]


@dataclass(frozen=True, eq=False)
class Shape:
    """How a table of a kind of label is looked for: the numbers that were chosen for it.

    ``kinds``: kinds of labels that rows are counted by (classes; 1 for numbers); ``said``: what the
    least look is, in words; ``looking``: the share of the money that halving may take;
    ``least_look``, ``most_looks``: rows of each kind in the first look at least, in the last at
    most; ``most_rounds``: how often features are halved; ``start``: the table begins with so many
    rows that a feature costs this share of what is left; ``at_first``: and with this part of the
    most rows at least; ``rows_of_all``: the part of all rows that it has at most while features
    wait, unless few are chosen; ``width``: features of a table of so many cells;
    ``most_features``: of a model where all cells can be had; None: they are chosen all the same;
    ``whole``: whether rows are bought whole where most cells are gaps.
    """

    kinds: int
    said: str
    looking: float
    least_look: int
    most_looks: int
    most_rounds: int
    start: float
    width: Callable[[float], float]
    at_first: float = 1.0
    rows_of_all: float = 1.0
    most_features: int | None = None
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Curve:
    """How a quick model of some features learns from rows.

    ``p``: what a model of the others says of each row; ``loss``: of that; ``fall``: how far below
    that of the shares; ``by_rows``: what half as many rows again would take off.
    """

    p: Floats
    loss: float
    fall: float
    by_rows: float


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
