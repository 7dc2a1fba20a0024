"""The whole reproduction: choose rows, run what is missing, write down what came out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from importlib.metadata import version
from pathlib import Path

from paper_tables.all_rows import check_grid, chosen_rows, row_named
from paper_tables.folder import Folder, write_csv
from paper_tables.from_runs import against_bounds, beside_paper, forms, growth
from paper_tables.page import page
from paper_tables.pictures import draw_contests, draw_row
from paper_tables.placements import contests
from paper_tables.point import Grid
from paper_tables.pool import Job, run_jobs
from paper_tables.row import Row
from paper_tables.run import COLUMNS
from paper_tables.verdicts import Verdict, verdicts
from thrifty.checks import whole_number
from thrifty.errors import BadInput
from thrifty.typing import Json

__all__ = ["Reproduction", "read_grids", "reproduce"]

_SEEDS = {True: 2, False: 3}


@dataclass(frozen=True)
class Reproduction:
    """What came out: every run, every claim, and where it is written."""

    path: Path
    records: list[Json]
    verdicts: list[Verdict]

    @property
    def broken(self) -> list[Verdict]:
        """The claims that do not hold."""
        return [verdict for verdict in self.verdicts if not verdict.holds]


def reproduce(
    out: Path | str = "reproduction",
    *,
    table: str = "all",
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    grids: Mapping[str, Grid] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Reproduction:
    """Run every row of a table over its grid; go on where an earlier run was interrupted.

    Parameters
    ----------
    out : path or str
        the folder to write; it must be empty, or hold a run with the same parameters
    table : str
        "1", "2" or "all"
    quick : bool
        a smaller grid and fewer seeds
    n_jobs : int
        processes; the runs are the same, byte for byte, whatever it is
    seed : int
        the first of several
    grids : mapping or None
        other grids than the built-in ones, by row; only those rows are run
    progress : callable or None
        called with (jobs done, jobs in all, what is running)
    """
    n_jobs = whole_number("n_jobs", n_jobs)
    seed = whole_number("seed", seed, least=0)
    rows = _with_grids(table, quick, grids)
    for row, grid in rows:
        check_grid(row, grid)
    seeds = [seed + i for i in range(_SEEDS[quick])]
    folder = Folder(Path(out), _parameters(table, quick, seeds, rows))
    jobs = [Job(row.key, point, s) for row, grid in rows for point in grid.points for s in seeds]
    _run_missing(folder, jobs, n_jobs, progress)
    records = [record for job in jobs for record in folder.finished[str(job)]]
    found = verdicts(records, rows)
    _write(folder.path, records, rows, found, _command(table, quick, seed, grids is not None))
    return Reproduction(folder.path, records, found)


def read_grids(path: Path) -> dict[str, Grid]:
    """Grids from a JSON file: {row: {"base": {...}, "axes": {...}, "corners": [...]}}."""
    try:
        data = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise BadInput(f"the grid must be a JSON file that can be read: {error}.") from error
    if not isinstance(data, dict):
        raise BadInput(
            f"the grid file must hold an object, row to grid; got {type(data).__name__}."
        )
    return {row_named(key).key: Grid.from_dict(grid) for key, grid in data.items()}


def _with_grids(
    table: str, quick: bool, grids: Mapping[str, Grid] | None
) -> list[tuple[Row, Grid]]:
    rows = chosen_rows(table)
    if grids is None:
        return [(row, row.grid(quick)) for row in rows]
    return [(row_named(key), grid) for key, grid in grids.items()]


def _parameters(
    table: str, quick: bool, seeds: Sequence[int], rows: Sequence[tuple[Row, Grid]]
) -> Json:
    return {
        "thrifty": version("thrifty"),
        "table": table,
        "quick": quick,
        "seeds": list(seeds),
        "columns": list(COLUMNS),
        "grids": {row.key: grid.to_dict() for row, grid in rows},
    }


def _run_missing(
    folder: Folder,
    jobs: Sequence[Job],
    n_jobs: int,
    progress: Callable[[int, int, str], None] | None,
) -> None:
    missing = [job for job in jobs if str(job) not in folder.finished]
    ended = len(jobs) - len(missing)
    say = progress or (lambda done, total, what: None)
    say(ended, len(jobs), "starting")

    def done(job: Job, records: list[Json]) -> None:
        nonlocal ended
        folder.keep(str(job), records)
        ended += 1
        say(ended, len(jobs), job.row)

    run_jobs(missing, n_jobs, done)


def _command(table: str, quick: bool, seed: int, own_grid: bool) -> str:
    said = {
        f"--table {table}": table != "all",
        "--quick": quick,
        f"--seed {seed}": seed != 0,
        "--grid FILE": own_grid,
    }
    return " ".join(["python -m paper_tables", *(option for option in said if said[option])])


def _write(
    path: Path,
    records: Sequence[Json],
    rows: Sequence[tuple[Row, Grid]],
    found: Sequence[Verdict],
    command: str,
) -> None:
    only = [row for row, _ in rows]
    write_csv(path / "runs.csv", COLUMNS, records)
    for name, lines in {
        "bounds.csv": against_bounds(records, only),
        "forms.csv": _form_lines(records, only),
        "growth.csv": _growth_lines(records, rows),
        "beside_paper.csv": beside_paper(records, only),
        "verdicts.csv": [{f.name: getattr(v, f.name) for f in fields_of(v)} for v in found],
    }.items():
        if lines:
            write_csv(path / name, list(lines[0]), lines)
    pictures = _draw(path, records, rows)
    (path / "index.html").write_text(page(records, rows, found, pictures, command))


def _form_lines(records: Sequence[Json], rows: Sequence[Row]) -> list[Json]:
    return [
        {
            "row": row.key,
            "learner": form.learner,
            "form": name,
            "term": term,
            "constant": c.value,
            "low": c.low,
            "high": c.high,
            "r_squared": fit.r_squared,
            "points": fit.n,
        }
        for row in rows
        for form in row.forms
        for name, fit in forms(records, row, form).items()
        for term, c in fit.coefficients.items()
    ]


def _growth_lines(records: Sequence[Json], rows: Sequence[tuple[Row, Grid]]) -> list[Json]:
    return [
        {
            "row": g.row,
            "learner": g.learner,
            "part": g.part,
            "axis": g.axis,
            "slope": g.slope.value,
            "low": g.slope.low,
            "high": g.slope.high,
            "theory": g.theory,
        }
        for row, grid in rows
        for g in growth(records, row, grid)
    ]


def _draw(path: Path, records: Sequence[Json], rows: Sequence[tuple[Row, Grid]]) -> dict[str, str]:
    """The pictures, by row; none where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return {}
    made = {}
    for row, grid in rows:
        if draw_row(records, row, grid, path / "pictures" / f"{row.key}.png"):
            made[row.key] = f"pictures/{row.key}.png"
    found = contests(records)
    if found:
        draw_contests(found, path / "pictures" / "placements.png")
        made["placements"] = "pictures/placements.png"
    return made
