"""One run: a stream, every learner of the row on it, what each of them bought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from paper_tables.point import Point
from paper_tables.row import Row, Seen
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.lifetime import Lifetime
from thrifty.streams import StreamTask
from thrifty.typing import Json, JsonLike, LabelsLike

__all__ = ["COLUMNS", "run_point"]

#: the columns of runs.csv: one line per row, point, seed and learner
COLUMNS = (
    "table", "row", "n_tasks", "n_features", "n_metafeatures", "n_examples", "max_depth",
    "n_unrelated", "max_terms", "seed", "learner", "good_tasks", "bad_tasks", "cells",
    "scratch_tasks", "scratch_cells", "reused_tasks", "reused_cells", "features_looked_at",
    "max_cells_per_example", "metafeatures", "right", "bad_task_cells", "upper", "lower",
)  # fmt: skip


@dataclass
class _Tally:
    """What one learner bought; everything but ``bad_task_cells`` is of good tasks only."""

    life: Lifetime
    labels: Callable[[StreamTask], LabelsLike]
    cells: int = 0
    scratch_tasks: int = 0
    scratch_cells: int = 0
    reused_tasks: int = 0
    reused_cells: int = 0
    features_looked_at: int = 0
    max_cells_per_example: int = 0
    right: int = 0
    bad_task_cells: int = 0
    seen: list[bool] = field(default_factory=list)

    def add(self, learned: Learned, good: bool, right: bool) -> None:
        self.seen.append(good)
        receipt = learned.receipt
        if not good:
            self.bad_task_cells += receipt.cells
            return
        self.cells += receipt.cells
        self.right += right
        self.features_looked_at += len(receipt.per_feature)
        if learned.route == "scratch":
            self.scratch_tasks += 1
            self.scratch_cells += receipt.cells
            return
        self.reused_tasks += 1
        self.reused_cells += receipt.cells
        most = receipt.max_cells_per_example
        self.max_cells_per_example = max(self.max_cells_per_example, most)


def run_point(row: Row, point: Point, seed: int) -> list[Json]:
    """A record per learner. Tasks are posed to all learners in step, and then dropped."""
    tallies = {}
    for name, learner in row.learners(point).items():
        life = Lifetime(learner.family, agnostic=learner.rule, random_state=0)
        tallies[name] = _Tally(life, learner.labels)
    for task in row.stream(point, seed):
        for tally in tallies.values():
            _learn(row, tally, task)
    return [_record(row, point, seed, name, tally) for name, tally in tallies.items()]


def _learn(row: Row, tally: _Tally, task: StreamTask) -> None:
    learned = tally.life.learn(task.name, task.X, tally.labels(task), good=task.good)
    tally.add(learned, task.good, row.right(learned.model, task))


def _record(row: Row, point: Point, seed: int, name: str, tally: _Tally) -> Json:
    seen = Seen(sum(tally.seen), len(tally.seen) - sum(tally.seen))
    values: JsonLike = {
        "table": row.table,
        "row": row.key,
        **point.to_dict(),
        "seed": seed,
        "learner": name,
        "good_tasks": seen.good,
        "bad_tasks": seen.bad,
        "metafeatures": len(tally.life.representation),
        "upper": row.upper(point, name, seen),
        "lower": row.lower(point, seen),
    }
    return {
        column: values[column] if column in values else getattr(tally, column) for column in COLUMNS
    }
