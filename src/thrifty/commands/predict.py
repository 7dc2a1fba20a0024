"""``thrifty predict``: buy only the cells that each example's prediction needs."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from thrifty.commands.opening import AsJson, money, print_json
from thrifty.commands.task_file import read_task_file
from thrifty.commands.task_source import open_source
from thrifty.lifetime import Lifetime

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def predict(
        file: Annotated[Path, typer.Argument(help="YAML or TOML that names the source.")],
        task: Annotated[str, typer.Option(help="The task whose model predicts.")],
        out: Annotated[
            Path | None, typer.Option("--out", "-o", help="A CSV to write; otherwise the screen.")
        ] = None,
        store: Annotated[
            str | None, typer.Option(help="Another place for the lifetime than the file says.")
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Predict with a learned model. Cells that were paid for before cost nothing."""
        spec = read_task_file(file)
        life = Lifetime.open(
            store or spec.store, name=spec.lifetime, prices=spec.prices, budget=spec.budget
        )
        model = life[task]
        opened = open_source(spec)
        source = life.attach(opened.source)
        answers = [_plain(v) for v in model.predict(source)]
        receipt = getattr(model, "receipt_", None)
        if as_json:
            print_json(
                {
                    "task": task,
                    "predictions": dict(zip(opened.ids, answers)),
                    "receipt": None if receipt is None else receipt.to_dict(),
                }
            )
            return
        rows = [("id", task), *zip(opened.ids, answers)]
        if out is None:
            csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
        else:
            with out.open("w", newline="", encoding="utf-8") as target:
                csv.writer(target).writerows(rows)
        if receipt is not None:
            # A table is free to read, and the bill is about learning: here only cells are counted.
            cost = "" if source.free else f" for {money(receipt.cost, receipt.currency)}"
            done = "read" if source.free else "bought"
            typer.echo(f"{receipt.cells} cells {done}{cost}.", err=True)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
