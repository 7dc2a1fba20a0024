"""The command line: thin, one file per command."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from thrifty import __version__
from thrifty.commands.opening import visible
from thrifty.errors import ThriftyError

__all__ = ["app", "main"]

_COMMANDS = (
    "demo",
    "learn",
    "predict",
    "tasks",
    "bill",
    "show",
    "export",
    "resolve",
    "keep",
    "report",
    "dashboard",
    "reproduce",
    "pack",
    "bench",
)

app = typer.Typer(
    name="thrifty",
    help="Learn many related tasks while paying for few feature values.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thrifty {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", is_eager=True, callback=_say_version, help="Print the version."
    ),
) -> None:
    """Learn many related tasks while paying for few feature values."""


for _name in _COMMANDS:
    import_module(f"thrifty.commands.{_name}").register(app)


def main() -> None:
    """Run a command; an error we raise on purpose is one line, not a traceback."""
    try:
        app()
    except ThriftyError as error:
        print(visible(f"thrifty: {error}"), file=sys.stderr)
        sys.exit(1)
