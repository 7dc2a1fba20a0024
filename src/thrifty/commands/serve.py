"""``thrifty serve``: rows are answered, and asked about, over HTTP on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from thrifty.commands.opening import LifetimeName, StorePlace, open_lifetime
from thrifty.service import serve as serve_lifetime

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def serve(
        store: StorePlace,
        port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8711,
        lifetime: LifetimeName = None,
        source: Annotated[
            str, typer.Option(help="The provider that the cells of rows are booked under.")
        ] = "form",
    ) -> None:
        """Answer rows over HTTP on this machine, and ask for the values that are wanted next."""

        def announce(address: str, token: str) -> None:
            said = "that of THRIFTY_TOKEN" if os.environ.get("THRIFTY_TOKEN") else token
            typer.echo(f"{address}\ntoken: {said}\nOnly this machine can ask. Ctrl+C ends it.")

        life = open_lifetime(store, lifetime, write=True)
        serve_lifetime(life, port=port, source=source, announce=announce)
