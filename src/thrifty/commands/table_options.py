"""Options of the commands that learn or quote the tasks of a file, or of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Duplicates", "GapCodes", "GapsKnown", "IdColumn", "KindsOf", "Labels", "NoFeatures",
    "OnlyFeatures", "OnlyTasks", "OtherStore", "Spend", "TaskFilePath",
]  # fmt: skip

TaskFilePath = Annotated[
    Path, typer.Argument(help="YAML or TOML (source, prices, tasks), or a CSV or Parquet.")
]
Labels = Annotated[
    list[str] | None,
    typer.Option(help="Of a table: a column to learn; several are learned at once."),
]
IdColumn = Annotated[
    str | None, typer.Option(help="Of a table: the column that names each example.")
]
OnlyFeatures = Annotated[
    list[str] | None, typer.Option(help="Of a table: only these columns are features.")
]
NoFeatures = Annotated[
    list[str] | None,
    typer.Option(help="Of a table: this column is no feature; may be given several times."),
]
Spend = Annotated[
    str | None, typer.Option(help='Of a table: what all labels may cost, such as "5 %".')
]
GapCodes = Annotated[
    list[str] | None,
    typer.Option(help="Of a table: this stands for a gap, such as 999; several times."),
]
KindsOf = Annotated[
    list[str] | None,
    typer.Option(help="Of a table: what a column is, such as tsh=number; several times."),
]
Duplicates = Annotated[
    str | None, typer.Option(help="Of a table: an id that comes twice: refuse, first or newest.")
]
GapsKnown = Annotated[
    bool, typer.Option("--gaps-known", help="Of a CSV: what is empty is known to be, and free.")
]
OtherStore = Annotated[
    str | None, typer.Option(help="Another place for the lifetime than the file says.")
]
OnlyTasks = Annotated[
    list[str] | None, typer.Option(help="Only this task; may be given several times.")
]
