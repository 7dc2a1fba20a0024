"""A large table in parts: Parquet files, read a few row groups at a time, and files of answers.

A part is some row groups of one file, so that no part takes more memory than it must, and only the
columns that a model may ask for are read. Answers are written beside their name first, and take it
once they are booked: a file that has its name is paid for, and complete.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thrifty.cells import Receipt
from thrifty.cells.sources.parquet import frame_of, opened_parquet, whole_parquet
from thrifty.errors import BadInput
from thrifty.typing import Json

if TYPE_CHECKING:
    import pandas

__all__ = ["AnswerFolder", "Part", "PredictionFiles", "parts_of", "read_part"]

#: rows of a part, where row groups allow it: some ten features of them are a few MB
_ROWS = 200_000
_MANIFEST = "thrifty.json"


@dataclass(frozen=True)
class Part:
    """Row groups ``begin`` to ``end`` (without it) of a file; ``first`` is its row in the table."""

    number: int
    path: str
    begin: int
    end: int
    first: int
    rows: int


def parts_of(X: str | os.PathLike[str]) -> list[Part]:
    """The parts of a file, of all Parquet files in a folder, or of a pattern such as ``*.parquet``.

    Files come in the order of their names.
    """
    paths = _files(os.fspath(X))
    parts: list[Part] = []
    first = 0
    for path in paths:
        for begin, end, rows in _groups(path):
            parts.append(Part(len(parts), path, begin, end, first, rows))
            first += rows
    if not parts:
        raise BadInput(f"the Parquet files of {os.fspath(X)!r} have no rows.")
    return parts


def _files(where: str) -> list[str]:
    if os.path.isdir(where):
        found = sorted(glob.glob(os.path.join(glob.escape(where), "*.parquet")))
    else:
        found = [where] if os.path.isfile(where) else sorted(glob.glob(where))
    if not found:
        raise BadInput(
            f"there is no Parquet file at {where!r}: name a file, a folder that has *.parquet, or "
            "a pattern. An array or a frame is given as it is."
        )
    return [os.path.abspath(path) for path in found]


def _groups(path: str) -> Iterator[tuple[int, int, int]]:
    """(begin, end, rows), so many row groups together that they have enough rows."""
    metadata = opened_parquet(Path(path)).metadata
    begin = rows = 0
    for g in range(metadata.num_row_groups):
        more = int(metadata.row_group(g).num_rows)
        if rows and rows + more > _ROWS:
            yield begin, g, rows
            begin, rows = g, 0
        rows += more
    if rows:
        yield begin, int(metadata.num_row_groups), rows


def read_part(
    part: Part, columns: Sequence[str], id: str | None, most: int | None = None
) -> tuple[pandas.DataFrame, list[str] | None]:
    """These columns of a part that it has, and the ids of its rows; ``most``: so many rows."""
    path = Path(part.path)
    file = opened_parquet(path)
    there = set(map(str, file.schema_arrow.names))
    if id is not None and id not in there:
        raise BadInput(f"id= names {id!r}, which is no column of {part.path}.")
    wanted = [name for name in columns if name in there and name != id]
    with whole_parquet(path):
        table = file.read_row_groups(
            range(part.begin, part.end), [*wanted, *([] if id is None else [id])]
        )
        frame = frame_of(table.slice(0, most))
    ids = None if id is None else [str(one) for one in frame.pop(id).tolist()]
    return frame[wanted], ids


def names_of(part: Part, id: str | None) -> list[str]:
    """The columns of a part's file, in their order."""
    names = map(str, opened_parquet(Path(part.path)).schema_arrow.names)
    return [name for name in names if name != id]


class AnswerFolder:
    """Where the answers of one run go; a run that broke off goes on in it.

    ``said`` is what the run is: its task, model and rules. A folder of another run is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], parts: Sequence[Part], said: Json) -> None:
        self.folder = Path(folder)
        now = {**said, "parts": [_identity(part) for part in parts]}
        digest = hashlib.sha256(json.dumps(now, sort_keys=True).encode()).hexdigest()
        self.run = self._begin(digest)

    def _begin(self, digest: str) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            try:
                kept = json.loads(manifest.read_text(encoding="utf-8"))
                run, known = str(kept["run"]), str(kept["digest"])
            except (ValueError, KeyError, TypeError) as error:
                raise BadInput(f"{manifest} cannot be read: name another folder.") from error
            if known != digest:
                raise BadInput(
                    f"{self.folder} holds the answers of another prediction (other files, task, "
                    "model or rules): name another folder, or empty this one."
                )
            return run
        if any(self.folder.iterdir()):
            raise BadInput(f"out= must be a new or an empty folder; {self.folder} has files.")
        run = uuid.uuid4().hex[:12]
        text = json.dumps({"run": run, "digest": digest})
        written = manifest.with_suffix(".new")
        written.write_text(text, encoding="utf-8")
        written.replace(manifest)
        return run

    def file(self, part: Part) -> Path:
        """The answers of a part, once they are booked."""
        return self.folder / f"part-{part.number:05d}.parquet"

    def _unbooked(self, part: Part) -> Path:
        return self.folder / f"part-{part.number:05d}.unbooked"

    def write(self, part: Part, frame: pandas.DataFrame) -> None:
        """Answers that are not booked yet: they are on disk when this returns."""
        frame.to_parquet(self._unbooked(part), index=False)
        with open(self._unbooked(part), "rb+") as written:
            os.fsync(written.fileno())

    def booked(self, part: Part) -> None:
        """They are booked: the file gets its name."""
        os.replace(self._unbooked(part), self.file(part))

    def is_done(self, part: Part, booked: bool) -> bool:
        """Whether a part's answers are there; ``booked``: whether its bill is in the store."""
        if self.file(part).exists():
            return True
        if booked and self._unbooked(part).exists():
            self.booked(part)  # it broke off between the two
            return True
        return False


def _identity(part: Part) -> list[object]:
    stat = os.stat(part.path)
    return [part.path, stat.st_size, stat.st_mtime_ns, part.begin, part.end, part.rows]


class PredictionFiles:
    """The answers to a table of Parquet files, themselves Parquet files.

    Attributes
    ----------
    folder : Path
        where they are
    files : tuple of Path
        one for each part, in the order of the rows: ``id`` (or the row's number), ``value``, its
        ``probability``, ``sure``, ``stopped``, a ``probability of`` each class, ``cells``, ``cost``
    receipt : Receipt
        what was bought by this call; parts that were there already cost nothing
    """

    def __init__(self, folder: Path, files: Sequence[Path], n_rows: int, receipt: Receipt) -> None:
        self.folder, self.files = folder, tuple(files)
        self._n_rows, self.receipt = n_rows, receipt

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        cost = f"{self.receipt.cost:g} {self.receipt.currency}".rstrip()
        return (
            f"PredictionFiles({len(self):,} rows in {len(self.files)} files of {self.folder}, "
            f"{self.receipt.cells} cells bought for {cost})"
        )

    def to_frame(self) -> pandas.DataFrame:
        """All of them as one frame, where memory allows it."""
        import pandas

        return pandas.concat([pandas.read_parquet(file) for file in self.files], ignore_index=True)
