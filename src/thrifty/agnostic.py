"""What to try and when to forget: streams in which some tasks are unrelated (paper, Section 4).

m good tasks share K metafeatures; r bad ones are arbitrary, and an adversary places them. What a
bad task leaves in the representation makes every later task more expensive, yet forgetting means
that good tasks are learned from scratch again. A *rule* is wrapped around one turn of Algorithm 1:
it says which parts of the representation are tried, and whether a failure makes it forget. The
paper's rules forget; ours, :class:`Doubling`, only looks at the newest first.

The bounds below are for stumps, in cells on good tasks, S examples and N features a task;
``thrifty.bounds`` has them for trees too, with every constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Protocol, TypeVar, runtime_checkable

from thrifty.attempt import Found, KnowsRows, Route
from thrifty.cells import Cells
from thrifty.checks import set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.protocol import Family, Ordered
from thrifty.typing import Json, JsonLike

__all__ = [
    "Balanced",
    "Counts",
    "Doubling",
    "Expansion",
    "Restart",
    "Rule",
    "after_attempt",
    "as_rule",
    "optimal_allowance",
    "rule_from_dict",
    "rule_to_dict",
]


Known = TypeVar("Known")
Labels = TypeVar("Labels")
Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a rule remembers, so few integers that a store can keep them.

    >>> Counts().after("scratch").after("reused")
    Counts(scratch=1, seen=2, restarts=0)
    """

    scratch: int = 0  # tasks learned from scratch since the last restart
    seen: int = 0  # tasks, ever
    restarts: int = 0

    def after(self, route: Route) -> Counts:
        """The counts after a task."""
        return replace(self, scratch=self.scratch + (route == "scratch"), seen=self.seen + 1)

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
    """Which parts of a representation to try, and when to forget it."""

    def portions(self, representation: Known) -> Iterable[Known]:
        """What UseRep is given, one after the other until it succeeds; all of it last."""
        return (representation,)

    def after_reuse(self, representation: Known, model: object) -> Known:
        """The representation once a task was learned from it."""
        return representation

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        """A task was learned from scratch, and ``counts`` is without it: forget, then improve?"""
        return False


@dataclass(frozen=True)
class Expansion(Rule):
    """Never forget: Algorithm 1 as it stands. S (K N + m (K + r)).

    Right where there are fewer good tasks than K N.

    See Also
    --------
    thrifty.bounds.expansion : its bound
    thrifty.agnostic.Doubling : the newest first

    Examples
    --------
    >>> Expansion().before_improving(Counts(scratch=1000), n_features=50)
    False
    """


@dataclass(frozen=True)
class Restart(Rule):
    """Forget when more than k tasks were learned from scratch. S (2 r K N + m K).

    k is the number of metafeatures that good tasks share. The (k+1)-th failure proves that a bad
    task was among them. Right where there are many more good tasks than K N.

    Raises
    ------
    thrifty.errors.BadParameter
        k below 1

    See Also
    --------
    thrifty.bounds.restart : its bound
    thrifty.agnostic.Balanced : in between

    Examples
    --------
    >>> Restart(3).before_improving(Counts(scratch=2), 50), Restart(3).before_improving(
    ...     Counts(scratch=3), 50)
    (False, True)
    """

    k: int

    def __post_init__(self) -> None:
        set_checked(self, k=whole_number("k", self.k, least=1))

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        return counts.scratch >= self.k


@dataclass(frozen=True)
class Balanced(Rule):
    """Forget when more than k + c tasks were learned from scratch, c = sqrt(r k N / m).

    S (2 sqrt(r K N m) + m K). c is kept within [1, r]. ``n_tasks`` is m, the number of good
    tasks to come; where it is not said, the number of tasks seen so far stands in for it: c then
    starts high and falls, as if each task were the last.

    Raises
    ------
    thrifty.errors.BadParameter
        k below 1, or r that is no number of 0 or more

    See Also
    --------
    thrifty.bounds.balanced : its bound
    thrifty.agnostic.Doubling : without knowing k or r

    Examples
    --------
    >>> Balanced(k=2, r=50, n_tasks=400).allowance(n_features=100)
    5
    """

    k: int
    r: int
    n_tasks: int | None = None

    def __post_init__(self) -> None:
        set_checked(self, k=whole_number("k", self.k, least=1))
        if self.r is None:
            raise BadParameter(
                "Balanced needs r, the number of unrelated tasks to expect; got None. Where "
                "nobody knows it, use thrifty.agnostic.Doubling()."
            )
        set_checked(self, r=whole_number("r", self.r, least=0))
        if self.n_tasks is not None:
            set_checked(self, n_tasks=whole_number("n_tasks", self.n_tasks, least=1))

    def allowance(self, n_features: int, seen: int = 1) -> int:
        """c, the number of bad tasks tolerated between restarts."""
        m = self.n_tasks if self.n_tasks is not None else max(1, seen)
        return optimal_allowance(n_tasks=m, n_features=n_features, k=self.k, r=self.r)

    def before_improving(self, counts: Counts, n_features: int) -> bool:
        return counts.scratch >= self.k + self.allowance(n_features, counts.seen)


@dataclass(frozen=True)
class Doubling(Rule):
    """Try the newest metafeature, the newest two, four, eight, ...; never forget.

    Ours, not the paper's: for people who know neither K nor r nor m. The guess of how many
    metafeatures still matter is doubled until the task is learned; a metafeature that was used is
    the newest again. Cells of a failed guess are part of what the next one looks at, and a task
    that no guess explains pays S N as ever.

    Why, for single features: a good task whose feature was met last with x others after it costs
    at most 1 + 2 x cells an example. Of these x at most K - 1 are good. A bad task lies between
    two uses of each of the K good features at most once, so bad ones come to r K in all:
    S (K N + m (2 K - 1) + 2 r K), wherever the bad tasks are. That is the order of the paper's
    lower bounds: where they allow r K + m K, Balanced pays sqrt(r K N m) + m K.

    What that assumes: no other stored feature agrees with a good task's labels on its rows. Where
    one does, it is as good an answer as the task's own and is found first if it is newer. So that
    the task's own does not stay old, all that agree become new: those whose cells were bought, and
    some of the older, which are looked at on eight rows each and on all the others if they agree
    there, for what lies between the bill and 1 + 2 x. What becomes new agrees on every row, so a
    stranger never pushes a good feature back.
    Without the assumption only a cap is proven, on every task: never more than Expansion, because
    what a portion buys, and those reads, are part of what the whole buys, and both store the same.

    For trees the price is this: a portion may hold another consistent tree than the whole does,
    and only "not much above Expansion" is proven (``thrifty.bounds.doubling``).
    A representation that has no order (that of ``Models()``) is tried whole.

    See Also
    --------
    thrifty.bounds.doubling : its bound
    thrifty.agnostic.Expansion : all at once

    Examples
    --------
    >>> from thrifty.trees.representation import Metafeatures
    >>> from thrifty.trees.tree import stump
    >>> [len(portion) for portion in Doubling().portions(Metafeatures(tuple(map(stump, range(7)))))]
    [1, 2, 4, 7]
    """

    def portions(self, representation: Known) -> Iterable[Known]:
        if isinstance(representation, Ordered):
            n = 1
            while n < len(representation):
                yield representation.newest(n)
                n *= 2
            representation = representation.newest(len(representation))
        yield representation

    def after_reuse(self, representation: Known, model: object) -> Known:
        if isinstance(representation, Ordered):
            refreshed: Known = representation.refreshed(model)
            return refreshed
        return representation


def optimal_allowance(*, n_tasks: int, n_features: int, k: int, r: int) -> int:
    """c* = sqrt(r K N / m) to the nearest integer, within [1, r]; 0 where r is 0 (Theorem 5).

    It minimises r K N / c + m c.

    >>> optimal_allowance(n_tasks=100, n_features=100, k=4, r=25)
    10
    """
    best = round(math.sqrt(r * k * n_features / n_tasks))
    return min(max(best, 1), r)


def after_attempt(
    family: Family[Known, Labels, Model],
    rule: Rule,
    representation: Known,
    counts: Counts,
    cells: Cells,
    found: Found[Model],
) -> tuple[Known, Counts]:
    """What the task taught; others may have learned meanwhile, so the values may be newer."""
    if found.route == "reused":
        after = representation
        for model in (*found.beside, found.model):
            after = rule.after_reuse(after, model)
        if after is not representation and found.seen is not None and isinstance(after, KnowsRows):
            after = after.with_rows(found.seen)  # in another order because of these examples
        representation = after
    elif found.route == "scratch" and rule.before_improving(counts, cells.n_features):
        counts = counts.restarted()
        # What the attempt had grown came from the representation that is now forgotten.
        representation = family.improve_rep(family.start(), replace(found, grown=None))
    else:
        representation = family.improve_rep(representation, found)
    return representation, counts.after(found.route)


def _rules() -> dict[str, type[Rule]]:
    """Every rule that this program knows, by name: ours, and those it has defined itself.

    A store names a rule and runs none: what it may name is what was imported already.
    """
    found: dict[str, type[Rule]] = {}
    waiting = Rule.__subclasses__()
    while waiting:
        kind = waiting.pop(0)
        found.setdefault(kind.__name__, kind)  # ours were defined first
        waiting += kind.__subclasses__()
    return found


def as_rule(agnostic: object) -> Rule:
    """The rule a user gave; None is Expansion."""
    if agnostic is None:
        return Expansion()
    if isinstance(agnostic, type) or not isinstance(agnostic, Rule):
        raise BadParameter(
            "agnostic must be thrifty.agnostic.Expansion(), Restart(k), Balanced(k, r) or "
            f"Doubling(); got {agnostic!r}."
        )
    return agnostic


def rule_to_dict(rule: Rule) -> Json:
    """Name and parameters, for JSON.

    >>> rule_to_dict(Restart(3))
    {'rule': 'Restart', 'k': 3}
    """
    return {"rule": type(rule).__name__, **asdict(rule)}  # type: ignore[call-overload]


def rule_from_dict(data: JsonLike) -> Rule:
    """The inverse of :func:`rule_to_dict`.

    >>> rule_from_dict({"rule": "Balanced", "k": 3, "r": 10, "n_tasks": None})
    Balanced(k=3, r=10, n_tasks=None)
    """
    name = data.get("rule")
    known = _rules()
    if name not in known:
        raise BadParameter(
            f"agnostic must name one of {sorted(known)}; got {name!r}. Import the module that "
            "defines a rule of your own before its lifetime is opened."
        )
    return known[name](**{key: data[key] for key in data if key != "rule"})
