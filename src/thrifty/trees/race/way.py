"""``compare="race"``: the trees of Algorithm 2 and of scratch for a fraction of the cells."""

from __future__ import annotations

from dataclasses import dataclass

from thrifty.attempt import Attempt
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.trees.gains.gain import gain_ratio
from thrifty.trees.labels import Labels
from thrifty.trees.paper.way import PaperWay
from thrifty.trees.race.bar import can_race
from thrifty.trees.race.grow import race_all_features, race_metafeatures
from thrifty.trees.representation import Metafeatures

__all__ = ["RaceWay"]


@dataclass(frozen=True)
class RaceWay(PaperWay):
    """Races at every node; the theorem is in :mod:`thrifty.trees.race.grow`.

    Where a raced attempt fails, every candidate is bought on every row after all (Algorithm 2), so
    a task fails only if it would have failed without racing, and a race can never cost the
    guarantees of the paper, only cells.
    """

    def __post_init__(self) -> None:
        if self.gain is gain_ratio:
            raise BadParameter(
                "compare='race' needs a gain that grows as the classes' rates part, as entropy, "
                "gini, eg2, cs-id3 and idx do; the gain ratio does not. Use compare='all' with it."
            )
        if self.match == "stored":
            raise BadParameter(
                "compare='race' fits thresholds anew, so match must be 'feature' or 'threshold'; "
                "got 'stored'. Use compare='all' with it."
            )

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt:
        tree = race_metafeatures(
            metafeatures, cells, labels, self.gain,
            max_depth=self.max_depth, max_nodes=self.max_nodes, by_feature=self.match == "feature",
        )  # fmt: skip
        if tree is not None:
            return Attempt("reused", tree)
        return super().use_rep(metafeatures, cells, labels)

    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt:
        tree = None
        if can_race(self.gain, labels.n_classes):
            tree = race_all_features(cells, labels, self.gain)
        if tree is None:
            return super().from_scratch(cells, labels, attempt)
        if attempt is None:
            return Attempt("scratch", tree)
        return Attempt("scratch", tree, attempt.failure, attempt.grown)
