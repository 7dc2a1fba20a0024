"""``thrifty demo``: real, noisy data first; then the theory's stream, its bill, and a picture."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from thrifty import bounds
from thrifty.commands.demo_digits import Digits, digits_table, start_digits
from thrifty.errors import ThriftyError
from thrifty.lifetime import Lifetime
from thrifty.report.cumulative import save_cumulative
from thrifty.streams import TreeStream, trees
from thrifty.streams.task import Task
from thrifty.trees import Paper, Race, Trees
from thrifty.typing import Fields

__all__ = ["Demo", "register", "run_demo"]

_MAX_DEPTH = 6
_METAFEATURES = 10
_EXAMPLES = 1000
_PAPER = "the paper's protocol"
_STORE, _DIGITS = "demo.db", "digits.db"


@dataclass
class Demo:
    """What the demo saw: cells per task and learner, and how many trees were right."""

    n_tasks: int
    n_features: int
    cells: dict[str, list[int]] = field(default_factory=dict)
    scratch: dict[str, int] = field(default_factory=dict)
    tasks: list[Fields] = field(default_factory=list)
    exact: int = 0
    metafeatures: int = 0

    @property
    def bound(self) -> int:
        return self.bound_after(self.n_tasks)

    def bound_after(self, n_tasks: int) -> int:
        """What the theory allows Algorithm 1 over the first tasks."""
        return bounds.trees(
            n_tasks=n_tasks,
            n_features=self.n_features,
            n_metafeatures=_METAFEATURES,
            n_examples=_EXAMPLES,
            max_depth=_MAX_DEPTH,
        )

    def total(self, learner: str) -> int:
        return sum(self.cells[learner])


def run_demo(
    n_tasks: int, n_features: int, seed: int, console: Console, store: Path | None = None
) -> Demo:
    """Learn the same stream with every learner, showing progress."""
    stream = trees(n_tasks, n_features, _METAFEATURES, _EXAMPLES, _MAX_DEPTH, seed)
    lives = {
        "Thrifty": Lifetime(Trees(_MAX_DEPTH, Race()), store=store, random_state=0),
        _PAPER: Lifetime(Trees(_MAX_DEPTH, Paper())),
        "features seen (naive)": Lifetime(Trees(_MAX_DEPTH, Paper(improve="features"))),
    }
    demo = Demo(n_tasks, n_features, {name: [] for name in lives}, dict.fromkeys(lives, 0))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("compiling (the first time only)", total=n_tasks)
        for task in stream:
            _learn(demo, lives, task)
            progress.update(bar, advance=1, description=f"learning, {_spent(demo)} cells so far")
    demo.cells["scratch every time"] = [_EXAMPLES * n_features] * n_tasks
    demo.scratch["scratch every time"] = n_tasks
    demo.metafeatures = len(lives["Thrifty"].representation)
    _warn_about(stream, console)
    return demo


def _learn(demo: Demo, lives: dict[str, Lifetime], task: Task) -> None:
    for name, life in lives.items():
        learned = life.learn(task.name, task.X, task.y)
        demo.cells[name].append(learned.receipt.cells)
        demo.scratch[name] += learned.route == "scratch"
        if name == "Thrifty":
            demo.tasks.append(learned.bill_row())
            demo.exact += learned.model.tree_ == task.target


def _spent(demo: Demo) -> str:
    return f"{demo.total('Thrifty'):,}"


def _program() -> str:
    """How to call the command line: after ``make demo`` it is not on the PATH."""
    return "thrifty" if shutil.which("thrifty") else os.path.relpath(sys.argv[0])


def _warn_about(stream: TreeStream, console: Console) -> None:
    if stream.acceptance_rate < 0.05:
        console.print(f"(the stream accepted only {stream.acceptance_rate:.0%} of its draws)")


def _sentences(demo: Demo) -> str:
    thrifty, everything = demo.total("Thrifty"), demo.total("scratch every time")
    first = demo.scratch["Thrifty"]
    reused = [row["cells"] / _EXAMPLES for row in demo.tasks if row["route"] != "scratch"]
    per_example = sum(reused) / max(len(reused), 1)
    return (
        f"{demo.n_tasks} tasks over {demo.n_features:,} features, {_EXAMPLES:,} examples each, "
        f"built from {_METAFEATURES} hidden metafeatures.\n"
        f"{first} tasks taught something new; the other {demo.n_tasks - first} were learned from "
        f"what those taught, looking at {per_example:.1f} of {demo.n_features:,} features on the "
        f"average example.\n{demo.exact} of {demo.n_tasks} trees equal the hidden target.\n"
        f"The bill is {thrifty:,} cells: {everything / thrifty:,.0f} times less than buying "
        f"everything, {demo.total(_PAPER) / thrifty:.0f} times less than the paper's protocol, "
        f"with the same trees."
    )


def _totals_table(demo: Demo) -> Table:
    table = Table(title="The bill of the whole lifetime")
    for heading, justify in (
        ("learner", "left"),
        ("from scratch", "right"),
        ("cells", "right"),
        ("share", "right"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    everything = demo.total("scratch every time")
    for name in demo.cells:
        total = demo.total(name)
        table.add_row(name, str(demo.scratch[name]), f"{total:,}", f"{total / everything:.2%}")
    table.add_row(
        "bound (paper, Theorem 1)",
        str(min(_METAFEATURES, demo.n_tasks)),
        f"{demo.bound:,}",
        f"{demo.bound / everything:.2%}",
    )
    return table


def _tasks_table(demo: Demo, most: int = 16) -> Table:
    table = Table(title=f"Tasks (the first {min(most, len(demo.tasks))}; --json lists all)")
    table.add_column("task")
    table.add_column("route")
    for heading in ("cells", "cost", "most on one example"):
        table.add_column(heading, justify="right")
    for row in demo.tasks[:most]:
        table.add_row(
            row["task"],
            row["route"],
            f"{row['cells']:,}",
            f"{row['cost']:,.0f}",
            f"{row['max_cells_per_example']:,}",
        )
    return table


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def demo(
        tasks: int = typer.Option(200, min=1, help="How many tasks."),
        features: int = typer.Option(2000, min=40, help="How many features."),
        seed: int = typer.Option(0, help="Seed of the stream."),
        out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
        quick: bool = typer.Option(False, "--quick", help="A small one, in a few seconds."),
        as_json: bool = typer.Option(False, "--json", help="Print the bill as JSON."),
    ) -> None:
        """Ten questions about real scans, then 200 related tasks: the bills, and a picture."""
        console = Console(stderr=as_json)
        if quick:
            tasks, features = min(tasks, 10), min(features, 200)
        judged = start_digits(3 if quick else 10, console, _fresh_store(out, _DIGITS))
        seen = run_demo(tasks, features, seed, console, _fresh_store(out, _STORE))
        real = judged()
        if not as_json:
            console.print(digits_table(real))
            console.print(_about_digits(real))
        curves = dict(seen.cells)
        curves["bound"] = _steps([seen.bound_after(i) for i in range(1, tasks + 1)])
        title = f"{tasks} related tasks over {features:,} features"
        picture = _drawn(out / "bill.png", curves, title)
        if as_json:
            totals = {name: seen.total(name) for name in seen.cells}
            typer.echo(json.dumps({
                "tasks": seen.tasks, "totals": totals, "bound": seen.bound, "exact": seen.exact,
                "picture": None if picture is None else str(picture), "digits": real.rows,
            }))  # fmt: skip
            return
        console.print(_tasks_table(seen))
        console.print(_totals_table(seen))
        console.print(_sentences(seen))
        if picture is None:
            console.print("For the picture: pip install 'thrifty[plots]'", highlight=False)
        else:
            console.print(f"Picture of the cumulative bill: {picture.resolve()}", soft_wrap=True)
        console.print(
            f"The lifetimes are kept in {out / _DIGITS} and {out / _STORE}; look at them: "
            f"{_program()} report {out / _DIGITS}",
            soft_wrap=True,
        )


def _fresh_store(out: Path, name: str) -> Path:
    """The demo's own file, begun anew each time."""
    out.mkdir(parents=True, exist_ok=True)
    for stale in (name, f"{name}-journal"):
        (out / stale).unlink(missing_ok=True)
    return out / name


def _drawn(path: Path, curves: dict[str, list[int]], title: str) -> Path | None:
    """The picture; None where the packages for pictures are not installed."""
    try:
        return save_cumulative(path, curves, title)
    except (ImportError, ThriftyError):
        return None


def _about_digits(real: Digits) -> str:
    quality, by_hand = real.mean("thrifty"), real.mean("by_hand")
    return (
        f"The {len(real.rows)} questions, learned at once, cost {real.spent:.2f} USD where every "
        f"pixel of every scan costs {real.everything:.2f}, and have a mean average precision of "
        f"{quality:.3f}: {quality / real.mean('everything'):.0%} of boosted trees on everything. "
        f"Whole scans for the same money, once for all questions, have {by_hand:.3f}. A new scan "
        f"is asked for {real.pixels:.0f} of its 64 pixels, for all answers together. With the "
        f"stream below, learned meanwhile, it took {real.seconds:.0f} s.\n"
    )


def _steps(totals: list[int]) -> list[int]:
    """Increments of a running total, as the other bills are given."""
    return [after - before for before, after in zip([0, *totals], totals)]
