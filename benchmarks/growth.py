"""What growth costs: rows, features, tasks, labels, processes, each with its exponent.

    python benchmarks/growth.py                  everything, about half an hour on one core
    python benchmarks/growth.py rows features    some of it
    python benchmarks/growth.py --most 100000    no size above this one

One quantity grows, the others stay. Each size runs in a process of its own, with kernels compiled
before: CPU seconds of the step alone, best of ``--repeats``, and the most memory the process took.
The exponent is the slope of log seconds over log size by least squares, over the larger half of the
sizes: what is fixed at a start, or read once, hides growth at small ones.

- rows       learn 1 % of n x 50 numbers
- open rows  the same n rows, with a fixed sum of 50,000 cells to spend
- predict    answer n rows of 20 columns with a model of 5
- features   learn 10,000 cells' worth of 1,000 x n Booleans
- tasks      the n-th task of a store, and opening a store of n tasks
- labels     n labels of the same 1,000 x 100 numbers at once
- processes  n processes learn 24 tasks on one SQLite store, seconds on the clock for each task
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import thrifty
from studies.measure import machine, one_thread, table

Step = Callable[[], object]


def rows(n: int, _: Path) -> Step:
    X, y = numbers(n, 50)
    return lambda: thrifty.Lifetime(random_state=0).learn("t", X, y, spend="1 %")


def open_rows(n: int, _: Path) -> Step:
    X, y = numbers(n, 50)
    return lambda: thrifty.Lifetime(random_state=0).learn("t", X, y, spend=50_000)


def predict(n: int, _: Path) -> Step:
    X, y = numbers(2_000, 20)
    life = thrifty.Lifetime(random_state=0)
    life.learn("t", X, y, spend="50 %")
    new, _ = numbers(n, 20)
    return lambda: life.predict("t", new, per_row=5)


def features(n: int, _: Path) -> Step:
    rng = np.random.default_rng(0)
    X = rng.random((1_000, n), dtype=np.float32) < 0.1
    y = X[:, :4].sum(axis=1) + rng.normal(0, 0.3, 1_000) > 0.5
    spend = max(10_000, 6 * n)
    return lambda: thrifty.Lifetime(random_state=0).learn("t", X, y, spend=spend)


def tasks(n: int, folder: Path) -> Step:
    X, _ = numbers(100, 5)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=folder / "tasks.db", random_state=0)
    bits = X > 0
    life.learn_many([(f"t{i}", bits, bits[:, i % 5]) for i in range(n)])
    return lambda: life.learn("one more", bits, bits[:, 0] & bits[:, 1])


def opening(n: int, folder: Path) -> Step:
    tasks(n, folder)

    def reopen() -> None:
        with thrifty.Lifetime.open(folder / "tasks.db") as life:
            assert len(life) == n

    return reopen


def labels(n: int, _: Path) -> Step:
    X, _ = numbers(1_000, 100)
    rng = np.random.default_rng(1)
    Y = X[:, :20] @ rng.normal(size=(20, n)) + rng.normal(size=(1_000, n)) > 0
    names = [f"l{i}" for i in range(n)]
    return lambda: thrifty.Lifetime(random_state=0).learn(names, X, Y, spend="10 %")


def processes(n: int, folder: Path) -> Step:
    store = str(folder / "shared.db")
    thrifty.Lifetime(thrifty.Trees(max_depth=3), store=store, random_state=0).close()

    def run() -> None:
        made = [multiprocessing.Process(target=_worker, args=(store, i, n)) for i in range(n)]
        for process in made:
            process.start()
        for process in made:
            process.join()
        with thrifty.Lifetime.open(store) as life:
            assert len(life) == 24

    return run


def _worker(store: str, first: int, n: int) -> None:
    X, _ = numbers(500, 20)
    bits = X > 0
    with thrifty.Lifetime.open(store) as life:
        for i in range(first, 24, n):
            life.learn(f"t{i}", bits, bits[:, i % 20])


def numbers(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of numbers, and a label that needs three of its columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, width), dtype=np.float32)
    return X, X[:, 0] + X[:, 1] - X[:, 2] + rng.standard_normal(n, dtype=np.float32) > 0


#: what grows: the step, its sizes, and whether seconds are those of the clock
PARTS: dict[str, tuple[Callable[[int, Path], Step], tuple[int, ...], bool]] = {
    "rows": (rows, (1_000, 10_000, 100_000, 1_000_000, 10_000_000), False),
    "open rows": (open_rows, (10_000, 100_000, 1_000_000, 10_000_000), False),
    "predict": (predict, (1_000, 10_000, 100_000, 1_000_000), False),
    "features": (features, (1_000, 10_000, 100_000, 1_000_000), False),
    "tasks": (tasks, (100, 1_000, 10_000), False),
    "opening": (opening, (100, 1_000, 10_000), False),
    "labels": (labels, (1, 10, 100), False),
    "processes": (processes, (1, 2, 4, 10), True),
}


def measure(part: str, size: int, repeats: int) -> dict[str, float]:
    """In this process: a small size first, so that kernels are compiled and modules are there."""
    one_thread()
    make, sizes, clock = PARTS[part]
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(repeats + 1):
            place = Path(folder) / str(k)
            place.mkdir()
            step = make(size if k else sizes[0], place)
            start = time.perf_counter() if clock else time.process_time()
            step()
            end = time.perf_counter() if clock else time.process_time()
            seconds.append(end - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"seconds": min(seconds[1:]), "GB": peak}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log seconds over log size, of the larger half of the sizes (two at least)."""
    n = max(2, (len(sizes) + 1) // 2)
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[-n:]), np.log(seconds[-n:]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := sorted(set(given.parts) - set(PARTS)):
        parser.error(f"PART must be one of {list(PARTS)}; got {unknown[0]!r}.")
    if given.one:
        print(json.dumps(measure(given.one[0], int(given.one[1]), given.repeats)))
        return
    print("\n".join(f"{key}: {value}" for key, value in machine().items()), flush=True)
    for part in given.parts or PARTS:
        sizes = [size for size in PARTS[part][1] if size <= given.most]
        lines, seconds = [], []
        for size in sizes:
            again = [sys.executable, __file__, "--one", part, str(size)]
            run = subprocess.run(
                [*again, "--repeats", str(given.repeats)], stdout=subprocess.PIPE, check=True
            )
            found = json.loads(run.stdout.splitlines()[-1])
            seconds.append(found["seconds"])
            lines.append({"size": size, **{key: round(value, 4) for key, value in found.items()}})
        print(f"\n{part}: exponent {exponent(sizes, seconds):.2f}\n{table(lines)}", flush=True)


if __name__ == "__main__":
    main()
