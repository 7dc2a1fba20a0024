"""``thrifty demo``: real, noisy scans first; then the theory's stream, its bill, and a picture.

The scans are scikit-learn's own handwritten digits, 8 x 8 pixels at a cent each. Ten labels, "is it
a 0?" to "is it a 9?", are learned at once, so that what is bought of a scan serves all of them, and
a new scan is asked once for all ten answers. Beside them, in the same run: a model on every pixel,
and what one would write by hand for the same money: whole scans, bought once for all ten questions,
with boosted trees and with a forest; of the two the one that turned out better. How good they are
on held-out scans is found by another process meanwhile, which opens the store.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from thrifty import bounds
from thrifty.cells import PriceList, Source
from thrifty.commands.options import AsJson, print_json
from thrifty.errors import ThriftyError
from thrifty.lifetime.lifetime import Lifetime
from thrifty.models import Models
from thrifty.report.ink import LINES, POINTS, SERIES, frame, legend, save_picture, value_axis
from thrifty.streams import trees
from thrifty.trees import Paper, Race, Trees
from thrifty.typing import AnyArray, Fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: of the scans: what the questions together may cost, a pixel, held-out scans
_SPEND, _PRICE, _N_TEST = "15 %", 0.01, 600
#: of the stream
_MAX_DEPTH, _METAFEATURES, _EXAMPLES = 6, 10, 1000
_OURS, _PAPER, _SCRATCH = "Thrifty", "the paper's protocol", "scratch every time"
#: whose answers about scans are judged, as the table and a program name them
_JUDGED = {
    "thrifty": "Thrifty", "by_hand": "by hand, same bill", "everything": "every pixel",
}  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def demo(
        out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
        quick: bool = typer.Option(False, "--quick", help="A small one, in a few seconds."),
        as_json: AsJson = False,
    ) -> None:
        """Ten questions about real scans, then 200 related tasks: the bills, and a picture."""
        console, began = Console(stderr=as_json), perf_counter()
        n_questions, n_tasks, n_features = (3, 10, 200) if quick else (10, 200, 2000)
        out.mkdir(parents=True, exist_ok=True)
        stores = [_fresh(out / name) for name in ("digits.db", "demo.db")]
        # A new interpreter: a copy of this process would have its open store and threads.
        with ProcessPoolExecutor(1, get_context("spawn")) as judge:
            rows = learn_digits(n_questions, console, stores[0])
            judged = judge.submit(judge_digits, stores[0], n_questions)
            stream = learn_stream(n_tasks, n_features, console, stores[1])
            found, pixels = judged.result()
        for key, column in found.items():
            for row, value in zip(rows, column):
                row[key] = value
        picture = _drawn(out / "bill.png", stream)
        if as_json:
            drawn = None if picture is None else str(picture)
            print_json({**stream.to_dict(), "picture": drawn, "digits": rows})
            return
        _say_digits(console, rows, pixels)
        _say_stream(console, stream)
        at = "for a picture: pip install 'thrifty[plots]'"
        at = at if picture is None else f"the bill as a picture: {picture.resolve()}"
        program = "thrifty" if shutil.which("thrifty") else os.path.relpath(sys.argv[0])
        console.print(
            f"It took {perf_counter() - began:.0f} s; {at}\nThe lifetimes are kept in {stores[0]} "
            f"and {stores[1]}; look at them: {program} report {stores[0]}",
            soft_wrap=True,
            highlight=False,
        )


def _fresh(path: Path) -> Path:
    """The demo's own file, begun anew each time."""
    for stale in (path, path.with_name(f"{path.name}-journal")):
        stale.unlink(missing_ok=True)
    return path


# -- ten questions about scans -------------------------------------------------------------------


def learn_digits(n: int, console: Console, store: Path) -> list[Fields]:
    """Learn n questions at once: what each cost."""
    X, Y, train, _ = _scans(n)
    scans = Source.from_array(X[train], examples=train.tolist(), name="scans")
    prices = PriceList(_PRICE, currency="USD")
    with Lifetime(Models(), prices=prices, store=store, random_state=0) as life:
        with console.status(f"learning {n} questions at once"):
            many = life.learn(_questions(n), scans, Y[train], spend=_SPEND)
        return [
            {"question": name, "cost": one.receipt.cost, "cells": one.receipt.cells}
            for name, one in many.items()
        ]


def judge_digits(store: Path, n: int) -> tuple[dict[str, list[float]], float]:
    """The average precision of each question on held-out scans; pixels that a new scan is asked."""
    X, Y, train, test = _scans(n)
    with threadpool_limits(1):
        with Lifetime.open(store) as life:
            asked = life.predict(_questions(n), X[test])
            spent = life.balance().learning
        few = train[: round(spent / _PRICE) // X.shape[1]]
        by_hand = (_boosted(X, Y, few, test), _forest(X, Y, few, test))
        found = {
            "thrifty": _precisions(Y[test], [one.probabilities for one in asked.values()]),
            "by_hand": max(by_hand, key=lambda each: float(np.mean(each))),
            "everything": _boosted(X, Y, train, test),
        }
    return found, asked.receipt.cells / len(test)


def _boosted(X: AnyArray, Y: AnyArray, rows: AnyArray, test: AnyArray) -> list[float]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    made = [HistGradientBoostingClassifier(random_state=0).fit(X[rows], y) for y in Y[rows].T]
    return _precisions(Y[test], [one.predict_proba(X[test]) for one in made])


def _forest(X: AnyArray, Y: AnyArray, rows: AnyArray, test: AnyArray) -> list[float]:
    from sklearn.ensemble import ExtraTreesClassifier

    made = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=0).fit(X[rows], Y[rows])
    return _precisions(Y[test], made.predict_proba(X[test]))


def _precisions(Y: AnyArray, probabilities: Sequence[AnyArray | None]) -> list[float]:
    from sklearn.metrics import average_precision_score

    said = [p[:, 1] for p in probabilities if p is not None]
    return [float(average_precision_score(y, p)) for y, p in zip(Y.T, said, strict=True)]


def _scans(n: int) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """The scans, a column for each question, rows to learn from, and rows held out."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X, np.eye(10, dtype=np.int64)[digit][:, :n], order[_N_TEST:], order[:_N_TEST]


def _questions(n: int) -> list[str]:
    return [f"is it a {d}?" for d in range(n)]


def _say_digits(console: Console, rows: list[Fields], pixels: float) -> None:
    """A row per question, then the same in sentences."""
    table = Table(title="Ten questions about handwritten digits, 1 cent a pixel")
    table.add_column("question")
    for heading in ("share of the bill, USD", *_JUDGED.values()):
        table.add_column(heading, justify="right")
    for row in rows:
        figures = [f"{row[key]:.3f}" for key in _JUDGED]
        table.add_row(row["question"], f"{row['cost']:.2f}", *figures)
    spent = sum(row["cost"] for row in rows)
    mean = {key: float(np.mean([row[key] for row in rows])) for key in _JUDGED}
    table.add_row("mean (sum of the bill)", f"{spent:.2f}", *(f"{v:.3f}" for v in mean.values()))
    console.print(table)
    X, _, train, _ = _scans(1)
    console.print(
        f"The {len(rows)} questions, learned at once, cost {spent:.2f} USD where every pixel of "
        f"every scan costs {X[train].size * _PRICE:.2f}, and have a mean average precision of "
        f"{mean['thrifty']:.3f}: {mean['thrifty'] / mean['everything']:.0%} of boosted trees on "
        "everything. Whole scans for the same money, once for all questions, have "
        f"{mean['by_hand']:.3f}. A new scan is asked for {pixels:.0f} of its {X.shape[1]} pixels, "
        "for all answers together.\n"
    )


# -- the theory's stream -------------------------------------------------------------------------


@dataclass
class Stream:
    """What was seen of it: cells per task and learner, and how many trees were right."""

    n_features: int
    cells: dict[str, list[int]]
    scratch: dict[str, int]
    tasks: list[Fields] = field(default_factory=list)
    exact: int = 0

    def bound_after(self, n_tasks: int) -> int:
        """What the theory allows Algorithm 1 over the first tasks."""
        return bounds.trees(
            n_tasks=n_tasks,
            n_features=self.n_features,
            n_metafeatures=_METAFEATURES,
            n_examples=_EXAMPLES,
            max_depth=_MAX_DEPTH,
        )

    def to_dict(self) -> Fields:
        """Plain data, for JSON."""
        totals = {name: sum(cells) for name, cells in self.cells.items()}
        bound = self.bound_after(len(self.tasks))
        return {"tasks": self.tasks, "totals": totals, "bound": bound, "exact": self.exact}


def learn_stream(n_tasks: int, n_features: int, console: Console, store: Path) -> Stream:
    """Learn the same stream with every learner, showing progress."""
    lives = {
        _OURS: Lifetime(Trees(_MAX_DEPTH, Race()), store=store, random_state=0),
        _PAPER: Lifetime(Trees(_MAX_DEPTH, Paper())),
    }
    everything = {_SCRATCH: [_EXAMPLES * n_features] * n_tasks}
    cells: dict[str, list[int]] = {name: [] for name in lives}
    seen = Stream(n_features, cells | everything, {**dict.fromkeys(lives, 0), _SCRATCH: n_tasks})
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bar, console=console) as progress:
        job = progress.add_task("compiling (the first time only)", total=n_tasks)
        for task in trees(n_tasks, n_features, _METAFEATURES, _EXAMPLES, _MAX_DEPTH, 0):
            for name, life in lives.items():
                learned = life.learn(task.name, task.X, task.y)
                seen.cells[name].append(learned.receipt.cells)
                seen.scratch[name] += learned.route == "scratch"
                if name == _OURS:
                    seen.tasks.append(learned.bill_row())
                    seen.exact += learned.model.tree_ == task.target
            said = f"learning, {sum(seen.cells[_OURS]):,} cells so far"
            progress.update(job, advance=1, description=said)
    return seen


def _say_stream(console: Console, seen: Stream) -> None:
    """The bill of each learner beside the bound, then the same in sentences."""
    told, n = seen.to_dict(), len(seen.tasks)
    totals = told["totals"]
    table = Table(title="The bill of the whole lifetime")
    table.add_column("learner")
    for heading in ("from scratch", "cells", "share"):
        table.add_column(heading, justify="right")
    bound = ("bound (paper, Theorem 1)", min(_METAFEATURES, n), told["bound"])
    for name, scratch, cells in [*((k, seen.scratch[k], totals[k]) for k in totals), bound]:
        table.add_row(name, str(scratch), f"{cells:,}", f"{cells / totals[_SCRATCH]:.2%}")
    console.print(table)
    first, thrifty = seen.scratch[_OURS], totals[_OURS]
    reused = [row["cells"] / _EXAMPLES for row in seen.tasks if row["route"] != "scratch"]
    console.print(
        f"{n} tasks over {seen.n_features:,} features, {_EXAMPLES:,} examples each, built from "
        f"{_METAFEATURES} hidden metafeatures.\n"
        f"{first} tasks taught something new; the other {n - first} were learned from what those "
        f"taught, looking at {sum(reused) / max(len(reused), 1):.1f} of {seen.n_features:,} "
        f"features on the average example.\n{seen.exact} of {n} trees equal the hidden target.\n"
        f"The bill is {thrifty:,} cells: {totals[_SCRATCH] / thrifty:,.0f} times less than buying "
        f"everything, {totals[_PAPER] / thrifty:.0f} times less than the paper's protocol, with "
        "the same trees."
    )


def _drawn(path: Path, seen: Stream) -> Path | None:
    """The picture; None where the packages for pictures are not installed."""
    tasks = range(1, len(seen.tasks) + 1)
    curves = {name: np.cumsum(cells) for name, cells in seen.cells.items()}
    curves["bound"] = np.array([seen.bound_after(i) for i in tasks])
    title = f"{len(seen.tasks)} related tasks over {seen.n_features:,} features"
    try:
        return save_picture(path, partial(_draw_bills, curves=curves), title)
    except (ImportError, ThriftyError):
        return None


def _draw_bills(axes: Axes, curves: dict[str, AnyArray]) -> None:
    """Cells bought up to and including each task, a curve per learner, on a logarithmic axis."""
    for i, (name, curve) in enumerate(curves.items()):
        tasks = np.arange(1, len(curve) + 1)
        axes.plot(
            tasks, curve, linestyle=LINES[i], linewidth=1.8, label=name, color=SERIES[i],
            marker=POINTS[i], markersize=4.5, markevery=max(1, len(curve) // 8),
        )  # fmt: skip
    value_axis(axes, [float(cells) for curve in curves.values() for cells in curve])
    axes.margins(x=0.01)
    frame(axes, "tasks learned", "cells bought so far", counts=True)
    legend(axes)
