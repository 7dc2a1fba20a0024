"""Measuring: the best of several runs in CPU time, the noise, the machine, a table."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.typing import JsonLike

__all__ = ["Timing", "best_of", "machine", "one_thread", "peak_memory", "table"]

_LIBRARIES = (
    "thrifty", "numpy", "numba", "scikit-learn", "xgboost", "xgboost-cpu", "lightgbm", "joblib",
    "distributed", "ray",
)  # fmt: skip
_THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of several runs, and what the last run returned."""

    seconds: tuple[float, ...]
    result: Any = None

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def noise(self) -> float:
        """How far the median lies above the best, as a share of the best."""
        return statistics.median(self.seconds) / self.best - 1.0


def one_thread() -> None:
    """Ask every library for one thread; call it before they are imported."""
    for name in _THREAD_SETTINGS:
        os.environ[name] = "1"


def best_of(
    function: Callable[[], Any],
    repeats: int = 5,
    *,
    clock: Callable[[], float] = time.process_time,
    inner: int = 1,
) -> Timing:
    """Run the function a few times; CPU time of all threads of this process unless said.

    ``inner`` calls are timed together where one call is shorter than the clock is fine.

    >>> len(best_of(lambda: sum(range(1000)), 3).seconds)
    3
    """
    seconds = []
    result = None
    for _ in range(repeats):
        start = clock()
        for _ in range(inner):
            result = function()
        seconds.append(max(clock() - start, 1e-9) / inner)
    return Timing(tuple(seconds), result)


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        **versions,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def peak_memory(*, forget: bool = False) -> int:
    """The largest resident size of this process in bytes; ``forget`` starts a new maximum.

    Linux only, where the kernel keeps the maximum; elsewhere the maximum since the start.
    """
    if forget:
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
                f.write("5")
        except OSError:
            pass
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def table(rows: Sequence[JsonLike]) -> str:
    """Rows of plain data as a Markdown table.

    >>> print(table([{"size": "2 x 3", "ratio": 51.23456}]))
    | size  | ratio |
    |-------|-------|
    | 2 x 3 | 51.2  |
    """
    if not rows:
        return "(nothing was measured)"
    heads = list(rows[0])
    text = [[_text(row.get(head, "")) for head in heads] for row in rows]
    widths = [max(len(head), *(len(line[i]) for line in text)) for i, head in enumerate(heads)]
    lines = [heads, ["-" * width for width in widths], *text]
    return "\n".join(
        "|" + "|".join(_cell(value, width, i == 1) for value, width in zip(line, widths)) + "|"
        for i, line in enumerate(lines)
    )


def _cell(value: str, width: int, rule: bool) -> str:
    return "-" * (width + 2) if rule else f" {value.ljust(width)} "


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
