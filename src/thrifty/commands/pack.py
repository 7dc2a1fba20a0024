"""``thrifty pack``: a table into a column file for very wide data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from thrifty.packed import pack as pack_table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

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
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Pack a table into columns: a bit per Boolean cell, read one by one, checksummed."""
        target = out if out is not None else data.with_suffix(".cells")
        with Progress(disable=as_json) as bar:
            job = bar.add_task(f"packing {data}", total=1.0)
            packed = pack_table(
                data,
                target,
                without=without or (),
                replace=replace,
                progress=lambda share: bar.update(job, completed=share),
            )
        told = {
            "path": str(packed.path),
            "examples": packed.n_examples,
            "features": packed.n_features,
            "boolean": packed.n_boolean,
            "bytes": packed.bytes,
        }
        if as_json:
            typer.echo(json.dumps(told))
        else:
            typer.echo(
                f"{packed.path}: {packed.n_examples:,} examples x {packed.n_features:,} features "
                f"({packed.n_boolean:,} Boolean), {packed.bytes / 1e6:,.1f} MB"
            )
