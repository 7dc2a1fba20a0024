"""The same label met again: whole earlier models as hypotheses, tested on a few hundred rows.

A remembered model is a hypothesis about a new task if the classes have about the shares they had at
home (labels are free). Its core, the splits that were surely not chosen by luck, is asked about
rows drawn alike from every class, buying only the cells on their paths. It explains, of the label,

    sum_c w_c mean over rows of class c of log2(p_home(c | leaf) / p_home(c)),

in bits, the classes weighted by their shares here. The whole model is accepted when its core

1. one standard error below the estimate, still explains 0.4 of what it explained at home,
2. explains more than any single feature seems to, and
3. has the rarest class in its leaves as it had at home (a chi-squared test of two samples):
   a model of a related label explains something too, but by other leaves.

This is a test for drift and no proof that a fresh tree would be no better.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Door
from thrifty.trees.tree import Leaf, Path, Tree, subtree
from thrifty.trees.verified.experience import Experience, RememberedModel
from thrifty.trees.verified.leaf_rates import leaf_rates, row_counts

__all__ = ["Recurring"]

#: rows of each class asked about in each round; the first round takes the first look's rows
_ROUNDS = (32, 128, 256)
#: hypotheses that are asked about more than the first look
_AT_MOST = 4
#: shares may differ by so many standard errors
_SHARES = 2.0
#: part of what was explained at home that must be explained here
_PART = 0.4
#: chance at which the leaves of the rarest class count as others than at home
_OTHER = 0.06
#: pseudo-rows: heavier than at the leaves of a model, since chosen splits flatter it
_M = 20.0


@dataclass(frozen=True)
class _Score:
    explained: float
    error: float


class Recurring:
    """The hypotheses that the first look leaves; :meth:`accepted` says which holds, if one does."""

    def __init__(
        self, experience: Experience, cells: Door, codes: Ints, rows: Ints, first: int
    ) -> None:
        self.cells, self.rows, self.codes = cells, rows, codes
        self.sizes = np.bincount(codes)
        self.shares = self.sizes / len(codes)
        self.starts = np.searchsorted(codes[rows], np.arange(len(self.sizes)))
        rare = int(self.sizes.argmin())
        scored: list[tuple[float, int, RememberedModel]] = []
        for model in experience.models:
            if self._alike(model):
                score = self._score(model, first, only=rare)
                scored.append((score.explained, len(scored), model))
        scored.sort(key=lambda one: (-one[0], one[1]))
        self.left = [model for value, _, model in scored[:_AT_MOST] if value > 0]

    def _alike(self, model: RememberedModel) -> bool:
        """Whether the classes have about the shares they had at the model's home."""
        counts = model.counts
        if len(counts) != len(self.shares) or model.explained <= 0:
            return False
        p = (counts + self.sizes) / (counts.sum() + self.sizes.sum())
        spread = np.sqrt(p * (1 - p) * (1 / counts.sum() + 1 / self.sizes.sum()))
        return bool((np.abs(counts / counts.sum() - self.shares) <= _SHARES * spread).all())

    def accepted(self, to_beat: float) -> Tree | None:
        """The hypothesis that explains most here, if it explains enough and more than to_beat."""
        left = self.left
        best: tuple[float, RememberedModel] | None = None
        for rows in _ROUNDS:
            scores = [self._score(model, rows) for model in left]
            left, scores = _still_possible(left, scores)
            if not left:
                return None
            best = max(((s.explained, m) for s, m in zip(scores, left)), key=lambda one: one[0])
        assert best is not None
        score = scores[left.index(best[1])]
        enough = max(_PART * best[1].explained, to_beat)
        holds = score.explained - score.error >= enough and self._same_leaves(best[1])
        return best[1].tree if holds else None

    def _same_leaves(self, model: RememberedModel) -> bool:
        """Whether the rarest class falls into the model's leaves as it did at home."""
        c = int(self.sizes.argmin())
        start = int(self.starts[c])
        rows = self.rows[start : start + min(_ROUNDS[-1], int(self.sizes[c]))]
        ends = Counter(_ends(model.core, self.cells, rows))
        paths = list(leaf_rates(model.core, _M))
        here = np.array([ends[path] for path in paths], dtype=np.float64)
        home = np.array([row_counts(subtree(model.core, path))[c] for path in paths])
        return _chance_of_two_samples(here, home) >= _OTHER

    def _score(self, model: RememberedModel, n: int, only: int | None = None) -> _Score:
        home = row_counts(model.core)
        rates = leaf_rates(model.core, _M)
        explained, variance = 0.0, 0.0
        for c, start in enumerate(self.starts.tolist()):
            if only is not None and c != only:
                continue
            rows = self.rows[start : start + min(n, int(self.sizes[c]))]
            ends = _ends(model.core, self.cells, rows)
            bits = np.array([np.log2(rates[end][c] * home.sum() / home[c]) for end in ends])
            weight = 1.0 if only is not None else float(self.shares[c])
            explained += weight * float(bits.mean())
            variance += weight**2 * (float(bits.var()) + 0.01) / len(rows)
        return _Score(explained, variance**0.5)


def _still_possible(
    models: list[RememberedModel], scores: list[_Score]
) -> tuple[list[RememberedModel], list[_Score]]:
    """Without those that are two standard errors short, here or of the best one."""
    top = max(score.explained - score.error for score in scores)
    both = [
        (m, s)
        for m, s in zip(models, scores)
        if s.explained + 2 * s.error >= max(_PART * m.explained, top)
    ]
    return [m for m, _ in both], [s for _, s in both]


def _chance_of_two_samples(a: Floats, b: Floats) -> float:
    """The chance of counts as different as these if both came from one distribution.

    >>> _chance_of_two_samples(np.array([20.0, 5.0]), np.array([20.0, 5.0]))
    1.0
    """
    pooled = (a + b) / (a.sum() + b.sum())
    rare = pooled * min(a.sum(), b.sum()) < 2
    a, b = np.append(a[~rare], a[rare].sum()), np.append(b[~rare], b[rare].sum())
    pooled = (a + b) / (a.sum() + b.sum())
    some = pooled > 0
    from scipy.special import chdtrc

    if some.sum() < 2:
        return 1.0
    statistic = 0.0
    for counts in (a[some], b[some]):
        expected = pooled[some] * counts.sum()
        statistic += float(((counts - expected) ** 2 / expected).sum())
    return float(chdtrc(int(some.sum()) - 1, statistic))


def _ends(tree: Tree, cells: Door, rows: Ints) -> list[Path]:
    """The path on which each row leaves the tree, buying only the cells it asks for."""
    out: list[Path] = [()] * len(rows)
    stack: list[tuple[Tree, Path, Ints]] = [(tree, (), np.arange(len(rows)))]
    while stack:
        at, path, which = stack.pop()
        if isinstance(at, Leaf):
            for i in which.tolist():
                out[i] = path
            continue
        threshold = 0.5 if at.split.threshold is None else at.split.threshold
        true = cells.get(rows[which], [at.split.feature])[:, 0] >= threshold
        for branch, side in ((False, which[~true]), (True, which[true])):
            if len(side):
                stack.append((at.child(branch), (*path, branch), side))
    return out
