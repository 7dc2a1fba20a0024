"""Engines: what they cost, and what two workers gain, for tasks of 10 to 1,000 features."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable

from thrifty.engines import Pool, open_pool
from thrifty.lifetime.lifetime import Lifetime
from thrifty.streams import trees
from thrifty.streams.tree_tasks import StreamTask
from thrifty.trees import Paper, Trees
from thrifty.typing import Json

__all__ = ["installed", "measure"]

_FEATURES = (10, 100, 1_000)


def installed() -> list[str]:
    """The engines whose packages are here."""
    packages = {"threads": None, "loky": None, "dask": "distributed", "ray": "ray"}
    return [
        name for name, need in packages.items() if need is None or importlib.util.find_spec(need)
    ]


def measure(n_tasks: int = 24, n_examples: int = 10_000) -> list[Json]:
    """A row per engine and width.

    Seconds are by the clock on the wall, which a busy machine spoils; beside them stands the CPU
    time of this process alone, in a loop and with two workers: what workers cannot take over.
    """
    rows = []
    for engine in installed():
        start = time.perf_counter()
        with open_pool(engine, 2) as pool:
            pool.submit(_nothing, 0).result()
            started = time.perf_counter() - start
            per_call = _seconds_per_call(pool)
            rows += [
                _row(pool, engine, started, per_call, width, n_tasks, n_examples)
                for width in _FEATURES
            ]
    return rows


def _nothing(value: int) -> int:
    return value


def _seconds_per_call(pool: Pool, n: int = 200) -> float:
    start = time.perf_counter()
    for future in [pool.submit(_nothing, i) for i in range(n)]:
        future.result()
    return (time.perf_counter() - start) / n


def _row(
    pool: Pool,
    engine: str,
    started: float,
    per_call: float,
    width: int,
    n_tasks: int,
    n_examples: int,
) -> Json:
    stream = trees(n_tasks, width, 2, n_examples, 3, 1, max_nodes=3)
    tasks = [stream[i] for i in range(n_tasks)]
    alone, alone_cpu = _seconds(lambda: _loop(tasks))
    many, many_cpu = _seconds(lambda: Lifetime(Trees(4, Paper())).learn_many(tasks, engine=pool))
    return {
        "engine": engine,
        "start s": started,
        "ms per call": 1e3 * per_call,
        "features": width,
        "loop s": alone,
        "2 workers s": many,
        "efficiency": f"{100 * alone / many / 2:.0f} %",
        "loop CPU s": alone_cpu,
        "own CPU s": many_cpu,
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _loop(tasks: list[StreamTask]) -> None:
    life = Lifetime(Trees(4, Paper()))
    for task in tasks:
        life.learn(task.name, task.X, task.y)


def _seconds(work: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """The best time on the wall, and the best CPU time of this process."""
    wall, own = [], []
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start)
        own.append(time.process_time() - used)
    return min(wall), min(own)
