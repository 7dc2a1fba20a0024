"""What the commands share: options, finding the lifetime, printing for people or programs."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from thrifty.errors import BadInput
from thrifty.lifetime.lifetime import Lifetime
from thrifty.stores import open_store
from thrifty.stores.base import lifetime_in, open_to_read
from thrifty.untrusted import visible

#: how a cell begins that a spreadsheet takes for a formula
_RUN = ("=", "+", "-", "@", "\t", "\r", "\n")

StorePlace = Annotated[str, typer.Argument(help="A file, or a postgresql:// URL.")]
LifetimeName = Annotated[
    str | None, typer.Option("--lifetime", help="Which lifetime, where the store holds several.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
IdColumn = Annotated[str | None, typer.Option(help="The column that names each example.")]
OnlyTasks = Annotated[
    list[str] | None, typer.Option(help="Only this task; may be given several times.")
]
SureOf = Annotated[
    float | None,
    typer.Option(
        "--sure",
        help="Stop asking about a row once sure, such as 0.95: of the rows that stop as sure and "
        "are answered with a class, at least p are of that class.",
    ),
]


def open_lifetime(
    where: str, name: str | None, *, write: bool = False, whole_store: bool = False
) -> Lifetime:
    """The lifetime in a store that is there already: the one that was named, or the only one.

    ``whole_store``: any will do, for it is about the store.
    """
    store = open_to_read(where)
    if write:
        store.close()
        store = open_store(where)
    chosen = store.lifetimes()[:1] if whole_store and name is None else []
    return Lifetime.open(store, name=chosen[0] if chosen else lifetime_in(store, name))


def the_only_task(life: Lifetime) -> str:
    """The task of a lifetime that has learned one; nobody has to name it."""
    known = list(life)
    if len(known) != 1:
        listed = ", ".join(map(visible, known)) or "none is learned yet"
        raise BadInput(f"say which task with --task: {listed}.")
    return known[0]


def money(amount: float, currency: str) -> str:
    """An amount as people write it.

    >>> money(1725631.5, "EUR"), money(0.0004, "")
    ('1,725,631.5 EUR', '0.0004')
    """
    whole, _, decimals = f"{amount:,.6f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}{'.' if decimals else ''}{decimals} {currency}".rstrip()


def no_formulas(row: Sequence[object]) -> list[object]:
    """What a spreadsheet would run stands behind an apostrophe, which makes it text.

    >>> no_formulas(["=1+1", -2.5, "p7"])
    ["'=1+1", -2.5, 'p7']
    """
    return [f"'{v}" if isinstance(v, str) and v.startswith(_RUN) else v for v in row]


def say(text: object) -> None:
    """What was asked for, as text that does nothing to a terminal."""
    typer.echo(visible(str(text)))


def note(text: object) -> None:
    """The same beside it."""
    typer.echo(visible(str(text)), err=True)


def print_json(data: object) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _codes(match: re.Match[str]) -> str:
    return " ".join(f"--na {code.strip()}" for code in match[1].split(","))


#: what a message says to programmers, and to whoever typed a command
_IN_COMMANDS = (
    (r"Lifetime\.open\(store\)\.change\(family=\.\.\.\)", "give it a store of its own (--store)"),
    (r"life\.change\(prices=[^)]*\)", "prices: in a task file"),
    (r"life\.change\(kinds=\{'?([^':}]+)'?: '([^']+)'\}\)", r"--kinds '\1=\2' with --store NEW.db"),
    (r"life\['[^']*'\]\.update", "thrifty learn FILE --update"),
    (r"life\.(forget|rollback)\(('[^']*')\)", r"thrifty store \1 STORE \2"),
    (r"life\.\w+\([^)]*spend=('[^']+')\)", r"--spend \1"),
    (r"Lifetime\((?:\.\.\., )?budget=thrifty\.Budget\(total=('[^']+')\)\)", r"--budget \1"),
    (r"Lifetime\(budget=thrifty\.Budget\([^)]*\)\)", "--budget"),
    (r"Lifetime\.open\(store, budget=[^)]*\)", "--budget"),
    (r"thrifty\.Lifetime\(\.\.\., store=[^)]*\), or the command thrifty learn", "thrifty learn"),
    (r"kinds=\{'([^']+)': \[([^\]]*)\]\}", r"--kinds '\1=A,B,...' (\2)"),
    (r"kinds=\{'([^']+)': '([^']+)'\}", r"--kinds '\1=\2'"),
    (r"na=\[([^\]]*)\]", _codes),
    (r"bring them as texts: y\.astype\(str\)", "say --kinds 'LABEL=category'"),
    (r"([Ll])eave (it|them) out with features=( or without=)?", r"\1eave \2 out with --without"),
    (r"([Ll])eave the column out", r"\1eave it out with --without"),
    (r"in prices=", "under prices: in a task file"),
    (r"features=\[\.\.\.\] or --without", "--without"),
    (r"features=\[\.\.\.\] says otherwise", "--feature says otherwise"),
    (r"thrifty\.Sure\(probability\)", "--sure P"),
    (r"thrifty\.Models\(\)", "family: Models"),
    (r"skip\(\) says", "return alone says"),
    (r"duplicates='(\w+)' or '(\w+)'", r"--duplicates \1 or \2"),
    (r"the budget\b(?= or|\.$)|budget=\.\.\.", "--budget"),
    (r"(?<=\. )X (lacks|has)\b", r"The file \1"),
    (r"\bX (lacks|has)\b", r"the file \1"),
    (
        r"Where values may change, [^;]*; if this is another table, another name=;",
        "If this is another table, give it another name: in a task file;",
    ),
    (r"\b(spend|budget|kinds|na|censored|without|store|positive|missing)=(?=[\s.,;:)]|$)", r"--\1"),
    (r"\b(spend|budget|positive|missing|censored)=('[^']*'|[\w.%-]+)", r"--\1 \2"),
)


def in_commands(message: str) -> str:
    """A message of the library, with what to type in place of what to program.

    >>> in_commands("say na=['-'] or kinds={'tsh': 'number'}; raise spend= or the budget.")
    "say --na '-' or --kinds 'tsh=number'; raise --spend or --budget."
    """
    for pattern, said in _IN_COMMANDS:
        message = re.sub(pattern, said, message)
    return message


@contextmanager
def said_plainly() -> Iterator[None]:
    """Warnings of what is done inside, as lines for a reader instead of a programmer."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        said: set[str] = set()

        def show(message: Warning | str, *_: object, **__: object) -> None:
            line = visible(f"note: {in_commands(str(message))}")
            if line not in said:  # once is enough
                said.add(line)
                note(line)

        warnings.showwarning = show
        yield
