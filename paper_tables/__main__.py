"""``python -m paper_tables``: both tables of the paper, measured, on one page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from paper_tables import Reproduction, reproduce
from paper_tables.reproduction import read_grids

__all__ = ["app"]

#: seconds between lines of progress where the output is not a terminal
_A_LINE_EVERY = 20.0


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    table: Annotated[str, typer.Option(help="Which table: 1, 2 or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="A smaller grid.")] = False,
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("reproduction"),
    jobs: Annotated[int, typer.Option(help="Processes; 0: one per processor.")] = 0,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    grid: Annotated[Path | None, typer.Option(help="A JSON file with grids by row.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the claims as JSON.")] = False,
) -> None:
    """Run every row of the paper's tables and hold the bills against the theory.

    Interrupted, it goes on where it was when the same command is typed again.
    """
    console = Console(stderr=as_json)
    started = perf_counter()
    try:
        done = _run(console, table, quick, out, jobs, seed, grid)
    except KeyboardInterrupt as stop:
        console.print(f"interrupted; finished runs are kept in {out}. Type the same command.")
        raise typer.Exit(130) from stop
    if as_json:
        print(json.dumps([vars(verdict) for verdict in done.verdicts]))
        return
    _show(console, done, perf_counter() - started)


def _run(
    console: Console, table: str, quick: bool, out: Path, jobs: int, seed: int, grid: Path | None
) -> Reproduction:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("starting", total=None)
        told = perf_counter()

        def say(done: int, total: int, what: str) -> None:
            nonlocal told
            progress.update(bar, completed=done, total=total, description=what)
            # A bar cannot be redrawn in a log: a line now and then takes its place.
            if not console.is_terminal and perf_counter() - told >= _A_LINE_EVERY:
                told = perf_counter()
                console.print(f"{done} of {total} runs done, now {what}", highlight=False)

        return reproduce(
            out,
            table=table,
            quick=quick,
            n_jobs=jobs or os.cpu_count() or 1,
            seed=seed,
            grids=None if grid is None else read_grids(grid),
            progress=say,
        )


def _show(console: Console, done: Reproduction, seconds: float) -> None:
    shown = Table("row", "claim", "measured", "", title=None, show_lines=False)
    for verdict in (*done.broken, *(v for v in done.verdicts if v.holds)):
        mark = "[green]holds[/green]" if verdict.holds else "[red]does not[/red]"
        shown.add_row(verdict.row, verdict.claim, verdict.measured, mark)
    console.print(shown)
    for verdict in done.broken:
        console.print(f"[bold]{verdict.row}[/bold]: {verdict.claim}: {verdict.why}")
    holding = len(done.verdicts) - len(done.broken)
    console.print(
        f"{len(done.records):,} runs in {seconds:.0f} s; {holding} of {len(done.verdicts)} claims "
        f"hold. Open {done.path / 'index.html'}"
    )


if __name__ == "__main__":
    app()
