"""What families of trees share: the verbs, carried out by a learner, on cells or on their bits.

A learner is a frozen value with the parameters it uses, and no others. The three verbs are those of
the protocol, with the family's ``max_depth`` passed along; the family calls them and adds nothing.
A learner of your own needs no entry anywhere: hand it to ``Trees(learner=...)``.

Learners read Booleans and numbers. Where a task has categories the verbs run on the bits of its
cells (:mod:`thrifty.cells.bit_cells`) instead, the representation remembers the bits, users get an
estimator that takes their own columns. Other tasks go through untouched.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from thrifty.attempt import (
    Attempt,
    Expected,
    Failed,
    Found,
    KnowsRows,
    Ordered,
    Representation,
    Traits,
)
from thrifty.cells import Cells
from thrifty.cells.bit_cells import Bit, BitCells, bits_of, bits_to_dict, read_bits
from thrifty.labels import Labels, read_classes
from thrifty.trees.tree import Tree, allows_missing
from thrifty.typing import Json, JsonLike, LabelsLike

if TYPE_CHECKING:
    from thrifty.trees.model import TreeClassifier

#: the representation
Known = TypeVar("Known", bound=Representation)
Inner = TypeVar("Inner")


@typing.runtime_checkable
class Learner(Protocol[Known]):
    """Paper, Race, Tested, or one of your own.

    See Also
    --------
    thrifty.trees.Paper, thrifty.trees.Race, thrifty.trees.Tested : learners that are there

    Examples
    --------
    >>> from thrifty.trees import Race
    >>> isinstance(Race(), Learner)
    True
    """

    @property
    def missing(self) -> str:
        """What becomes of a row that lacks a value: "error" or "larger-child"."""

    def start(self) -> Known:
        """The empty representation."""

    def expected_cells(self, known: Known, cells: Cells, max_depth: int) -> Expected:
        """What a task is likely to cost; nothing may be bought for it."""

    def use_rep(self, known: Known, cells: Cells, labels: Labels, max_depth: int) -> Attempt[Tree]:
        """A tree from what is known, or why that is not enough."""

    def from_scratch(
        self, cells: Cells, labels: Labels, failed: Failed | None, max_depth: int
    ) -> Found[Tree]:
        """A tree from all the cells it takes."""

    def improve_rep(self, known: Known, found: Found[Tree]) -> Known:
        """What is known after the task."""

    def load_representation(self, data: JsonLike) -> Known:
        """The inverse of ``representation.to_dict()``."""

    def to_dict(self) -> Json:
        """``{"learner": name, ...}``: name and parameters, as JSON."""


#: a learner that a user brought: what it remembers and how is its own business
AnyLearner: TypeAlias = Learner[Any]


@dataclass(frozen=True)
class OnBits(Generic[Known]):
    """A representation whose features are bits, and what those bits are."""

    bits: tuple[Bit, ...]
    inner: Known

    def __len__(self) -> int:
        return len(self.inner)

    def __iter__(self) -> Iterator[object]:
        return iter(self.inner)

    def __repr__(self) -> str:
        return f"OnBits({len(self.bits)} bits, {self.inner!r})"

    def newest(self, n: int) -> OnBits[Known]:
        """The n parts that were learned or used last."""
        inner = self.inner
        return replace(self, inner=inner.newest(n)) if isinstance(inner, Ordered) else self

    def refreshed(self, model: object) -> OnBits[Known]:
        """The same, with the parts that the model is made of as the newest."""
        if not isinstance(self.inner, Ordered):
            return self
        inner = self.inner.refreshed(model.inner if isinstance(model, OverBits) else model)
        return self if inner is self.inner else replace(self, inner=inner)

    def with_rows(self, keys: object) -> OnBits[Known]:
        """These examples have taught it too."""
        inner = self.inner
        return replace(self, inner=inner.with_rows(keys)) if isinstance(inner, KnowsRows) else self

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {"bits": bits_to_dict(self.bits), "inner": self.inner.to_dict()}


@dataclass(frozen=True)
class OverBits(Generic[Inner]):
    """A tree, or what a failed attempt had grown, and the bits that it was made on."""

    inner: Inner
    bits: tuple[Bit, ...]


class LearnedTrees(ABC, Generic[Known]):
    """A family whose models are trees: it has a depth, a learner and a classifier."""

    kind: ClassVar[Literal["classifier"]] = "classifier"

    max_depth: int

    @property
    def classifier(self) -> type[TreeClassifier]:
        """What users hold; scikit-learn is imported with it."""
        from thrifty.trees.model import TreeClassifier

        return TreeClassifier

    @property
    @abstractmethod
    def how(self) -> Learner[Known]:
        """The learner that carries out the verbs."""

    @property
    def traits(self) -> Traits:
        """Categories come as bits; NaN where the learner has a rule."""
        return Traits(
            stops_anywhere=False,
            takes_absent=True,
            reads_categories=True,
            allows_missing=allows_missing(self.how.missing),
            one_after_another=False,
            remembers="metafeatures",
            draws=False,
            buys_background=False,
            weighs_rows=False,
        )

    def start(self) -> Known:
        """The learner's empty representation."""
        return self.how.start()

    def read_labels(self, y: LabelsLike) -> Labels:
        """Classes as codes."""
        return read_classes(y)

    def expected_cells(self, representation: Known | OnBits[Known], cells: Cells) -> Expected:
        """What the learner expects."""
        if isinstance(representation, OnBits) or cells.categories:
            return Expected()  # bits: what they save is not known before they are met
        return self.how.expected_cells(representation, cells, self.max_depth)

    def use_rep(
        self, representation: Known | OnBits[Known], cells: Cells, labels: Labels
    ) -> Attempt[Tree | OverBits[Tree]]:
        """A tree from the representation, or why that is not enough."""

        def learn(known: Known, reader: Cells) -> Attempt[Tree]:
            return self.how.use_rep(known, reader, labels, self.max_depth)

        return self._on_cells_or_bits(representation, cells, learn)

    def from_scratch(
        self, cells: Cells, labels: Labels, failed: Failed | None
    ) -> Found[Tree | OverBits[Tree]]:
        """A tree from all the cells it takes, on the bits that a failed attempt was made on."""
        known: Known | OnBits[Known] = self.start()
        if failed is not None and isinstance(failed.grown, OverBits):
            known = OnBits(failed.grown.bits, self.start())
            failed = replace(failed, grown=failed.grown.inner)

        def learn(_: Known, reader: Cells) -> Found[Tree]:
            return self.how.from_scratch(reader, labels, failed, self.max_depth)

        found = self._on_cells_or_bits(known, cells, learn)
        assert isinstance(found, Found)
        return found

    def _on_cells_or_bits(
        self,
        known: Known | OnBits[Known],
        cells: Cells,
        learn: Callable[[Known, Cells], Attempt[Tree]],
    ) -> Attempt[Tree | OverBits[Tree]]:
        if not isinstance(known, OnBits):
            if not cells.categories:
                return learn(known, cells)
            known = OnBits((), self.start())
        bits = bits_of(cells, known.bits)
        attempt = learn(known.inner, BitCells(cells, bits))
        if isinstance(attempt, Failed):
            return replace(attempt, grown=OverBits(attempt.grown, bits))
        beside = tuple(OverBits(model, bits) for model in attempt.beside)
        return _found(attempt, OverBits(attempt.model, bits), beside)

    def improve_rep(
        self, representation: Known | OnBits[Known], found: Found[Tree | OverBits[Tree]]
    ) -> Known | OnBits[Known]:
        """The representation with what the task taught, in bits where it was learned on bits."""
        known, model = representation, found.model
        beside = tuple(one.inner if isinstance(one, OverBits) else one for one in found.beside)
        if not isinstance(model, OverBits):
            if isinstance(known, OnBits):
                return known  # others met categories meanwhile: this task's features are no bits
            return self.how.improve_rep(known, _found(found, model, beside))
        if not isinstance(known, OnBits):
            known = OnBits((), self.start())
        if known.bits != model.bits[: len(known.bits)]:
            return representation  # others met new features: this task's places mean other bits
        taught = _found(found, model.inner, beside)
        return OnBits(model.bits, self.how.improve_rep(known.inner, taught))

    def estimator(
        self, model: Tree | OverBits[Tree], labels: Labels, feature_names: Sequence[str]
    ) -> TreeClassifier:
        """A fitted classifier around the tree, whichever its features are."""
        tree, bits = (model.inner, model.bits) if isinstance(model, OverBits) else (model, ())
        missing = self.how.missing
        return self.classifier.around(tree, labels, feature_names, missing=missing, bits=bits)

    def load_representation(self, data: JsonLike) -> Known | OnBits[Known]:
        """The inverse of ``representation.to_dict()``."""
        if "bits" not in data:
            return self.how.load_representation(data)
        return OnBits(read_bits(data["bits"]), self.how.load_representation(data["inner"]))

    def load_estimator(self, data: JsonLike) -> TreeClassifier:
        """The inverse of ``estimator.to_dict()``."""
        return self.classifier.from_dict(data)


Model = TypeVar("Model")


def _found(found: Found[Any], model: Model, beside: tuple[Model, ...]) -> Found[Model]:
    """What was found, with other models."""
    return Found(found.route, model, found.failure, found.grown, found.seen, found.promise, beside)
