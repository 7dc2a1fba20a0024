"""Metafeatures and where each was reused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.report.ink import SERIES, frame, legend
from thrifty.report.lineage import Lineage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Reuse", "draw_reuse", "reuse_of"]


@dataclass(frozen=True)
class Reuse:
    """One metafeature: who taught it, and which tasks it served, as task numbers from 1."""

    metafeature: int
    taught_by: int | None
    used_by: tuple[int, ...]


def reuse_of(lineage: Lineage, most: int = 24) -> list[Reuse]:
    """The metafeatures that served most tasks, in the order in which they were learned."""
    rows = [
        Reuse(i, None if taught is None else taught + 1, tuple(task + 1 for task in used))
        for i, (taught, used) in enumerate(zip(lineage.taught_by, lineage.used_by))
    ]
    kept = sorted(rows, key=lambda row: -len(row.used_by))[:most]
    return sorted(kept, key=lambda row: row.metafeature)


def draw_reuse(axes: Axes, rows: list[Reuse]) -> None:
    """A line per metafeature: a square where it was taught, a tick at each task it served."""
    for y, row in enumerate(rows):
        if row.taught_by is not None:
            axes.plot(
                row.taught_by,
                y,
                "s",
                color=SERIES[1],
                markersize=5,
                label="taught" if y == 0 else None,
            )
        axes.plot(
            row.used_by,
            [y] * len(row.used_by),
            "|",
            color=SERIES[0],
            markersize=8,
            label="reused" if y == 0 else None,
        )
    names = [f"M{row.metafeature} ({len(row.used_by)}x)" for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    frame(axes, "task, in the order of learning", "metafeature (times reused)", counts=True)
    legend(axes)
