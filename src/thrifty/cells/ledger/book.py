"""What a ledger needs of a store: pages to read and write under one lock.

Stores implement it; :mod:`thrifty.cells` never sees which one it has. Beside it stand the places
where a crash is interesting, each a moment in the life of a purchase or a task, in order: tests put
a hook there; in use it is None and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from thrifty.cells.ledger.purchase import Purchase
from thrifty.typing import Ints, Numbers

POINTS = (
    "before-intent",
    "in-intent",
    "after-intent",
    "before-call",
    "after-call",
    "before-settle",
    "in-settle",
    "after-settle",
    "before-commit",
    "in-compaction",
    "in-commit",
    "after-commit",
)

_hook: Callable[[str], None] | None = None


def on_point(hook: Callable[[str], None] | None) -> None:
    """Call the hook at every point from now on; None takes it away."""
    global _hook
    _hook = hook


def reached(point: str) -> None:
    """This moment has come."""
    if _hook is not None:
        _hook(point)


T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """What is known of one feature or draw after compaction.

    ``known`` is a bit per example number (bytes, least significant bit first), ``values`` a bit per
    known example (or eight bytes where the feature is real-valued), ``times`` when each was bought.
    """

    kind: str
    number: int
    boolean: bool
    block: bytes


class Pages(Protocol):
    """The ledger's pages inside one transaction."""

    def number(self, kind: str, names: Sequence[str], source: str = "") -> Numbers:
        """The numbers of examples, or of a source's features or draws; new ones get the next."""

    def numbers(self, kind: str, names: Sequence[str], source: str = "") -> Numbers:
        """The same without writing; -1 where a name has no number yet."""

    def numbered(self, kind: str, source: str) -> dict[str, int]:
        """Every name of a source that has a number."""

    def names(self, kind: str, numbers: Iterable[int]) -> list[str]: ...

    def changes(self) -> list[tuple[float, str, object, object]]:
        """What the lifetime was given anew on purpose: (when, what, before, after)."""

    def rename(self, kind: str, number: int, name: str, source: str | None = None) -> None:
        """Another name for what has this number, and another source."""

    def knows_source(self, kind: str, source: str) -> bool:
        """Whether a source has any name of this kind."""

    def words(self) -> dict[int, tuple[str, ...]]:
        """The words of every category of the store, in their places, by the feature's number."""

    def add(self, purchase: Purchase) -> Purchase:
        """Write a purchase down; one with the same key that is there already is returned."""

    def with_keys(self, keys: Sequence[str]) -> list[Purchase]: ...
    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what was written inside if it raises, and no more."""

    def together(self) -> AbstractContextManager[None]:
        """Sums of money that change inside may be written once, at the end."""

    def as_now(self, purchase: Purchase) -> Purchase:
        """A purchase that was written down, as it stands now."""

    def purchase(self, id: int) -> Purchase | None: ...
    def blocking(self) -> list[Purchase]:
        """Purchases of the whole store whose cells may not be bought now."""

    def settled_after(self, sequence: int) -> list[Purchase]:
        """Settled purchases of the store in order, without those that a column has taken in."""

    def settled_of_predictions(self) -> list[Purchase]: ...

    def n_settled_of_predictions(self) -> int: ...

    def settled_of(self, task: str) -> list[Purchase]:
        """The same, of one task of this lifetime."""

    def purchases_of(self, task: str) -> list[Purchase]:
        """Every purchase of one task of this lifetime, however it ended."""

    def last_settled(self) -> float:
        """When a purchase of the store was last settled; 0 where none was."""

    def last_compacted(self) -> int:
        """The highest sequence that a column has taken in."""

    def sequences(self) -> tuple[int, int]:
        """The highest sequence that a column has taken in, and the highest of all."""

    def claim(self, id: int, owner: str, give_up_at: float) -> Purchase:
        """Make another's purchase ours, to repeat its call with its key."""

    def finish(self, purchase: Purchase) -> Purchase:
        """Write the end of a purchase; a settled one gets the next sequence number."""

    def columns(
        self, kind: str | None = None, numbers: Iterable[int] | None = None
    ) -> list[Column]:
        """All columns, those of a kind, or those of a kind with these numbers."""

    def put_columns(self, columns: Iterable[Column]) -> None: ...
    def mark_compacted(self, ids: Sequence[int]) -> None: ...
    def columns_were_told(self) -> None: ...
    def balance(self, task: str | None) -> tuple[int, int]:
        """(reserved, spent) of a task, or in total for None."""

    def billed_for_nothing(self, provider: str) -> bool:
        """Whether a provider has billed a call that costs nothing by its list."""

    def purged(self) -> dict[int, float]:
        """Examples whose values were taken out of the store, and when last."""

    def take_answer(self, id: int, note: str) -> None:
        """Forget what was answered; the line of the bill stays, with a note."""

    def over(self) -> int:
        """What providers have billed beyond what was reserved."""

    def move(
        self, task: str, reserved: int, spent: int, lifetime: int | None = None, over: int = 0
    ) -> None:
        """Change the account of a task of this lifetime, or of the one that began a purchase."""

    def example_costs(self, examples: Numbers) -> Ints: ...
    def add_example_costs(
        self, examples: Numbers, amounts: Ints, lifetime: int | None = None
    ) -> None: ...
    def currency(self, label: str) -> str:
        """The lifetime's currency; the first label given is kept."""


class Book(Protocol):
    """The ledger of one lifetime in a store; the cells in it are the store's."""

    @property
    def id(self) -> int:
        """Which lifetime of the store."""

    @property
    def place(self) -> str:
        """What the commands take to find it again; empty where it is in memory."""

    # A store's pages are more than the ledger's: who stands above it knows which.
    def write(self, work: Callable[[Any], T]) -> T:
        """Run work(pages) in one exclusive, durable transaction.

        Where the connection is lost the work is run again, so it must be repeatable.
        """

    def read(self, work: Callable[[Any], T]) -> T: ...
