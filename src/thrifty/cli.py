"""The command line: thin, a few commands a file, each imported when it is asked for.

``thrifty --help`` prints one line a command. It stands here, so that nothing has to be imported to
print it; a test holds it to what the command says of itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, TypeAlias

import typer
import typer.main
from typer.core import TyperGroup

from thrifty import __version__
from thrifty.errors import ThriftyError

#: what click makes, which some versions of typer bring themselves
Click: TypeAlias = Any

#: commands in the order of the help: the file of each, and its line
_COMMANDS = {
    "demo": (
        "demo",
        "Ten questions about real scans, then 200 related tasks: the bills, and a picture.",
    ),
    "learn": (
        "learn",
        "Learn the tasks of a file. What is learned or paid for is kept: run it again to go on.",
    ),
    "quote": (
        "learn",
        "Say what tasks would cost: cells, money, calls, minutes. Nothing is bought or written.",
    ),
    "predict": (
        "predict",
        "Predict with a learned model. Cells that were paid for before cost nothing.",
    ),
    "ask": (
        "predict",
        "Ask about one row, cell by cell, until every task is answered, later too with --id.",
    ),
    "outcomes": (
        "predict",
        "Record the outcomes of rows that were predicted; is the model still as good?",
    ),
    "show": (
        "bill",
        "List the learned tasks; or show a task: what it cost, how good it is, its model.",
    ),
    "bill": ("bill", "What each task bought, reused and cost; what is spent and reserved in all."),
    "resolve": ("bill", "List open purchases, or say what became of one, or of all."),
    "report": (
        "report",
        "Write a lifetime's report, one HTML page that needs no network; or show it live.",
    ),
    "serve": (
        "report",
        "Answer rows over HTTP on this machine, and ask for the values that are wanted next.",
    ),
    "questions": ("questions", "Questions put to a language model."),
    "store": (
        "store",
        "Copy a store, write out what it holds, go back to a version, or take something out.",
    ),
}


#: commands that load models, which takes more than a second: nobody looks at an empty screen
_SLOW = {"demo", "learn", "quote", "predict", "ask", "report", "serve"}


class OnDemand(TyperGroup):
    """A command is what its file says once it is asked for; until then, its line of the help."""

    def resolve_command(self, ctx: Click, args: list[str]) -> Click:
        if args:
            if args[0] in _SLOW and "--json" not in args and sys.stderr.isatty():
                print("starting ...", end="\r", file=sys.stderr, flush=True)
            self.load(args[0])
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> None:
        """Put the command itself in the place of its line."""
        if name in _COMMANDS:
            one = typer.Typer(add_completion=False)
            one.callback()(lambda: None)  # a group, however few commands the file has
            import_module(f"thrifty.commands.{_COMMANDS[name][0]}").register(one)
            found: Click = typer.main.get_command(one)
            self.commands[name] = found.commands[name]


app = typer.Typer(
    name="thrifty",
    cls=OnDemand,
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


def _not_loaded() -> None:
    raise AssertionError("a command is loaded before it runs")


for _name, (_, _line) in _COMMANDS.items():
    app.command(_name, help=_line)(_not_loaded)


def main() -> None:
    """Run a command; an error we raise on purpose is one line, not a traceback."""
    try:
        app()
    except ThriftyError as error:
        from thrifty.commands.options import in_commands
        from thrifty.untrusted import visible

        print(visible(f"thrifty: {in_commands(str(error))}"), file=sys.stderr)
        sys.exit(1)
