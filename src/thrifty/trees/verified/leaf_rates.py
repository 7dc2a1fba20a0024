"""Probabilities at the leaves of a noisy tree, and pruning that needs no further cells.

A leaf with few rows is shrunk towards its parent, the parent towards its own, the root towards the
class shares: p = (counts + m p_parent) / (rows + m) with m = 5.
"""

from __future__ import annotations

import numpy as np

from thrifty.array_types import Floats
from thrifty.trees.tree import Leaf, Node, Tree

__all__ = ["leaf_rates", "pruned", "row_counts", "smoothed"]

#: pseudo-rows that the parent's probabilities count for
M = 5.0


def row_counts(tree: Tree) -> Floats:
    """Training rows per class below a position."""
    if isinstance(tree, Leaf):
        return np.asarray(tree.counts, dtype=np.float64)
    return row_counts(tree.false) + row_counts(tree.true)


def _towards(counts: Floats, parent: Floats, m: float) -> Floats:
    return np.asarray((counts + m * parent) / (counts.sum() + m))


def smoothed(tree: Tree, m: float = M) -> Tree:
    """The same tree; its leaves' counts become what their smoothed probabilities amount to.

    >>> from thrifty.trees.tree import Split
    >>> tree = smoothed(Node(Split(0), Leaf(0, (10, 0)), Leaf(1, (0, 5))))
    >>> np.round(np.array(tree.true.counts) / 5, 2).tolist()
    [0.33, 0.67]
    """

    def walk(at: Tree, parent: Floats) -> Tree:
        counts = row_counts(at)
        rates = _towards(counts, parent, m)
        if isinstance(at, Node):
            return Node(at.split, walk(at.false, rates), walk(at.true, rates))
        rows = max(float(counts.sum()), 1.0)
        return Leaf(int(rates.argmax()), tuple((rates * rows).tolist()))

    counts = row_counts(tree)
    return walk(tree, counts / counts.sum())


def leaf_rates(tree: Tree, m: float) -> dict[tuple[bool, ...], Floats]:
    """The smoothed probabilities of every leaf, by its path."""
    out: dict[tuple[bool, ...], Floats] = {}

    def walk(at: Tree, parent: Floats, path: tuple[bool, ...]) -> None:
        rates = _towards(row_counts(at), parent, m)
        if isinstance(at, Leaf):
            out[path] = rates
            return
        walk(at.false, rates, (*path, False))
        walk(at.true, rates, (*path, True))

    counts = row_counts(tree)
    walk(tree, counts / counts.sum(), ())
    return out


def pruned(tree: Tree, m: float = M, per_split: float = 0.0) -> tuple[Tree, float]:
    """Without the splits that would not have helped, and the bits a row that the others explain.

    A subtree goes when its rows, each judged by its leaf without itself, are no likelier under the
    subtree than under one leaf in its place. Only the counts are needed. ``per_split`` bits are
    charged for each split: log2 N pays for having chosen it among N features.
    """

    def walk(at: Tree, parent: Floats) -> tuple[Tree, float]:
        counts = row_counts(at)
        alone = _left_out(counts, parent, m)
        if isinstance(at, Leaf):
            return at, alone
        rates = _towards(counts, parent, m)
        false, below_false = walk(at.false, rates)
        true, below_true = walk(at.true, rates)
        below = below_false + below_true - per_split
        if below <= alone:
            return Leaf(int(counts.argmax()), tuple(counts.tolist())), alone
        return Node(at.split, false, true), below

    counts = row_counts(tree)
    shares = counts / counts.sum()
    kept, bits = walk(tree, shares)
    return kept, (bits - _left_out(counts, shares, m)) / float(counts.sum())


def _left_out(counts: Floats, parent: Floats, m: float) -> float:
    """Log-likelihood of the rows of a leaf, each predicted from the others."""
    some = counts > 0
    rates = (counts[some] - 1 + m * parent[some]) / (counts.sum() - 1 + m)
    return float((counts[some] * np.log2(rates)).sum())
