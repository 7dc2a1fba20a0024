"""Observed outcomes of rows that were predicted, and what they say of the model."""

from __future__ import annotations

import calendar
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from thrifty.cells.sources.checks import checked_ids
from thrifty.checks import warn_user
from thrifty.errors import BadInput, RowsLeftOut, StoreUnwritable
from thrifty.labels import codes_among, known_labels
from thrifty.lifetime.learned import About
from thrifty.lifetime.monitoring import (
    HasTable,
    Moved,
    Reference,
    begins,
    bins_of,
    moved_inputs,
    watch,
)
from thrifty.lifetime.state import LifetimeState
from thrifty.lifetime.task import Task
from thrifty.stores.lifetime_pages import PredictionRow
from thrifty.stores.pages import SqlPages
from thrifty.typing import AnyArray, Bools, Fields, Floats, Ints, LabelsLike
from thrifty.untrusted import readable


@dataclass(frozen=True, slots=True)
class Period:
    """A day, a week or a month of outcomes; intervals are of 95 %.

    ``expected`` is the share of positives that the probabilities promised, ``seen`` what came.
    """

    begins: float
    outcomes: int
    positives: int
    auroc: float | None
    auroc_low: float | None
    auroc_high: float | None
    expected: float
    seen: float
    seen_low: float
    seen_high: float


@dataclass(frozen=True)
class Monitor:
    """A model since it was learned, on rows whose outcome is known.

    Attributes
    ----------
    task : str
        whose model
    outcomes, positives : int
        how many are known, and how many of them are of the class of interest
    auroc, auroc_learned : float or None
        on them, and on held-out rows when it was learned
    expected, seen : float or None
        how many positives the probabilities promised, as a share, and how many there were
    since : float or None
        since when it is worse, in seconds since 1970: outcomes from there on stand furthest below
    sentence : str
        "still as good as when it was learned", "worse since ...", "too few to say", or "not
        compared with learning yet", which ``life[name].monitor()`` does
    periods : tuple of Period
        by the day, the week or the month, as long as outcomes have come
    predictions : int
        how many rows this version has answered
    spent : float
        what this task's predictions have cost, of all versions
    moved : tuple of Moved
        features whose values are not spread as those that were learned from, the farthest first
    version : int
        which version of the model
    positive : object
        the class of interest; None: the second, as in stores of 0.2
    unknown : tuple of str
        ids among the outcomes told last that were never predicted: nothing was booked of them
    """

    task: str
    outcomes: int
    positives: int
    auroc: float | None
    auroc_learned: float | None
    expected: float | None
    seen: float | None
    since: float | None
    sentence: str
    periods: tuple[Period, ...] = ()
    predictions: int = 0
    spent: float = 0.0
    moved: tuple[Moved, ...] = ()
    version: int = 1
    positive: object = None
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = "positive" if self.positive is None else f"{self.positive}"
        told = f"{self.task}: {self.sentence} ({self.outcomes} outcomes, {self.positives} {of}"
        if self.auroc is not None:
            told += f"; AUROC {self.auroc:.3f}"
        if self.auroc is not None and self.auroc_learned is not None:
            told += f", {self.auroc_learned:.3f} when it was learned"
        if self.expected is not None and self.seen is not None:
            told += f"; predicted rate {self.expected:.1%}, observed {self.seen:.1%}"
        if self.moved:
            named = ", ".join(one.feature for one in self.moved[:5])
            more = f" and {len(self.moved) - 5} more" if len(self.moved) > 5 else ""
            return f"{told}). Inputs have moved: {named}{more}"
        return f"{told})"


class Outcomes:
    """Takes down outcomes, and watches the models of one lifetime."""

    def __init__(self, state: LifetimeState) -> None:
        self._state = state
        #: versions with too few rows to say how good they were
        self._unmeasured: set[tuple[str, int]] = set()

    @property
    def _book(self) -> Any:
        return self._state.ledger.book

    def tell(self, task: Task, ids: Sequence[object], y: LabelsLike, at: float | None) -> Monitor:
        """Outcomes of rows that were predicted; see :meth:`thrifty.lifetime.task.Task.outcomes`."""
        at, name = _moment(at), task.name
        classes = getattr(task.model, "classes_", None)
        if classes is None or len(classes) != 2:
            raise BadInput(
                f"outcomes are watched for models of two classes; {name!r} is another one."
            )
        with readable("ids, whose outcomes these are,", BadInput):
            listed_ids = list(ids)
        given = checked_ids(listed_ids, len(listed_ids))
        with readable("y, the outcomes,", BadInput):
            shape = np.shape(np.asarray(y, dtype=object))
            if not given or shape != (len(given),):
                raise BadInput(f"one outcome per id: got {len(given)} ids and y of shape {shape}.")
            # a list as it is: among texts numpy would make a word of a gap
            said, rows = known_labels(y if isinstance(y, list | tuple) else np.asarray(y))
        given = given if rows is None else tuple(given[i] for i in rows.tolist())
        listed = said if isinstance(said, list | tuple) else np.asarray(said).tolist()
        codes = codes_among(
            [v if isinstance(v, Hashable) else repr(v) for v in listed], classes.tolist()
        )
        if min(codes, default=0) < 0:
            odd = listed[codes.index(-1)]
            raise BadInput(f"an outcome of {name!r} is one of {classes.tolist()}; got {odd!r}.")

        def work(pages: SqlPages) -> Ints:
            numbers = pages.numbers("example", given).astype(np.int64)
            answered = [a["examples"] for _, _, a in pages.answers(name)]
            known = np.concatenate(answered) if answered else np.zeros(0, dtype=np.int64)
            strange = (numbers < 0) | ~np.isin(numbers, known)
            if strange.all():
                raise BadInput(
                    f"none of the {len(given)} rows was predicted by {name!r}, the first is "
                    f"{given[0]!r}: outcomes are of rows that were. Others are rows for "
                    f"life[{name!r}].update."
                )
            labels = np.array(codes, dtype=np.int32)
            told = {"examples": numbers[~strange], "labels": labels[~strange]}
            pages.add_outcomes(name, at, cast(dict[str, AnyArray], told))
            return np.flatnonzero(strange)

        self._reference(task)
        strange = self._book.write(work)
        unknown = tuple(given[i] for i in strange.tolist())
        if unknown:
            warn_user(
                f"{len(unknown)} of {len(given)} rows were never predicted by {name!r}, and left "
                f"out: {', '.join(unknown[:5])}{', ...' if len(unknown) > 5 else ''}. The others "
                "are recorded.",
                RowsLeftOut,
            )
        return replace(self.monitor(task), unknown=unknown)

    def monitor(self, task: Task) -> Monitor:
        """How the present model of a task does on observed outcomes."""
        name, version, kept = task.name, task._present, self._reference(task)
        known, about = task.model.feature_names_, task._learned.about

        def work(pages: SqlPages) -> Monitor:
            return read_monitor(pages, name, version, pages.predictions(), known, about, kept)

        return cast(Monitor, self._book.read(work))

    def _reference(self, task: Task) -> Mapping[str, AnyArray] | None:
        """Scores of held-out rows: worked out once, and kept for every look after that.

        A purge takes the kept ones away; those of the model that was fitted after it count then.
        """
        name, version = task.name, task._present
        kept: Mapping[str, AnyArray] | None = self._book.read(
            lambda pages: pages.reference(name, version)
        )
        if kept is not None or (name, version) in self._unmeasured:
            return kept
        model = task.model
        held_out = getattr(model, "held_out_scores", None)
        found = None if held_out is None else held_out()
        if found is None:
            self._unmeasured.add((name, version))
            return None
        arrays: dict[str, AnyArray] = {"negatives": found[0], "positives": found[1]}
        if isinstance(model, HasTable):
            bins = bins_of(model.table_)
            arrays |= {"features": bins.features, "shares": bins.shares, "counted": bins.counted}
        with suppress(StoreUnwritable):  # a store that is only read: the next look works it out
            self._book.write(lambda pages: pages.put_reference(name, version, arrays))
        return arrays


def read_monitors(pages: SqlPages) -> list[Monitor]:
    """Of each model with outcomes, how its present version does."""
    found = []
    for name in pages.tasks_with_outcomes():
        version = pages.present_version(name)
        known = pages.state().features or ()
        about = About.of(pages.receipt_of(name))
        found.append(read_monitor(pages, name, version, pages.predictions(), known, about))
    return found


def read_monitor(
    pages: SqlPages,
    name: str,
    version: int,
    runs: Sequence[PredictionRow],
    features: Sequence[str],
    about: About,
    kept: Mapping[str, AnyArray] | None = None,
) -> Monitor:
    """How a version of a task's model does; ``features`` are the names of all that it knows.

    ``kept``: what held-out rows said when it was learned; None looks it up.
    Scores and labels are kept by the second class, and turned where the first is of interest.
    """
    scores, y, when = _joined(pages, name, version)
    if about.positive_first:
        scores, y = 1 - scores, ~y
    n, positives = len(y), int(y.sum())
    answers = [arrays for by, _, arrays in pages.answers(name) if by == version]
    common: Fields = {
        "predictions": sum(len(arrays["examples"]) for arrays in answers),
        "spent": _spent(runs, name),
        "version": version,
        "periods": _periods(scores, y, when),
        "positive": about.positive,
    }
    auroc = Reference(scores[~y], scores[y]).auroc if 0 < positives < n else None
    expected, seen = (float(scores.mean()), float(y.mean())) if n else (None, None)
    kept = pages.reference(name, version) if kept is None else kept
    if kept is None:
        said = "not compared with learning yet" if n else "too few to say"
        return Monitor(name, n, positives, auroc, None, expected, seen, None, said, **common)
    reference = Reference(kept["negatives"], kept["positives"])
    if about.positive_first:
        reference = Reference(1 - kept["positives"], 1 - kept["negatives"])
    watched = watch(reference, scores, y)
    sentence, since = watched.sentence, None
    if watched.alarm_at is not None:
        end = watched.alarm_at + 1
        batches = np.flatnonzero(np.diff(when[:end], prepend=-np.inf) > 0)
        every = max(1, len(batches) // 200)
        start = begins(reference, scores[:end], y[:end], batches[::every].tolist())
        since = float(when[start])
        sentence = f"worse since {time.strftime('%Y-%m-%d', time.gmtime(since))}"
    common["moved"] = _moved(features, kept, answers)
    learned = reference.auroc
    return Monitor(name, n, positives, auroc, learned, expected, seen, since, sentence, **common)


def _moment(at: object) -> float:
    """When outcomes became known; now where nothing is said."""
    now = time.time()
    if at is None:
        return now
    number = isinstance(at, int | float | np.integer | np.floating) and not isinstance(at, bool)
    if not number or not 0 <= at <= now + 86_400:  # type: ignore[operator]
        raise BadInput(
            "at= is when the outcomes became known, in seconds since 1970 and not later than now; "
            f"got {at!r}. Of milliseconds take a thousandth."
        )
    return float(at)  # type: ignore[arg-type]


def _spent(runs: Sequence[PredictionRow], name: str) -> float:
    """What predictions of a task, of any version, have cost."""
    return sum(
        float(one.receipt["cost"])
        for one in runs
        if one.receipt is not None and one.task.partition("@")[0] == name
    )


def _moved(
    known: Sequence[str], kept: Mapping[str, AnyArray], answers: Sequence[Mapping[str, AnyArray]]
) -> tuple[Moved, ...]:
    """Over all runs that have counted what they were told."""
    counted = [a for a in answers if "told" in a and a["told"].shape == kept["shares"].shape]
    if "features" not in kept or not counted:
        return ()
    names = tuple(known[f] if f < len(known) else f"x{f}" for f in kept["features"].tolist())
    told = np.sum([a["told"] for a in counted], axis=0)
    rows = sum(int(a["asked_rows"][0]) for a in counted)
    return moved_inputs(names, kept["shares"], kept["counted"], told, rows)


def _joined(pages: SqlPages, name: str, version: int) -> tuple[Floats, Bools, Floats]:
    """Scores, outcomes and when they were told, in that order; the last answer and word count."""
    score: dict[int, float] = {}
    for by, _, arrays in pages.answers(name):
        if by == version:
            score.update(zip(arrays["examples"].tolist(), arrays["scores"].tolist()))
    last: dict[int, tuple[float, int]] = {}
    for at, arrays in pages.outcomes(name):
        at = at / 1000 if at > 1e11 else at  # 0.2 took milliseconds; in seconds the year 5138
        for example, label in zip(arrays["examples"].tolist(), arrays["labels"].tolist()):
            last.pop(example, None)
            last[example] = (at, label)
    both = [(score[e], bool(label), at) for e, (at, label) in last.items() if e in score]
    both.sort(key=lambda one: one[2])
    return (
        np.array([s for s, _, _ in both]),
        np.array([y for _, y, _ in both], dtype=bool),
        np.array([at for _, _, at in both]),
    )


def _periods(scores: Floats, y: Bools, when: Floats) -> tuple[Period, ...]:
    """Months where outcomes came over more than two, weeks or days where over less."""
    if not len(y):
        return ()
    span = float(when[-1] - when[0])
    day = 86_400.0
    if span > 62 * day:
        begins = np.array([_month(at) for at in when.tolist()])
    else:
        length = 7 * day if span > 14 * day else day
        begins = when // length * length
    return tuple(
        _period(begin, scores[begins == begin], y[begins == begin])
        for begin in np.unique(begins).tolist()
    )


def _month(at: float) -> float:
    now = time.gmtime(at)
    return float(calendar.timegm((now.tm_year, now.tm_mon, 1, 0, 0, 0)))


def _period(begins: float, scores: Floats, y: Bools) -> Period:
    n, positives = len(y), int(y.sum())
    auroc, low, high = None, None, None
    if min(positives, n - positives) >= 5:
        here = Reference(scores[~y], scores[y])
        auroc, (low, high) = here.auroc, here.interval()
    share, z2 = positives / n, 1.96**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)  # Wilson's interval
    reach = 1.96 * float(np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return Period(
        begins, n, positives, auroc, low, high, float(scores.mean()), share,
        middle - reach, middle + reach,
    )  # fmt: skip
