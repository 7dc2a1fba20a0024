"""``Paper()``: every candidate on every row, accepted when consistent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from thrifty.attempt import Attempt
from thrifty.cells import Door
from thrifty.labels.classes import Labels
from thrifty.trees.gains.class_weights import (
    ClassWeight,
    check_class_weight,
    class_weight_from_json,
    class_weight_to_json,
    weigh,
    weighted,
)
from thrifty.trees.gains.gain import gain_named
from thrifty.trees.growing.from_all import scratch_tree
from thrifty.trees.growing.stuck import consistent_within
from thrifty.trees.paper.over_metafeatures import OverMetafeatures
from thrifty.trees.paper.use_rep import use_rep
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Tree
from thrifty.typing import JsonLike

__all__ = ["Paper", "reuse_every_row"]


def reuse_every_row(
    learner: OverMetafeatures, known: Metafeatures, cells: Door, labels: Labels, max_depth: int
) -> Attempt[Tree]:
    """Algorithm 2, with a learner's gain, match and limits."""
    return use_rep(
        known,
        cells,
        labels,
        weighted(gain_named(learner.gain), labels),
        max_depth=max_depth,
        max_nodes=learner.max_nodes,
        match=learner.match,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Paper(OverMetafeatures):
    """Algorithms 2 and 3 as they stand: each candidate is bought on every row of its node.

    A tree is accepted when it is consistent with the labels, within ``max_depth``.

    Parameters
    ----------
    gain : str or callable
        "entropy", "gini", "gain-ratio", the price-aware "eg2", "cs-id3" and "idx", or a function
        (counts, totals, prices) -> gains.
    improve : str or callable
        What a failure adds to the representation: "paths" (Algorithm 3), "anchors" (one subtree,
        where every metafeature has a root that occurs nowhere else), "anchored-families" (the
        pieces between anchors; give a ``warm_up`` too), "features" (the naive baseline), or a
        function (known, scratch tree, what UseRep had grown) -> trees.
    match : str
        When a metafeature agrees with a tree over real-valued features: "feature" (thresholds are
        fitted anew), "threshold" or "stored"; see :mod:`thrifty.trees.paper.use_rep`.
    max_nodes : int or None
        UseRep fails where a tree would need more internal nodes; None: no limit.
    warm_up : WarmUp or int
        So many tasks are first learned from scratch and stored whole.
    missing : str
        "error" refuses NaN; "larger-child" sends rows that lack a value to the larger child.
    class_weight : None, str or mapping
        None, "balanced", or a mapping class -> weight, for the gains.

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=Paper(gain="gini")))
    >>> life.learn("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).receipt.cells
    8
    """

    class_weight: ClassWeight = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_class_weight(self.class_weight)

    def weigh(self, labels: Labels) -> Labels:
        """The labels with what a row of each class weighs."""
        return weigh(labels, self.class_weight)

    def reuse(
        self, known: Metafeatures, cells: Door, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """Algorithm 2."""
        return reuse_every_row(self, known, cells, labels, max_depth)

    def scratch(self, cells: Door, labels: Labels, max_depth: int) -> Tree:
        """Every cell, and the top-down tree on them."""
        gain = weighted(gain_named(self.gain), labels)
        stuck = consistent_within(max_depth)
        return scratch_tree(cells, labels, gain, max_depth=max_depth, stuck=stuck)

    def _plain(self, name: str) -> object:
        if name == "class_weight":
            return class_weight_to_json(self.class_weight)
        return super()._plain(name)

    @classmethod
    def from_dict(cls, data: JsonLike) -> Self:
        """The inverse of :meth:`to_dict`."""
        weight = class_weight_from_json(data.get("class_weight"))
        return super().from_dict({**data, "class_weight": weight})
