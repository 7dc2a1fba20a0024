"""The last rows of the paper's first table: monomials and polynomials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import uniform

from paper_tables.known_target import KnownTarget
from paper_tables.point import Grid, Point
from paper_tables.row import Condition, Form, GrowthClaim, Row, RowLearner, Seen
from thrifty import bounds
from thrifty.powers import Monomials, Polynomials
from thrifty.powers.paper_monomials import rows_for_slopes
from thrifty.powers.paper_polynomials import REFIT_ROWS
from thrifty.streams import StreamTask, monomials, polynomials
from thrifty.streams.power_tasks import metafeatures, product

__all__ = ["POWER_ROWS"]

#: so small that slopes are never misread on these grids, and the paper's counts hold
_DELTA = 1e-4
_STREAMS, _TARGETS = 20, 100
_FULL = Grid(
    Point(n_tasks=100, n_features=100, n_metafeatures=5, n_examples=3000, max_depth=6),
    {
        "n_tasks": (50, 100, 200, 400),
        "n_features": (50, 100, 200, 400),
        "n_metafeatures": (2, 3, 5, 8, 12),
        "max_depth": (3, 4, 6, 9),
    },
)
_QUICK = Grid(
    Point(n_tasks=60, n_features=50, n_metafeatures=4, n_examples=2000, max_depth=6),
    {
        "n_tasks": (30, 60, 120),
        "n_features": (25, 50, 100),
        "n_metafeatures": (2, 4, 8),
        "max_depth": (3, 6, 9),
    },
)


_SUMS_FULL = Grid(
    Point(n_tasks=60, n_features=40, n_metafeatures=4, n_examples=400, max_depth=4, max_terms=2),
    {
        "n_tasks": (30, 60, 120, 240),
        "n_features": (20, 40, 80),
        "n_metafeatures": (2, 4, 6, 8),
        "max_depth": (2, 3, 4),  # at 6 the default search sometimes refuses
        "max_terms": (1, 2, 3),
    },
)
_SUMS_QUICK = Grid(
    Point(n_tasks=30, n_features=20, n_metafeatures=3, n_examples=150, max_depth=4, max_terms=2),
    {
        "n_tasks": (15, 30, 60),
        "n_features": (10, 20, 40),
        "n_metafeatures": (2, 3, 5),
        "max_terms": (1, 2, 3),
    },
)


def _stream(p: Point, seed: int) -> Iterable[StreamTask]:
    return monomials(
        p.n_tasks, p.n_features, p.n_metafeatures, p.n_examples, p.max_depth, random_state=seed
    )


def _learners(p: Point) -> Mapping[str, RowLearner]:
    return {
        "paper": RowLearner(Monomials(p.max_depth, method="paper", delta=_DELTA)),
        "default": RowLearner(Monomials(p.max_depth)),
        "naive": RowLearner(Monomials(p.max_depth, method="features", delta=_DELTA)),
    }


def _upper(p: Point, learner: str, seen: Seen) -> float | None:
    bound = bounds.powers_features if learner == "naive" else bounds.monomials
    return bound(
        n_tasks=p.n_tasks,
        n_features=p.n_features,
        n_metafeatures=p.n_metafeatures,
        n_examples=p.n_examples,
        max_degree=p.max_depth,
    )


def _conditions(p: Point) -> list[Condition]:
    return [
        Condition("K < N", p.n_metafeatures < p.n_features),
        Condition("K <= m", p.n_metafeatures <= p.n_tasks),
    ]


def _same(model: Any, task: StreamTask) -> bool:
    return bool(model.exponents_ == task.target)


@lru_cache
def _squares(n_features: int, n_metafeatures: int, max_degree: int) -> float:
    """The sum of squared powers of a target, on average over streams."""
    total = 0.0
    for seed in range(_STREAMS):
        random = np.random.default_rng([seed, 1])
        size = min(3, max_degree)
        factors = metafeatures(random, n_features, n_metafeatures, (size, size))
        targets = [product(random, factors, max_degree) for _ in range(_TARGETS)]
        total += sum(power**2 for target in targets for power in target.values())
    return total / (_STREAMS * _TARGETS)


def _terms(p: Point, seen: Seen) -> dict[str, float]:
    """S is what slopes need: 4 z^2 times the sum of squared powers, z at delta / 2n for n of them.

    The bill is per row here, not per example offered: a learner stops when it has enough.
    """
    squares = _squares(p.n_features, p.n_metafeatures, p.max_depth)
    rows = [
        rows_for_slopes(squares, np.ones(n), _DELTA) / p.n_examples
        for n in (p.n_features, p.n_metafeatures)
    ]
    return {
        "S K N": rows[0] * p.n_metafeatures * p.n_features,
        "S m K": rows[1] * p.n_tasks * p.n_metafeatures,
    }


def _sum_stream(p: Point, seed: int) -> Iterable[StreamTask]:
    return polynomials(
        p.n_tasks, p.n_features, p.n_metafeatures, p.n_examples, p.max_depth, p.max_terms,
        random_state=seed, metafeature_degree=2, one_by_one=True,
    )  # fmt: skip


def _with_target(task: StreamTask) -> KnownTarget:
    """Exact correlations, as the paper's theorem assumes."""
    return KnownTarget(task.y, task.target)


def _sum_learners(p: Point) -> Mapping[str, RowLearner]:
    def learner(method: Any) -> RowLearner:
        family = Polynomials(p.max_depth, p.max_terms, distribution=uniform(-1, 2), method=method)
        return RowLearner(family, labels=_with_target)

    return {
        "paper": learner("paper"),
        "default": RowLearner(Polynomials(p.max_depth, p.max_terms)),
        "naive": learner("features"),
    }


def _sum_upper(p: Point, learner: str, seen: Seen) -> float | None:
    if learner == "naive":
        return _upper(p, learner, seen)
    return bounds.polynomials(
        n_tasks=p.n_tasks,
        n_features=p.n_features,
        n_metafeatures=p.n_metafeatures,
        n_examples=p.n_examples,
        max_degree=p.max_depth,
        max_terms=p.max_terms,
    )


def _same_terms(model: Any, task: StreamTask) -> bool:
    return set(model.terms_) == set(task.target)


_SUMS_FORM = Form(
    lambda p, seen: {
        "K N": p.n_metafeatures * p.n_features,
        "m (K + t d)": p.n_tasks * (p.n_metafeatures + p.max_terms * p.max_depth),
    },
    leaner=lambda p, seen: {
        "K N": p.n_metafeatures * p.n_features,
        "m (K + t d 60 / S)": p.n_tasks
        * (p.n_metafeatures + p.max_terms * p.max_depth * REFIT_ROWS / p.n_examples),
    },
    bends="the t d features of the check are bought on 60 rows, not on all S",
)

POWER_ROWS = (
    Row(
        key="monomials",
        table=1,
        title="Monomials of degree d",
        theory="S (K N + m K) + m d",
        says="Targets learned from scratch are columns of a matrix of rank at most K, so at most K "
        "are needed, and the powers of K features tell all others. The default decodes a "
        "target from one or two rows by lattice reduction, where the paper reads slopes from "
        "S rows, S being 4 z^2 times the sum of squared powers.",
        full=_FULL,
        quick=_QUICK,
        stream=_stream,
        learners=_learners,
        upper=_upper,
        lower=lambda p, seen: None,
        forms=(Form(_terms),),
        growth=(
            GrowthClaim("reused_cells", "n_tasks"),
            GrowthClaim("scratch_cells", "n_features"),
            GrowthClaim("scratch_cells", "n_metafeatures"),
            GrowthClaim("reused_cells", "n_metafeatures"),
            GrowthClaim("reused_cells", "max_depth"),
        ),
        conditions=_conditions,
        right=_same,
    ),
    Row(
        key="polynomials",
        table=1,
        title="Polynomials of degree d, sparsity t",
        theory="S (K N + m (K + t d))",
        says="Each term is a product of K monomials, so a search over K features finds the terms "
        "and t d more features check them; new monomials come one by one, so that K tasks are "
        "needed. The paper's search and the naive one are given exact correlations, as the theorem "
        "assumes (on samples they ask for 10^5 rows and more); the default works on the rows.",
        full=_SUMS_FULL,
        quick=_SUMS_QUICK,
        stream=_sum_stream,
        learners=_sum_learners,
        upper=_sum_upper,
        lower=lambda p, seen: None,
        forms=(_SUMS_FORM,),
        growth=(
            GrowthClaim("reused_cells", "n_tasks"),
            GrowthClaim("scratch_cells", "n_features"),
            GrowthClaim("scratch_cells", "n_metafeatures"),
            GrowthClaim("reused_cells", "n_metafeatures"),
        ),
        conditions=_conditions,
        right=_same_terms,
    ),
)
