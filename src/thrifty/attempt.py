"""What one try at a task gave: the values that the three verbs of a family pass along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

from thrifty.typing import Json, JsonLike

Route = Literal["reused", "bought", "scratch"]
#: what a family learns; a frozen value, so that a Found of a tree is one of a tree or a bit tree
Model = TypeVar("Model", covariant=True)
OneModel = TypeVar("OneModel")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the representation was not enough.

    >>> print(Failure("no-candidate", "no metafeature reaches node root"))
    no metafeature reaches node root
    """

    reason: str
    message: str
    details: JsonLike = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Found(Generic[Model]):
    """A model and how it was learned.

    ``failure`` says why the representation alone was not enough, where it was not; ``grown`` is
    what ImproveRep needs beside the model, of what it was tried with; ``seen`` what the task's own
    cells showed, which stays true when a representation is forgotten. Only the family that made
    them reads them. ``promise`` says what is promised of new examples, for the receipt; ``beside``
    are models that fit as well as far as was looked, for rules that mind what was used last.
    """

    route: Route
    model: Model
    failure: Failure | None = None
    grown: object = None
    seen: object = None
    promise: str = ""
    beside: tuple[Model, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """No model: why, and what UseRep had grown when it failed, for the family that made it."""

    failure: Failure
    grown: object = None

    def then(self, model: OneModel) -> Found[OneModel]:
        """The model that scratch found after this."""
        return Found("scratch", model, self.failure, self.grown)


Attempt = Found[OneModel] | Failed


@dataclass(frozen=True, slots=True)
class Expected:
    """What a family expects a task to cost before a cell is bought, in cells of one example.

    Attributes
    ----------
    reused : float or None
        Likely, if the representation is enough; None where the family cannot tell.
    reused_features : tuple of int
        The features those cells are of, for their prices; empty: any.
    reused_at_most : int or None
        Never more than this, if the representation is enough; None where there is no such bound.
    grows_with_examples : bool
        Whether the bill of a reused task grows with its examples.
    buys_everything : bool
        Whether scratch always buys every cell.
    """

    reused: float | None = None
    reused_features: tuple[int, ...] = ()
    reused_at_most: int | None = None
    grows_with_examples: bool = True
    buys_everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a family can, and what has to be known of it: all of it said, nothing by default.

    Attributes
    ----------
    stops_anywhere : bool
        ``spend=`` gives the best model for at most that; otherwise it is refused.
    takes_absent : bool
        A task may lack features that the lifetime knows.
    allows_missing : bool
        NaN may come in.
    reads_categories : bool
        Cells of a category hold its place in ``cells.categories[feature]``; otherwise a table with
        categories is refused.
    one_after_another : bool
        Each task teaches something that the next uses, so that ``learn_many`` tries none ahead.
    remembers : str
        What the parts of its representation are, in a reader's words.
    draws : bool
        It has a ``random_state``; where that is None it takes the lifetime's.
    buys_background : bool
        It has ``buy_background`` and ``with_background``, for ``life.background``.
    weighs_rows : bool
        It heeds ``row_weights`` and ``groups`` of labels (``learn(..., sample_weight=, groups=)``).

    Examples
    --------
    >>> trees = Traits(
    ...     stops_anywhere=False, takes_absent=True, allows_missing=False, reads_categories=True,
    ...     one_after_another=False, remembers="metafeatures", draws=False, buys_background=False,
    ...     weighs_rows=False)
    >>> trees.reads_categories
    True
    """

    stops_anywhere: bool
    takes_absent: bool
    allows_missing: bool
    reads_categories: bool
    one_after_another: bool
    remembers: str
    draws: bool
    buys_background: bool
    weighs_rows: bool


@runtime_checkable
class Representation(Protocol):
    """What past tasks taught: an immutable value, so snapshots and retries are simple."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[object]: ...
    def to_dict(self) -> Json: ...


@runtime_checkable
class Ordered(Protocol):
    """A representation that knows which of its parts were learned or used last."""

    def __len__(self) -> int: ...

    def newest(self, n: int) -> Self:
        """The n that were learned or used last."""

    def refreshed(self, model: object) -> Self:
        """The same, with the parts that the model is made of as the newest."""


@runtime_checkable
class KnowsRows(Protocol):
    """A representation that knows which examples taught it."""

    def with_rows(self, keys: object) -> Self: ...
