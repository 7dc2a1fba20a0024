"""Writes the page of the command line from the commands themselves, while the site is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["cli_page", "on_files"]


def on_files(files: Any, config: Any) -> Any:
    """mkdocs calls this: the page exists only in the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference/cli.md", content=cli_page()))
    return files


def cli_page() -> str:
    """The whole page, as Markdown."""
    import typer.main

    from thrifty.cli import app

    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="thrifty")
    parts = ["# Command line", group.help or "", "Every command says the same with `--help`."]
    for name in group.list_commands(context):
        group.load(name)
        parts += _command(name, group.get_command(context, name))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    """A heading, what it does, how it is typed, a table of what it takes; of a group each part."""
    if hasattr(command, "commands"):
        yield f"## thrifty {name}"
        yield " ".join((command.help or "").split())
        for part, of_group in command.commands.items():
            yield from _command(f"{name} {part}", of_group)
        return
    given = [option for option in command.params if option.name != "help"]
    arguments = [option for option in given if option.param_type_name == "argument"]
    typed = " ".join(_argument(argument) for argument in arguments)
    yield f"## thrifty {name}"
    yield " ".join((command.help or "").split())
    yield f"```text\nthrifty {name} {typed}".rstrip() + " [options]\n```"
    yield "\n".join(["| | what it is | unless given |", "|---|---|---|", *map(_row, given)])


def _argument(argument: Any) -> str:
    word = str(argument.name).upper()
    return word if argument.required else f"[{word}]"


def _row(option: Any) -> str:
    if option.param_type_name == "argument":
        name = f"`{_argument(option)}`"
    else:
        name = ", ".join(f"`{way}`" for way in [*option.opts, *option.secondary_opts])
    plain = option.default is None or option.default is False or option.required
    words = (getattr(option, "help", "") or "").replace("|", "\\|")
    return f"| {name} | {words} | {'' if plain else f'`{option.default}`'} |"
