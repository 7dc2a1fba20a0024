"""When to forget: streams in which some tasks are unrelated to all others (paper, Section 4).

m good tasks share K metafeatures; r bad ones are arbitrary, and an adversary places them. What a
bad task leaves in the representation makes every later task dearer, yet forgetting means that good
tasks are learned from scratch again. A *rule* decides when to forget. It is wrapped around one turn
of Algorithm 1 and knows only what the bill says: how each task was learned and what it bought.
What it remembers is a few integers, so that a store can keep them.

The bounds below are for stumps, in cells on good tasks, S examples and N features a task;
``thrifty.bounds`` has them for trees too, with every constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

from thrifty.attempt import Attempt, Route
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.protocol import Family, learn_task

__all__ = [
    "Balanced",
    "Counts",
    "Doubling",
    "Expansion",
    "Restart",
    "Rule",
    "after_attempt",
    "as_rule",
    "learn_agnostic",
    "fewest_unrelated",
    "most_unrelated",
    "optimal_allowance",
    "rule_from_dict",
    "rule_to_dict",
]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a rule remembers: since the last restart, except ``seen`` and ``restarts``.

    >>> Counts().after("scratch", 500).after("reused", 20)
    Counts(scratch=1, learning=500, using=20, seen=2, restarts=0)
    """

    scratch: int = 0  # tasks learned from scratch
    learning: int = 0  # cells bought by tasks that taught something new
    using: int = 0  # cells bought by tasks that were reused
    seen: int = 0  # tasks, ever
    restarts: int = 0

    def after(self, route: Route, cells: int) -> Counts:
        """The counts after a task."""
        if route == "reused":
            return replace(self, using=self.using + cells, seen=self.seen + 1)
        return replace(
            self,
            scratch=self.scratch + (route == "scratch"),
            learning=self.learning + cells,
            seen=self.seen + 1,
        )

    def restarted(self) -> Counts:
        """The counts right after everything was forgotten."""
        return Counts(seen=self.seen, restarts=self.restarts + 1)

    def to_dict(self) -> dict[str, int]:
        """Plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, int]) -> Counts:
        """The inverse of :meth:`to_dict`."""
        return cls(**{field.name: int(data[field.name]) for field in fields(cls)})


@runtime_checkable
class Rule(Protocol):
    """Two moments at which a representation may be forgotten."""

    def before_task(self, counts: Counts) -> bool:
        """Forget before the task is tried?"""

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        """A task was learned from scratch, and ``counts`` is without it: forget, then improve?"""


@dataclass(frozen=True)
class Expansion:
    """Never forget: Algorithm 1 as it stands. S (K N + m (K + r)).

    Right where there are fewer good tasks than K N.

    >>> Expansion().before_improving(Counts(scratch=1000), n_features=50)
    False
    """

    def before_task(self, counts: Counts) -> bool:
        return False

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        return False


@dataclass(frozen=True)
class Restart:
    """Forget when more than k tasks were learned from scratch. S (2 r K N + m K).

    k is the number of metafeatures that good tasks share. The (k+1)-th failure proves that a bad
    task was among them. Right where there are many more good tasks than K N.

    >>> Restart(3).before_improving(Counts(scratch=2), 50), Restart(3).before_improving(
    ...     Counts(scratch=3), 50)
    (False, True)
    """

    k: int

    def __post_init__(self) -> None:
        _whole("k", self.k, least=1)

    def before_task(self, counts: Counts) -> bool:
        return False

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        return counts.scratch >= self.k


@dataclass(frozen=True)
class Balanced:
    """Forget when more than k + c tasks were learned from scratch, c = sqrt(r k N / m).

    S (2 sqrt(r K N m) + m K). c is kept within [1, r]. ``n_tasks`` is m, the number of good
    tasks to come; where it is not said, the number of tasks seen so far stands in for it: c then
    starts high and falls, as if each task were the last.

    >>> Balanced(k=2, r=50, n_tasks=400).allowance(n_features=100)
    5
    """

    k: int
    r: int
    n_tasks: int | None = None

    def __post_init__(self) -> None:
        _whole("k", self.k, least=1)
        if self.r is None:
            raise BadParameter(
                "Balanced needs r, the number of unrelated tasks to expect; got None. Where "
                "nobody knows it, use thrifty.Doubling()."
            )
        _whole("r", self.r, least=0)
        if self.n_tasks is not None:
            _whole("n_tasks", self.n_tasks, least=1)

    def allowance(self, n_features: int, seen: int = 1) -> int:
        """c, the number of bad tasks tolerated between restarts."""
        m = self.n_tasks if self.n_tasks is not None else max(1, seen)
        return optimal_allowance(n_tasks=m, n_features=n_features, k=self.k, r=self.r)

    def before_task(self, counts: Counts) -> bool:
        return False

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        return counts.scratch >= self.k + self.allowance(n_features, counts.seen)


@dataclass(frozen=True)
class Doubling:
    """Forget once using the representation has cost as much as learning it did.

    Ours, not the paper's: for people who know neither K nor r nor m. Since the last restart,
    ``learning`` cells were spent on tasks that taught something and ``using`` cells on tasks that
    reused it; when the second reaches the first, the bill since the restart has doubled, and the
    representation is forgotten before the next task, whether or not anything failed.

    Why: a bad task's metafeature that is kept for N tasks has cost as much as a task from scratch.
    A period therefore lasts at least N tasks, so there are at most (m + r) / N + 1 of them, each
    relearning at most K good tasks: K (m + r + N). Using costs no more than learning did:
    that again, and N for every bad task. In all S (2 K (m + r + N) + r N + ...), which is at most
    three times the better of the bounds of Expansion and Restart, wherever the bad tasks are. It
    does not reach Balanced where r N > m K: whether a failure is bad or good cannot be seen when
    K is not known.

    >>> Doubling().before_task(Counts(learning=500, using=499)), Doubling().before_task(
    ...     Counts(learning=500, using=500))
    (False, True)
    """

    def before_task(self, counts: Counts) -> bool:
        return 0 < counts.learning <= counts.using

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        return False


def optimal_allowance(*, n_tasks: int, n_features: int, k: int, r: int) -> int:
    """c* = sqrt(r K N / m) to the nearest integer, within [1, r]; 0 where r is 0 (Theorem 5).

    It minimises r K N / c + m c.

    >>> optimal_allowance(n_tasks=100, n_features=100, k=4, r=25)
    10
    """
    best = round(math.sqrt(r * k * n_features / n_tasks))
    return min(max(best, 1), r)


def fewest_unrelated(*, n_tasks: int, n_features: int, k: int) -> float:
    """r_min = max(m / N, K N / m, K): up to here unrelated tasks cost nothing to speak of.

    >>> fewest_unrelated(n_tasks=1000, n_features=100, k=4)
    10.0
    """
    return max(n_tasks / n_features, k * n_features / n_tasks, k)


def most_unrelated(*, n_tasks: int, n_features: int, k: int) -> float:
    """r_max = min(m N / K, (N - K)^2 m / (K N)): from here on lifelong learning is futile.

    The minimum is always the second, since N - K < N; the paper writes both.

    >>> most_unrelated(n_tasks=1000, n_features=100, k=4)
    23040.0
    """
    spare = n_features - k
    return min(n_tasks * n_features / k, spare * spare * n_tasks / (k * n_features))


def learn_agnostic(
    family: Family, rule: Rule, representation: Any, counts: Counts, cells: Cells, labels: Any
) -> tuple[Attempt, Any, Counts]:
    """One turn of Algorithm 1 under a rule: the attempt, the representation, the counts."""
    if rule.before_task(counts):
        representation, counts = family.start(), counts.restarted()
    attempt, improved = learn_task(family, representation, cells, labels)
    if attempt.route == "scratch" and rule.before_improving(counts, cells.n_features):
        counts = counts.restarted()
        # What the attempt had grown came from the representation that is now forgotten.
        improved = family.improve_rep(family.start(), replace(attempt, grown=None))
    return attempt, improved, counts.after(attempt.route, cells.n_bought)


def after_attempt(
    family: Family, rule: Rule, representation: Any, counts: Counts, cells: Cells, attempt: Attempt
) -> tuple[Any, Counts]:
    """The same turn with an attempt made before, when others have learned meanwhile."""
    if rule.before_task(counts):
        representation, counts = family.start(), counts.restarted()
    if attempt.route == "scratch" and rule.before_improving(counts, cells.n_features):
        counts = counts.restarted()
        representation = family.improve_rep(family.start(), replace(attempt, grown=None))
    elif attempt.route != "reused":
        representation = family.improve_rep(representation, attempt)
    return representation, counts.after(attempt.route, cells.n_bought)


_BY_NAME: dict[str, type[Any]] = {
    rule.__name__: rule for rule in (Expansion, Restart, Balanced, Doubling)
}


def as_rule(agnostic: object) -> Rule:
    """The rule a user gave; None is Expansion."""
    if agnostic is None:
        return Expansion()
    if isinstance(agnostic, type) or not isinstance(agnostic, Rule):
        raise BadParameter(
            "agnostic must be thrifty.Expansion(), Restart(k), Balanced(k, r) or Doubling(); got "
            f"{agnostic!r}."
        )
    return agnostic


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """Name and parameters, for JSON.

    >>> rule_to_dict(Restart(3))
    {'rule': 'Restart', 'k': 3}
    """
    return {"rule": type(rule).__name__, **asdict(rule)}  # type: ignore[call-overload]


def rule_from_dict(data: Mapping[str, Any]) -> Rule:
    """The inverse of :func:`rule_to_dict`.

    >>> rule_from_dict({"rule": "Balanced", "k": 3, "r": 10, "n_tasks": None})
    Balanced(k=3, r=10, n_tasks=None)
    """
    name = data.get("rule")
    if name not in _BY_NAME:
        raise BadParameter(f"agnostic must name one of {sorted(_BY_NAME)}; got {name!r}.")
    made: Rule = _BY_NAME[name](**{key: data[key] for key in data if key != "rule"})
    return made


def _whole(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise BadParameter(f"{name} must be an integer, {least} or more; got {value!r}.")
