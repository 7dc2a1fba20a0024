"""What each rule for unrelated tasks costs beyond single features: trees, lists, monomials, sums.

Good tasks share K metafeatures; each bad task is the first of a stream of its own; all shuffled.
Printed: cells on good tasks as a multiple of Expansion's, and how many tasks ended with another
model than their target (a consistent one: that is the acceptance test).

    python benchmarks/unrelated.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import thrifty
from thrifty import streams
from thrifty.powers import Monomials, Polynomials


class Case(NamedTuple):
    """A family on a kind of stream: m good and r bad tasks of N features, S rows each."""

    name: str
    family: Any
    pose: Callable[..., Iterable[Any]]
    m: int
    r: int
    n: int
    k: int
    rows: int
    depth: int


def cases() -> list[Case]:
    found = []
    for m, r, n, k, d in ((100, 20, 200, 4, 4), (100, 40, 100, 3, 3), (60, 10, 300, 6, 5)):
        shape = (m, r, n, k, 500, d)
        found += [
            Case("trees", thrifty.Trees(d, thrifty.trees.Paper()), streams.trees, *shape),
            Case(
                "trees, race", thrifty.Trees(d, learner=thrifty.trees.Race()), streams.trees, *shape
            ),
            Case("lists", thrifty.Lists(max_depth=d), streams.lists, *shape),
        ]
    sums = partial(streams.polynomials, max_terms=2)
    return [
        *found,
        Case("monomials", Monomials(5), streams.monomials, 100, 20, 60, 4, 150, 5),
        Case("monomials, paper", Monomials(4, method="paper", delta=1e-4), streams.monomials,
             40, 8, 30, 3, 4000, 4),
        Case("polynomials", Polynomials(3, 2), sums, 40, 8, 30, 3, 200, 3),
    ]  # fmt: skip


def posed(case: Case, seed: int) -> list[tuple[Any, bool]]:
    """The tasks of a case in their order, and which are good."""
    good = list(case.pose(case.m, case.n, case.k, case.rows, case.depth, random_state=seed))
    first = 1000 + 100 * seed
    bad = [
        next(iter(case.pose(1, case.n, 2, case.rows, case.depth, random_state=first + i)))
        for i in range(case.r)
    ]
    every = [(task, True) for task in good] + [(task, False) for task in bad]
    return [every[i] for i in np.random.default_rng(seed).permutation(len(every))]


def is_target(model: Any, task: Any) -> bool:
    if hasattr(model, "tree_"):
        return bool(model.tree_ == task.target)
    if hasattr(model, "exponents_"):
        return bool(model.exponents_ == task.target)
    return set(model.terms_) == set(task.target)


def bill(case: Case, rule: Any, tasks: Sequence[tuple[Any, bool]]) -> tuple[int, int]:
    """Cells on good tasks, and tasks with another model than their target."""
    life = thrifty.Lifetime(case.family, agnostic=rule)
    cells = other = 0
    for i, (task, good) in enumerate(tasks):
        learned = life.learn(f"{i}", task.X, task.y, good=good)
        cells += good * learned.receipt.cells
        other += not is_target(learned.model, task)
    return cells, other


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    args = parser.parse_args()
    print(f"{'':18}{'m':>5}{'r':>4}{'N':>5}{'K':>3}  Expansion  Restart Balanced Doubling   other")
    for case in cases():
        sums: dict[str, int] = {}
        others: dict[str, int] = {}
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            tasks = posed(case, seed)
            for rule in (
                thrifty.agnostic.Expansion(),
                thrifty.agnostic.Restart(case.k),
                thrifty.agnostic.Balanced(case.k, case.r, n_tasks=case.m),
                thrifty.agnostic.Doubling(),
            ):
                name = type(rule).__name__
                cells, other = bill(case, rule, tasks)
                sums[name] = sums.get(name, 0) + cells
                others[name] = others.get(name, 0) + other
        times = {name: cells / sums["Expansion"] for name, cells in sums.items()}
        print(
            f"{case.name:18}{case.m:5}{case.r:4}{case.n:5}{case.k:3}{sums['Expansion']:11,}"
            f"{times['Restart']:9.2f}{times['Balanced']:9.2f}{times['Doubling']:9.2f}   "
            + ", ".join(f"{name} {n}" for name, n in others.items() if n),
            flush=True,
        )


if __name__ == "__main__":
    main()
