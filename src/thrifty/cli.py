"""The command line: thin, one file per command, each imported when it is asked for.

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

__all__ = ["app", "main"]

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
        "quote",
        "Say what tasks would cost: cells, money, calls, minutes. Nothing is bought or written.",
    ),
    "predict": (
        "predict",
        "Predict with a learned model. Cells that were paid for before cost nothing.",
    ),
    "ask": (
        "ask",
        "Ask about one row, cell by cell, until every task is answered. It goes on after a break.",
    ),
    "tasks": ("tasks", "List the learned tasks, in the order of learning."),
    "bill": (
        "bill",
        "What each task bought, reused, avoided and cost; what is spent and reserved in all.",
    ),
    "show": ("show", "Show how a task was learned, what it cost, and its model."),
    "export": (
        "export",
        "Write family, representation, models and receipts as JSON; or the cells as CSV.",
    ),
    "versions": (
        "versions",
        "List the versions of a task's model; thrifty learn FILE --update makes one.",
    ),
    "forget": (
        "versions",
        "Forget a task's model and its versions; what it bought stays owned, and paid.",
    ),
    "outcomes": (
        "outcomes",
        "Say what became true of rows that were predicted; is the model still as good?",
    ),
    "resolve": (
        "resolve",
        "List the purchases whose end is open, or say what became of one, or of all.",
    ),
    "backup": ("keep", "Copy a store, also while others are learning in it."),
    "restore": ("keep", "Bring a copy back. What was bought since it was made is unknown to it."),
    "copy": (
        "keep",
        "Copy everything to another store, of either kind, while nobody writes; it is verified.",
    ),
    "purge": ("keep", "Take out every value of one example; what it cost stays on the bill."),
    "report": ("report", "Write a lifetime's report: one HTML page that needs no network."),
    "dashboard": (
        "dashboard",
        "Show a lifetime live at an address of this machine, until interrupted (Ctrl+C).",
    ),
    "serve": (
        "serve",
        "Answer rows over HTTP on this machine, and ask for the values that are wanted next.",
    ),
    "reproduce": (
        "reproduce",
        "Run every row of the paper's tables and hold the bills against the theory.",
    ),
    "pack": (
        "pack",
        "Pack a table into columns: a bit per Boolean cell, read one by one, checksummed.",
    ),
    "questions": ("questions", "Questions put to a language model."),
    "bench": ("bench", "Measure speed as ratios, with the machine, the versions and the noise."),
}


class OnDemand(TyperGroup):
    """A command is what its file says once it is asked for; until then, its line of the help."""

    def resolve_command(self, ctx: Click, args: list[str]) -> Click:
        if args:
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
        from thrifty.untrusted import visible

        print(visible(f"thrifty: {error}"), file=sys.stderr)
        sys.exit(1)
