"""``thrifty tasks``: the tasks of a lifetime."""

from __future__ import annotations

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


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def tasks(store: StorePlace, lifetime: LifetimeName = None, as_json: AsJson = False) -> None:
        """List the learned tasks, in the order of learning."""
        life = open_lifetime(store, lifetime)
        if as_json:
            print_json([{"task": one.name, "route": one.route} for one in life.tasks])
            return
        for one in life.tasks:
            typer.echo(visible(f"{one.name}\t{one.route}"))
