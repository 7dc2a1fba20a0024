"""``thrifty outcomes``: what became true of rows that were predicted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.csv_file import read_csv
from thrifty.commands.opening import (
    AsJson,
    LifetimeName,
    StorePlace,
    open_lifetime,
    print_json,
    visible,
)
from thrifty.errors import BadInput

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def outcomes(
        store: StorePlace,
        task: Annotated[str, typer.Argument(help="The task whose model has predicted them.")],
        truth: Annotated[
            Path | None, typer.Argument(help="A CSV with two columns, id and outcome.")
        ] = None,
        lifetime: LifetimeName = None,
        as_json: AsJson = False,
    ) -> None:
        """Say what became true of rows that were predicted; is the model still as good?"""
        life = open_lifetime(store, lifetime, write=truth is not None)
        if truth is None:
            found = life.outcomes(task)
        else:
            frame = read_csv(truth)
            if len(frame.columns) != 2:
                raise BadInput(
                    f"{truth} must have two columns, id and outcome; it has {len(frame.columns)}."
                )
            found = life.outcomes(task, frame.iloc[:, 0].tolist(), frame.iloc[:, 1].tolist())
        if as_json:
            print_json(asdict(found))
        else:
            typer.echo(visible(str(found)))
