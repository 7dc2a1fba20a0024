"""A family of your own: one feature decides. The three verbs, and what a store needs to know.

``thrifty.testing.family_checks`` tests it; ``Lifetime.open(store, family=...)`` opens its store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

import thrifty
from thrifty.attempt import Expected, Failed, Failure, Found, Traits
from thrifty.checks import set_checked, whole_number
from thrifty.labels import Labels, read_classes
from thrifty.testing import family_checks
from thrifty.trees import TreeClassifier
from thrifty.trees.tree import Leaf, Node, Split


@dataclass(frozen=True)
class Seen:
    """The representation: features that decided a task, newest last."""

    features: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[int]:
        return iter(self.features)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"features": list(self.features)}


@dataclass(frozen=True)
class OneFeature:
    """The feature that agrees with most labels, if it agrees with enough of them."""

    kind: ClassVar[Literal["classifier"]] = "classifier"
    #: what it can, all of it said
    traits: ClassVar[Traits] = Traits(
        stops_anywhere=False,
        takes_absent=True,
        allows_missing=False,
        reads_categories=False,
        one_after_another=False,
        remembers="features seen",
        draws=False,
        buys_background=False,
        weighs_rows=False,
    )

    #: a feature decides a task if it is wrong about at most one example in so many
    one_in: int = 3

    def __post_init__(self) -> None:
        set_checked(self, one_in=whole_number("one_in", self.one_in))

    def start(self) -> Seen:
        """Nothing seen."""
        return Seen()

    def read_labels(self, y: Any) -> Labels:
        """Classes as codes."""
        return read_classes(y)

    def expected_cells(self, known: Seen, cells: thrifty.protocol.Cells) -> Expected:
        """A column for every feature seen; everything from scratch."""
        return Expected(len(known) or None, known.features, len(known), buys_everything=True)

    def use_rep(
        self, known: Seen, cells: thrifty.protocol.Cells, labels: Labels
    ) -> Found[Node | Leaf] | Failed:
        """The best of the features seen."""
        if labels.n_classes == 1:
            return Found("reused", Leaf(0, (len(labels),)))
        tree, wrong = self._best(np.array(known.features, dtype=np.int64), cells, labels)
        if wrong * self.one_in <= len(labels):
            return Found("reused", tree)
        return Failed(Failure("no-feature", "no feature seen decides this task"))

    def from_scratch(
        self, cells: thrifty.protocol.Cells, labels: Labels, failed: Failed | None
    ) -> Found[Node | Leaf]:
        """The best of all features."""
        tree, _ = self._best(np.arange(cells.n_features), cells, labels)
        return Found("scratch", tree) if failed is None else failed.then(tree)

    def _best(
        self, features: np.ndarray, cells: thrifty.protocol.Cells, labels: Labels
    ) -> tuple[Any, int]:
        counts = np.bincount(labels.codes, minlength=labels.n_classes)
        best, least = Leaf(int(counts.argmax()), tuple(counts.tolist())), len(labels) + 1
        for feature in features.tolist():
            true = cells.get(np.arange(len(labels)), [feature])[:, 0] >= 0.5
            sides = [_counts(labels, side) for side in (~true, true)]
            wrong = sum(int(side.sum() - side.max()) for side in sides)
            if wrong < least:
                leaves = [Leaf(int(side.argmax()), tuple(side.tolist())) for side in sides]
                best, least = Node(Split(feature), *leaves), wrong
        return best, least

    def improve_rep(self, known: Seen, found: Found[Any]) -> Seen:
        """The feature that decided, as the newest."""
        if not isinstance(found.model, Node):
            return known
        new = found.model.split.feature
        return Seen((*(f for f in known if f != new), new))

    def estimator(self, model: Any, labels: Labels, feature_names: Sequence[str]) -> TreeClassifier:
        """A tree of one node."""
        return TreeClassifier.around(model, labels, feature_names)

    def load_representation(self, data: dict[str, Any]) -> Seen:
        """From JSON."""
        return Seen(tuple(data["features"]))

    def load_estimator(self, data: dict[str, Any]) -> TreeClassifier:
        """From JSON."""
        return TreeClassifier.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"family": "OneFeature", "one_in": self.one_in}


def _counts(labels: Labels, rows: np.ndarray) -> np.ndarray:
    return np.bincount(labels.codes[rows], minlength=labels.n_classes)


def main(store: str | None = None) -> thrifty.Lifetime:
    """Check it, and let it live."""
    X = np.random.default_rng(0).integers(0, 2, (100, 6)).astype(np.uint8)
    for check in family_checks(OneFeature(), X, X[:, 3].astype(int)):
        check()
    life = thrifty.Lifetime(OneFeature(), store=store)
    for name, feature in (("first", 3), ("second", 3), ("third", 1)):
        learned = life.learn(name, X, X[:, feature])
        print(name, learned.route, learned.receipt.cells)
    return life


if __name__ == "__main__":
    main()
