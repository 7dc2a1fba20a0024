"""What noisy tasks teach: base rates, which features are useful, and whole models.

A tree that was grown on noisy labels is not a metafeature in the paper's sense: hardly any of its
subtrees comes back exactly. What does carry over is weaker and cheaper: how often a feature is true
(no labels needed), how likely it is to be useful, and, where the same label is met again in
another population, the whole model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from thrifty.array_types import Floats
from thrifty.trees.tree import Node, Tree, is_prefix, skeleton, tree_from_dict, tree_text
from thrifty.trees.verified.belief import prior_useful
from thrifty.trees.verified.leaf_rates import row_counts
from thrifty.typing import AnyArray, Json, JsonLike

__all__ = ["Experience", "RememberedModel"]

#: a model is forgotten after so many further tasks that taught something
_FORGET = 300
#: rows that a remembered base rate counts for at most, per task and altogether
_PER_TASK, _AT_MOST = 200.0, 100.0
#: tasks that the average feature counts for in a feature's usefulness
_TASKS = 4.0


@dataclass(frozen=True, slots=True)
class RememberedModel:
    """A model with the rows of each class at its leaves.

    ``core`` is the part of it that was surely not chosen by luck, and what is tested elsewhere;
    ``explained`` is what the core explains of the label, in bits a row; ``met`` the number of the
    task that it was learned in.
    """

    tree: Tree
    core: Tree
    explained: float
    met: int

    @property
    def counts(self) -> Floats:
        return row_counts(self.tree)

    def close_to(self, other: RememberedModel) -> bool:
        """Near-equal: one's splits are a pruning of the other's, on labels of about one share."""
        mine, theirs = self.counts, other.counts
        if len(mine) != len(theirs):
            return False
        p, q = mine / mine.sum(), theirs / theirs.sum()
        spread = np.sqrt(p * (1 - p) / mine.sum() + q * (1 - q) / theirs.sum()) + 1e-12
        if (np.abs(p - q) > 2 * spread).any():
            return False
        a, b = skeleton(self.core), skeleton(other.core)
        return is_prefix(a, b, by_feature=True) or is_prefix(b, a, by_feature=True)

    def to_dict(self) -> Json:
        return {
            "tree": self.tree.to_dict(),
            "core": self.core.to_dict(),
            "explained": self.explained,
            "met": self.met,
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> RememberedModel:
        tree, core = tree_from_dict(data["tree"]), tree_from_dict(data["core"])
        return cls(tree, core, float(data["explained"]), int(data["met"]))


@dataclass(frozen=True, eq=False)
class Experience:
    """The representation of ``Verified()``; sized and iterable: its models.

    >>> len(Experience()), str(Experience())
    (0, 'nothing learned yet')
    """

    models: tuple[RememberedModel, ...] = ()
    tasks: int = 0
    ones: tuple[float, ...] = ()
    seen: tuple[float, ...] = ()
    useful: tuple[float, ...] = ()

    def base_rates(self, n_features: int) -> tuple[Floats, Floats]:
        """How often each feature is true, and the rows that this is known as well as from."""
        ones, seen = _grown(self.ones, n_features), _grown(self.seen, n_features)
        overall = (ones.sum() + 1.0) / (seen.sum() + 2.0)
        return (ones + 2.0 * overall) / (seen + 2.0), np.minimum(seen + 2.0, _AT_MOST)

    def usefulness(self, n_features: int) -> Floats:
        """Each feature's probability of being useful at a root; on average what it always is."""
        if not self.tasks:
            return np.full(n_features, prior_useful(n_features))
        useful = _grown(self.useful, n_features)
        likely = (useful + _TASKS * useful.mean() / self.tasks) / (self.tasks + _TASKS)
        return np.asarray(likely * prior_useful(n_features) / max(float(likely.mean()), 1e-12))

    def after(self, ones: AnyArray, looked: AnyArray, shares: Floats, likely: Floats) -> Experience:
        """With what one task saw of every feature: ones among looked rows (C, N) at its root."""
        n = len(likely)
        rate = shares @ (ones / np.maximum(looked, 1))
        rows = np.minimum(looked[int(shares.argmax())], _PER_TASK)
        rows = np.where((looked > 0).all(axis=0), rows, 0.0)
        return replace(
            self,
            tasks=self.tasks + 1,
            ones=_plus(self.ones, rate * rows, n),
            seen=_plus(self.seen, rows, n),
            useful=_plus(self.useful, likely, n),
        )

    def with_model(self, tree: Tree, core: Tree, explained: float) -> Experience:
        """With a model more, near-equal ones merged into it and old ones forgotten.

        A model without a core is not worth keeping.
        """
        if not isinstance(core, Node):
            return self
        new = RememberedModel(tree, core, explained, self.tasks)
        kept = [
            model
            for model in self.models
            if self.tasks - model.met < _FORGET and not model.close_to(new)
        ]
        return replace(self, models=(*kept, new))

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Tree]:
        return (model.tree for model in self.models)

    def __str__(self) -> str:
        if not self.tasks:
            return "nothing learned yet"
        head = f"base rates and usefulness of {len(self.ones)} features from {self.tasks} tasks"
        models = [f"model {i}\n{tree_text(m.tree)}" for i, m in enumerate(self.models)]
        return "\n".join([head, *models])

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "models": [model.to_dict() for model in self.models],
            "tasks": self.tasks,
            "ones": list(self.ones),
            "seen": list(self.seen),
            "useful": list(self.useful),
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> Experience:
        """The inverse of :meth:`to_dict`."""
        models = tuple(RememberedModel.from_dict(model) for model in data["models"])
        sums = (tuple(map(float, data[key])) for key in ("ones", "seen", "useful"))
        return cls(models, int(data["tasks"]), *sums)


def _plus(old: tuple[float, ...], new: AnyArray, n: int) -> tuple[float, ...]:
    return tuple(np.round(_grown(old, n) + new, 9).tolist())


def _grown(kept: tuple[float, ...], n: int) -> Floats:
    """What is kept of every feature; nothing of those that came later."""
    return np.concatenate([np.array(kept, dtype=np.float64), np.zeros(max(0, n - len(kept)))])[:n]
