"""``thrifty ask``: one row, cell by cell, in a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from thrifty.commands.opening import LifetimeName, StorePlace, open_lifetime, the_only_task, visible
from thrifty.errors import BadInput
from thrifty.lazy import Sure
from thrifty.lifetime.interview import Interview, Wanted

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def ask(
        store: StorePlace,
        task: Annotated[
            list[str] | None,
            typer.Option(help="A task to be answered; may be repeated; none: the only one."),
        ] = None,
        id: Annotated[
            str | None, typer.Option(help="Of the row: what is told of it is kept, and goes on.")
        ] = None,
        source: Annotated[
            str, typer.Option(help="The name of the source that the id belongs to.")
        ] = "interview",
        sure: Annotated[
            float | None,
            typer.Option(
                help="Stop asking about a row once sure, such as 0.95: of the rows that stop as "
                "sure and are answered with a class, at least p are of that class."
            ),
        ] = None,
        paid: Annotated[
            bool, typer.Option("--paid", help="Book each value at its list price.")
        ] = False,
        lifetime: LifetimeName = None,
    ) -> None:
        """Ask about one row, cell by cell, until every task is answered. It goes on after a break.

        A value and return; return alone where it is not to be had; q to leave.
        """
        life = open_lifetime(store, lifetime, write=True)
        stop = None if sure is None else Sure(sure)
        interview = life.ask(task or [the_only_task(life)], id=id, source=source, stop=stop)
        if interview.known:
            typer.echo(f"{len(interview.known)} answers are known from before.")
        while (wanted := interview.next) is not None:
            if not _told(interview, wanted, paid):
                typer.echo("Left." + (" It goes on with the same --id." if id else ""))
                break
        else:
            interview.close()
        for name, answer in interview.answers.items():
            why = f", {answer.stopped}" if answer.stopped else ""
            said = f"{visible(str(answer.value))} with {answer.probability:.2f}{why}"
            typer.echo(f"{visible(name)}: {said}")


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
                interview.tell(said if wanted.words else _number(said), paid=paid)
            return True
        except BadInput as error:
            typer.echo(str(error))


def _number(said: str) -> object:
    try:
        return float(said.replace(",", "."))
    except ValueError:
        return said
