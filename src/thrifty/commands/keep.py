"""``thrifty backup``, ``restore``, ``copy`` and ``purge``: for those who must keep, or must not."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Annotated

import typer

from thrifty.cells.ledger.answers import redacted
from thrifty.commands.opening import (
    AsJson,
    LifetimeName,
    StorePlace,
    open_lifetime,
    print_json,
    visible,
)
from thrifty.errors import BadInput, StoreError
from thrifty.stores import copy_store, existing_store
from thrifty.stores.sqlite import file_uri

__all__ = ["copy_file", "register"]


def copy_file(source: Path, target: Path, *, replace: bool = False) -> None:
    """A consistent copy of a store in a file, also while others write; readable by its owner."""
    existing_store(source).close()  # says what is wrong with it
    if target.exists() and not replace:
        raise BadInput(f"{target} is there already; choose another name, or say --replace.")
    beside = target.with_name(target.name + ".part")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    where = file_uri(source, "ro")
    closing = contextlib.closing
    with closing(sqlite3.connect(where, uri=True)) as a, closing(sqlite3.connect(beside)) as b:
        a.backup(b)
        problems = b.execute("PRAGMA integrity_check").fetchall()
    if problems != [("ok",)]:
        raise StoreError(f"the copy of {source} is damaged: {problems[0][0]}.")
    handle = os.open(beside, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
    os.replace(beside, target)
    folder = os.open(target.absolute().parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _file(store: str) -> Path:
    if "://" in store:
        raise BadInput(
            "a PostgreSQL store is backed up with PostgreSQL's own tools, pg_dump and pg_restore; "
            "or copied into a file while nobody writes: thrifty copy URL clinic.db."
        )
    return Path(store)


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    def backup(
        store: StorePlace,
        to: Annotated[str, typer.Argument(help="The copy; it must not be there yet.")],
    ) -> None:
        """Copy a store, also while others are learning in it."""
        if "://" in to:
            raise BadInput(
                f"a backup is a file, and {redacted(to)} is the address of a server. To move the "
                f"store there: thrifty copy {store} URL, while nobody writes."
            )
        copy_file(_file(store), Path(to))
        typer.echo(f"{store} copied to {to}.", err=True)

    @app.command()
    def restore(
        copy: Annotated[Path, typer.Argument(help="A copy that thrifty backup made.")],
        store: StorePlace,
        replace: Annotated[bool, typer.Option(help="Replace a store that is there.")] = False,
    ) -> None:
        """Bring a copy back. What was bought since it was made is unknown to it."""
        copy_file(copy, _file(store), replace=replace)
        typer.echo(
            f"{store} is as {copy} was. What was bought since then is not in it: compare the "
            "provider's bill.",
            err=True,
        )

    @app.command()
    def copy(
        store: StorePlace,
        to: Annotated[str, typer.Argument(help="A new file, or the URL of an empty database.")],
        as_json: AsJson = False,
    ) -> None:
        """Copy everything to another store, of either kind, while nobody writes; it is verified."""
        copied = copy_store(store, to)
        if as_json:
            print_json(
                {
                    "lifetimes": list(copied.lifetimes),
                    "tables": copied.tables,
                    "digests": copied.digests,
                }
            )
            return
        typer.echo(visible(str(copied)) + ".")
        typer.echo(
            "Go on in the new store alone: neither knows what the other pays for from now on.",
            err=True,
        )

    @app.command()
    def purge(
        store: StorePlace,
        example: Annotated[str, typer.Argument(help="The id of the example.")],
        lifetime: LifetimeName = None,
    ) -> None:
        """Take out every value of one example; what it cost stays on the bill."""
        life = open_lifetime(store, lifetime, write=True, whole_store=True)
        gone = life.purge(example)
        said = f"{gone.features} features had a value of {example!r}; none has now, and its bill "
        said += "stays. Copies that were made before still hold the values."
        if gone.fitted_again:
            said += f" Fitted again without it: {', '.join(gone.fitted_again)}."
        if gone.forgotten:
            said += f" Forgotten, for without it they tell nothing: {', '.join(gone.forgotten)}."
        said += " Trees and lists keep thresholds and counts of the rows they were learned from."
        typer.echo(visible(said), err=True)
