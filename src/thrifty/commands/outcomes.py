"""``thrifty outcomes``: what became true of rows that were predicted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thrifty.commands.csv_file import read_csv
from thrifty.commands.opening import (
    AsJson,
    LifetimeName,
    open_lifetime,
    print_json,
    the_only_task,
    visible,
)
from thrifty.commands.table_options import IdColumn
from thrifty.errors import BadInput

if TYPE_CHECKING:
    import pandas

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def outcomes(
        truth: Annotated[
            str, typer.Argument(help="A CSV of what became true; or a store, only to look.")
        ],
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
        """Say what became true of rows that were predicted; is the model still as good?

        With a table: thrifty outcomes truth.csv --task diabetes --id patient --store patients.db.
        """
        told = truth.lower().endswith(".csv")
        if not told and (store or id or label):
            raise BadInput(
                f"what became true must be a CSV; got {truth!r}. A store alone is looked at: "
                "thrifty outcomes patients.db --task diabetes."
            )
        where = truth if not told else store or str(Path(truth).with_suffix(".db"))
        life = open_lifetime(where, lifetime, write=told)
        name = task or the_only_task(life)
        if told:
            ids, values = _columns(read_csv(Path(truth)), truth, name, id, label)
            found = life.outcomes(name, ids, values)
        else:
            found = life.outcomes(name)
        if as_json:
            print_json(asdict(found))
        else:
            typer.echo(visible(str(found)))


def _columns(
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
