"""The paper's first table: what lifelong learning costs, family by family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from paper_tables.point import Grid, Point
from paper_tables.row import Condition, Form, GrowthClaim, Row, RowLearner, Seen
from thrifty import bounds, streams
from thrifty.streams import StreamTask
from thrifty.trees import Lists, Paper, Race, Trees, WarmUp
from thrifty.trees.model import TreeClassifier

__all__ = ["TREE_ROWS"]

_DELTA = 0.05
_FULL = Grid(
    Point(n_tasks=200, n_features=400, n_metafeatures=6, n_examples=500, max_depth=5),
    {
        "n_tasks": (50, 100, 200, 400, 800),
        "n_features": (100, 200, 400, 800, 1600),
        "n_metafeatures": (2, 4, 6, 10, 16),
        "max_depth": (2, 3, 4, 5, 6),
    },
)
_QUICK = Grid(
    Point(n_tasks=80, n_features=200, n_metafeatures=4, n_examples=400, max_depth=4),
    {
        "n_tasks": (40, 80, 160, 320),
        "n_features": (50, 100, 200, 400, 800),
        "n_metafeatures": (2, 4, 8),
        "max_depth": (2, 3, 4, 6),
    },
)
#: more of the base point's tasks, for rows that learn many of them from scratch
_LISTS_FULL = Grid(
    Point(n_tasks=300, n_features=400, n_metafeatures=4, n_examples=1000, max_depth=5),
    {
        "n_tasks": (100, 200, 300, 600, 1200),
        "n_features": (100, 200, 400, 800, 1600),
        "n_metafeatures": (2, 3, 4, 6, 8),
        "max_depth": (2, 3, 4, 5, 6),
    },
)
_LISTS_QUICK = Grid(
    Point(n_tasks=80, n_features=200, n_metafeatures=3, n_examples=600, max_depth=4),
    {
        "n_tasks": (40, 80, 160, 320),
        "n_features": (50, 100, 200, 400),
        "n_metafeatures": (2, 3, 5),
        "max_depth": (2, 3, 4, 5),
    },
)


def _same_tree(model: TreeClassifier, task: StreamTask) -> bool:
    return bool(model.tree_ == task.target)


def _letters(p: Point) -> dict[str, int]:
    """The five arguments that every bound of this table takes."""
    return {
        "n_tasks": p.n_tasks,
        "n_features": p.n_features,
        "n_metafeatures": p.n_metafeatures,
        "n_examples": p.n_examples,
        "max_depth": p.max_depth,
    }


def _stream(
    make: Callable[..., Iterable[StreamTask]],
) -> Callable[[Point, int], Iterable[StreamTask]]:
    def posed(p: Point, seed: int) -> Iterable[StreamTask]:
        return make(
            p.n_tasks, p.n_features, p.n_metafeatures, p.n_examples, p.max_depth, random_state=seed
        )

    return posed


def _tree_learners(**paper: Any) -> Callable[[Point], Mapping[str, RowLearner]]:
    """The paper's protocol for a row, the same with racing, and the naive baseline."""

    def learners(p: Point) -> Mapping[str, RowLearner]:
        said = {key: value(p) if callable(value) else value for key, value in paper.items()}
        return {
            "paper": RowLearner(Trees(p.max_depth, Paper(**said))),
            "default": RowLearner(Trees(p.max_depth, Race(**said))),
            "naive": RowLearner(Trees(p.max_depth, learner=Paper(improve="features"))),
        }

    return learners


def _upper(bound: Callable[[Point], float]) -> Callable[[Point, str, Seen], float | None]:
    """The row's bound holds with racing too; the naive learner has its own."""

    def upper(p: Point, learner: str, seen: Seen) -> float | None:
        if learner != "naive":
            return bound(p)
        nodes = min(2 * p.max_depth, 2**p.max_depth - 1)
        return bounds.trees_features(
            n_tasks=p.n_tasks,
            n_features=p.n_features,
            n_metafeatures=p.n_metafeatures,
            n_examples=p.n_examples,
            max_nodes=nodes,
        )

    return upper


def _list_learners(p: Point) -> Mapping[str, RowLearner]:
    return {
        "paper": RowLearner(Lists(p.max_depth)),
        "default": RowLearner(Trees(p.max_depth, learner=Race())),
        "naive": RowLearner(Trees(p.max_depth, learner=Paper(improve="features"))),
    }


def _lean(p: Point, seen: Seen) -> dict[str, float]:
    """What the bill looks like on random streams: about K + 1 cells an example, whatever d."""
    return {
        "K N": p.n_metafeatures * p.n_features,
        "m K": p.n_tasks * p.n_metafeatures,
        "m": p.n_tasks,
    }


def _few_metafeatures(p: Point) -> list[Condition]:
    return [
        Condition("K < N", p.n_metafeatures < p.n_features),
        Condition("K <= m", p.n_metafeatures <= p.n_tasks),
    ]


def _warm(p: Point) -> WarmUp:
    return WarmUp(1 / p.n_metafeatures, p.n_metafeatures, _DELTA)


def _warm_conditions(p: Point) -> list[Condition]:
    first = f"ceil(K ln(K / {_DELTA})) = {_warm(p).n_tasks} < m: some tasks come after the first"
    return [*_few_metafeatures(p), Condition(first, _warm(p).n_tasks < p.n_tasks)]


_GROWTH = (
    GrowthClaim("reused_cells", "n_tasks"),
    GrowthClaim("scratch_cells", "n_features"),
    GrowthClaim("scratch_cells", "n_metafeatures"),
    GrowthClaim("reused_cells", "n_metafeatures"),
    GrowthClaim("reused_cells", "max_depth"),
)


def _kn_and_m_k_plus_d(p: Point, seen: Seen) -> dict[str, float]:
    return {
        "K N": p.n_metafeatures * p.n_features,
        "m (K + d)": p.n_tasks * (p.n_metafeatures + p.max_depth),
    }


_NO_D = (
    "a reused task costs about K + 1 cells an example at every depth: the d of K + d is not "
    "reached, and without it the power in K is larger than that of the sum"
)
_TREES_FORM = Form(
    lambda p, seen: {
        "K N": p.n_metafeatures * p.n_features,
        "m K d": p.n_tasks * p.n_metafeatures * p.max_depth,
    },
    leaner=_lean,
    bends="the d in m K d is not reached: a failure may add d subtrees, but prunings of others "
    "are dropped and about K remain, so that a reused task costs about K + 1 cells an example "
    "at every depth",
)
_DEEP_FORM = Form(_TREES_FORM.terms)
_WARM_FORM = Form(
    lambda p, seen: {
        "log(K) / p_min N": _warm(p).n_tasks * p.n_features,
        "m (K + d)": p.n_tasks * (p.n_metafeatures + p.max_depth),
    },
    leaner=lambda p, seen: {
        "log(K) / p_min N": _warm(p).n_tasks * p.n_features,
        "m K": p.n_tasks * p.n_metafeatures,
        "m": p.n_tasks,
    },
    bends="the first W = ceil(K ln(K / 0.05)) tasks are learned from scratch whatever they are, so "
    "m - W are reused, which grows faster than m; and " + _NO_D,
)
_LISTS_FORM = Form(
    lambda p, seen: {
        "K^2 N": p.n_metafeatures**2 * p.n_features,
        "m (K^2 + d)": p.n_tasks * (p.n_metafeatures**2 + p.max_depth),
    },
    leaner=_lean,
    bends="the K^2 is not reached, here by no stream: every failure makes another feature a root, "
    "so there are at most K d, and on random streams there are K. Both parts of the bill grow as K",
)

TREE_ROWS = (
    Row(
        key="trees",
        table=1,
        title="Decision trees of depth d",
        theory="S (K N + m K d)",
        says="At most K tasks are learned from scratch, for S N cells each. Every other one buys "
        "at most 2 d (K + 1) cells an example, because a failure adds at most d subtrees.",
        full=_FULL,
        quick=_QUICK,
        stream=_stream(streams.trees),
        learners=_tree_learners(),
        upper=_upper(lambda p: bounds.trees(**_letters(p))),
        lower=lambda p, seen: None,
        forms=(_TREES_FORM,),
        growth=_GROWTH,
        conditions=_few_metafeatures,
        right=_same_tree,
    ),
    Row(
        key="trees-deep",
        table=1,
        title="Decision trees of depth d, posed against d",
        theory="S (K N + m K d)",
        says="The same theorem on an order of tasks that reaches its d. Half of the metafeatures "
        "are chains of d - 1 features, each posed alone and then with a new feature below its last "
        "split, so that each failure stores d subtrees with roots of their own.",
        full=_FULL,
        quick=_QUICK,
        stream=_stream(streams.deep),
        learners=_tree_learners(),
        upper=_upper(lambda p: bounds.trees(**_letters(p))),
        lower=lambda p, seen: None,
        forms=(_DEEP_FORM,),
        growth=_GROWTH,
        conditions=lambda p: [
            *_few_metafeatures(p),
            Condition("K even", p.n_metafeatures % 2 == 0),
            Condition("d >= 2", p.max_depth >= 2),
            Condition("K d / 2 <= N", p.n_metafeatures * p.max_depth <= 2 * p.n_features),
        ],
        right=_same_tree,
    ),
    Row(
        key="semi-adversarial",
        table=1,
        title="Decision trees, semi-adversarial",
        theory="S (log(K) / p_min N + m (K + d))",
        says="Every metafeature is on top of a task with probability p_min = 1 / K, so the first "
        "ceil(K ln(K / 0.05)) tasks, learned from scratch and stored whole, show them all. After "
        "that K takes the place of the number of stored trees: 2 (K + d) cells an example.",
        full=_FULL,
        quick=_QUICK,
        stream=_stream(streams.anchors),
        learners=_tree_learners(warm_up=_warm),
        upper=_upper(
            lambda p: bounds.warm_up(**_letters(p), p_min=1 / p.n_metafeatures, delta=_DELTA)
        ),
        lower=lambda p, seen: None,
        forms=(_WARM_FORM,),
        growth=_GROWTH,
        conditions=_warm_conditions,
        right=_same_tree,
    ),
    Row(
        key="anchors",
        table=1,
        title="Decision trees with anchor variables",
        theory="S (K N + m (K + d))",
        says="Each metafeature has a root variable that occurs nowhere else, so a failure needs to "
        "add one subtree, not d. The representation has at most K trees, and a reused task "
        "buys at most 2 (K + d) cells an example.",
        full=_FULL,
        quick=_QUICK,
        stream=_stream(streams.anchors),
        learners=_tree_learners(improve="anchors"),
        upper=_upper(lambda p: bounds.anchors(**_letters(p))),
        lower=lambda p, seen: None,
        forms=(Form(_kn_and_m_k_plus_d, leaner=_lean, bends=_NO_D),),
        growth=_GROWTH,
        conditions=_few_metafeatures,
        right=_same_tree,
    ),
    Row(
        key="lists",
        table=1,
        title="Decision lists of depth d",
        theory="S (K^2 N + m (K^2 + d))",
        says="A failure adds one suffix, and at most K + 2 K^2 failures are possible, by a simpler "
        "argument at most K d. The default "
        "and the naive learner treat the same tasks as trees.",
        full=_LISTS_FULL,
        quick=_LISTS_QUICK,
        stream=_stream(streams.lists),
        learners=_list_learners,
        upper=_upper(lambda p: bounds.lists(**_letters(p))),
        lower=lambda p, seen: None,
        forms=(_LISTS_FORM,),
        growth=_GROWTH,
        conditions=_few_metafeatures,
        right=_same_tree,
    ),
)
