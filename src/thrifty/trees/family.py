"""Decision trees as a family: the three verbs of the protocol, carried out by a learner.

Decision lists (paper, Section 2, Theorem for lists).

A decision list is a tree in which every node has a leaf child: ``if x3: + / elif not x7: - /
else: +``. UseRep is Algorithm 2 and fails as soon as both children of a node are impure; ImproveRep
adds the one suffix of the scratch list after its longest common beginning with the grown one.
At most K + 2 K^2 lists are learned from scratch, by a simpler argument at most K d
(:func:`thrifty.bounds.lists_scratch`), and a reused one costs at most 2 (|F~| + d) cells an
example.

A deviation that changes no promise: a split counts only if it *settles* a side, that is, leaves a
child pure; the best of those is taken, by gain. Whenever plain top-down learning yields a list it
is this list, because its splits settle a side and have the highest gain of all. Where it does not,
this finds a list if there is one at all: taking a settling split never closes a way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from thrifty.attempt import Attempt, Failed, Failure, Found, Representation
from thrifty.cells import Cells
from thrifty.checks import set_checked, whole_number
from thrifty.errors import BadParameter, NotInFamily
from thrifty.labels import Labels
from thrifty.trees.gains import Gain, Measure, gain_named, pure_child
from thrifty.trees.growing import Half, OnStuck, PlaceOfRows, Reason, consistent
from thrifty.trees.learned_trees import AnyLearner, LearnedTrees, Learner
from thrifty.trees.paper import Paper
from thrifty.trees.race import Race
from thrifty.trees.representation import Metafeatures
from thrifty.trees.scratch import scratch_tree
from thrifty.trees.tested import Tested
from thrifty.trees.tree import Leaf, Tree
from thrifty.typing import AnyArray, Json, JsonLike

if TYPE_CHECKING:
    from thrifty.trees.model import ListClassifier


#: the learners that come with Thrifty: what a store holds is a name and parameters
_LEARNERS = {made.__name__: made for made in (Paper, Race, Tested)}


@dataclass(frozen=True, init=False)
class Trees(LearnedTrees[Representation]):
    """Decision trees (paper, Section 2).

    Parameters
    ----------
    max_depth : int
        Edges from the root to the deepest leaf, at most: in UseRep and from scratch, for every
        learner. A learner of consistent trees says so where labels do not fit into that depth.
    learner : Learner, default Race()
        How a tree is learned: ``thrifty.trees.Race()``, the paper's tree for few cells;
        ``thrifty.trees.Paper()``, Algorithms 2 and 3 line by line; ``Tested(error, confidence)``,
        right on enough fresh examples. All learn exact labels; for noisy ones there is
        :class:`~thrifty.Models`.

    Raises
    ------
    thrifty.errors.BadParameter
        a depth that is no whole number of 1 or more, or no learner

    See Also
    --------
    thrifty.trees.Race, thrifty.trees.Paper, thrifty.trees.Tested : learners
    thrifty.Models : for noisy labels
    thrifty.bounds.trees : what m tasks cost at most

    Examples
    --------
    >>> Trees(max_depth=3).learner.gain
    'entropy'
    """

    max_depth: int
    learner: AnyLearner

    def __init__(self, max_depth: int = 6, learner: AnyLearner | None = None) -> None:
        set_checked(
            self,
            max_depth=whole_number("max_depth", max_depth),
            learner=is_learner(Race() if learner is None else learner),
        )

    @property
    def how(self) -> AnyLearner:
        """The learner."""
        return self.learner

    def to_dict(self) -> Json:
        """Name and parameters, for JSON."""
        return {"family": "Trees", "max_depth": self.max_depth, "learner": self.learner.to_dict()}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Trees:
        """The inverse of :meth:`to_dict`."""
        return cls(data["max_depth"], learner_from_dict(data["learner"]))


def is_learner(value: object) -> AnyLearner:
    """Refuse what cannot learn, a class in the place of a value included."""
    if isinstance(value, type) or not isinstance(value, Learner):
        raise BadParameter(
            "learner must be thrifty.trees.Race(), Paper(), Tested(error, confidence) or "
            f"one of your own; got {value!r}. For noisy labels use thrifty.Models()."
        )
    return value


def learner_from_dict(data: JsonLike) -> AnyLearner:
    """The inverse of ``learner.to_dict()``.

    >>> learner_from_dict(Tested(0.05, 0.9).to_dict()).confidence
    0.9
    """
    name = data.get("learner")
    if name == "Verified":
        raise BadParameter(
            "the learner Verified is gone: thrifty.Models() learns better from noisy labels, for "
            "as few cells. Begin another lifetime with it, under a name of its own; in the same "
            "store what was paid for stays paid."
        )
    if name not in _LEARNERS:
        raise BadParameter(
            f"learner must be one of {sorted(_LEARNERS)}; got {name!r}. A lifetime with a learner "
            "of your own is opened with Lifetime.open(..., family=...)."
        )
    made: AnyLearner = _LEARNERS[str(name)].from_dict(data)
    return made


class _ListLearner(Paper):
    """Paper, with words of its own where a list is impossible.

    The subtree at the first difference, which ``improve="anchors"`` adds, is the suffix after the
    longest common beginning.
    """

    def reuse(
        self, known: Metafeatures, cells: Cells, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        attempt = super().reuse(known, cells, labels, max_depth)
        if isinstance(attempt, Found) or attempt.failure.reason != "constant-candidates":
            return attempt
        message = "both children are impure whichever feature the metafeatures suggest is asked"
        told = Failure("both-children-impure", message, attempt.failure.details)
        return Failed(told, attempt.grown)

    def scratch(self, cells: Cells, labels: Labels, max_depth: int) -> Tree:
        told = no_list(labels, max_depth, cells.table)
        gain = gain_named(self.gain)
        return scratch_tree(cells, labels, gain, max_depth=max_depth, on_stuck=told)


@lru_cache(maxsize=32)
def _learner(gain: str | Gain | Measure, match: str, missing: str) -> Learner[Metafeatures]:
    settles = pure_child(gain_named(gain))
    return _ListLearner(gain=settles, improve="anchors", match=match, missing=missing)


@dataclass(frozen=True)
class Lists(LearnedTrees[Metafeatures]):
    """Decision lists.

    Parameters
    ----------
    max_depth : int
        the most tests that a list may have, reused or from scratch
    gain : str, Gain or callable
        "entropy", "gini", or a function (counts, totals, prices) -> gains; compared among the
        splits that leave one child pure
    match : str
        when a metafeature agrees with a list over real-valued features: "feature" or "threshold";
        see :mod:`thrifty.trees.use_rep`
    missing : str
        "error" refuses NaN; "larger-child" sends rows that lack a value to the larger child

    Raises
    ------
    thrifty.errors.BadParameter
        a gain, ``match`` or ``missing`` that lists do not know

    See Also
    --------
    thrifty.Trees : trees
    thrifty.estimators.ListClassifier : one list on its own
    thrifty.bounds.lists : what m tasks cost at most

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(Lists(max_depth=6))
    >>> for task in thrifty.streams.lists(6, 40, 2, 400, 6, random_state=1):
    ...     learned = life.learn(task.name, task.X, task.y)
    >>> learned.route
    'reused'
    """

    max_depth: int = 10
    gain: str | Gain | Measure = "entropy"
    match: str = "feature"
    missing: str = "error"

    @property
    def classifier(self) -> type[ListClassifier]:
        """What users hold; scikit-learn is imported with it."""
        from thrifty.trees.model import ListClassifier

        return ListClassifier

    def __post_init__(self) -> None:
        set_checked(self, max_depth=whole_number("max_depth", self.max_depth))
        self._checked()

    def _checked(self) -> Paper:
        """The paper's learner with these parameters; it refuses what cannot be."""
        return Paper(gain=self.gain, match=self.match, missing=self.missing)

    @property
    def how(self) -> Learner[Metafeatures]:
        """The paper's learner, over splits that settle a side."""
        return _learner(self.gain, self.match, self.missing)

    def to_dict(self) -> Json:
        """Name and parameters, for JSON."""
        plain = self._checked().to_dict()
        own = {name: plain[name] for name in ("gain", "match", "missing")}
        return {"family": "Lists", "max_depth": self.max_depth, **own}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Lists:
        """The inverse of :meth:`to_dict`."""
        own = {name: data[name] for name in ("gain", "match", "missing") if name in data}
        learner = Paper.from_dict(own)
        return cls(data["max_depth"], learner.gain, learner.match, learner.missing)


def no_list(labels: Labels, max_depth: int, table: Callable[[], AnyArray]) -> OnStuck[PlaceOfRows]:
    """What to raise where no split settles a side: rows that are alike, or not a list at all."""
    inconsistent = consistent(labels, max_depth, "decision list")

    def stuck(place: PlaceOfRows, reason: Reason, half: Half) -> Leaf:
        values = np.asarray(table())[place.rows].astype(np.float64)
        alike = (np.isnan(values).all(axis=0) | (values == values[:1]).all(axis=0)).all()
        if alike or len(place.path) >= max_depth:
            return inconsistent(place, reason, half)
        raise NotInFamily(
            f"no decision list is consistent with the labels: after {len(place.path)} tests "
            f"{len(place.rows)} examples are left, and every feature leaves both of its sides "
            "impure. Use thrifty.Trees, or mend the labels."
        )

    return stuck
