"""What the commands on stores share: finding the lifetime, printing for people or programs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from thrifty.errors import BadInput, StoreError
from thrifty.lifetime import Lifetime
from thrifty.stores import Store, open_store
from thrifty.stores.reading import open_to_read
from thrifty.untrusted import visible

__all__ = [
    "AsJson",
    "LifetimeName",
    "StorePlace",
    "chosen_name",
    "money",
    "open_lifetime",
    "print_json",
    "said_plainly",
    "the_only_task",
    "visible",
]

StorePlace = Annotated[str, typer.Argument(help="A file, or a postgresql:// URL.")]
LifetimeName = Annotated[
    str | None, typer.Option("--lifetime", help="Which lifetime, where the store holds several.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def chosen_name(store: Store, name: str | None, *, whole_store: bool = False) -> str:
    """The lifetime that was named, or the only one there is; any will do for the whole store."""
    there = store.lifetimes()
    if name is None and (len(there) == 1 or (there and whole_store)):
        return there[0]
    if name is None:
        listed = ", ".join(map(repr, there)) or "none yet"
        raise StoreError(
            f"the store holds {len(there)} lifetimes ({listed}); say which with --lifetime."
        )
    return name


def open_lifetime(
    where: str, name: str | None, *, write: bool = False, whole_store: bool = False
) -> Lifetime:
    """The lifetime in a store that is there already."""
    store = open_to_read(where)
    if write:
        store.close()
        store = open_store(where)
    return Lifetime.open(store, name=chosen_name(store, name, whole_store=whole_store))


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


def print_json(data: object) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def said_plainly() -> Iterator[None]:
    """Warnings of what is done inside, as lines for a reader instead of a programmer."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)

        def show(message: Warning | str, *_: object, **__: object) -> None:
            typer.echo(visible(f"note: {message}"), err=True)

        warnings.showwarning = show
        yield
