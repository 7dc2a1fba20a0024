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
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from thrifty import bounds
from thrifty.cells import PriceList, Source
from thrifty.commands.options import AsJson, print_json
from thrifty.errors import ThriftyError
from thrifty.lifetime import Lifetime
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
_STORE, _DIGITS = "demo.db", "digits.db"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def demo(
        tasks: int = typer.Option(200, min=1, help="How many tasks."),
        features: int = typer.Option(2000, min=40, help="How many features."),
        seed: int = typer.Option(0, help="Seed of the stream."),
        out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
        quick: bool = typer.Option(False, "--quick", help="A small one, in a few seconds."),
        as_json: AsJson = False,
    ) -> None:
        """Ten questions about real scans, then 200 related tasks: the bills, and a picture."""
        console, began = Console(stderr=as_json), perf_counter()
        if quick:
            tasks, features = min(tasks, 10), min(features, 200)
        judged = start_digits(3 if quick else 10, console, _fresh_store(out, _DIGITS))
        seen = run_stream(tasks, features, seed, console, _fresh_store(out, _STORE))
        real = judged()
        picture = _drawn(out / "bill.png", seen)
        if as_json:
            totals = {name: seen.total(name) for name in seen.cells}
            found = {"tasks": seen.tasks, "totals": totals, "bound": seen.bound_after(tasks)}
            drawn = None if picture is None else str(picture)
            print_json({**found, "exact": seen.exact, "picture": drawn, "digits": real.rows})
            return
        for said in (real.table(), real.sentences(), seen.table(), seen.sentences()):
            console.print(said)
        at = "for a picture: pip install 'thrifty[plots]'"
        at = at if picture is None else f"the bill as a picture: {picture.resolve()}"
        program = "thrifty" if shutil.which("thrifty") else os.path.relpath(sys.argv[0])
        console.print(
            f"It took {perf_counter() - began:.0f} s; {at}\nThe lifetimes are kept in "
            f"{out / _DIGITS} and {out / _STORE}; look at them: {program} report {out / _DIGITS}",
            soft_wrap=True,
            highlight=False,
        )


def _fresh_store(out: Path, name: str) -> Path:
    """The demo's own file, begun anew each time."""
    out.mkdir(parents=True, exist_ok=True)
    for stale in (name, f"{name}-journal"):
        (out / stale).unlink(missing_ok=True)
    return out / name


# -- ten questions about scans -------------------------------------------------------------------


@dataclass
class Digits:
    """A row for each question, what all of it cost, and how many pixels a new scan is asked for."""

    rows: list[Fields]
    spent: float
    everything: float
    pixels: float

    def mean(self, key: str) -> float:
        """The mean of a column."""
        return float(np.mean([row[key] for row in self.rows]))

    def table(self) -> Table:
        """What was measured, a row per question."""
        table = Table(title="Ten questions about handwritten digits, 1 cent a pixel")
        table.add_column("question")
        for heading in ("share of the bill, USD", "Thrifty", "by hand, same bill", "every pixel"):
            table.add_column(heading, justify="right")
        keys = ("thrifty", "by_hand", "everything")
        for row in self.rows:
            figures = [f"{row[key]:.3f}" for key in keys]
            table.add_row(row["question"], f"{row['cost']:.2f}", *figures)
        means = [f"{self.mean(key):.3f}" for key in keys]
        table.add_row("mean (sum of the bill)", f"{self.spent:.2f}", *means)
        return table

    def sentences(self) -> str:
        quality = self.mean("thrifty")
        return (
            f"The {len(self.rows)} questions, learned at once, cost {self.spent:.2f} USD where "
            f"every pixel of every scan costs {self.everything:.2f}, and have a mean average "
            f"precision of {quality:.3f}: {quality / self.mean('everything'):.0%} of boosted trees "
            f"on everything. Whole scans for the same money, once for all questions, have "
            f"{self.mean('by_hand'):.3f}. A new scan is asked for {self.pixels:.0f} of its 64 "
            "pixels, for all answers together.\n"
        )


def start_digits(n: int, console: Console, store: Path) -> Callable[[], Digits]:
    """Learn n questions; the function that is returned waits until all of them are judged."""
    train, _ = _split()
    X, Y = _scans(n)
    scans = Source.from_array(X[train], examples=train.tolist(), name="scans")
    prices = PriceList(_PRICE, currency="USD")
    # A new interpreter: a copy of this process would have its open store and threads.
    judge = ProcessPoolExecutor(1, get_context("spawn"))
    everything = judge.submit(_everything, n)
    with Lifetime(Models(), prices=prices, store=store, random_state=0) as life:
        with console.status(f"learning {n} questions at once"):
            many = life.learn(_questions(n), scans, Y[train], spend=_SPEND)
        spent = life.balance().spent
    ours = judge.submit(_ours, store, n)
    by_hand = judge.submit(_by_hand, n, round(spent / _PRICE))

    def wait() -> Digits:
        found, pixels = ours.result()
        columns = {"thrifty": found, "by_hand": by_hand.result(), "everything": everything.result()}
        judge.shutdown()
        rows: list[Fields] = [
            {
                "question": name,
                "cost": one.receipt.cost,
                "cells": one.receipt.cells,
                **{key: column[d] for key, column in columns.items()},
            }
            for d, (name, one) in enumerate(many.items())
        ]
        return Digits(rows, spent, X[train].size * _PRICE, pixels)

    return wait


def _ours(store: Path, n: int) -> tuple[list[float], float]:
    """How good the answers are on the scans that were held out; all from one pass over a scan."""
    _, test = _split()
    X, Y = _scans(n)
    with threadpool_limits(1), Lifetime.open(store) as life:
        asked = life.predict(_questions(n), X[test])
        found = [_precision(Y[test, d], one.probabilities) for d, one in enumerate(asked.values())]
        return found, asked.receipt.cells / _N_TEST


def _everything(n: int) -> list[float]:
    """Boosted trees on every pixel of every scan."""
    with threadpool_limits(1):
        return _boosted(n, _split()[0])


def _by_hand(n: int, bill: int) -> list[float]:
    """Whole scans for the bill, bought once for all questions: the better of two models."""
    few = _split()[0][: bill // _scans(1)[0].shape[1]]
    with threadpool_limits(1):
        return max((_boosted(n, few), _forest(n, few)), key=lambda found: float(np.mean(found)))


def _boosted(n: int, rows: NDArray[np.int64]) -> list[float]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    _, test = _split()
    X, Y = _scans(n)
    made = [HistGradientBoostingClassifier(random_state=0).fit(X[rows], y) for y in Y[rows].T]
    return [_precision(Y[test, d], one.predict_proba(X[test])) for d, one in enumerate(made)]


def _forest(n: int, rows: NDArray[np.int64]) -> list[float]:
    from sklearn.ensemble import ExtraTreesClassifier

    _, test = _split()
    X, Y = _scans(n)
    made = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=0).fit(X[rows], Y[rows])
    return [_precision(Y[test, d], votes) for d, votes in enumerate(made.predict_proba(X[test]))]


def _scans(n: int) -> tuple[AnyArray, AnyArray]:
    """The scans, and a column for each question."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return X, np.eye(10, dtype=np.int64)[digit][:, :n]


def _split() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The scans to learn from, and those that nothing is learned from."""
    order = np.random.default_rng(0).permutation(1797)
    return order[_N_TEST:], order[:_N_TEST]


def _questions(n: int) -> list[str]:
    return [f"is it a {d}?" for d in range(n)]


def _precision(y: AnyArray, probabilities: NDArray[np.float64] | None) -> float:
    from sklearn.metrics import average_precision_score

    assert probabilities is not None
    return float(average_precision_score(y, probabilities[:, 1]))


# -- the theory's stream -------------------------------------------------------------------------


@dataclass
class Stream:
    """What was seen of it: cells per task and learner, and how many trees were right."""

    n_tasks: int
    n_features: int
    cells: dict[str, list[int]] = field(default_factory=dict)
    scratch: dict[str, int] = field(default_factory=dict)
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

    def total(self, learner: str) -> int:
        return sum(self.cells[learner])

    def table(self) -> Table:
        table = Table(title="The bill of the whole lifetime")
        table.add_column("learner")
        for heading in ("from scratch", "cells", "share"):
            table.add_column(heading, justify="right")
        lines = [(name, self.scratch[name], self.total(name)) for name in self.cells]
        bound = self.bound_after(self.n_tasks)
        lines.append(("bound (paper, Theorem 1)", min(_METAFEATURES, self.n_tasks), bound))
        for name, scratch, cells in lines:
            share = f"{cells / self.total(_SCRATCH):.2%}"
            table.add_row(name, str(scratch), f"{cells:,}", share)
        return table

    def sentences(self) -> str:
        thrifty, everything = self.total(_OURS), self.total(_SCRATCH)
        first = self.scratch[_OURS]
        reused = [row["cells"] / _EXAMPLES for row in self.tasks if row["route"] != "scratch"]
        per_example = sum(reused) / max(len(reused), 1)
        return (
            f"{self.n_tasks} tasks over {self.n_features:,} features, {_EXAMPLES:,} examples each, "
            f"built from {_METAFEATURES} hidden metafeatures.\n"
            f"{first} tasks taught something new; the other {self.n_tasks - first} were learned "
            f"from what those taught, looking at {per_example:.1f} of {self.n_features:,} features "
            f"on the average example.\n{self.exact} of {self.n_tasks} trees equal the hidden "
            f"target.\nThe bill is {thrifty:,} cells: {everything / thrifty:,.0f} times less than "
            f"buying everything, {self.total(_PAPER) / thrifty:.0f} times less than the paper's "
            "protocol, with the same trees."
        )


def run_stream(
    n_tasks: int, n_features: int, seed: int, console: Console, store: Path | None = None
) -> Stream:
    """Learn the same stream with every learner, showing progress."""
    lives = {
        _OURS: Lifetime(Trees(_MAX_DEPTH, Race()), store=store, random_state=0),
        _PAPER: Lifetime(Trees(_MAX_DEPTH, Paper())),
    }
    seen = Stream(n_tasks, n_features, {name: [] for name in lives}, dict.fromkeys(lives, 0))
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bar, console=console) as progress:
        job = progress.add_task("compiling (the first time only)", total=n_tasks)
        for task in trees(n_tasks, n_features, _METAFEATURES, _EXAMPLES, _MAX_DEPTH, seed):
            for name, life in lives.items():
                learned = life.learn(task.name, task.X, task.y)
                seen.cells[name].append(learned.receipt.cells)
                seen.scratch[name] += learned.route == "scratch"
                if name == _OURS:
                    seen.tasks.append(learned.bill_row())
                    seen.exact += learned.model.tree_ == task.target
            said = f"learning, {seen.total(_OURS):,} cells so far"
            progress.update(job, advance=1, description=said)
    seen.cells[_SCRATCH] = [_EXAMPLES * n_features] * n_tasks
    seen.scratch[_SCRATCH] = n_tasks
    return seen


def _drawn(path: Path, seen: Stream) -> Path | None:
    """The picture; None where the packages for pictures are not installed."""
    tasks = range(1, seen.n_tasks + 1)
    curves = {name: np.cumsum(cells) for name, cells in seen.cells.items()}
    curves["bound"] = np.array([seen.bound_after(i) for i in tasks])
    title = f"{seen.n_tasks} related tasks over {seen.n_features:,} features"
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
