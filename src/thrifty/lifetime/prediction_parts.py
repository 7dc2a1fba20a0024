"""Predictions of a large table, part by part, on many workers: Parquet in, Parquet out.

A worker holds no purse: it reads a part, answers it at the lifetime's prices, and says what it
looked at. The process that keeps the ledger books parts in their order, each under an account of
its own that can be booked once, and then gives the file its name. So a part whose worker died is
answered again and booked once, and a run that broke off goes on where it was: the same call again,
into the same folder. Answers and bills do not depend on the engine or on how many workers it has:
what is owned is looked up for every part before the first is booked.

Cells of a provider are no part of this: they are bought by the process that keeps the ledger.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from thrifty.cells import Owned, Receipt, Source
from thrifty.cells.features import told_names
from thrifty.cells.prices.price_list import PriceList, PricesLike
from thrifty.engines import Pool, Promise, open_pool
from thrifty.errors import BadParameter, ThriftyError
from thrifty.lazy import Asks
from thrifty.lazy.stopping import StoppingRule
from thrifty.lifetime.feature_matching import without_lacking
from thrifty.lifetime.parts import (
    AnswerFolder,
    Part,
    PredictionFiles,
    names_of,
    parts_of,
    read_part,
)
from thrifty.lifetime.prediction import Prediction
from thrifty.lifetime.prediction_runs import PredictionRuns, Unbooked
from thrifty.lifetime.progress import Progress
from thrifty.lifetime.state import LifetimeState
from thrifty.protocol import AnyFamily
from thrifty.stores.settings import Settings
from thrifty.typing import AnyArray, Json, MoneyLike

__all__ = ["PartsAsked", "predict_parts"]

#: parts on their way, for each worker
_AHEAD = 2


@dataclass(frozen=True)
class PartsAsked:
    """What a user said of a prediction in parts; see :meth:`thrifty.Lifetime.predict`."""

    task: str
    X: str | os.PathLike[str]
    out: str | os.PathLike[str]
    stop: StoppingRule | None = None
    per_row: MoneyLike = None
    engine: object = None
    n_jobs: int | None = None
    id: str | None = None
    source: str | None = None
    version: int = 0
    missing: str = "warn"


@dataclass(frozen=True, eq=False)
class _Job:
    """What a worker needs for any part."""

    family: AnyFamily
    settings: Settings
    model: Asks
    asked: PartsAsked
    columns: tuple[str, ...]

    def source_of(self, part: Part, doors: LifetimeState, most: int | None = None) -> Source:
        """The columns of a part that the model may ask for, read as the lifetime knows them."""
        frame, ids = read_part(part, self.columns, self.asked.id, most)
        source = doors.source_of(frame, None, getattr(self.model, "words_", {}))
        return source.known_as(ids, self.asked.source)

    def answer(self, part: Part, owned: Owned | None, most: int | None = None) -> Unbooked:
        """The answers to a part, and what was looked at."""
        doors = LifetimeState.in_memory(self.family, self.settings)
        source = self.source_of(part, doors, most)
        nothing = Owned(source.n_examples, source.n_features)
        return PredictionRuns(doors, Progress(False)).answer_unbooked(
            self.asked.task,
            self.model,
            source,
            self.asked.stop,
            self.asked.per_row,
            owned or nothing,
            count_inputs=bool(self.asked.id and self.asked.version),
        )


def _answer(job: _Job, part: Part, owned: Owned | None) -> Unbooked:
    """On a worker."""
    return job.answer(part, owned)


class _Counted(Source):
    """A part whose values are not needed to book it: its rows have no ids."""

    named = True

    def __init__(self, n_examples: int, names: Sequence[str], model: Asks) -> None:
        super().__init__(n_examples, names, np.zeros(len(names), dtype=np.bool_))
        words = getattr(model, "words_", {})
        self.categories = {f: tuple(words[name]) for f, name in enumerate(names) if name in words}

    def read(self, rows: AnyArray, features: AnyArray) -> AnyArray:
        raise NotImplementedError

    def columns(self, features: AnyArray) -> AnyArray:
        raise NotImplementedError

    def tiles(self) -> AnyArray:
        raise NotImplementedError


def predict_parts(
    asked: PartsAsked, model: Asks, runs: PredictionRuns, doors: LifetimeState
) -> PredictionFiles:
    """Answer all parts, and book them in their order."""
    _check(asked, doors)
    parts = parts_of(asked.X)
    there = names_of(parts[0], asked.id)
    stand_in = _Counted(1, there, model)
    retired = doors.settings.retired
    model, lacking = without_lacking(asked.task, model, stand_in, retired, asked.missing)
    job = _Job(
        doors.family,
        replace(doors.settings, budget=None),
        model,
        replace(asked, engine=None),  # a client does not travel
        tuple(_columns(model, there, doors.settings.prices)),
    )
    said: Json = {
        "task": asked.task, "version": asked.version, "stop": repr(asked.stop),
        "per_row": str(asked.per_row), "id": asked.id, "source": asked.source,
        "model": _fingerprint(model),
    }  # fmt: skip
    folder = AnswerFolder(asked.out, parts, said)
    accounts = {part: f"{asked.task} (prediction {folder.run}-{part.number})" for part in parts}
    left = [part for part in parts if not folder.is_done(part, runs.is_booked(accounts[part]))]
    receipts: list[Receipt] = []
    with _pool_of(asked) as pool:
        for part, found in _answered(job, left, pool, doors, runs):

            def put_away(prediction: Prediction, part: Part = part) -> None:
                frame = prediction.to_frame()
                if asked.id is None:
                    frame["id"] += part.first
                folder.write(part, frame)

            source: Source = _Counted(part.rows, job.columns, job.model)
            if asked.id is not None:
                source = job.source_of(part, doors)
            receipts.append(
                runs.book_answers(
                    accounts[part], asked.task, model, source, found, asked.version, put_away,
                    lacking,
                )
            )  # fmt: skip
            folder.booked(part)
    files = [folder.file(part) for part in parts]
    n_rows = sum(part.rows for part in parts)
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


def _columns(model: Asks, there: Sequence[str], prices: PricesLike) -> list[str]:
    """What is read: what the model may ask for; all, where something goes by place."""
    listed = prices.per_feature if isinstance(prices, PriceList) else prices
    by_place = listed is not None and not isinstance(listed, Mapping) and np.ndim(listed) > 0
    if by_place or not told_names(model.feature_names_):
        return list(there)
    asked = {model.feature_names_[f] for f in model.features_.tolist()}
    return [name for name in there if name in asked]


def _fingerprint(model: Asks) -> str:
    """Which model it is; of a user's estimator, that is not told apart from another."""
    try:
        told = json.dumps(model.to_dict(), sort_keys=True, default=str)  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError, ThriftyError):
        told = ""
    return hashlib.sha256(told.encode()).hexdigest()


@contextmanager
def _pool_of(asked: PartsAsked) -> Iterator[Pool]:
    """A pool that is closed where it was opened here; one that was handed over stays."""
    engine = "threads" if asked.engine is None else asked.engine
    pool = open_pool(engine, asked.n_jobs)
    try:
        yield pool
    finally:
        if pool is not engine:
            pool.close()


def _answered(
    job: _Job, parts: Sequence[Part], pool: Pool, doors: LifetimeState, runs: PredictionRuns
) -> Iterator[tuple[Part, Unbooked]]:
    """Parts with their answers, in their order; a few are on their way."""
    if not parts:
        return
    owned = {part: _owned(job, part, doors) for part in parts}
    if job.asked.stop is not None or job.asked.per_row is not None:
        runs.remember_for(job.model)
        job.answer(parts[0], None, most=1)  # what a model makes once is made once, here
    shared = pool.share(replace(job, model=_without_store(job.model)))
    coming, waiting = deque(parts), deque[tuple[Part, Promise[Unbooked]]]()
    while coming or waiting:
        while coming and len(waiting) < _AHEAD * pool.n_jobs:
            part = coming.popleft()
            waiting.append((part, pool.submit(_answer, shared, part, owned.pop(part))))
        part, promise = waiting.popleft()
        yield part, promise.result()


def _owned(job: _Job, part: Part, doors: LifetimeState) -> Owned | None:
    """What is owned of a part's rows by their ids; None: nothing."""
    if job.asked.id is None:
        return None
    _, ids = read_part(part, (), job.asked.id)
    rows = _Counted(part.rows, job.columns, job.model).known_as(ids, job.asked.source)
    owned, _ = doors.owned_of(rows, rows)
    return owned if owned.count() else None


def _without_store(model: Asks) -> Asks:
    """The model as it may travel: what it keeps in the store stays here."""
    if getattr(model, "_keeper", None) is None:
        return model
    travels = copy.copy(model)
    travels._keeper = None  # type: ignore[attr-defined]
    return travels


def _sum_of(receipts: Sequence[Receipt], n_features: int) -> Receipt:
    """What several parts cost together."""
    per_feature: dict[str, int] = {}
    lines: dict[str, tuple[int, float]] = {}
    for receipt in receipts:
        for name, n in receipt.per_feature.items():
            per_feature[name] = per_feature.get(name, 0) + n
        for what, n, amount in receipt.lines:
            had = lines.get(what, (0, 0.0))
            lines[what] = had[0] + n, had[1] + amount
    return Receipt(
        sum(one.cells for one in receipts),
        sum(one.cost for one in receipts),
        sum(one.reused_cells for one in receipts),
        sum(one.avoided_cells for one in receipts),
        max((one.max_cells_per_example for one in receipts), default=0),
        sum(one.n_examples for one in receipts),
        n_features,
        per_feature,
        receipts[0].currency if receipts else "",
        receipts[0].promise if receipts else "",
        tuple((what, *counted) for what, counted in lines.items()),
    )
