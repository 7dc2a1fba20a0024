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

__all__ = ["register"]

TaskName = Annotated[str, typer.Argument(help="The name of the task.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    def versions(
        store: StorePlace,
        task: TaskName,
        lifetime: LifetimeName = None,
        rollback: Annotated[
            bool, typer.Option("--rollback", help="The version before answers again.")
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """List the versions of a task's model; thrifty learn FILE --update makes one."""
        life = open_lifetime(store, lifetime, write=rollback)
        if rollback:
            life.rollback(task)
        found = life.versions(task)
        if as_json:
            keys = ("name", "state", "at", "loss", "loss_before", "judged")
            print_json(
                [{**{key: getattr(v, key) for key in keys}, "cost": v.receipt.cost} for v in found]
            )
            return
        for version in found:
            typer.echo(visible(str(version)))

    @app.command()
    def forget(store: StorePlace, task: TaskName, lifetime: LifetimeName = None) -> None:
        """Forget a task's model and its versions; what it bought stays owned, and paid."""
        life = open_lifetime(store, lifetime, write=True)
        life.forget(task)
        typer.echo(visible(f"{task} is forgotten; what it bought stays owned."), err=True)
