"""``thrifty versions`` and ``thrifty forget``: what became of a task's model, and the ways back."""

from __future__ import annotations

from typing import Annotated

import typer

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
    """Add the commands."""

    @app.command()
    def versions(
        store: StorePlace,
        task: Annotated[str | None, typer.Argument(help="The name of the task; none: all.")] = None,
        lifetime: LifetimeName = None,
        rollback: Annotated[
            bool, typer.Option("--rollback", help="The version before answers again.")
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the versions of a task's model; thrifty learn FILE --update makes one."""
        life = open_lifetime(store, lifetime, write=rollback)
        if rollback:
            if task is None:
                raise BadInput("say which task goes back: thrifty versions STORE TASK --rollback.")
            life.rollback(task)
        found = [v for name in ([task] if task is not None else life) for v in life.versions(name)]
        if as_json:
            keys = ("name", "state", "at", "loss", "loss_before", "judged")
            print_json(
                [{**{key: getattr(v, key) for key in keys}, "cost": v.receipt.cost} for v in found]
            )
            return
        for version in found:
            typer.echo(visible(str(version)))

    @app.command()
    def forget(
        store: StorePlace,
        task: Annotated[str | None, typer.Argument(help="The name of the task.")] = None,
        lifetime: LifetimeName = None,
        gaps: Annotated[
            bool, typer.Option("--gaps", help="Let cells that failed be asked for again.")
        ] = False,
        source: Annotated[
            str | None, typer.Option("--source", help="With --gaps: of this source alone.")
        ] = None,
    ) -> None:
        """Forget a task's model and its versions; what it bought stays owned, and paid."""
        if (task is None) != gaps or (source is not None and not gaps):
            raise BadInput(
                "say what to forget: a task, or --gaps, the cells on which a provider failed (of "
                "one --source)."
            )
        life = open_lifetime(store, lifetime, write=True)
        if task is None:
            n = life.forget_gaps(source)
            typer.echo(f"{n} gaps are forgotten; they are asked for again.", err=True)
            return
        life.forget(task)
        typer.echo(visible(f"{task} is forgotten; what it bought stays owned."), err=True)
