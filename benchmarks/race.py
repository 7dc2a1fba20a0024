"""Racing and Tested on exact streams: python benchmarks/race.py [--quick].

Every figure in one run, means over seeds: cells of reused tasks by the cells of their paths (the
floor: every example must be routed), the share of S N that scratch buys, whether the trees are the
trees of Paper(), CPU time against Paper(), and Tested(0.01, 0.95) on 100,000 rows.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import thrifty
from studies.measure import machine, table
from thrifty.trees.tree import Leaf, Tree

#: (K, N, S, d) and what else differs from the stream's defaults
STREAMS: list[tuple[tuple[int, int, int, int], dict[str, Any]]] = [
    ((6, 120, 3000, 5), {}),
    ((8, 1000, 3000, 5), {}),
    ((8, 1000, 3000, 4), {"metafeature_depth": 3}),
    ((6, 120, 1000, 5), {}),
    ((4, 60, 500, 4), {}),
    ((10, 300, 10_000, 6), {}),
    ((15, 100, 2000, 4), {"metafeature_depth": 1}),
    ((5, 200, 3000, 6), {"metafeature_depth": 3, "max_nodes": 16}),
    ((6, 120, 3000, 5), {"gain": "gini"}),
]
REAL: list[tuple[tuple[int, int, int, int], dict[str, Any]]] = [
    ((4, 60, 2000, 4), {}),
    ((5, 200, 3000, 4), {"levels": None}),
]


@dataclass
class Tally:
    """What one stream showed, task by task."""

    all_ratio: list[float] = field(default_factory=list)
    race_ratio: list[float] = field(default_factory=list)
    scratch_share: list[float] = field(default_factory=list)
    reused_time: list[tuple[float, float]] = field(default_factory=list)
    scratch_time: list[tuple[float, float]] = field(default_factory=list)
    different: int = 0

    def row(self, what: str, name: tuple[int, int, int, int]) -> dict[str, str]:
        K, N, S, d = name
        return {
            "stream": what,
            "K": str(K),
            "N": str(N),
            "S": str(S),
            "d": str(d),
            "reused": str(len(self.race_ratio)),
            "Alg. 2 / path": _mean(self.all_ratio),
            "race / path": _mean(self.race_ratio),
            "largest": f"{max(self.race_ratio, default=np.nan):.2f}",
            "scratch, share of S N": f"{np.mean(self.scratch_share):.3f}",
            "CPU reused": _times(self.reused_time),
            "CPU scratch": _times(self.scratch_time),
            "other trees": str(self.different),
        }


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.2f}" if values else "-"


def _times(pairs: list[tuple[float, float]]) -> str:
    """Milliseconds with Paper() and with races, medians over tasks."""
    if not pairs:
        return "-"
    full, raced = np.median(np.array(pairs), axis=0) * 1e3
    return f"{full:.1f} -> {raced:.1f} ms"


def path_cells(tree: Tree) -> float:
    """Examples times the splits on their paths."""
    return _walk(tree)[1]


def _walk(tree: Tree) -> tuple[float, float]:
    if isinstance(tree, Leaf):
        return sum(tree.counts or ()), 0.0
    (a, x), (b, y) = _walk(tree.false), _walk(tree.true)
    return a + b, x + y + a + b


def timed(life: thrifty.Lifetime, task: Any) -> tuple[Any, float]:
    start = time.process_time()
    learned = life.learn(task.name, task.X, task.y)
    return learned, time.process_time() - start


def follow(stream: Any, d: int, gain: str, tally: Tally) -> None:
    """Two lifetimes side by side: every candidate on every row, and races."""
    full = thrifty.Lifetime(thrifty.Trees(max_depth=d, learner=thrifty.trees.Paper(gain=gain)))
    raced = thrifty.Lifetime(thrifty.Trees(max_depth=d, learner=thrifty.trees.Race(gain=gain)))
    for task in stream:
        (a, full_time), (b, race_time) = timed(full, task), timed(raced, task)
        tally.different += a.model.tree_ != b.model.tree_ or a.route != b.route
        floor = path_cells(b.model.tree_)
        if b.route == "reused":
            tally.all_ratio.append(a.receipt.cells / floor)
            tally.race_ratio.append(b.receipt.cells / floor)
            tally.reused_time.append((full_time, race_time))
        else:
            tally.scratch_share.append(b.receipt.cells / task.X.size)
            tally.scratch_time.append((full_time, race_time))


def races(seeds: range, n_tasks: int) -> list[dict[str, str]]:
    rows = []
    for make, streams in ((thrifty.streams.trees, STREAMS), (thrifty.streams.reals, REAL)):
        for (K, N, S, d), other in streams:
            tally = Tally()
            for seed in seeds:
                stream = make(n_tasks, N, K, S, d, random_state=seed, **other)
                follow(stream, d, other.get("gain", "entropy"), tally)
            said = ", ".join(f"{key}={value}" for key, value in other.items())
            what = "Boolean" if make is thrifty.streams.trees else "real"
            rows.append(tally.row(f"{what} {said}".strip(), (K, N, S, d)))
            print(f"measured: {what} {said} K={K} N={N} S={S} d={d}", flush=True)
    return rows


def tested(seeds: range, n_reused: int, S: int) -> dict[str, str]:
    """Tested(0.01, 0.95), pooled over seeds: bills, and errors on all rows of the task."""
    bills: list[int] = []
    errors: list[float] = []
    for seed in seeds:
        family = thrifty.Trees(max_depth=5, learner=thrifty.trees.Tested(0.01, 0.95))
        life = thrifty.Lifetime(family)
        wanted = len(bills) + n_reused
        for task in thrifty.streams.trees(n_reused + 60, 120, 6, S, 5, random_state=seed):
            learned = life.learn(task.name, task.X, task.y)
            if learned.route == "reused":
                bills.append(learned.receipt.cells)
                errors.append(float((learned.model.predict(task.X) != task.y).mean()))
            if len(bills) == wanted:
                break
    within = sum(error <= 0.01 for error in errors)
    return {
        "Tested(0.01, 0.95)": f"S={S}, N=120",
        "reused tasks": str(len(bills)),
        "cells, mean": f"{np.mean(bills):,.0f}",
        "median": f"{np.median(bills):,.0f}",
        "largest": f"{max(bills):,}",
        "within the promise": f"{within} of {len(errors)}",
        "largest error": f"{max(errors):.4f}",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, few tasks")
    parser.add_argument("--first-seed", type=int, default=100)
    arguments = parser.parse_args()
    first = arguments.first_seed
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    warm = Tally()  # compile the kernels before anything is timed
    follow(thrifty.streams.trees(4, 40, 2, 500, 3), 3, "entropy", warm)
    follow(thrifty.streams.reals(4, 40, 2, 500, 3), 3, "entropy", warm)
    if arguments.quick:
        print(table(races(range(first, first + 1), 20)))
        print(table([tested(range(first, first + 1), 20, 20_000)]))
    else:
        print(table(races(range(first, first + 5), 40)))
        print(table([tested(range(first, first + 2), 50, 100_000)]))
