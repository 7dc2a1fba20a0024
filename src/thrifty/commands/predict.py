"""``thrifty predict``: buy only the cells that each example's prediction needs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from thrifty.cells.ledger.receipt import Receipt
from thrifty.commands.opening import AsJson, money, print_json, the_only_task
from thrifty.commands.task_file import read_any_file
from thrifty.commands.task_source import Knowledge, open_source
from thrifty.errors import BudgetExceeded
from thrifty.lazy import Sure
from thrifty.lifetime import JointPrediction, Lifetime
from thrifty.lifetime.prediction import Prediction
from thrifty.typing import Json

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def predict(
        file: Annotated[
            Path, typer.Argument(help="YAML or TOML that names the source, or a CSV or Parquet.")
        ],
        task: Annotated[
            list[str] | None,
            typer.Option(
                help="The task whose model predicts; several are answered in one walk; none: the "
                "only one."
            ),
        ] = None,
        out: Annotated[
            Path | None, typer.Option("--out", "-o", help="A CSV to write; otherwise the screen.")
        ] = None,
        store: Annotated[
            str | None, typer.Option(help="Another place for the lifetime than the file says.")
        ] = None,
        id: Annotated[
            str | None, typer.Option(help="Of a table: the column that names each example.")
        ] = None,
        sure: Annotated[
            float | None,
            typer.Option(
                help="Stop asking about a row once sure, such as 0.95: of the rows that stop as "
                "sure and are answered with a class, at least p are of that class."
            ),
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Predict with a learned model. Cells that were paid for before cost nothing.

        With a table: thrifty predict new.csv --task diabetes --store patients.db.
        """
        spec = read_any_file(file, id=id)
        life = Lifetime.open(
            store or spec.store,
            name=spec.lifetime,
            prices=spec.prices,
            budget=spec.budget,
            progress=False if as_json else None,
        )
        tasks = task or [the_only_task(life)]
        words = {k: v for one in tasks for k, v in getattr(life[one], "words_", {}).items()}
        opened = open_source(spec, Knowledge(life.kinds, words, life.na))
        ended: BudgetExceeded | None = None
        if len(tasks) > 1:
            rule = None if sure is None else Sure(sure)
            _write_jointly(opened.ids, life.predict(tasks, opened.source, stop=rule), out, as_json)
            return
        try:
            made = life.predict(tasks[0], opened.source, stop=None if sure is None else Sure(sure))
        except BudgetExceeded as error:
            if error.prediction is None:
                raise
            made, ended = error.prediction, error
        _write(tasks[0], opened.ids, made, out, as_json)
        if ended is not None:
            left = money(ended.left, made.receipt.currency)
            raise BudgetExceeded(
                f"{int(made.answered.sum())} of {len(made)} rows are answered and written, the "
                f"others are empty: {left} is left of the budget and the next row needs "
                f"{money(ended.needed, made.receipt.currency)}. Raise the budget in {file} (for a "
                "table: in Lifetime.open(store, budget=...)) and give the same command again: what "
                "is bought is not paid for twice."
            )


def _write(
    task: str, ids: Sequence[str], made: Prediction, out: Path | None, as_json: bool
) -> None:
    """The answers, as a table or as JSON, and what they cost."""
    answers = [_plain(v) for v in made.values]
    receipt = made.receipt
    if as_json:
        shown = None if made.probabilities is None else made.probabilities.tolist()
        print_json(
            {
                "task": task,
                "predictions": dict(zip(ids, answers)),
                "classes": None if made.classes is None else made.classes.tolist(),
                "probabilities": None if shown is None else _of_rows(ids, shown, made),
                "unanswered": [i for i, done in zip(ids, made.answered) if not done],
                "receipt": receipt.to_dict(),
            }
        )
        return
    _write_rows(_table(task, ids, answers, made), out, receipt)


def _write_jointly(
    ids: Sequence[str], made: JointPrediction, out: Path | None, as_json: bool
) -> None:
    """The same for several tasks: a column for each, and one cost."""
    receipt = made.receipt
    if as_json:
        print_json(
            {
                "tasks": list(made),
                "predictions": {
                    name: dict(zip(ids, map(_plain, part.values))) for name, part in made.items()
                },
                "classes": {
                    name: None if part.classes is None else part.classes.tolist()
                    for name, part in made.items()
                },
                "probabilities": {
                    name: None
                    if part.probabilities is None
                    else _of_rows(ids, part.probabilities.tolist(), part)
                    for name, part in made.items()
                },
                "stopped": {name: dict(zip(ids, part.stopped)) for name, part in made.items()},
                "receipt": receipt.to_dict(),
            }
        )
        return
    head: list[object] = ["id"]
    columns: list[Sequence[object]] = [ids]
    for name, part in made.items():
        answers = [_plain(value) for value in part.values]
        told = _table(name, ids, answers, part)
        # Two tasks may have classes of the same name: a column says whose probability it holds.
        head += [name, *(f"{name}: {column}" for column in told[0][2:-1])]
        columns += list(zip(*told[1:]))[1:-1]
    rows = [(*head, "cost"), *zip(*columns, [float(c) for c in receipt.cost_per_row])]
    _write_rows(rows, out, receipt)


def _write_rows(rows: list[tuple[object, ...]], out: Path | None, receipt: Receipt) -> None:
    """A table of answers, printed or written; beside it, what they cost."""
    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
    else:
        with out.open("w", newline="", encoding="utf-8") as target:
            csv.writer(target).writerows(rows)
    cost = money(receipt.cost, receipt.currency)
    typer.echo(f"{receipt.cells} cells bought for {cost}, {receipt.reused_cells} reused.", err=True)


def _of_rows(ids: Sequence[str], shown: list[object], made: Prediction) -> Json:
    return {i: p if done else None for i, p, done in zip(ids, shown, made.answered)}


def _table(
    task: str, ids: Sequence[str], answers: list[object], made: Prediction
) -> list[tuple[object, ...]]:
    """Answers, a column of probabilities per class, and what each row has cost."""
    head: list[object] = ["id", task]
    told = [a if done else "" for a, done in zip(answers, made.answered)]
    columns: list[Sequence[object]] = [ids, told]
    if made.probabilities is not None and made.classes is not None:
        head += [f"probability of {_plain(c)}" for c in made.classes]
        columns += [
            ["" if np.isnan(p) else round(float(p), 6) for p in column]
            for column in made.probabilities.T
        ]
    head.append("cost")
    columns.append([float(c) for c in made.receipt.cost_per_row])
    return [tuple(head), *zip(*columns)]


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
