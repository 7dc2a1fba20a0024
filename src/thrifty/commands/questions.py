"""``thrifty questions try``: a few texts are asked about, before anything large is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from thrifty.cells import Cells, ChatServer, Rates
from thrifty.cells.prices.money import to_units
from thrifty.cells.sources.questions import QuestionSource
from thrifty.commands.options import AsJson, print_json
from thrifty.commands.task_source import read_csv
from thrifty.errors import BadInput
from thrifty.lifetime.lifetime import Lifetime
from thrifty.typing import Json
from thrifty.untrusted import visible


def register(app: typer.Typer) -> None:
    """Add the command."""
    questions = typer.Typer(no_args_is_help=True, help="Questions put to a language model.")
    app.add_typer(questions, name="questions")

    @questions.callback()
    def _questions() -> None:
        """Questions put to a language model."""

    @questions.command("try")
    def try_(
        texts: Annotated[Path, typer.Argument(help="CSV with a column of texts.")],
        question: Annotated[list[str], typer.Option("--question", "-q", help="May be repeated.")],
        model: Annotated[str, typer.Option(help="The model's name on the server.")],
        rates: Annotated[
            tuple[str, str] | None,
            typer.Option(
                help="Per million tokens read and written: '0.15 USD' '0.60 USD'. Left out: what "
                "genai-prices knows of the model."
            ),
        ] = None,
        url: Annotated[
            str, typer.Option(help="The address of the server.")
        ] = "https://api.openai.com/v1",
        key_from: Annotated[
            str, typer.Option(help="Environment variable with the key; '' for none.")
        ] = "OPENAI_API_KEY",
        column: Annotated[str, typer.Option(help="The column that holds the texts.")] = "text",
        n: Annotated[int, typer.Option(min=1, help="Texts to ask about.")] = 10,
        as_json: AsJson = False,
    ) -> None:
        """Ask about a few texts: the prompt, the answers, what it cost and what all would cost."""
        listed = _texts(texts, column)
        server = ChatServer(
            model, rates=Rates(*rates) if rates else None, base_url=url, key_from=key_from or None
        )
        told = tried(listed, question, server, n)
        if as_json:
            print_json(told)
        else:
            _show(told, Console())


def _texts(path: Path, column: str) -> list[str]:
    frame = read_csv(path)
    if column not in frame.columns:
        raise BadInput(
            f"{path} has no column {column!r}; it has {', '.join(map(str, frame.columns))}. Say "
            "which holds the texts: --column."
        )
    found = [str(text) for text in frame[column].dropna().tolist()]
    return list(dict.fromkeys(found))  # each text is asked about once


def tried(texts: list[str], questions: list[str], server: ChatServer, n: int) -> Json:
    """Answers to the first texts, drawn evenly over the file, and what all of them would cost."""
    shown = 60  # letters of a text that the table shows
    at = np.unique(np.linspace(0, len(texts) - 1, min(n, len(texts))).astype(int))
    some = [texts[i] for i in at.tolist()]
    bank = QuestionSource(some, questions, server)
    cells = Cells(bank, ledger=Lifetime().ledger, task="try")
    values = cells.get(np.arange(len(some)), np.arange(bank.n_features))
    cost = cells.receipt().cost
    # what the few cost, by the length of the texts: a prompt is mostly its text
    whole = QuestionSource(texts, questions, server)
    share = _reserved(whole) / _reserved(bank)
    answers = [
        {name: bank.categories[f][int(row[f])] for f, name in enumerate(bank.feature_names)}
        for row in values
    ]
    return {
        "prompt": bank.prompt(bank.examples[0], bank.feature_names),
        "texts": [text[:shown] for text in some],
        "answers": answers,
        "cost": cost,
        "all": len(texts),
        "all_cost": cost * share,
        "all_at_most": _reserved(whole),
        "currency": bank.rates.currency,
    }


def _reserved(bank: QuestionSource) -> float:
    return to_units(round(bank.dry_run(show=0).price * 1e6))


def _show(told: Json, console: Console) -> None:
    console.print(visible(str(told["prompt"])), markup=False, highlight=False)
    answers = told["answers"]
    texts = told["texts"]
    assert isinstance(answers, list) and isinstance(texts, list)
    table = Table("text", *map(visible, answers[0]))
    for text, said in zip(texts, answers):
        table.add_row(visible(text), *map(visible, said.values()))
    console.print(table)
    unit = told["currency"]
    console.print(
        f"{len(answers)} texts cost {told['cost']:.6g} {unit}; all {told['all']:,} would cost "
        f"about {told['all_cost']:.4g} {unit}, at most {told['all_at_most']:.4g} {unit}",
        highlight=False,
    )
