"""What every learner over metafeatures shares: its parameters, the first phase, ImproveRep.

How a tree is grown from metafeatures (:meth:`OverMetafeatures.reuse`) and from all features
(:meth:`OverMetafeatures.scratch`) is each learner's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Attempt, Expected, Failed, Failure, Found
from thrifty.cells import Door
from thrifty.checks import a_choice, set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.labels.classes import Labels
from thrifty.trees.gains.gain import Gain, Measure, gain_named
from thrifty.trees.missing import allows_missing
from thrifty.trees.paper.improve import Improvement, improved, improvement_named
from thrifty.trees.paper.twins import agreeing
from thrifty.trees.paper.use_rep import MATCH, Grown
from thrifty.trees.paper.warm_up import WarmUp, after_warm_task, read_warm_up
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Tree
from thrifty.typing import Json, JsonLike

__all__ = ["OverMetafeatures", "path_cells"]


@dataclass(frozen=True, kw_only=True, repr=False)
class OverMetafeatures:
    """The parameters of Paper, Race and Tested; their docstrings say what each means."""

    gain: str | Gain | Measure = "entropy"
    improve: str | Improvement = "paths"
    match: str = "feature"
    max_nodes: int | None = None
    warm_up: WarmUp | int = 0
    missing: str = "error"

    def __post_init__(self) -> None:
        gain_named(self.gain)
        improvement_named(self.improve)
        a_choice("match", self.match, MATCH)
        allows_missing(self.missing)
        set_checked(self, warm_up=read_warm_up(self.warm_up))
        if self.max_nodes is not None:
            set_checked(self, max_nodes=whole_number("max_nodes", self.max_nodes))

    # What each learner does in its own way.

    def reuse(
        self, known: Metafeatures, cells: Door, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """A tree grown from metafeatures, or where that failed."""
        raise NotImplementedError

    def scratch(self, cells: Door, labels: Labels, max_depth: int) -> Tree:
        """A tree grown from all features."""
        raise NotImplementedError

    def remembers(self, cells: Door) -> NDArray[np.uint64] | None:
        """Which examples taught a tree, for learners whose promise depends on that."""
        return None

    # The verbs.

    def start(self) -> Metafeatures:
        """No metafeatures."""
        return Metafeatures()

    def weigh(self, labels: Labels) -> Labels:
        """Rows weigh the same."""
        return labels

    def expected_cells(self, known: Metafeatures, cells: Door, max_depth: int) -> Expected:
        """Every root of a metafeature on every example, then the paths; Lemma 2 as the limit."""
        trees = [tree for tree in known if isinstance(tree, Node)]
        if not trees:
            return Expected(buys_everything=True)
        roots = tuple(sorted({tree.split.feature for tree in trees}))
        likely = len(roots) + path_cells(trees) - 1
        limit = 2 * (len(known) + max_depth) if cells.boolean.all() else None
        return Expected(likely, roots, limit, buys_everything=True)

    def use_rep(
        self, known: Metafeatures, cells: Door, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """The first phase learns every task from scratch; then metafeatures are tried."""
        # One class alone is a leaf for no cells, and teaches nothing.
        if known.warmed >= self._warm_tasks or labels.n_classes == 1:
            attempt = self.reuse(known, cells, labels, max_depth)
            if known.portion < 2 or not isinstance(attempt, Found) or attempt.promise:
                return attempt
            # Behind the newest eight and more a target is worth looking for.
            older = known.older if known.portion > 3 else ()
            others = agreeing(known.trees, older, attempt.model, cells, labels, known.seed)
            return replace(attempt, beside=others)
        n = self._warm_tasks
        message = f"task {known.warmed + 1} of {n} that the warm-up learns from scratch"
        return Failed(Failure("warm-up", message, {"of": n}))

    def from_scratch(
        self, cells: Door, labels: Labels, failed: Failed | None, max_depth: int
    ) -> Found[Tree]:
        """The tree over all features, and what UseRep had grown when it failed."""
        tree = self.scratch(cells, labels, max_depth)
        found = Found("scratch", tree) if failed is None else failed.then(tree)
        return replace(found, seen=self.remembers(cells))

    def improve_rep(self, known: Metafeatures, found: Found[Tree]) -> Metafeatures:
        """The metafeatures with the parts of the tree that ``improve`` picks."""
        rows, grown = found.seen, found.grown
        known = known.with_rows(rows if isinstance(rows, np.ndarray) else None)
        if known.warmed < self._warm_tasks:
            families = self.improve == "anchored-families"
            return after_warm_task(known, found.model, self._warm_tasks, families)
        by_feature = self.match == "feature"
        grown = grown if isinstance(grown, Grown) else None
        return improved(self.improve, known, found.model, grown, by_feature=by_feature)

    @property
    def _warm_tasks(self) -> int:
        return self.warm_up if isinstance(self.warm_up, int) else self.warm_up.n_tasks

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        said = [f"{field.name}={value!r}" for field, value in values if value != field.default]
        return f"{type(self).__name__}({', '.join(said)})"

    # JSON.

    def load_representation(self, data: JsonLike) -> Metafeatures:
        """The inverse of ``representation.to_dict()``."""
        return Metafeatures.from_dict(data)

    def to_dict(self) -> Json:
        """Name and parameters, for JSON."""
        return {
            "learner": type(self).__name__,
            **{field.name: self._plain(field.name) for field in fields(self)},
        }

    def _plain(self, name: str) -> object:
        value = getattr(self, name)
        if isinstance(value, Gain):
            return value.name
        if name in ("gain", "improve") and not isinstance(value, str):
            raise BadParameter(
                f"a learner whose {name} is a function cannot be stored: give the {name} by name "
                "(a gain as a thrifty.trees.Gain), or keep the lifetime in memory."
            )
        return value.to_dict() if isinstance(value, WarmUp) else value

    @classmethod
    def from_dict(cls, data: JsonLike) -> Self:
        """The inverse of :meth:`to_dict`."""
        given = {key: value for key, value in data.items() if key != "learner"}
        if isinstance(given.get("warm_up"), dict):
            given["warm_up"] = WarmUp(**given["warm_up"])
        return cls(**given)


def _mean_depth(tree: Tree) -> float:
    """The average depth of a leaf when every split is even."""
    if isinstance(tree, Leaf):
        return 0.0
    return 1.0 + (_mean_depth(tree.false) + _mean_depth(tree.true)) / 2


def path_cells(trees: Iterable[Tree]) -> float:
    """Cells on an average path of the deepest of these trees.

    >>> from thrifty.trees.tree import stump
    >>> path_cells([stump(1)])
    1.0
    """
    return max(map(_mean_depth, trees))
