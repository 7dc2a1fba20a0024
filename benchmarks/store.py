"""What a store costs beside what is bought: wide sources, many tasks, a million features.

Each figure is CPU time (``time.process_time``) or bytes of one process on this machine, held
against the limit it has to keep.

    python benchmarks/store.py [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import thrifty
from thrifty.cells import Cells, Ledger
from thrifty.stores import MemoryStore, SQLiteStore
from thrifty.stores.task_pages import TaskRow

LIMITS = {"wide_task_ms": 50.0, "growth": 2.0, "open_10000_s": 1.0, "million_features_kb": 100.0}


def wide_task(n_features: int = 100_000, n_examples: int = 20) -> float:
    """CPU milliseconds of a 40-cell task on a callable, in a store that owns all its cells."""
    names = [f"f{i}" for i in range(n_features)]

    def ask(ids: Any, features: Any) -> Any:
        return np.ones((len(ids), len(features)), dtype=bool)

    ids = [f"p{i}" for i in range(n_examples)]
    source = thrifty.Source.from_callable(ask, name="wide", examples=ids, features=names, prices=1)
    ledger = Ledger(MemoryStore().book("x", {}, {}))
    first = Cells(source, ledger=ledger, task="all")
    first.get(np.arange(2), np.arange(n_features))
    ledger.book.write(lambda pages: ledger.compact(pages, "all"))
    more = [f"q{i}" for i in range(n_examples)]
    best = np.inf
    for turn in range(5):
        # another source object: nothing of it is prepared
        source = thrifty.Source.from_callable(
            ask, name="wide", examples=more, features=names, prices=1
        )
        begun = time.process_time()
        cells = Cells(source, ledger=ledger, task=f"t{turn}")
        cells.get(np.arange(10), np.array([50, 70, 70_000, 99_999]) - turn)
        assert cells.receipt().cells == 40
        ledger.book.write(lambda pages, t=turn: ledger.compact(pages, f"t{t}"))
        best = min(best, time.process_time() - begun)
    return 1000 * best


def _stored(path: Path, n_tasks: int) -> None:
    """A store with so many learned tasks."""
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
    task = thrifty.streams.trees(1, 20, 2, 100, 3, random_state=0)[0]
    life.learn("first", task.X, task.y)
    row = life.ledger.book.read(lambda pages: pages.task("first"))

    def fill(pages: Any) -> None:
        for i in range(n_tasks - 1):
            pages.add_task(
                TaskRow(
                    f"task-{i}",
                    row.route,
                    row.model,
                    row.receipt,
                    row.failure,
                    f"t{i}",
                    row.learned_at,
                    row.family,
                )
            )
            pages.move(f"task-{i}", 0, 100_000_000)

    life.ledger.book.write(fill)


def learning(n_tasks: int) -> float:
    """CPU milliseconds of one more task, in a store with so many."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        _stored(path, n_tasks)
        life = thrifty.Lifetime.open(path)
        times = []
        for task in list(thrifty.streams.trees(30, 20, 2, 100, 3, random_state=0))[5:]:
            begun = time.process_time()
            life.learn(f"new {task.name}", task.X, task.y)
            times.append(time.process_time() - begun)
    return 1000 * float(np.median(times))


def opening(n_tasks: int = 10_000) -> float:
    """CPU seconds to open a store with so many tasks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        _stored(path, n_tasks)
        begun = time.process_time()
        life = thrifty.Lifetime.open(path)
        seconds = time.process_time() - begun
        assert len(life) == n_tasks and life["task-77"].model is not None
    return seconds


def million(n_features: int = 1_000_000, n_examples: int = 30) -> float:
    """Kilobytes that a task over a million features adds to its store, an array of Booleans."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
        store = SQLiteStore(path)
        store.shrink()  # pages that making the file left free would hide what is added
        before = os.path.getsize(path)
        life = thrifty.Lifetime.open(path)
        X = rng.integers(0, 2, (n_examples, n_features), dtype=np.uint8)
        life.learn("wide", X, X[:, 123_456])
        store.shrink()
        added = os.path.getsize(path) - before
        store.close()
    return added / 1000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    as_json = arguments.parse_args().json
    few, many = learning(100), learning(5000)
    figures = {
        "wide_task_ms": wide_task(),
        "learning_ms_at_100": few,
        "learning_ms_at_5000": many,
        "growth": many / few,
        "open_10000_s": opening(),
        "million_features_kb": million(),
    }
    kept = {name: figures[name] < limit for name, limit in LIMITS.items()}
    if as_json:
        print(json.dumps({"figures": figures, "kept": kept}, indent=1))
        return
    for name, figure in figures.items():
        limit = f"  (below {LIMITS[name]:g})" if name in LIMITS else ""
        print(f"{name:<22} {figure:10.3f}{limit}")


if __name__ == "__main__":
    main()
