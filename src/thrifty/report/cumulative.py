"""The bill as it grows: after each task, what was spent so far, beside what others would spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import ThriftyError

__all__ = ["cumulative_cells", "draw_cumulative", "save_cumulative"]

#: line styles that differ without colour, so the picture reads in black and white
_STYLES = ("-", "--", "-.", ":", (0, (1, 1)), (0, (5, 1, 1, 1)))


def cumulative_cells(bills: Mapping[str, Sequence[int]]) -> dict[str, NDArray[np.int64]]:
    """Cells bought up to and including each task, per learner.

    >>> cumulative_cells({"scratch": [5, 5], "thrifty": [5, 1]})["thrifty"].tolist()
    [5, 6]
    """
    return {name: np.cumsum(np.asarray(cells, dtype=np.int64)) for name, cells in bills.items()}


def draw_cumulative(axes: Any, curves: Mapping[str, NDArray[Any]]) -> None:
    """Draw the curves on a logarithmic axis of cells against tasks."""
    for i, (name, curve) in enumerate(curves.items()):
        tasks = np.arange(1, len(curve) + 1)
        axes.plot(tasks, curve, linestyle=_STYLES[i % len(_STYLES)], linewidth=1.8, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("tasks learned")
    axes.set_ylabel("cells bought so far")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)


def save_cumulative(path: Path, bills: Mapping[str, Sequence[int]], title: str) -> Path:
    """The picture as a PNG; returns where it is."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ThriftyError(
            "drawing needs matplotlib, which is not installed. Type: pip install 'thrifty[plots]'"
        ) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    draw_cumulative(axes, cumulative_cells(bills))
    axes.set_title(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path
