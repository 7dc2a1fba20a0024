"""``thrifty dashboard``: a lifetime, live, in the browser of this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.report import read_pairs
from thrifty.report.dashboard import serve

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def dashboard(
        store: Annotated[str, typer.Argument(help="A file, or a postgresql:// URL.")],
        port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 8710,
        lifetime: Annotated[
            str | None, typer.Option(help="Which lifetime, where the store holds several.")
        ] = None,
        prices: Annotated[
            Path | None,
            typer.Option(help="CSV of feature,price: features and predictions in money."),
        ] = None,
        browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    ) -> None:
        """Show a lifetime live at an address of this machine, until interrupted (Ctrl+C)."""

        def announce(address: str) -> None:
            typer.echo(f"{address}\nOnly this machine can open it. Ctrl+C ends it.")
            if browser:
                webbrowser.open(address)

        listed = read_pairs(prices, "prices") if prices else None
        serve(store, port=port, lifetime=lifetime, prices=listed, announce=announce)
