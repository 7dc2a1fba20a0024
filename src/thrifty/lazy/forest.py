"""One tree or many as arrays: what a lazy prediction needs to know of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Forest", "join"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Node i asks for ``feature[i]`` (-1 at a leaf) and goes on to ``first`` or ``second``.

    Attributes
    ----------
    threshold : array of float
        to the first child if the value is at most this (below it where ``strict``)
    missing : array of int
        the child of an example whose value is NaN
    zero_is_missing : array of bool or None
        nodes that treat 0 as NaN, or None
    roots : array of int
        the first node of each tree
    strict : bool
        compare with < instead of <=
    single : bool
        values are rounded to float32 before they are compared
    share : array of float or None
        the share of each class among the training rows of every node, or None
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    missing: NDArray[np.int64]
    roots: NDArray[np.int64]
    strict: bool = False
    single: bool = False
    zero_is_missing: NDArray[np.bool_] | None = None
    share: NDArray[np.float64] | None = None

    def features(self) -> NDArray[np.int64]:
        """Every feature that some node asks for, ascending."""
        asked = np.unique(self.feature)
        return asked[asked >= 0]

    def step(self, nodes: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Where examples that stand at these nodes with these values go."""
        if self.single:
            values = values.astype(np.float32).astype(np.float64)
        lost = np.isnan(values)
        if self.zero_is_missing is not None:
            lost |= self.zero_is_missing[nodes] & (np.abs(values) <= _ZERO)
        limits = self.threshold[nodes]
        to_first = values < limits if self.strict else values <= limits
        found = np.where(to_first, self.first[nodes], self.second[nodes])
        return np.where(lost, self.missing[nodes], found)


#: LightGBM's idea of zero
_ZERO = 1e-35


def join(trees: list[Forest]) -> Forest:
    """Several trees as one forest; their nodes are renumbered one after the other."""
    sizes = [len(tree.feature) for tree in trees]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    head = trees[0]

    def moved(name: str) -> NDArray[np.int64]:
        return np.concatenate([getattr(t, name) + o for t, o in zip(trees, offsets)])

    zero = None
    if head.zero_is_missing is not None:
        parts = [t.zero_is_missing for t in trees if t.zero_is_missing is not None]
        zero = np.concatenate(parts)
    share = None
    if head.share is not None:
        share = np.concatenate([t.share for t in trees if t.share is not None])
    return Forest(
        feature=np.concatenate([t.feature for t in trees]),
        threshold=np.concatenate([t.threshold for t in trees]),
        first=moved("first"),
        second=moved("second"),
        missing=moved("missing"),
        roots=moved("roots"),
        strict=head.strict,
        single=head.single,
        zero_is_missing=zero,
        share=share,
    )
