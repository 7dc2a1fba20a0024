"""Streams posed by an adversary: single features, good and bad ones (paper, Sections 4 and 5).

Every target is one feature, as a stump or as a monomial of degree 1, so the K metafeatures are K
features. The first three strategies are the randomised adversaries of the lower bounds, one for
each range of r: a task whose feature was drawn from a pool of n costs every learner that is never
wrong (n - 1) / 2 features on average, whatever it has learned before. The other two place bad
tasks where they hurt one rule most.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from thrifty import bounds
from thrifty.checks import a_choice, whole_number
from thrifty.errors import BadParameter
from thrifty.streams.tree_tasks import StreamTask, TaskStream
from thrifty.trees.tree import Leaf, Node, Split

Strategy = Literal["realizable", "intermediate", "large", "against-expansion", "against-restart"]
Target = Literal["stumps", "monomials"]


class AdversaryStream(TaskStream):
    """Tasks whose targets are single features; ``task.good`` says which are related,
    ``metafeatures`` are the K features that those use.

    With m = ``n_tasks``, N = ``n_features``, K = ``n_metafeatures``, r = ``n_unrelated``:

    ===================  =======================================================================
    realizable           K distinct features, then m - K drawn from those; r bad tasks, all
                         different while they last, spread evenly between them
    intermediate         r N / (N - K) features drawn from all N, of which K random ones are
                         declared good afterwards; then m drawn from those K. Needs
                         r_min <= r <= r_max; where r <= N - K it is the realizable one
    large                m N / K features drawn from all N where r >= m N / K, otherwise
                         sqrt(r N m / K) of them and then m good ones. Needs r >= r_max, r_min
    against-expansion    all r bad tasks first: every good task then pays for them
    against-restart      good tasks take turns, bad ones are spread evenly between them: each bad
                         task makes ``Restart`` learn nearly 2 K good ones again
    ===================  =======================================================================

    In ``intermediate`` and ``large`` the numbers of good and bad tasks are m and r only up to a
    constant; count them with ``stream.count_good()``.

    >>> stream = adversary("against-expansion", 4, n_features=30, n_metafeatures=2, n_examples=40,
    ...                    n_unrelated=2)
    >>> [task.good for task in stream]
    [False, False, True, True, True, True]
    """

    def __init__(
        self,
        strategy: Strategy,
        n_tasks: int,
        n_features: int,
        n_metafeatures: int,
        n_examples: int,
        n_unrelated: int = 0,
        random_state: int = 0,
        *,
        target: Target = "stumps",
    ) -> None:
        a_choice("strategy", strategy, get_args(Strategy))
        a_choice("target", target, get_args(Target))
        whole_number("n_metafeatures", n_metafeatures, least=1)
        whole_number("n_features", n_features, least=n_metafeatures + 1)
        whole_number("n_tasks", n_tasks, least=n_metafeatures)
        whole_number("n_unrelated", n_unrelated, least=0)
        enough = 2 * math.ceil(math.log2(n_features)) + 8
        if target == "stumps" and n_examples < enough:
            raise BadParameter(
                f"n_examples must be {enough} or more for {n_features} features, so that no two "
                f"look alike; got {n_examples}."
            )
        self.strategy, self.target, self.random_state = strategy, target, random_state
        self.n_tasks, self.n_unrelated = n_tasks, n_unrelated
        self.n_features, self.n_examples = n_features, n_examples
        order = np.random.default_rng([random_state, 0]).permutation(n_features)
        self.metafeatures: tuple[int, ...] = tuple(order[:n_metafeatures].tolist())
        self._others: list[int] = order[n_metafeatures:].tolist()
        self._good = frozenset(self.metafeatures)
        self._open, self._closing = self._lengths()

    def _lengths(self) -> tuple[int, int]:
        """Tasks drawn from all features first, and tasks on good features after them."""
        m, r, big, k = self.n_tasks, self.n_unrelated, self.n_features, len(self.metafeatures)
        least = bounds.r_min(n_tasks=m, n_features=big, n_metafeatures=k)
        most = bounds.r_max(n_tasks=m, n_features=big, n_metafeatures=k)
        if self.strategy == "intermediate":
            _condition("r_min <= r", least <= r, r, least)
            _condition("r <= r_max", r <= most, r, most)
            return (round(r * big / (big - k)), m) if r > big - k else (0, m + r)
        if self.strategy == "large":
            _condition("r_max <= r", most <= r, r, most)
            _condition("r_min <= r", least <= r, r, least)
            if r >= m * big / k:
                return math.ceil(m * big / k), 0
            return round(math.sqrt(r * big * m / k)), m
        return 0, m + r

    def __len__(self) -> int:
        return self._open + self._closing

    def task(self, i: int) -> StreamTask:
        """The i-th task."""
        feature = self.feature(i)
        random = np.random.default_rng([self.random_state, 1, i])
        name = f"task-{i:05d}"
        if self.target == "monomials":
            values = random.uniform(1.0, 2.0, (self.n_examples, self.n_features))
            return StreamTask(name, values, values[:, feature].copy(), {feature: 1}, self.good(i))
        bits = self._bits(feature, random)
        tree = Node(Split(feature), Leaf(0), Leaf(1))
        return StreamTask(name, bits, bits[:, feature].astype(np.int64), tree, self.good(i))

    def good(self, i: int) -> bool:
        """Whether the target of task i is one of the metafeatures."""
        return self.feature(i) in self._good

    def count_good(self) -> int:
        """How many good tasks there are."""
        return sum(self.good(i) for i in range(len(self)))

    def feature(self, i: int) -> int:
        """The target of task i."""
        random = np.random.default_rng([self.random_state, 2, i])
        if i < self._open:
            return int(random.integers(self.n_features))
        if self._open:
            return self.metafeatures[int(random.integers(len(self.metafeatures)))]
        bad_before, bad = self._bad_before(i)
        if bad:
            return self._others[bad_before % len(self._others)]
        turn = i - bad_before
        k = len(self.metafeatures)
        if turn < k or self.strategy == "against-restart":
            return self.metafeatures[turn % k]
        return self.metafeatures[int(random.integers(k))]

    def _bad_before(self, i: int) -> tuple[int, bool]:
        """How many bad tasks come before task i, and whether it is one itself."""
        r, total = self.n_unrelated, self.n_tasks + self.n_unrelated
        if self.strategy == "against-expansion":
            return min(i, r), i < r
        before = i * r // total
        return before, (i + 1) * r // total > before

    def _bits(self, feature: int, random: np.random.Generator) -> NDArray[np.uint8]:
        """Fair coins in which no other feature, nor its opposite, looks like the target."""
        tries = 100
        for _ in range(tries):
            drawn = random.integers(0, 256, (self.n_examples, -(-self.n_features // 8)), np.uint8)
            bits = np.unpackbits(drawn, axis=1, count=self.n_features)
            agree = (bits == bits[:, [feature]]).sum(axis=0)
            twins = np.count_nonzero((agree == 0) | (agree == self.n_examples))
            if twins == 1 and 0 < bits[:, feature].sum() < self.n_examples:
                return bits
        raise BadParameter(
            f"{tries} samples in a row held twins of the target: {self.n_examples} examples are "
            f"too few for {self.n_features} features. Use more examples."
        )


def _condition(what: str, holds: bool, r: int, limit: float) -> None:
    if not holds:
        raise BadParameter(
            f"this adversary's theorem needs {what}; r is {r} and the limit {limit:g}. Choose "
            "another n_unrelated, or another strategy."
        )


adversary = AdversaryStream
