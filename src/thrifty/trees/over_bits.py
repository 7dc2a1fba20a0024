"""Trees over derived bits: how numbers, categories and gaps reach learners that do not read them.

A learner says which kinds it ``reads``. Where a task has others, the verbs run on the bits of its
cells (:mod:`thrifty.cells.bits`) instead, the representation remembers the bits, and users get an
estimator that takes their own columns. Tasks whose features are all read go through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from thrifty.attempt import Attempt, Failed, Found, KnowsRows, Ordered, Representation
from thrifty.cells import Cells, Door, Source, as_source
from thrifty.cells.bit_cells import BitCells
from thrifty.cells.bits import Bit, bits_of, bits_to_dict, read_bits
from thrifty.cells.matched import open_cells
from thrifty.cells.matching import match_features
from thrifty.html import pre_html
from thrifty.labels.classes import Labels
from thrifty.lazy import Asked, Explanation
from thrifty.lazy.stopping import StoppingRule
from thrifty.trees.model import TreeClassifier
from thrifty.trees.tree import Tree
from thrifty.typing import AnyArray, Json, JsonLike, TableLike

__all__ = [
    "BitTree",
    "OnBits",
    "OverBits",
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
            attempt.route, BitTree(attempt.model, every), attempt.failure, attempt.grown,
            attempt.seen, attempt.promise, beside,
        )  # fmt: skip
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
    return Found(
        found.route, tree, found.failure, found.grown, found.seen, found.promise, beside
    )


class OverBits(ClassifierMixin, BaseEstimator):
    """A classifier over derived bits that takes the columns the bits are made of.

    Made by lifetimes. What it does not do itself (``tree_``, ``plot``, ``to_text`` and so on) is
    that of the classifier over the bits, ``over_bits_``.
    """

    def __init__(
        self, over_bits: TreeClassifier, bits: Sequence[Bit], feature_names: Sequence[str]
    ) -> None:
        self.over_bits_, self.bits_ = over_bits, tuple(bits)
        self.feature_names_ = tuple(feature_names)
        self.classes_ = over_bits.classes_
        self.n_features_in_ = len(self.feature_names_)

    def __getattr__(self, name: str) -> Any:  # what users ask of the classifier over the bits
        if name.startswith("__") or "over_bits_" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.over_bits_, name)

    def __repr__(self) -> str:
        return f"{type(self.over_bits_).__name__}({self.n_features_in_} features, as bits)"

    def __str__(self) -> str:
        return str(self.over_bits_)

    def _repr_html_(self) -> str:
        """For notebooks: the tree, in place of scikit-learn's diagram."""
        return pre_html(str(self))

    def _repr_mimebundle_(self, **given: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    @property
    def features_(self) -> NDArray[np.int64]:
        """Indices of the features that a prediction may ask for."""
        place = {name: f for f, name in enumerate(self.feature_names_)}
        asked = {place[self.bits_[i].feature] for i in self.over_bits_.features_.tolist()}
        return np.array(sorted(asked), dtype=np.int64)

    def ask(
        self, cells: Door, rows: NDArray[np.int64], *, stop: StoppingRule | None = None,
        spend: float | None = None, per_row: float | None = None,
    ) -> Asked:  # fmt: skip
        """Answer rows through a door, buying only the cells on their paths."""
        bits = BitCells(cells, self.bits_)
        return self.over_bits_.ask(bits, rows, stop=stop, spend=spend, per_row=per_row)

    def explain_asked(self, cells: Door, example: int) -> Explanation:
        """Path, cells and cost of one example."""
        return self.over_bits_.explain_asked(BitCells(cells, self.bits_), example)

    def _door(self, X: TableLike) -> Cells:
        source: Source = as_source(X, allow_missing=True, categories=True)
        match = match_features(
            self.feature_names_, source, needed=self.features_.tolist(), whose="the model"
        )
        return open_cells(source, match=match)

    def _asked(self, X: TableLike) -> Asked:
        cells = self._door(X)
        return self.ask(cells, np.arange(cells.n_examples))

    def predict(self, X: TableLike) -> AnyArray:
        """The class of each example."""
        return self._asked(X).values

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """The share of each class among the training rows of each example's leaf."""
        shares = self._asked(X).probabilities
        assert shares is not None
        return shares

    def explain(self, X: TableLike, example: int) -> Explanation:
        """Path, cells and cost of one example; only its own cells are bought."""
        return self.explain_asked(self._door(X), example)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "bits": bits_to_dict(self.bits_),
            "over_bits": self.over_bits_.to_dict(),
            "feature_names": list(self.feature_names_),
        }

    @classmethod
    def from_dict(cls, data: JsonLike, load: Callable[[JsonLike], TreeClassifier]) -> Self:
        """The inverse of :meth:`to_dict`; ``load`` reads the classifier over the bits."""
        return cls(load(data["over_bits"]), read_bits(data["bits"]), data["feature_names"])


def estimator_around(
    classifier: type[TreeClassifier], model: Tree | BitTree, labels: Labels,
    feature_names: Sequence[str], missing: str,
) -> TreeClassifier | OverBits:  # fmt: skip
    """A fitted classifier around a tree, whichever its features are."""
    if not isinstance(model, BitTree):
        return classifier.around(model, labels, feature_names, missing=missing)
    names = [bit.name for bit in model.bits]
    over_bits = classifier.around(model.tree, labels, names, missing=missing)
    return OverBits(over_bits, model.bits, feature_names)


def load_around(
    data: JsonLike, classifier: type[TreeClassifier]
) -> TreeClassifier | OverBits:
    """The inverse of a classifier's ``to_dict()``, whichever its features are."""
    if "over_bits" in data:
        return OverBits.from_dict(data, classifier.from_dict)
    return classifier.from_dict(data)


def load_known(
    data: JsonLike, load: Callable[[JsonLike], Known]
) -> Known | OnBits[Known]:
    """The inverse of a representation's ``to_dict()``, whichever its features are."""
    if "bits" in data:
        return OnBits(read_bits(data["bits"]), load(data["inner"]))
    return load(data)
