"""Trees over derived bits: how numbers, categories and gaps reach learners that do not read them.

A learner says which kinds it ``reads``. Where a task has others, the verbs run on the bits of its
cells (:mod:`thrifty.cells.bits`) instead, the representation remembers the bits, and users get an
estimator that takes their own columns. Tasks whose features are all read go through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from thrifty.attempt import Attempt, Failed, Found, KnowsRows, Ordered, Representation
from thrifty.cells import Door
from thrifty.cells.bit_cells import BitCells
from thrifty.cells.bits import Bit, bits_of, bits_to_dict, read_bits
from thrifty.labels.classes import Labels
from thrifty.trees.tree import Tree
from thrifty.typing import Json, JsonLike

if TYPE_CHECKING:
    from thrifty.trees.model import TreeClassifier
    from thrifty.trees.over_bits_model import OverBits

__all__ = [
    "BitTree",
    "OnBits",
    "after_failing",
    "estimator_around",
    "improved",
    "load_around",
    "load_known",
    "read_or_cut",
]


Known = TypeVar("Known", bound=Representation)


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
        tree = model.tree if isinstance(model, BitTree) else model
        if not isinstance(self.inner, Ordered):
            return self
        inner = self.inner.refreshed(tree)
        return self if inner is self.inner else replace(self, inner=inner)

    def with_rows(self, keys: object) -> OnBits[Known]:
        """These examples have taught it too."""
        inner = self.inner
        return replace(self, inner=inner.with_rows(keys)) if isinstance(inner, KnowsRows) else self

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {"bits": bits_to_dict(self.bits), "inner": self.inner.to_dict()}


@dataclass(frozen=True)
class BitTree:
    """A tree whose features are bits."""

    tree: Tree
    bits: tuple[Bit, ...]


@dataclass(frozen=True)
class _GrownOnBits:
    """What a failed attempt had grown, and the bits it was made on."""

    bits: tuple[Bit, ...]
    grown: object


def read_or_cut(
    known: Known | OnBits[Known],
    cells: Door,
    reads: frozenset[str],
    learn: Callable[[Known, Door], Attempt[Tree]],
    start: Callable[[], Known],
) -> Attempt[Tree | BitTree]:
    """Learn on the cells where the learner reads them all, on their bits where it does not."""
    if not isinstance(known, OnBits) and _all_read(cells, reads):
        return learn(known, cells)
    bits = known.bits if isinstance(known, OnBits) else ()
    inner = known.inner if isinstance(known, OnBits) else start()
    every = bits_of(cells, bits, reads=reads)
    attempt = learn(inner, BitCells(cells, every))
    if isinstance(attempt, Found):
        beside = tuple(BitTree(model, every) for model in attempt.beside)
        return Found(
            attempt.route,
            BitTree(attempt.model, every),
            attempt.failure,
            attempt.grown,
            attempt.seen,
            attempt.promise,
            beside,
        )
    return replace(attempt, grown=_GrownOnBits(every, attempt.grown))


def after_failing(
    failed: Failed | None, start: Callable[[], Known]
) -> tuple[Known | OnBits[Known], Failed | None]:
    """Where scratch begins: with the bits that the failed attempt was made on, if it was."""
    if failed is None or not isinstance(failed.grown, _GrownOnBits):
        return start(), failed
    known = OnBits(failed.grown.bits, start())
    return known, replace(failed, grown=failed.grown.grown)


def _all_read(cells: Door, reads: frozenset[str]) -> bool:
    if cells.categories:
        return False
    return "number" in reads or bool(cells.boolean.all())


def improved(
    known: Known | OnBits[Known],
    found: Found[Tree | BitTree],
    improve: Callable[[Known, Found[Tree]], Known],
    start: Callable[[], Known],
) -> Known | OnBits[Known]:
    """The representation with what a task taught, in bits where it was learned on bits."""
    model = found.model
    if not isinstance(model, BitTree):
        if isinstance(known, OnBits):
            return known  # others met new kinds meanwhile: this task's features are no bits there
        return improve(known, _of(found, model))
    bits = known.bits if isinstance(known, OnBits) else ()
    every = model.bits
    if bits != every[: len(bits)]:
        return known  # others met new features meanwhile: this task's places mean other bits there
    inner = known.inner if isinstance(known, OnBits) else start()
    return OnBits(every, improve(inner, _of(found, model.tree)))


def _of(found: Found[Tree | BitTree], tree: Tree) -> Found[Tree]:
    """What was found, with the tree that the learner knows."""
    beside = tuple(one.tree if isinstance(one, BitTree) else one for one in found.beside)
    return Found(found.route, tree, found.failure, found.grown, found.seen, found.promise, beside)


def estimator_around(
    classifier: type[TreeClassifier],
    model: Tree | BitTree,
    labels: Labels,
    feature_names: Sequence[str],
    missing: str,
) -> TreeClassifier | OverBits:
    """A fitted classifier around a tree, whichever its features are."""
    if not isinstance(model, BitTree):
        return classifier.around(model, labels, feature_names, missing=missing)
    from thrifty.trees.over_bits_model import OverBits

    names = [bit.name for bit in model.bits]
    over_bits = classifier.around(model.tree, labels, names, missing=missing)
    return OverBits(over_bits, model.bits, feature_names)


def load_around(data: JsonLike, classifier: type[TreeClassifier]) -> TreeClassifier | OverBits:
    """The inverse of a classifier's ``to_dict()``, whichever its features are."""
    if "over_bits" in data:
        from thrifty.trees.over_bits_model import OverBits

        return OverBits.from_dict(data, classifier.from_dict)
    return classifier.from_dict(data)


def load_known(data: JsonLike, load: Callable[[JsonLike], Known]) -> Known | OnBits[Known]:
    """The inverse of a representation's ``to_dict()``, whichever its features are."""
    if "bits" in data:
        return OnBits(read_bits(data["bits"]), load(data["inner"]))
    return load(data)
