"""What the runs say: bills against bounds, the form of a bill, growth along an axis.

Every function takes records (the lines of runs.csv) and returns plain rows; nothing is drawn here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paper_tables.fit import Coefficient, PowerFit, fit_form, fit_slope
from paper_tables.point import LETTERS, Grid, Point
from paper_tables.row import Form, Row, Seen, Terms
from thrifty.typing import Fields, JsonLike

__all__ = ["SlopeOfPart", "against_bounds", "beside_paper", "forms", "growth", "of_row", "point_of"]

Record = JsonLike


def of_row(records: Iterable[Record], row: Row, learner: str | None = None) -> list[Record]:
    """The records of one row, and of one learner if named."""
    return [
        record
        for record in records
        if record["row"] == row.key and learner in (None, record["learner"])
    ]


def point_of(record: Record) -> Point:
    return Point(**{letter: record[letter] for letter in LETTERS})


def against_bounds(records: Sequence[Record], rows: Iterable[Row]) -> list[Fields]:
    """For each row and learner, the run that comes closest to each bound.

    An upper bound is on cells; a lower one on features looked at, task by task, which are fewer.
    """
    lines = []
    for row in rows:
        learners = dict.fromkeys(record["learner"] for record in of_row(records, row))
        for learner in learners:
            runs = of_row(records, row, learner)
            uppers = [r["cells"] / r["upper"] for r in runs if r["upper"]]
            lowers = [r["features_looked_at"] / r["lower"] for r in runs if r["lower"]]
            lines.append(
                {
                    "row": row.key,
                    "learner": learner,
                    "runs": len(runs),
                    "largest_share_of_upper": max(uppers, default=None),
                    "smallest_multiple_of_lower": min(lowers, default=None),
                    "right": sum(r["right"] for r in runs),
                    "good_tasks": sum(r["good_tasks"] for r in runs),
                }
            )
    return lines


def forms(records: Sequence[Record], row: Row, form: Form) -> dict[str, PowerFit]:
    """The bill as a combination of the theory's terms, and of the leaner ones where there are.

    Bills and terms are means over the seeds of a point.
    """
    points: dict[Point, list[Record]] = {}
    for run in of_row(records, row, form.learner):
        points.setdefault(point_of(run), []).append(run)
    bills = [float(np.mean([run["cells"] for run in runs])) for runs in points.values()]
    found = {}
    for name, terms in (("theory", form.terms), ("leaner", form.leaner)):
        if terms is None:
            continue
        design = [_mean_terms(terms, point, runs) for point, runs in points.items()]
        if len(bills) >= len(design[0]) + 2:  # fewer points would fit anything
            found[name] = fit_form(design, bills)
    return found


def _mean_terms(terms: Terms, point: Point, runs: Sequence[Record]) -> dict[str, float]:
    """The terms in cells: times S."""
    every = [terms(point, Seen(run["good_tasks"], run["bad_tasks"])) for run in runs]
    return {
        name: point.n_examples * float(np.mean([one[name] for one in every])) for name in every[0]
    }


@dataclass(frozen=True)
class SlopeOfPart:
    """The slope of one part of the bill on log axes, beside the theory's."""

    row: str
    learner: str
    part: str
    axis: str
    slope: Coefficient
    theory: float


def growth(records: Sequence[Record], row: Row, grid: Grid) -> list[SlopeOfPart]:
    """Slopes along the row's axes."""
    found = []
    for expected in row.growth:
        if expected.axis not in grid.axes:
            continue
        line = set(grid.along(expected.axis))
        runs = [
            run
            for run in of_row(records, row, expected.learner)
            if point_of(run) in line and run[expected.part] > 0 and run[expected.axis] > 0
        ]
        if len({run[expected.axis] for run in runs}) < 3:
            continue
        slope = fit_slope([r[expected.axis] for r in runs], [r[expected.part] for r in runs])
        theory = expected.exponent
        if theory is None:
            parts = [_part_of_theory(row, run, expected.part) for run in runs]
            theory = fit_slope([r[expected.axis] for r in runs], parts).value
        found.append(
            SlopeOfPart(row.key, expected.learner, expected.part, expected.axis, slope, theory)
        )
    return found


def _part_of_theory(row: Row, run: Record, part: str) -> float:
    """What the theory's sum says of the same part of the bill, without constants."""
    terms = row.forms[0].terms(point_of(run), Seen(run["good_tasks"], run["bad_tasks"]))
    scratch, *reused = terms.values()
    return scratch if part == "scratch_cells" else sum(reused)


def beside_paper(records: Sequence[Record], rows: Iterable[Row]) -> list[Fields]:
    """Each learner's bill as a multiple of the row's paper learner, geometric mean and range."""
    lines = []
    for row in rows:
        base = {(point_of(r), r["seed"]): r["cells"] for r in of_row(records, row, row.fitted)}
        for learner in dict.fromkeys(r["learner"] for r in of_row(records, row)):
            shares = [
                r["cells"] / base[point_of(r), r["seed"]] for r in of_row(records, row, learner)
            ]
            lines.append(
                {
                    "row": row.key,
                    "learner": learner,
                    "times_paper": float(np.exp(np.mean(np.log(shares)))),
                    "least": min(shares),
                    "most": max(shares),
                }
            )
    return lines
