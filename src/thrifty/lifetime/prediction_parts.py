"""Predictions of a large table, part by part, on many workers: Parquet in, Parquet out.

A part is some row groups of one file, so that no part takes more memory than it must, and only the
columns that a model may ask for are read. A worker holds no budget: it reads a part, answers it at
the lifetime's prices, and says what it looked at. The process that keeps the ledger books parts in
their order, each under an account of its own that can be booked once.

Answers are written beside their name first, and take it once they are booked: a file that has its
name is paid for, and complete. So a part whose worker died is answered again and booked once, and a
run that broke off goes on where it was: the same call again, into the same folder. Answers and
bills do not depend on the engine or on how many workers it has: what is owned is looked up for
every part before the first is booked.

Cells of a provider are no part of this: they are bought by the process that keeps the ledger.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.cells import Owned, Receipt, Source
from thrifty.cells.features import told_names
from thrifty.cells.prices.price_list import PriceList, PricesLike
from thrifty.cells.sources.parquet import frame_of, opened_parquet, whole_parquet
from thrifty.engines import ChargedCells, Pool, StartedWork, open_pool
from thrifty.errors import BadInput, BadParameter, ThriftyError
from thrifty.lazy import Asked, Asks
from thrifty.lifetime.feature_matching import without_lacking
from thrifty.lifetime.prediction import Prediction
from thrifty.lifetime.prediction_runs import HowFar, PredictionRuns
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.state import LifetimeState
from thrifty.protocol import AnyFamily
from thrifty.stopping import Stop, is_auto
from thrifty.stores.settings import Settings
from thrifty.typing import Ints, Json, MoneyLike

if TYPE_CHECKING:
    import pandas

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
    there = list(map(str, file.schema_arrow.names))
    if id is not None and id not in there:
        raise BadInput(f"id= names {id!r}, which is no column of {part.path}.")
    wanted = [name for name in columns if name in there and name != id]
    with whole_parquet(path):
        groups = range(part.begin, part.end)
        table = file.read_row_groups(groups, wanted if id is None else [*wanted, id])
        frame = frame_of(table.slice(0, most))
    ids = None if id is None else [str(one) for one in frame.pop(id).tolist()]
    return frame[wanted], ids


class AnswerFolder:
    """Where the answers of one run go; a run that broke off goes on in it.

    ``said`` is what the run is: its task, model and rules. A folder of another run is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], parts: Sequence[Part], said: Json) -> None:
        self.folder = Path(folder)
        stats = [(part, os.stat(part.path)) for part in parts]
        each = [[p.path, s.st_size, s.st_mtime_ns, p.begin, p.end, p.rows] for p, s in stats]
        now = {**said, "parts": each}
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

    See Also
    --------
    thrifty.Lifetime.predict : ``out=``, what gives it
    thrifty.results.Prediction : answers in memory

    Examples
    --------
    >>> PredictionFiles(Path("answers"), [], 0, Receipt(0, 0.0, 0, 0, 0, 0, 2))
    PredictionFiles(0 rows in 0 files of answers, 0 cells bought for 0)
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


@dataclass(frozen=True, eq=False)
class PartsAsked:
    """What a user said of a prediction in parts, and what a worker needs for any of them.

    See :meth:`thrifty.Lifetime.predict`.
    """

    family: AnyFamily
    settings: Settings
    task: str
    model: Asks
    stop: Stop = None
    per_row: MoneyLike = None
    id: str | None = None
    source: str | None = None
    version: int = 0
    #: what is read of a part; and whether what is told is counted in bins
    columns: tuple[str, ...] = ()
    count: bool = False

    def source_of(self, part: Part, doors: LifetimeState, most: int | None = None) -> Source:
        """The columns of a part that the model may ask for, read as the lifetime knows them."""
        frame, ids = read_part(part, self.columns, self.id, most)
        source = doors.source_of(frame, None, getattr(self.model, "words_", {}))
        return source.known_as(ids, self.source)

    def answer(self, part: Part, owned: Owned | None, most: int | None = None) -> _Unbooked:
        """On a worker: the answers to a part, and what was looked at."""
        doors = LifetimeState.in_memory(self.family, self.settings)
        source = self.source_of(part, doors, most)
        found = PredictionRuns(doors, Progress(False)).ask(
            self.task,
            self.model,
            source,
            HowFar(self.stop, per_row=self.per_row),
            owned=owned or Owned(source.n_examples, source.n_features),
            count=self.count,
        )
        return found.asked, ChargedCells.at(found.run.cells), found.told


#: answers that nobody has paid for yet, what was looked at, and counts of it in bins
_Unbooked = tuple[Asked, ChargedCells, Ints | None]


def predict_parts(
    asked: PartsAsked,
    X: str | os.PathLike[str],
    out: str | os.PathLike[str],
    missing: str,
    engine: object,
    n_jobs: int | None,
    runs: PredictionRuns,
    doors: LifetimeState,
) -> PredictionFiles:
    """Answer all parts, and book them in their order."""
    _check(asked, doors)
    parts = parts_of(X)
    names = opened_parquet(Path(parts[0].path)).schema_arrow.names
    there = [str(name) for name in names if str(name) != asked.id]
    blank, retired = _blank(1, there), doors.settings.retired
    model, lacking = without_lacking(asked.task, asked.model, blank, retired, missing)
    stop: Any = HowFar(asked.stop, per_row=asked.per_row).rule
    if is_auto(stop) and doors.settings.prices is None:
        stop = None  # nothing costs: all of it is read
    job = replace(
        asked,
        model=model,
        stop=stop,
        settings=replace(doors.settings, budget=None),
        columns=_columns(model, there, doors.settings.prices),
        count=bool(asked.id and asked.version) and not lacking,
    )
    said: Json = {
        "task": asked.task, "version": asked.version, "stop": repr(stop),
        "per_row": str(asked.per_row), "id": asked.id, "source": asked.source,
        "model": _fingerprint(model),
    }  # fmt: skip
    if asked.stop is asked.per_row is None:
        first = runs.open(asked.task, model, job.source_of(parts[0], doors, most=1))
        runs.tell_cost(asked.task, first, model, sum(part.rows for part in parts))
    folder = AnswerFolder(out, parts, said)
    accounts = {part: f"{asked.task} (prediction {folder.run}-{part.number})" for part in parts}
    left = [part for part in parts if not folder.is_done(part, runs.is_booked(accounts[part]))]
    receipts: list[Receipt] = []
    pool = open_pool("threads" if engine is None else engine, n_jobs)
    # one that was handed over stays open
    with nullcontext(pool) if pool is engine else pool:
        for part, (found, looked, told) in _answered(job, left, pool, doors, runs):
            source = job.source_of(part, doors)
            run = runs.open(asked.task, model, source, account=accounts[part])
            looked.replay(run.cells)
            made = Prediction(model, run.cells, found)
            frame = made.to_frame()
            if asked.id is None:
                frame["id"] += part.first
            folder.write(part, frame)
            runs.book(run, made, asked.version, told, lacking)
            receipts.append(made.receipt)
            folder.booked(part)
    n_rows = sum(part.rows for part in parts)
    files = [folder.file(part) for part in parts]
    return PredictionFiles(folder.folder, files, n_rows, _sum_of(receipts, len(job.columns)))


def _check(asked: PartsAsked, doors: LifetimeState) -> None:
    budget = doors.settings.budget
    if budget is not None and budget.per_example is not None:
        raise BadParameter(
            "Budget(per_example=) is held row by row by the process that keeps the ledger: say "
            "per_row= for a prediction in parts."
        )
    if (asked.id is None) != (asked.source is None):
        raise BadParameter(
            "id= names the column of the rows' ids and source= what they are ids of: say both, or "
            "neither."
        )


def _blank(n_rows: int, names: Sequence[str]) -> Source:
    """Rows whose values do not matter."""
    return Source.from_array(np.zeros((n_rows, len(names)), dtype=bool), feature_names=names)


def _columns(model: Asks, there: Sequence[str], prices: PricesLike) -> tuple[str, ...]:
    """What is read: what the model may ask for; all, where something goes by place."""
    listed = prices.per_feature if isinstance(prices, PriceList) else prices
    by_place = listed is not None and not isinstance(listed, Mapping) and np.ndim(listed) > 0
    if by_place or not told_names(model.feature_names_):
        return tuple(there)
    asked = {model.feature_names_[f] for f in model.features_.tolist()}
    return tuple(name for name in there if name in asked)


def _fingerprint(model: Asks) -> str:
    """Which model it is; of a user's estimator, that is not told apart from another."""
    try:
        told = json.dumps(model.to_dict(), sort_keys=True, default=str)  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError, ThriftyError):
        told = ""
    return hashlib.sha256(told.encode()).hexdigest()


def _answered(
    job: PartsAsked, parts: Sequence[Part], pool: Pool, doors: LifetimeState, runs: PredictionRuns
) -> Iterator[tuple[Part, _Unbooked]]:
    """Parts with their answers, in their order; a few are on their way."""
    owned = {part: _owned(job, part, doors) for part in parts}
    if parts and (job.stop is not None or job.per_row is not None):
        runs.remember_for(job.model)
        job.answer(parts[0], None, most=1)  # what a model makes once is made once, here
    shared = pool.share(job)
    coming, waiting = deque(parts), deque[tuple[Part, StartedWork[_Unbooked]]]()
    while coming or waiting:
        while coming and len(waiting) < 2 * pool.n_jobs:
            part = coming.popleft()
            waiting.append((part, pool.submit(PartsAsked.answer, shared, part, owned.pop(part))))
        part, promise = waiting.popleft()
        yield part, promise.result()


def _owned(job: PartsAsked, part: Part, doors: LifetimeState) -> Owned | None:
    """What is owned of a part's rows by their ids; None: nothing."""
    if job.id is None:
        return None
    _, ids = read_part(part, (), job.id)
    rows = _blank(part.rows, job.columns).known_as(ids, job.source)
    owned, _ = doors.owned_of(rows, rows)
    return owned if owned.count() else None


def _sum_of(receipts: Sequence[Receipt], n_features: int) -> Receipt:
    """What several parts cost together."""
    summed = ("cells", "cost", "reused_cells", "avoided_cells", "n_examples", "gaps")
    per_feature, times, amounts = Counter[str](), Counter[str](), dict[str, float]()
    for receipt in receipts:
        per_feature.update(receipt.per_feature)
        for what, n, amount in receipt.lines:
            times[what] += n
            amounts[what] = amounts.get(what, 0.0) + amount
    return Receipt(
        **{name: sum(getattr(one, name) for one in receipts) for name in summed},
        max_cells_per_example=max((one.max_cells_per_example for one in receipts), default=0),
        n_features=n_features,
        per_feature=per_feature,
        currency=receipts[0].currency if receipts else "",
        promise=receipts[0].promise if receipts else "",
        lines=tuple((what, times[what], amount) for what, amount in amounts.items()),
    )
