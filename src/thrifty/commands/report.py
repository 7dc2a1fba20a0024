"""``thrifty report`` and ``serve``: a page to keep, the same live, and answers over HTTP."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from thrifty.commands.options import LifetimeName, StorePlace, open_lifetime, say
from thrifty.on_demand import needed
from thrifty.report import pictures_of, read_store, report_page, save_pictures
from thrifty.report.view import counted


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    def report(
        store: StorePlace,
        out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
            "report.html"
        ),
        lifetime: LifetimeName = None,
        pictures: Annotated[
            Path | None, typer.Option(help="Also save every picture as PNG in this folder.")
        ] = None,
        live: Annotated[
            bool, typer.Option("--live", help="Show it live at an address of this machine.")
        ] = False,
        port: Annotated[int, typer.Option(help="With --live; 0 takes any that is free.")] = 8710,
        browser: Annotated[
            bool, typer.Option("--open", help="With --live: open it in the browser.")
        ] = False,
    ) -> None:
        """Write a lifetime's report, one HTML page that needs no network; or show it live."""
        if live:
            _show_live(store, lifetime, port, browser)
            return
        view = read_store(store, lifetime)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(report_page(view), encoding="utf-8")
        size = out.stat().st_size / 1e6
        say(f"{counted(len(view.tasks), 'task')}, {size:.1f} MB: {out.resolve()}")
        if pictures:
            drawn = save_pictures(pictures_of(view), pictures)
            say(f"{len(drawn)} pictures in {pictures.resolve()}")

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
        needed("uvicorn", "thrifty serve", "dashboard")
        from thrifty.service.app import serve as serve_lifetime

        def announce(address: str, token: str) -> None:
            said = "that of THRIFTY_TOKEN" if os.environ.get("THRIFTY_TOKEN") else token
            say(f"{address}\ntoken: {said}\nOnly this machine can ask. Ctrl+C ends it.")

        life = open_lifetime(store, lifetime, write=True)
        serve_lifetime(life, port=port, source=source, announce=announce)


def _show_live(store: str, lifetime: str | None, port: int, browser: bool) -> None:
    def announce(address: str) -> None:
        say(f"{address}\nOnly this machine can open it. Ctrl+C ends it.")
        if browser:
            webbrowser.open(address)

    needed("uvicorn", "--live", "dashboard")
    from thrifty.report.dashboard import serve

    serve(store, port=port, lifetime=lifetime, announce=announce)
