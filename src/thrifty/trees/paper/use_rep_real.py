"""UseRep where features are real-valued, wholly or in part.

As Algorithm 2, each (feature, threshold) being a variable. One cell buys every threshold of its
feature on that example, so what is bought at a node is the features induced there. Three ways to
lay a metafeature over the growing tree, and what each promises:

``match="threshold"``
    Splits agree if feature and threshold do. The threshold of the chosen feature is fitted to the
    rows of the node: same cells, never a worse gain. If the scratch tree lies in DT(Pref(F~)), it
    is the tree returned; at most 2 (|F~| + d) cells on one example.
``match="stored"``
    The same without fitting: only stored thresholds are compared. The same promise for gains that
    choose their own cut (all but the gain ratio), and no threshold that was not learned before.
``match="feature"``, the default
    Splits agree if their features do; thresholds are always fitted. If the scratch tree, its
    thresholds dropped, lies in DT(Pref(F~)) with thresholds dropped, it is the tree returned,
    thresholds included. So thresholds may drift from task to task. The bound on cells holds as
    long as no feature recurs on a path; where one recurs r times, it is 2 (r |F~| + d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Attempt, Failed, Found
from thrifty.cells import Cells
from thrifty.trees.gains.cuts import block_columns, choose, true_side
from thrifty.trees.gains.gain import Gain
from thrifty.trees.growing.scratch_real import split_of
from thrifty.trees.labels import Labels
from thrifty.trees.paper.use_rep import Grown, Stopped, within_bounds
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Node, Path, Split, Tree, build

__all__ = ["MATCH", "use_rep_real"]

Ints = NDArray[np.int64]
MATCH = ("feature", "threshold", "stored")


def use_rep_real(
    metafeatures: Metafeatures,
    cells: Cells,
    labels: Labels,
    gain: Gain,
    *,
    max_depth: int,
    max_nodes: int | None,
    match: str,
) -> Attempt[Tree]:
    """Grow a tree depth first, false branch first; fail where the metafeatures do not reach."""
    grower = _RealGrower(metafeatures, cells, labels, gain, max_depth, max_nodes, match)
    try:
        grower.grow()
    except Stopped as stop:
        tree = build(grower.splits, grower.leaves)
        return Failed(stop.failure, Grown(tree, stop.path, stop.at_a_bound))
    return Found("reused", build(grower.splits, grower.leaves))


class _RealGrower:
    def __init__(
        self,
        metafeatures: Metafeatures,
        cells: Cells,
        labels: Labels,
        gain: Gain,
        max_depth: int,
        max_nodes: int | None,
        match: str,
    ) -> None:
        self.roots = [f for f in metafeatures if isinstance(f, Node)]
        self.cells, self.labels, self.gain = cells, labels, gain
        self.max_depth, self.max_nodes, self.match = max_depth, max_nodes, match
        self.splits: dict[Path, Split] = {}
        self.leaves: dict[Path, Leaf] = {}

    def grow(self) -> None:
        C = self.labels.n_classes
        stack: list[tuple[Path, Ints, list[Node]]] = [((), np.arange(len(self.labels)), [])]
        while stack:
            path, rows, carried = stack.pop()
            codes = self.labels.codes[rows]
            totals = np.bincount(codes, minlength=C).astype(np.int64)
            if (totals > 0).sum() <= 1:
                self.leaves[path] = Leaf(int(np.argmax(totals)), tuple(totals.tolist()))
                continue
            within_bounds(path, len(self.splits), self.max_depth, self.max_nodes)
            pieces = carried + self.roots
            split, side = self._best(path, pieces, rows, codes, totals)
            self.splits[path] = split
            agreeing = [piece for piece in pieces if self._agree(piece.split, split)]
            for branch, part in ((True, rows[side]), (False, rows[~side])):
                below = [piece.child(branch) for piece in agreeing]
                carry = [piece for piece in below if isinstance(piece, Node)]
                stack.append(((*path, branch), part, carry))

    def _agree(self, a: Split, b: Split) -> bool:
        return a.feature == b.feature and (
            self.match == "feature" or _threshold(a) == _threshold(b)
        )

    def _best(
        self, path: Path, pieces: list[Node], rows: Ints, codes: Ints, totals: Ints
    ) -> tuple[Split, NDArray[np.bool_]]:
        where = "the root" if not path else f"depth {len(path)}"
        candidates = np.array(sorted({piece.split.feature for piece in pieces}), dtype=np.int64)
        if not len(candidates):
            raise Stopped(path, "no-candidate", f"no metafeature reaches the node at {where}")
        values = np.asarray(self.cells.get(rows, candidates))
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        find = self._best_stored if self.match == "stored" else self._best_fitted
        found = find(values, candidates, pieces, codes, totals)
        if found is None:
            raise Stopped(
                path,
                "constant-candidates",
                f"no feature the metafeatures suggest at {where} can be split on there",
            )
        i, threshold = found
        split = split_of(int(candidates[i]), threshold, self.cells.boolean)
        return split, true_side(values[:, i], threshold)

    def _best_fitted(
        self, values: NDArray[Any], candidates: Ints, pieces: list[Node], codes: Ints, totals: Ints
    ) -> tuple[int, float] | None:
        prices = self.cells.prices[candidates]
        columns = block_columns(values, codes, totals, prices, self.gain)
        choice = choose(columns, totals, prices, self.gain, lambda i: values[:, i])
        return None if choice is None else (choice.index, choice.threshold)

    def _best_stored(
        self, values: NDArray[Any], candidates: Ints, pieces: list[Node], codes: Ints, totals: Ints
    ) -> tuple[int, float] | None:
        stored = sorted({(p.split.feature, _threshold(p.split)) for p in pieces})
        index = [int(np.searchsorted(candidates, feature)) for feature, _ in stored]
        counts = np.empty((len(totals), len(stored)), dtype=np.int64)
        for j, (i, (_, threshold)) in enumerate(zip(index, stored)):
            side = true_side(values[:, i], threshold)
            counts[:, j] = np.bincount(codes[side], minlength=len(totals))
        gains = self.gain(counts, totals, self.cells.prices[candidates[index]])
        best = int(np.argmax(gains))
        return None if gains[best] == -np.inf else (index[best], stored[best][1])


def _threshold(split: Split) -> float:
    """A Boolean split is the threshold one half."""
    return 0.5 if split.threshold is None else split.threshold
