"""``accept=Tested(error, confidence)``: a reused task whose bill does not grow with its rows.

A tree is grown by Algorithm 2 on a few random rows, and then asked about fresh ones, buying only
the cells on each row's path. If it is right on t_i of them in a row it is accepted; else its
mistakes join the rows it is grown on, and the next tree meets rows that no tree has met. A tree
need not be consistent with its sample: fresh rows alone decide.

Guarantee. The i-th tree tested is accepted after t_i = ln(1 / delta_i) / -ln(1 - error) right
answers, delta_i = (1 - confidence) / (i (i + 1)). It depends on earlier rows only, so if its error
is above ``error`` it passes with probability at most (1 - error)^t_i <= delta_i; the delta_i sum to
1 - confidence. So an accepted tree has an error above ``error`` with probability at most
1 - confidence, on the distribution the rows were drawn from. A row that was tested and then used
for growing is never counted as fresh again.

Where the metafeatures do not fit even a quarter of the rows, or fresh rows run out, all rows are
used (:class:`~thrifty.trees.paper.way.PaperWay` or a race): a task fails only if Algorithm 2 on all
rows fails, and the paper's bound on tasks from scratch stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Attempt
from thrifty.cells import Cells
from thrifty.trees.accept import Tested
from thrifty.trees.growing.sample_tree import SampleTree, grow_on_sample
from thrifty.trees.labels import Labels
from thrifty.trees.paper.way import PaperWay
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Leaf, Tree

__all__ = ["TestedWay", "answers", "rows_to_pass"]

Ints = NDArray[np.int64]

#: rows the first tree is grown on
_FIRST = 48
#: the metafeatures still fail on a sample of this share of the rows: use all rows
_ENOUGH = 0.25
#: rows tested at a time: a wrong tree is found out within the first few
_BLOCK = 16
#: a tree is tested when its mistakes on the rows met so far are below this share of those allowed
_HOPEFUL = 0.5
#: roots tried on a sample before it is enlarged
_ROOTS = 3
_SEED = 20_222


def rows_to_pass(error: float, confidence: float, attempt: int) -> int:
    """Right answers in a row that the attempt-th tree needs (counted from 1).

    >>> rows_to_pass(0.01, 0.95, 1)
    368
    """
    delta = (1.0 - confidence) / (attempt * (attempt + 1))
    return math.ceil(math.log(delta) / math.log1p(-error))


def answers(tree: Tree, cells: Cells, rows: Ints) -> Ints:
    """What the tree says of the rows (class codes), buying only the cells on their paths."""
    out = np.zeros(len(rows), dtype=np.int64)
    stack = [(tree, np.arange(len(rows)))]
    while stack:
        at, which = stack.pop()
        if isinstance(at, Leaf):
            out[which] = at.label
            continue
        threshold = 0.5 if at.split.threshold is None else at.split.threshold
        values = cells.get(rows[which], [at.split.feature])[:, 0]
        true = values >= threshold
        if values.dtype.kind == "f":  # a row without a value follows the larger child
            true[np.isnan(values)] = _rows_of(at.true) > _rows_of(at.false)
        for child, side in ((at.true, which[true]), (at.false, which[~true])):
            if len(side):
                stack.append((child, side))
    return out


def _rows_of(tree: Tree) -> float:
    if isinstance(tree, Leaf):
        return sum(tree.counts or ())
    return _rows_of(tree.false) + _rows_of(tree.true)


@dataclass(frozen=True)
class TestedWay:
    """Reuse by test; everything else as another way does it."""

    __test__: ClassVar[bool] = False  # the name is no test of pytest's

    otherwise: PaperWay
    accept: Tested

    def use_rep(self, metafeatures: Metafeatures, cells: Cells, labels: Labels) -> Attempt:
        tree = _Trial(self, metafeatures, cells, labels).run()
        if tree is not None:
            return Attempt("reused", tree)
        return self.otherwise.use_rep(metafeatures, cells, labels)

    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt:
        return self.otherwise.from_scratch(cells, labels, attempt)

    def improve_rep(self, metafeatures: Metafeatures, attempt: Attempt) -> Metafeatures:
        return self.otherwise.improve_rep(metafeatures, attempt)


class _Trial:
    def __init__(
        self, way: TestedWay, metafeatures: Metafeatures, cells: Cells, labels: Labels
    ) -> None:
        self.way, self.metafeatures, self.cells, self.labels = way, metafeatures, cells, labels
        self.order = np.random.default_rng(_SEED).permutation(len(labels))
        self.met = min(_FIRST, len(labels))  # rows from here on are fresh
        self.sample = self.order[: self.met]

    def run(self) -> Tree | None:
        attempt = 0
        while len(self.sample) <= _ENOUGH * len(self.order):
            grown = self._grow()
            if grown is None:
                if not self._enlarge():
                    return None
                continue
            attempt += 1
            right = self._test(grown.tree, attempt)
            if right is None:
                return None
            if right:
                return grown.tree
        return None

    def _grow(self) -> SampleTree | None:
        """A tree worth testing, from the best root of the sample or one of the next; else None.

        A few rows often mistake the root. Its rivals are bought on the sample already, so trying
        them costs far less than more rows.
        """
        way = self.way.otherwise
        tried: frozenset[int] = frozenset()
        while len(tried) < _ROOTS:
            grown = grow_on_sample(
                self.metafeatures, self.cells, self.labels, self.sample, way.gain,
                max_depth=way.max_depth, max_nodes=way.max_nodes,
                by_feature=way.match == "feature", not_at_root=tried,
            )  # fmt: skip
            if grown.mistakes <= _HOPEFUL * self.way.accept.error * self.met:
                return grown
            if grown.root is None:
                return None
            tried |= {grown.root}
        return None

    def _enlarge(self) -> bool:
        """Twice the rows to grow on; False when there are none left."""
        more = self.order[self.met : self.met + len(self.sample)]
        self.met += len(more)
        self.sample = np.concatenate([self.sample, more])
        return len(more) > 0

    def _test(self, tree: Tree, attempt: int) -> bool | None:
        """Whether the tree passed; None when there are not enough fresh rows to tell."""
        accept = self.way.accept
        left = rows_to_pass(accept.error, accept.confidence, attempt)
        if self.met + left > len(self.order):
            return None
        block = _BLOCK
        while left:
            rows = self.order[self.met : self.met + min(block, left)]
            self.met += len(rows)
            left -= len(rows)
            block *= 2
            wrong = answers(tree, self.cells, rows) != self.labels.codes[rows]
            if wrong.any():
                self.sample = np.concatenate([self.sample, rows[wrong]])
                return False
        return True
