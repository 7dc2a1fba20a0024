"""``thrifty report``: a lifetime as one page that can be kept, mailed and printed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from thrifty.errors import BadInput
from thrifty.report.lineage import lineage_of
from thrifty.report.page import report_page
from thrifty.report.pictures import pictures_of, save_pictures
from thrifty.report.reader import read_store

__all__ = ["read_pairs", "register"]


def read_pairs(path: Path, what: str) -> dict[str, float]:
    """Two columns of a CSV, a name and a number; a first line of headings is skipped."""
    try:
        lines = [row for row in csv.reader(path.read_text(encoding="utf-8").splitlines()) if row]
    except OSError as error:
        raise BadInput(f"the file of {what} {path} cannot be read: {error.strerror}.") from error
    pairs = {}
    for number, row in enumerate(lines, 1):
        try:
            pairs[row[0].strip()] = float(row[1])
        except (IndexError, ValueError):
            if number > 1:
                raise BadInput(
                    f"line {number} of {path} must be a name and a number, such as "
                    f"'diabetes,0.93'; got {','.join(row)!r}."
                ) from None
    return pairs


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def report(
        store: Annotated[str, typer.Argument(help="A file, or a postgresql:// URL.")],
        out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
            "report.html"
        ),
        lifetime: Annotated[
            str | None, typer.Option(help="Which lifetime, where the store holds several.")
        ] = None,
        prices: Annotated[
            Path | None,
            typer.Option(help="CSV of feature,price: features and predictions in money."),
        ] = None,
        scores: Annotated[
            Path | None,
            typer.Option(help="CSV of task,score on rows of your own: quality against cells."),
        ] = None,
        pictures: Annotated[
            Path | None, typer.Option(help="Also save every picture as PNG in this folder.")
        ] = None,
    ) -> None:
        """Write a lifetime's report: one HTML page that needs no network."""
        view = read_store(store, lifetime, read_pairs(prices, "prices") if prices else None)
        scored = read_pairs(scores, "scores") if scores else None
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(report_page(view, scored), encoding="utf-8")
        size = out.stat().st_size / 1e6
        typer.echo(f"{len(view.tasks)} tasks, {size:.1f} MB: {out.resolve()}")
        if pictures:
            drawn = save_pictures(pictures_of(view, lineage_of(view), scored), pictures)
            typer.echo(f"{len(drawn)} pictures in {pictures.resolve()}")
