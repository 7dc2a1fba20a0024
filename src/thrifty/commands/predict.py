"""``thrifty predict``, ``ask`` and ``outcomes``: answers for new rows, and their outcomes."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from thrifty.cells.ledger.receipt import PredictionReceipt
from thrifty.commands.learn import no_money_for_counted_cells
from thrifty.commands.options import (
    AsJson,
    IdColumn,
    LifetimeName,
    StorePlace,
    SureOf,
    in_commands,
    money,
    no_formulas,
    note,
    open_lifetime,
    print_json,
    said_plainly,
    say,
    the_only_task,
)
from thrifty.commands.task_file import TaskFile, reads_file
from thrifty.commands.task_source import Knowledge, open_source, read_csv, say_other_name
from thrifty.errors import BadInput, BudgetExceeded, Censored, LooksMisspelt
from thrifty.lifetime.interview import Interview, Wanted
from thrifty.lifetime.learned import bought_for
from thrifty.lifetime.lifetime import Lifetime
from thrifty.lifetime.prediction import Prediction, probability_columns
from thrifty.stopping import Stop, Sure
from thrifty.typing import Fields, Json
from thrifty.untrusted import visible

if TYPE_CHECKING:
    import pandas

Columns = dict[str, list[object]]


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    @reads_file("label", "feature", "without", "spend", "positive", "censored", "gaps_known")
    def predict(
        spec: TaskFile,
        task: Annotated[
            list[str] | None,
            typer.Option(
                help="The task whose model predicts; several are answered in one pass; none: the "
                "only one."
            ),
        ] = None,
        out: Annotated[
            Path | None, typer.Option("--out", "-o", help="A CSV to write; otherwise the screen.")
        ] = None,
        sure: SureOf = None,
        spend: Annotated[
            str | None, typer.Option(help='The most that these rows may cost, "20 EUR" or "5 %".')
        ] = None,
        per_row: Annotated[
            float | None, typer.Option(help="The most that one row may cost.")
        ] = None,
        everything: Annotated[
            bool,
            typer.Option(
                "--all",
                help="Read all that the model reads; otherwise what costs is read as far as it "
                "brings something.",
            ),
        ] = False,
        missing: Annotated[
            str, typer.Option(help="warn, or ignore: predict even where most columns are missing.")
        ] = "warn",
        as_json: AsJson = False,
    ) -> None:
        """Predict with a learned model. Cells that were paid for before cost nothing.

        With a table: thrifty predict new.csv --task diabetes --store patients.db.
        """
        no_money_for_counted_cells(spec)
        life = Lifetime.open(
            spec.store, name=spec.lifetime, prices=spec.prices, budget=spec.budget,
            progress=False if as_json else None,
        )  # fmt: skip
        if everything and sure is not None:
            raise BadInput("--all reads everything, --sure stops before: say one of them.")
        tasks = task or [the_only_task(life)]
        stop: Stop = Sure(sure) if sure is not None else None if everything else "auto"
        words = {k: v for one in tasks for k, v in getattr(life[one].model, "words_", {}).items()}
        ended: BudgetExceeded | None = None
        with said_plainly(), warnings.catch_warnings():
            warnings.simplefilter("ignore", Censored)  # said when it was learned
            warnings.filterwarnings("ignore", ".* in several spellings", LooksMisspelt)
            opened = open_source(spec, Knowledge.of_life(life, words))
            X, ids = opened.source, opened.ids
            say_other_name(life, X)
            how: Fields = {"stop": stop, "per_row": per_row, "spend": spend}
            if len(tasks) > 1:
                many = life.predict(tasks, X, **how)
                _write(ids, many, many.receipt, out, as_json)
                return
            try:
                one = life.predict(tasks[0], X, **how, missing=missing)
            except BudgetExceeded as error:
                if error.prediction is None:
                    raise
                one, ended = error.prediction, error
            _write(ids, {tasks[0]: one}, one.receipt, out, as_json)
        if ended is not None:
            raise _out_of_money(one, ended)

    @app.command()
    def ask(
        store: StorePlace,
        task: Annotated[
            list[str] | None,
            typer.Option(help="A task to be answered; may be repeated; none: the only one."),
        ] = None,
        id: Annotated[
            str | None,
            typer.Option(help="The id of the row: answers are kept, the same id continues."),
        ] = None,
        source: Annotated[
            str, typer.Option(help="The name of the source that the id belongs to.")
        ] = "interview",
        sure: SureOf = None,
        paid: Annotated[
            bool, typer.Option("--paid", help="Book each value at its list price.")
        ] = False,
        lifetime: LifetimeName = None,
    ) -> None:
        """Ask about one row, cell by cell, until every task is answered, later too with --id.

        A value and return; return alone where it is unavailable; q to leave.
        """
        life = open_lifetime(store, lifetime, write=True)
        stop = None if sure is None else Sure(sure)
        interview = life.ask(task or [the_only_task(life)], id=id, source=source, stop=stop)
        if interview.known:
            say(f"{len(interview.known)} answers are known from before.")
        while (wanted := interview.next) is not None:
            if not _told(interview, wanted, paid):
                say("Stopped." + (" The same --id continues." if id else ""))
                break
        else:
            interview.close()
        for name, answer in interview.answers.items():
            why = f", {answer.stopped}" if answer.stopped else ""
            say(f"{name}: {answer.value} with {answer.probability:.2f}{why}")

    @app.command()
    def outcomes(
        truth: Annotated[str, typer.Argument(help="A CSV of outcomes; or a store, only to look.")],
        task: Annotated[
            str | None,
            typer.Option(help="The task whose model has predicted them; none: the only one."),
        ] = None,
        store: Annotated[
            str | None, typer.Option(help="Where the lifetime is; otherwise beside the file.")
        ] = None,
        id: IdColumn = None,
        label: Annotated[
            str | None, typer.Option(help="The column of outcomes; otherwise the task's name.")
        ] = None,
        lifetime: LifetimeName = None,
        as_json: AsJson = False,
    ) -> None:
        """Record the outcomes of rows that were predicted; is the model still as good?

        With a table: thrifty outcomes truth.csv --task diabetes --id patient --store patients.db.
        """
        told = truth.lower().endswith(".csv")
        if not told and (store or id or label):
            raise BadInput(
                f"outcomes must be a CSV; got {truth!r}. A store alone is looked at: "
                "thrifty outcomes patients.db --task diabetes."
            )
        where = truth if not told else store or str(Path(truth).with_suffix(".db"))
        life = open_lifetime(where, lifetime, write=told)
        name = task or the_only_task(life)
        with said_plainly():
            if told:
                ids, values = _outcome_columns(read_csv(Path(truth)), truth, name, id, label)
                found = life[name].outcomes(ids, values)
            else:
                found = life[name].monitor()
        if as_json:
            print_json(asdict(found))
        else:
            say(found)


# -- predict -------------------------------------------------------------------------------------


def _write(
    ids: Sequence[str],
    parts: Mapping[str, Prediction],
    receipt: PredictionReceipt,
    out: Path | None,
    as_json: bool,
) -> None:
    """The answers of each task, as one table or as JSON, and what they cost together."""
    alone, first = len(parts) == 1, next(iter(parts.values()))
    if as_json:
        said = {name: _said(ids, part) for name, part in parts.items()}
        told: Json = {"tasks": list(said)}
        told |= {key: {name: part[key] for name, part in said.items()} for key in _said(ids, first)}
        if alone:
            ((name, whole),) = said.items()
            lacking = [i for i, done in zip(ids, first.answered) if not done]
            told = {"task": name, **whole, "unanswered": lacking}
        print_json({**told, "receipt": receipt.to_dict()})
        return
    columns: Columns = {"id": list(ids)}
    for name, part in parts.items():
        # Two tasks may have classes of the same name: a column says whose probability it holds.
        named = _columns(name, part).items()
        columns |= {k if alone or k == name else f"{name}: {k}": value for k, value in named}
    columns["cells"] = [int(c) for c in receipt.cells_per_row]
    columns["cost"] = [float(c) for c in receipt.cost_per_row]
    rows = [no_formulas(row) for row in (list(columns), *zip(*columns.values()))]
    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
    else:
        with out.open("w", newline="", encoding="utf-8") as target:
            csv.writer(target).writerows(rows)
    answered = int(first.answered.sum())
    each = f"{receipt.cells / answered:.1f} a row, " if answered else ""
    note(f"{bought_for(receipt)}: {each}{receipt.reused_cells:,} reused.")


def _said(ids: Sequence[str], made: Prediction) -> Json:
    """What a program reads of a task's answers, by id."""
    shown: list[object] = [] if made.probabilities is None else made.probabilities.tolist()
    rows = {id: p if done else None for id, p, done in zip(ids, shown, made.answered)}
    return {
        "predictions": dict(zip(ids, map(_plain, made.values))),
        "classes": None if made.classes is None else made.classes.tolist(),
        "probabilities": rows or None,
        "stopped": dict(zip(ids, made.stopped)),
    }


def _columns(task: str, made: Prediction) -> Columns:
    """The answer of each row, how probable and how sure it is, why it stopped."""
    answers = [_plain(v) if ok else "" for v, ok in zip(made.values, made.answered)]
    told = probability_columns(made).items()
    return {
        task: answers,
        **{name: list(map(_written, np.asarray(column))) for name, column in told},
    }


def _written(value: object) -> object:
    """As a table says it: yes and no, and nothing where nothing is known."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if np.isnan(value) else round(float(value), 6)
    return value


def _out_of_money(made: Prediction, ended: BudgetExceeded) -> BudgetExceeded:
    left = money(ended.left, made.receipt.currency)
    return BudgetExceeded(
        f"{int(made.answered.sum())} of {len(made)} rows are answered and written, the others are "
        f"empty: {left} is left of the budget and the next row needs "
        f"{money(ended.needed, made.receipt.currency)}. Give the same command again with a larger "
        "--budget: what is bought is not paid for twice."
    )


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


# -- ask -----------------------------------------------------------------------------------------


def _told(interview: Interview, wanted: Wanted, paid: bool) -> bool:
    """One question; False where somebody leaves."""
    words = f" [{', '.join(map(visible, wanted.words))}]" if wanted.words else ""
    price = f", price {wanted.price:g}" if wanted.price else ""
    while True:
        said = typer.prompt(
            f"{visible(wanted.feature)}{words}{price}", default="", show_default=False
        ).strip()
        if said == "q":
            return False
        try:
            if not said:
                interview.skip()
            else:
                interview.tell(said, paid=paid)
            return True
        except BadInput as error:
            say(in_commands(str(error)))


# -- outcomes ------------------------------------------------------------------------------------


def _outcome_columns(
    frame: pandas.DataFrame, where: str, task: str, id: str | None, label: str | None
) -> tuple[list[object], list[object]]:
    """The ids and the outcomes: by name, or the two columns of a file that has two."""
    names = [str(c) for c in frame.columns]
    if id is None and (len(names) == 2 or names[:1] == ["id"]):
        id = names[0]  # as thrifty predict writes it
    if label is None:
        label = task if task in names else names[-1] if len(names) == 2 else None
    for column, option in ((id, "--id"), (label, "--label")):
        if column is None or column not in names:
            said = "" if column is None else f"has no column {column!r}; "
            raise BadInput(
                f"{where} {said or 'does not say which column is meant; '}"
                f"name it with {option}: {', '.join(map(repr, names[:8]))}."
            )
    return frame[id].tolist(), frame[label].tolist()
