"""Kernels against the machine: counting against reading, two threads, thirty columns, the start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

import numpy as np

from speed.scratch import coins, planted
from studies.measure import best_of
from thrifty import kernels
from thrifty.cells import Cells
from thrifty.labels import read_classes
from thrifty.trees.gains import entropy
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import size, stump
from thrifty.trees.use_rep import use_rep
from thrifty.typing import Json

__all__ = ["counting", "measure", "start", "thirty_columns", "threads"]


def measure(n_examples: int = 5_000, n_features: int = 50_000) -> list[Json]:
    """A row per figure."""
    return [
        counting(n_examples, n_features),
        thirty_columns(n_examples),
        threads(n_examples, n_features),
        *start(),
    ]


def _row(what: str, value: float, unit: str, note: str) -> Json:
    return {"what": what, "value": value, "unit": unit, "note": note}


def counting(n_examples: int, n_features: int) -> Json:
    """The root of a tree: every row counted in two classes, against reading the same words."""
    tiles = kernels.pack_tiles(coins(n_examples, n_features, 0))
    rows, starts = read_classes(np.arange(n_examples) % 2).rows_by_class()
    counts = np.empty((2, len(tiles) * kernels.TILE), dtype=np.int32)

    def count() -> None:
        kernels.count_segments(tiles, rows, starts, counts)

    count()
    ours = best_of(count, 9).best
    reading = best_of(lambda: np.bitwise_xor.reduce(tiles, axis=None), 9).best
    return _row(
        "counting the root / reading it",
        ours / reading,
        "x",
        f"{1e3 * ours:.2f} ms for {n_examples:,} x {n_features:,}",
    )


def thirty_columns(n_examples: int) -> Json:
    """A tree from thirty candidates: UseRep on packed columns against scikit-learn on the same."""
    from sklearn.tree import DecisionTreeClassifier

    problem = planted(n_examples, 30)
    labels = read_classes(problem.y)
    known = Metafeatures(tuple(stump(f) for f in range(30)))
    packed = Cells(problem.X)
    packed.columns(np.arange(30), np.bitwise_or.reduce(labels.masks()))  # packed before the clock

    def ours() -> Any:
        return use_rep(known, packed, labels, entropy, max_depth=9, max_nodes=None)

    tree = ours().model
    mine = best_of(ours, 150).best  # as long on the clock as the nine fits below
    X = problem.X.astype(np.float32)
    model = DecisionTreeClassifier(criterion="entropy", random_state=0)
    theirs = best_of(lambda: model.fit(X, problem.y, check_input=False), 9).best
    same = model.tree_.node_count == 2 * size(tree) + 1
    note = f"{1e3 * mine:.2f} ms against {1e3 * theirs:.2f}; {size(tree)} splits, " + (
        "the same size" if same else "another size"
    )
    return _row("30 candidate columns: scikit-learn / Thrifty", theirs / mine, "x", note)


def threads(n_examples: int, n_features: int) -> Json:
    """Two threads against one, by the clock on the wall: only an idle machine shows it."""
    tiles = kernels.pack_tiles(coins(n_examples, n_features, 0))
    rows, starts = read_classes(np.arange(n_examples) % 2).rows_by_class()
    B = len(tiles)

    def part(lo: int, hi: int) -> None:
        counts = np.empty((2, (hi - lo) * kernels.TILE), dtype=np.int32)
        for _ in range(20):
            kernels.count_segments(tiles[lo:hi], rows, starts, counts)

    def both() -> None:
        workers = [threading.Thread(target=part, args=half) for half in ((0, B // 2), (B // 2, B))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    part(0, 1)
    one = best_of(lambda: part(0, B), 5, clock=time.perf_counter).best
    two = best_of(both, 5, clock=time.perf_counter).best
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return _row("two threads / one", one / two, "x", load)


def start() -> list[Json]:
    """From import to the first result, with the compiled kernels on disk and without."""
    code = (
        "import numpy, thrifty; X = numpy.eye(4, dtype=numpy.uint8); "
        "thrifty.Lifetime(thrifty.Trees(max_depth=3)).learn('a', X, [0, 1, 1, 1])"
    )
    with tempfile.TemporaryDirectory() as folder:
        cold = _seconds(code, {"NUMBA_CACHE_DIR": folder})
        warm = min(_seconds(code, {"NUMBA_CACHE_DIR": folder}) for _ in range(3))
    return [
        _row("import to first result, warm", warm, "s CPU", "kernels on disk"),
        _row("import to first result, cold", cold, "s CPU", "kernels compiled, and shown"),
    ]


def _seconds(code: str, settings: dict[str, str]) -> float:
    """CPU time of a fresh process."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, **settings},
        capture_output=True,
    )
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
