"""The paper's second table: streams with unrelated tasks, in three ranges of their number.

Targets are single features, so K metafeatures are K features and d is 1. Bills are of good tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import sqrt
from typing import Any

from paper_tables.grids_2 import (
    LARGE_FULL,
    LARGE_QUICK,
    MIDDLE_FULL,
    MIDDLE_QUICK,
    PLACED_FULL,
    PLACED_QUICK,
    ROOT_FULL,
    ROOT_QUICK,
    SMALL_FULL,
    SMALL_QUICK,
    for_monomials,
)
from paper_tables.point import Grid, Point
from paper_tables.row import Condition, Form, GrowthClaim, Row, RowLearner, Seen
from thrifty import bounds
from thrifty.agnostic import Balanced, Doubling, Expansion, Restart, Rule
from thrifty.powers import Monomials
from thrifty.protocol import AnyFamily
from thrifty.streams import StreamTask, adversary
from thrifty.streams.adversary import Strategy, Target
from thrifty.trees import Paper, Race, Trees
from thrifty.typing import Fields

__all__ = ["RULES", "UNRELATED_ROWS"]

RULES = ("expansion", "restart", "balanced", "doubling")
_BOUNDS: Mapping[str, Callable[..., int]] = {
    "expansion": bounds.expansion,
    "restart": bounds.restart,
    "balanced": bounds.balanced,
    "doubling": bounds.doubling,
    "naive": bounds.expansion,
}


def _rules(p: Point) -> dict[str, Rule]:
    k, r = p.n_metafeatures, p.n_unrelated
    return {
        "expansion": Expansion(),
        "restart": Restart(k),
        "balanced": Balanced(k, r, n_tasks=p.n_tasks),
        "doubling": Doubling(),
    }


def _learners(
    paper: AnyFamily, default: AnyFamily, naive: AnyFamily
) -> Callable[[Point], Mapping[str, RowLearner]]:
    def learners(p: Point) -> Mapping[str, RowLearner]:
        ruled = {name: RowLearner(paper, rule) for name, rule in _rules(p).items()}
        return {
            **ruled,
            "default": RowLearner(default, Doubling()),
            "naive": RowLearner(naive, Expansion()),
        }

    return learners


_STUMPS = _learners(Trees(1, Paper()), Trees(1, Race()), Trees(1, Paper(improve="features")))
#: slopes misread so rarely that the paper's counts hold
_MONOMIALS = _learners(
    Monomials(1, method="paper", delta=1e-4),
    Monomials(1),
    Monomials(1, method="features", delta=1e-4),
)


def _upper(p: Point, learner: str, seen: Seen) -> float | None:
    """With the numbers of good and bad tasks that really came."""
    if learner == "default":
        return bounds.scratch(n_tasks=seen.good, n_features=p.n_features, n_examples=p.n_examples)
    more: Fields = {}
    if learner == "balanced":
        more["c"] = bounds.optimal_c(
            n_tasks=p.n_tasks,
            n_features=p.n_features,
            n_metafeatures=p.n_metafeatures,
            n_unrelated=p.n_unrelated,
        )
    return _BOUNDS[learner](
        n_tasks=seen.good,
        n_features=p.n_features,
        n_metafeatures=p.n_metafeatures,
        n_unrelated=seen.bad,
        n_examples=p.n_examples,
        **more,
    )


def _lower(bound: Callable[..., float], with_r: bool) -> Callable[[Point, Seen], float]:
    def lower(p: Point, seen: Seen) -> float:
        more = {"n_unrelated": p.n_unrelated} if with_r else {}
        return bound(
            n_tasks=p.n_tasks, n_features=p.n_features, n_metafeatures=p.n_metafeatures, **more
        )

    return lower


def _stream(strategy: Strategy, target: Target) -> Callable[[Point, int], Iterable[StreamTask]]:
    def posed(p: Point, seed: int) -> Iterable[StreamTask]:
        return adversary(
            strategy,
            p.n_tasks,
            p.n_features,
            p.n_metafeatures,
            p.n_examples,
            p.n_unrelated,
            seed,
            target=target,
        )

    return posed


def _same(model: Any, task: StreamTask) -> bool:
    if isinstance(task.target, dict):
        return bool(model.exponents_ == task.target)
    return bool(model.tree_ == task.target)


def _range(p: Point) -> tuple[float, float]:
    letters = {"n_tasks": p.n_tasks, "n_features": p.n_features, "n_metafeatures": p.n_metafeatures}
    return bounds.r_min(**letters), bounds.r_max(**letters)


def _expansion_terms(p: Point, seen: Seen) -> dict[str, float]:
    return {
        "K N": p.n_metafeatures * p.n_features,
        "m (K + r)": seen.good * (p.n_metafeatures + seen.bad),
    }


def _expansion_apart(p: Point, seen: Seen) -> dict[str, float]:
    """A good task meets only the bad ones that came before it: m r with a constant of its own."""
    return {
        "K N": p.n_metafeatures * p.n_features,
        "m K": seen.good * p.n_metafeatures,
        "m r": seen.good * seen.bad,
    }


def _balanced_terms(p: Point, seen: Seen) -> dict[str, float]:
    return {
        "sqrt(r K N m)": sqrt(seen.bad * p.n_metafeatures * p.n_features * seen.good),
        "m K": seen.good * p.n_metafeatures,
    }


def _doubling_terms(p: Point, seen: Seen) -> dict[str, float]:
    return {
        "K N": p.n_metafeatures * p.n_features,
        "(m + r) K": (seen.good + seen.bad) * p.n_metafeatures,
    }


_EXPANSION_FORM = Form(
    _expansion_terms,
    "expansion",
    leaner=_expansion_apart,
    bends="bad tasks come between the good ones, which meet about half of them: m r has a smaller "
    "constant than m K",
)
_DOUBLING_FORM = Form(
    _doubling_terms,
    "doubling",
    bends="r K is what bad tasks cost at most, where each lies between two uses of every good "
    "metafeature; and guesses are powers of two, so the bill goes in steps",
)
_SCATTERED_FORM = Form(
    _balanced_terms,
    "balanced",
    bends="this adversary poses most bad tasks in one block before the good ones, so what Balanced "
    "carries into the good ones depends on where its last restart fell: anything between K and "
    "K + c features",
)


def _related(p: Point) -> list[Condition]:
    k = p.n_metafeatures
    return [Condition("K < N", k < p.n_features), Condition("K <= m", k <= p.n_tasks)]


def _small(p: Point) -> list[Condition]:
    least = _range(p)[0] if p.n_metafeatures < p.n_features else 0.0
    return [*_related(p), Condition(f"r <= r_min = {least:g}", p.n_unrelated <= least)]


def _middle(p: Point) -> list[Condition]:
    least, most = _range(p)
    return [
        *_related(p),
        Condition(f"r_min = {least:g} <= r", least <= p.n_unrelated),
        Condition(f"r <= r_max = {most:g}", p.n_unrelated <= most),
    ]


def _large(p: Point) -> list[Condition]:
    least, most = _range(p)
    return [
        *_related(p),
        Condition(f"r_max = {most:g} <= r", most <= p.n_unrelated),
        Condition(f"r_min = {least:g} <= r", least <= p.n_unrelated),
    ]


def _placed(p: Point) -> list[Condition]:
    fresh = p.n_unrelated <= p.n_features - p.n_metafeatures
    return [*_related(p), Condition("r <= N - K: every bad task is a new one", fresh)]


def _shared(target: Target, full: Grid, quick: Grid) -> Fields:
    """What the three ranges of r have in common."""
    stumps = target == "stumps"
    if not stumps:
        full = for_monomials(full, n_features=64, n_tasks=400, n_unrelated=512)
        quick = for_monomials(quick, n_features=64, n_tasks=200, n_unrelated=256)
    return {
        "table": 2,
        "learners": _STUMPS if stumps else _MONOMIALS,
        "upper": _upper,
        "right": _same,
        "full": full,
        "quick": quick,
    }


def _small_row(target: Target, name: str) -> Row:
    return Row(
        key=f"small-r-{target}",
        title=f"0 <= r <= r_min, {name}",
        theory="between K N + K m and S (K N + K m)",
        says="The adversary draws K features and then poses tasks from among them, with a few "
        "bad ones between. So few bad tasks cost next to nothing: never forgetting is as "
        "good as it was without them.",
        stream=_stream("realizable", target),
        lower=_lower(bounds.lower_realizable, False),
        forms=(_EXPANSION_FORM,),
        growth=(
            GrowthClaim("reused_cells", "n_tasks", "expansion"),
            GrowthClaim("scratch_cells", "n_features", "expansion"),
            GrowthClaim("scratch_cells", "n_metafeatures", "expansion"),
            GrowthClaim("reused_cells", "n_metafeatures", "expansion"),
        ),
        conditions=_small,
        **_shared(target, SMALL_FULL, SMALL_QUICK),
    )


def _middle_row(target: Target, name: str) -> Row:
    return Row(
        key=f"middle-r-{target}",
        title=f"r_min <= r <= r_max, {name}",
        theory="between max(r / (N - K), 1) K N + K m and S (sqrt(r K N m) + K m); Doubling "
        "S (K N + (m + r) K)",
        says="The adversary poses r N / (N - K) tasks over all features, names K of them good "
        "afterwards, and goes on with good ones. Nobody can know at the time which tasks "
        "are worth remembering; Doubling need not, what is not used falls back by itself.",
        stream=_stream("intermediate", target),
        lower=_lower(bounds.lower_intermediate, True),
        forms=(_SCATTERED_FORM, _DOUBLING_FORM),
        conditions=_middle,
        **_shared(target, MIDDLE_FULL, MIDDLE_QUICK),
    )


def _large_row(target: Target, name: str) -> Row:
    return Row(
        key=f"large-r-{target}",
        title=f"r >= r_max, {name}",
        theory="between m N and S m N",
        says="So many tasks over all features that the good ones among them look like any "
        "other. Every learner pays a constant part of learning all of them from scratch.",
        stream=_stream("large", target),
        lower=_lower(bounds.lower_large, True),
        forms=(Form(lambda p, seen: {"m N": seen.good * p.n_features}, "expansion"),),
        conditions=_large,
        **_shared(target, LARGE_FULL, LARGE_QUICK),
    )


def _ranges(target: Target, name: str) -> tuple[Row, ...]:
    """One row of the table for each range of r."""
    return _small_row(target, name), _middle_row(target, name), _large_row(target, name)


def _placement(strategy: Strategy, title: str, says: str) -> Row:
    return Row(
        key=strategy,
        table=2,
        title=title,
        theory="Expansion S (K N + m (K + r)), Restart S (r K N + m K)",
        says=says,
        full=PLACED_FULL,
        quick=PLACED_QUICK,
        stream=_stream(strategy, "stumps"),
        learners=_STUMPS,
        upper=_upper,
        lower=_lower(bounds.lower_realizable, False),
        conditions=_placed,
        right=_same,
        forms=(_EXPANSION_FORM, _DOUBLING_FORM),
    )


_ROOT = Row(
    key="root-r",
    table=2,
    title="Balanced as r grows",
    theory="S (sqrt(r K N m) + m K)",
    says="Bad tasks are spread evenly among good ones that take turns, and r grows while m, N and "
    "K stay. Balanced forgets after K + sqrt(r K N / m) tasks from scratch, so its bill should "
    "grow as the square root of r.",
    full=ROOT_FULL,
    quick=ROOT_QUICK,
    stream=_stream("against-restart", "stumps"),
    learners=_STUMPS,
    upper=_upper,
    lower=_lower(bounds.lower_realizable, False),
    conditions=_placed,
    right=_same,
    forms=(Form(_balanced_terms, "balanced"),),
    growth=(
        GrowthClaim("cells", "n_unrelated", "balanced", 0.5),
        GrowthClaim("cells", "n_unrelated", "restart", 1.0),
    ),
)

UNRELATED_ROWS = (
    *_ranges("stumps", "stumps"),
    *_ranges("monomials", "degree-1 monomials"),
    _placement(
        "against-expansion",
        "Bad tasks first: where they hurt Expansion most",
        "All r bad tasks come before the good ones. Expansion carries them for ever, and so every "
        "good task pays K + r cells an example.",
    ),
    _placement(
        "against-restart",
        "Bad tasks between good ones: where they hurt Restart most",
        "Good tasks take turns and a bad one comes now and then. It costs Restart nearly 2 K good "
        "tasks learned again: the task that causes a restart is remembered, and fills the place "
        "of a good one once more.",
    ),
    _ROOT,
)
