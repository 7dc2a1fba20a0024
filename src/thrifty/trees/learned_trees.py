"""What families of trees share: the verbs, carried out by a learner, on cells or on their bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, Literal

from thrifty.attempt import Attempt, Expected, Failed, Found, Traits
from thrifty.cells import Door
from thrifty.labels.classes import Labels, read_classes
from thrifty.trees.learner import Learner
from thrifty.trees.missing import allows_missing
from thrifty.trees.over_bits import (
    BitTree,
    Known,
    OnBits,
    after_failing,
    estimator_around,
    improved,
    load_around,
    load_known,
    read_or_cut,
)
from thrifty.trees.tree import Tree
from thrifty.typing import JsonLike, LabelsLike

if TYPE_CHECKING:
    from thrifty.trees.model import TreeClassifier
    from thrifty.trees.over_bits_model import OverBits

__all__ = ["LearnedTrees"]


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
    def _reads(self) -> frozenset[str]:
        return getattr(self.how, "reads", frozenset({"boolean", "number"}))

    @property
    def traits(self) -> Traits:
        """Categories come as bits; NaN where it has a rule, or where gaps are bits of their own."""
        return Traits(
            stops_anywhere=False,
            takes_absent=True,
            reads_categories=True,
            allows_missing=allows_missing(self.how.missing) or "number" not in self._reads,
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
        """Classes as codes, with the learner's weights."""
        return self.how.weigh(read_classes(y))

    def expected_cells(self, representation: Known | OnBits[Known], cells: Door) -> Expected:
        """What the learner expects."""
        if isinstance(representation, OnBits) or cells.categories:
            return Expected()  # bits: what they save is not known before they are cut
        return self.how.expected_cells(representation, cells, self.max_depth)

    def use_rep(
        self, representation: Known | OnBits[Known], cells: Door, labels: Labels
    ) -> Attempt[Tree | BitTree]:
        """A tree from the representation, or why that is not enough."""

        def learn(known: Known, door: Door) -> Attempt[Tree]:
            return self.how.use_rep(known, door, labels, self.max_depth)

        return read_or_cut(representation, cells, self._reads, learn, self.start)

    def from_scratch(
        self, cells: Door, labels: Labels, failed: Failed | None
    ) -> Found[Tree | BitTree]:
        """A tree from all the cells it takes."""
        known, failed = after_failing(failed, self.start)

        def learn(_: Known, door: Door) -> Found[Tree]:
            return self.how.from_scratch(door, labels, failed, self.max_depth)

        found = read_or_cut(known, cells, self._reads, learn, self.start)
        assert isinstance(found, Found)
        return found

    def improve_rep(
        self, representation: Known | OnBits[Known], found: Found[Tree | BitTree]
    ) -> Known | OnBits[Known]:
        """The representation with what the task taught."""
        return improved(representation, found, self.how.improve_rep, self.start)

    def estimator(
        self, model: Tree | BitTree, labels: Labels, feature_names: Sequence[str]
    ) -> TreeClassifier | OverBits:
        """A fitted classifier around the tree."""
        return estimator_around(self.classifier, model, labels, feature_names, self.how.missing)

    def load_representation(self, data: JsonLike) -> Known | OnBits[Known]:
        """The inverse of ``representation.to_dict()``."""
        return load_known(data, self.how.load_representation)

    def load_estimator(self, data: JsonLike) -> TreeClassifier | OverBits:
        """The inverse of ``estimator.to_dict()``."""
        return load_around(data, self.classifier)
