"""The output folder: what was asked for, what is finished, and the CSV of every run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from thrifty.errors import BadInput
from thrifty.typing import Json, JsonLike

__all__ = ["Folder", "write_csv"]


class Folder:
    """A run that can be interrupted: finished jobs are kept line by line as they come.

    Raises BadInput where the folder holds another run, or files that are not a run's.
    """

    def __init__(self, path: Path, parameters: JsonLike) -> None:
        self.path = path
        asked = path / "parameters.json"
        if asked.exists():
            self._check_same(json.loads(asked.read_text()), parameters)
        elif path.exists() and any(path.iterdir()):
            raise BadInput(
                f"the output folder must be empty or hold an unfinished run of the same "
                f"parameters; {path} holds other files. Name another with --out."
            )
        path.mkdir(parents=True, exist_ok=True)
        asked.write_text(json.dumps(parameters, indent=1, sort_keys=True) + "\n")
        self.finished = self._read_finished()

    def _check_same(self, before: JsonLike, now: JsonLike) -> None:
        plain = json.loads(json.dumps(now))
        different = sorted(k for k in {*before, *plain} if before.get(k) != plain.get(k))
        if different:
            raise BadInput(
                f"the output folder holds a run with other parameters ({', '.join(different)} "
                f"differ): {self.path}. Go on with the same ones, or name another folder with "
                "--out."
            )

    @property
    def _lines(self) -> Path:
        return self.path / "finished.jsonl"

    def _read_finished(self) -> dict[str, list[Json]]:
        """Finished jobs; a line that an interruption cut short is dropped."""
        found: dict[str, list[Json]] = {}
        if not self._lines.exists():
            return found
        whole = []
        for line in self._lines.read_text().splitlines():
            try:
                job = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[job["job"]] = job["records"]
            whole.append(line)
        self._lines.write_text("".join(line + "\n" for line in whole))
        return found

    def keep(self, job: str, records: list[Json]) -> None:
        """Write down one finished job."""
        self.finished[job] = records
        with self._lines.open("a") as file:
            file.write(json.dumps({"job": job, "records": records}) + "\n")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[JsonLike]) -> None:
    """The same rows give the same bytes."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_text(row[column]) for column in columns])


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() else repr(round(value, 6))
    return str(value)
