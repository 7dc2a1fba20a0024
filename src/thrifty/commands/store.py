"""``thrifty store``: copies of a store, what is in it as files, and what must not stay in it."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from thrifty.cells.ledger.answers import redacted
from thrifty.cells.ledger.compacted import compact_all, read_column
from thrifty.commands.bill import in_full
from thrifty.commands.options import (
    AsJson,
    LifetimeName,
    StorePlace,
    no_formulas,
    note,
    open_lifetime,
    print_json,
    say,
)
from thrifty.errors import BadInput, BadParameter, StoreError
from thrifty.lifetime.lifetime import Lifetime
from thrifty.stores import copy_store, existing_store
from thrifty.stores.pages import SqlPages
from thrifty.stores.sqlite import file_uri
from thrifty.typing import Json

_HEAD = ("source", "example", "feature", "value", "bought_at", "lifetime", "task")

TaskName = Annotated[str, typer.Argument(help="The name of the task.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    store = typer.Typer(no_args_is_help=True)
    app.add_typer(store, name="store")

    @store.callback()
    def _store() -> None:
        """Copy a store, write out what it holds, go back to a version, or take something out."""

    for add in (_copies, _files, _tasks):
        add(store)


def _copies(app: typer.Typer) -> None:
    @app.command()
    def backup(
        store: StorePlace,
        to: Annotated[str, typer.Argument(help="The copy; it must not be there yet.")],
    ) -> None:
        """Copy a store, also while others are learning in it."""
        if "://" in to:
            raise BadInput(
                f"a backup is a file, and {redacted(to)} is the address of a server. To move the "
                f"store there: thrifty store copy {store} URL, while nobody writes."
            )
        copy_file(_file(store), Path(to))
        note(f"{store} copied to {to}.")

    @app.command()
    def restore(
        copy: Annotated[Path, typer.Argument(help="A copy that thrifty store backup made.")],
        store: StorePlace,
        replace: Annotated[bool, typer.Option(help="Replace a store that is there.")] = False,
    ) -> None:
        """Bring a copy back. What was bought since it was made is unknown to it."""
        copy_file(copy, _file(store), replace=replace)
        note(
            f"{store} is as {copy} was. What was bought since then is not in it: compare the "
            "provider's bill."
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
            told = {"tables": copied.tables, "digests": copied.digests}
            print_json({"lifetimes": list(copied.lifetimes), **told})
            return
        say(f"{copied}.")
        note("Go on in the new store alone: neither knows what the other pays for from now on.")


def _files(app: typer.Typer) -> None:
    @app.command()
    def export(
        store: StorePlace,
        out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
        cells: Annotated[
            bool, typer.Option(help="The values that were bought, as CSV, instead of the models.")
        ] = False,
        task: Annotated[
            str | None,
            typer.Option(help="One task's model for serving: JSON that needs no Thrifty."),
        ] = None,
        with_rows: Annotated[
            bool,
            typer.Option(
                "--rows/--without-rows",
                help="With --task: whether the file may hold values the model was learned from.",
            ),
        ] = True,
        lifetime: LifetimeName = None,
    ) -> None:
        """Write family, representation, models and receipts as JSON; or the cells as CSV.

        With --task: one model alone, in a form that twenty lines predict from (docs/serving.md).
        It may hold values of the rows that it was learned from; --without-rows writes one without.
        """
        if cells and task is not None:
            raise BadParameter("give --cells or --task: the cells of a store, or a task's model.")
        life = open_lifetime(store, lifetime, write=cells, whole_store=cells)
        served = None if task is None else {"task": task, **_served(life, task, with_rows)}
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", newline="", encoding="utf-8") as target:
            if cells:
                rows = _cells(life)
                csv.writer(target).writerows([_HEAD, *map(no_formulas, rows)])
                said = f"{len(rows)} cells"
            elif served is not None:
                json.dump(served, target)
                said = f"the model of {task!r}"
            else:
                whole = {
                    "family": life.family.to_dict(),
                    "representation": life.representation.to_dict(),
                    "tasks": list(map(in_full, life.tasks)),
                }
                json.dump(whole, target, indent=1)
                said = f"{len(life)} tasks"
        note(f"{said} written to {out}.")
        if served is not None:
            note(served["holds"])
        elif not cells:
            note(
                "It holds the cells that the models were fitted on: keep it as you keep the store."
            )

    @app.command()
    def pack(
        data: Annotated[Path, typer.Argument(help=".csv, .parquet, .npy, or scipy sparse .npz.")],
        out: Annotated[
            Path | None, typer.Argument(help="The folder to make; data.cells unless said.")
        ] = None,
        without: Annotated[
            list[str] | None, typer.Option(help="A column to leave out; may be repeated.")
        ] = None,
        replace: Annotated[bool, typer.Option(help="Replace an earlier packed file.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """Pack a table into columns: a bit per Boolean cell, read one by one, checksummed."""
        from rich.progress import Progress

        from thrifty.packed import pack as pack_table

        target = out if out is not None else data.with_suffix(".cells")
        with Progress(disable=as_json) as bar:
            job = bar.add_task(f"packing {data}", total=1.0)
            packed = pack_table(
                data, target, without=without or (), replace=replace,
                progress=lambda share: bar.update(job, completed=share),
            )  # fmt: skip
        if as_json:
            size = {"boolean": packed.n_boolean, "bytes": packed.bytes}
            rows = {"examples": packed.n_examples, "features": packed.n_features}
            print_json({"path": str(packed.path), **rows, **size})
            return
        say(
            f"{packed.path}: {packed.n_examples:,} examples x {packed.n_features:,} features "
            f"({packed.n_boolean:,} Boolean), {packed.bytes / 1e6:,.1f} MB"
        )

    @app.command()
    def purge(
        store: StorePlace,
        example: Annotated[str, typer.Argument(help="The id of the example.")],
        lifetime: LifetimeName = None,
    ) -> None:
        """Take out every value of one example; what it cost stays on the bill."""
        life = open_lifetime(store, lifetime, write=True, whole_store=True)
        gone = life.ledger.purge(example)
        said = f"{gone.features} features had a value of {example!r}; none has now, and its bill "
        said += "stays. Copies that were made before still hold the values."
        if gone.fitted_again:
            said += f" Fitted again without it: {', '.join(gone.fitted_again)}."
        if gone.forgotten:
            said += f" Forgotten, for without it they tell nothing: {', '.join(gone.forgotten)}."
        said += " Trees and lists keep thresholds and counts of the rows they were learned from."
        note(said)


def _tasks(app: typer.Typer) -> None:
    @app.command()
    def versions(
        store: StorePlace,
        task: Annotated[str | None, typer.Argument(help="The name of the task; none: all.")] = None,
        lifetime: LifetimeName = None,
        as_json: AsJson = False,
    ) -> None:
        """List the versions of a task's model; thrifty learn FILE --update makes one."""
        _list_versions(open_lifetime(store, lifetime), task, as_json)

    @app.command()
    def rollback(
        store: StorePlace, task: TaskName, lifetime: LifetimeName = None, as_json: AsJson = False
    ) -> None:
        """Let the version before answer again."""
        life = open_lifetime(store, lifetime, write=True)
        life[task].rollback()
        _list_versions(life, task, as_json)

    @app.command()
    def forget(
        store: StorePlace,
        task: Annotated[str | None, typer.Argument(help="The name of the task.")] = None,
        lifetime: LifetimeName = None,
        gaps: Annotated[
            bool, typer.Option("--gaps", help="Let cells that failed be asked for again.")
        ] = False,
        source: Annotated[
            str | None, typer.Option("--source", help="With --gaps: of this source alone.")
        ] = None,
    ) -> None:
        """Forget a task's model and its versions; what it bought stays owned, and paid."""
        if (task is None) != gaps or (source is not None and not gaps):
            raise BadInput(
                "say what to forget: a task, or --gaps, the cells on which a provider failed (of "
                "one --source)."
            )
        life = open_lifetime(store, lifetime, write=True)
        if task is None:
            said = (
                f"{life.ledger.forget_gaps(source)} gaps are forgotten; they are asked for again."
            )
        else:
            life.forget(task)
            said = f"{task} is forgotten; what it bought stays owned."
        note(said)


def _list_versions(life: Lifetime, task: str | None, as_json: bool) -> None:
    found = [v for name in ([task] if task is not None else life) for v in life[name].versions]
    if as_json:
        keys = ("name", "state", "at", "loss", "loss_before", "judged")
        told = [{**{key: getattr(v, key) for key in keys}, "cost": v.receipt.cost} for v in found]
        print_json(told)
        return
    for version in found:
        say(version)


# -- copies --------------------------------------------------------------------------------------


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
    _synced(beside)
    os.replace(beside, target)
    _synced(target.absolute().parent)


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _file(store: str) -> Path:
    if "://" in store:
        raise BadInput(
            "a PostgreSQL store is backed up with PostgreSQL's own tools, pg_dump and pg_restore; "
            "or copied into a file while nobody writes: thrifty store copy URL clinic.db."
        )
    return Path(store)


# -- export --------------------------------------------------------------------------------------


def _served(life: Lifetime, task: str, rows: bool) -> Json:
    from thrifty.serving import serving_model  # models take long to load

    return serving_model(life[task].model, rows=rows)


def _cells(life: Lifetime) -> list[tuple[object, ...]]:
    """Every value in the store, the latest where one was bought again; who bought it, and when."""

    def work(pages: SqlPages) -> list[tuple[object, ...]]:
        compact_all(pages)
        bought = _buyers(pages)
        at_time = pages.transactions()
        features, words, rows = pages.sources_of("feature"), pages.words(), []
        for column in pages.columns("feature"):
            source, feature = features[column.number]
            facts = read_column(column)
            names = pages.names("example", facts.examples.tolist())
            for e, name, v, t in zip(facts.examples.tolist(), names, facts.values, facts.times):
                lifetime, task = bought.get((column.number, e)) or at_time.get(float(t), ("", ""))
                when = datetime.fromtimestamp(float(t), UTC).isoformat(timespec="seconds")
                said = _value(float(v), words.get(column.number, ()))
                rows.append((source, name, feature, said, when, lifetime, task))
        return sorted(rows, key=lambda row: row[:3])

    rows: list[tuple[object, ...]] = life.ledger.book.write(work)
    return rows


def _value(value: float, words: Sequence[str]) -> object:
    """A category by its word."""
    return words[int(value)] if words and 0 <= value < len(words) else value


def _buyers(pages: SqlPages) -> dict[tuple[int, int], tuple[str, str]]:
    """Who bought each cell from a provider: (lifetime, task), the latest purchase."""
    lifetimes = {id: str(name) for id, name in pages._run("SELECT id, name FROM lifetimes")}
    found = {}
    for p in pages.all_settled():
        for f in p.block.features.tolist():
            for e in p.block.examples.tolist():
                found[f, e] = (str(lifetimes[p.lifetime]), p.task)
    return found
