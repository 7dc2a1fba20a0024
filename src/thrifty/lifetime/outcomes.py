"""What became true of rows that were predicted, and what it says of the model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells.sources.checks import checked_ids
from thrifty.errors import BadInput
from thrifty.labels.partly import known_labels
from thrifty.lifetime.monitoring import Reference, watch
from thrifty.lifetime.shelf import Shelf
from thrifty.lifetime.versions import Versions
from thrifty.stores.outcome_pages import OutcomePages
from thrifty.stores.pages import SqlPages
from thrifty.typing import AnyArray, LabelsLike

__all__ = ["Monitor", "Outcomes"]

_DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class Monitor:
    """A model since it was learned, on rows whose outcome is known.

    Attributes
    ----------
    task : str
        whose model
    outcomes, positives : int
        how many are known, and how many of them are of the second class
    auroc, auroc_learned : float or None
        on them, and on rows left out when it was learned
    expected, seen : float or None
        how many positives the probabilities promised, as a share, and how many there were
    since : float or None
        when it was first called worse, in seconds since 1970
    sentence : str
        "still as good as when it was learned", "worse since ...", or "too few to say"
    days : tuple of (float, int, float)
        of every day with outcomes: when, how many so far, and the AUROC so far
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
    days: tuple[tuple[float, int, float], ...] = ()

    def __str__(self) -> str:
        told = f"{self.task}: {self.sentence} ({self.outcomes} outcomes, {self.positives} positive"
        if self.auroc is not None and self.auroc_learned is not None:
            told += f"; AUROC {self.auroc:.3f}, {self.auroc_learned:.3f} when it was learned"
        if self.expected is not None and self.seen is not None:
            told += f"; {self.expected:.1%} expected, {self.seen:.1%} came"
        return f"{told})"


class Outcomes:
    """Takes down what became true, and watches the models of one lifetime."""

    def __init__(self, shelf: Shelf, versions: Versions) -> None:
        self._shelf, self._versions = shelf, versions
        self._references: dict[tuple[str, int], Reference] = {}

    @property
    def _book(self) -> Any:
        return self._shelf.doors.ledger.book

    def tell(self, name: str, ids: Sequence[object], y: LabelsLike, at: float | None) -> Monitor:
        """Outcomes of rows that were predicted; see :meth:`thrifty.Lifetime.outcomes`."""
        model = self._versions.model(name)
        classes = getattr(model, "classes_", None)
        if classes is None or len(classes) != 2:
            raise BadInput(
                f"outcomes are watched for models of two classes; {name!r} is another one."
            )
        said, rows = known_labels(np.asarray(y))
        given = checked_ids(list(ids), len(list(ids)))
        if len(given) != len(np.asarray(y)):
            raise BadInput(f"one outcome per id: got {len(given)} ids and {len(np.asarray(y))}.")
        given = given if rows is None else tuple(given[i] for i in rows.tolist())
        place = {c: i for i, c in enumerate(classes.tolist())}
        codes = [place.get(v, -1) for v in np.asarray(said).tolist()]
        if min(codes, default=0) < 0:
            odd = np.asarray(said).tolist()[codes.index(-1)]
            raise BadInput(f"an outcome of {name!r} is one of {classes.tolist()}; got {odd!r}.")

        def work(pages: SqlPages) -> None:
            numbers = pages.numbers("example", given).astype(np.int64)
            told = OutcomePages(pages)
            answered = [a["examples"] for _, _, a in told.answers(name)]
            known = np.concatenate(answered) if answered else np.zeros(0, dtype=np.int64)
            strange = np.flatnonzero((numbers < 0) | ~np.isin(numbers, known))
            if len(strange):
                raise BadInput(
                    f"{len(strange)} of {len(given)} rows were never predicted by {name!r}, the "
                    f"first is {given[strange[0]]!r}: outcomes are of rows that were. Others are "
                    "rows for life.update."
                )
            labels = np.array(codes, dtype=np.int32)
            arrays: dict[str, AnyArray] = {"examples": numbers, "labels": labels}
            told.add_outcomes(name, time.time() if at is None else at, arrays)

        self._book.write(work)
        return self.monitor(name)

    def monitor(self, name: str) -> Monitor:
        """How the present model of a task does on what became true."""
        model = self._versions.model(name)
        version = self._versions.present(name)
        scores, y, when = self._book.read(lambda pages: _joined(pages, name, version))
        n, positives = len(y), int(y.sum())
        reference = self._reference(name, version, model) if n else None
        if reference is None:
            return Monitor(name, n, positives, None, None, None, None, None, "too few to say")
        watched = watch(reference, scores, y)
        sentence, since = watched.sentence, None
        if watched.alarm_at is not None:
            since = float(when[watched.alarm_at])
            sentence = f"worse since {time.strftime('%Y-%m-%d', time.gmtime(since))}"
        auroc = Reference(scores[~y], scores[y]).auroc if 0 < positives < n else None
        return Monitor(
            name, n, positives, auroc, reference.auroc, float(scores.mean()), float(y.mean()),
            since, sentence, _days(scores, y, when),
        )  # fmt: skip

    def _reference(self, name: str, version: int, model: Any) -> Reference | None:
        key = (name, version)
        if key not in self._references:
            left_out = getattr(model, "scores_left_out", None)
            found = None if left_out is None else left_out()
            if found is None:
                return None
            self._references[key] = Reference(*found)
        return self._references[key]


def _joined(pages: SqlPages, name: str, version: int) -> tuple[Floats, Bools, Floats]:
    """Scores, outcomes and when they were told, in that order; the last answer and word count."""
    told = OutcomePages(pages)
    score: dict[int, float] = {}
    for by, _, arrays in told.answers(name):
        if by == version:
            score.update(zip(arrays["examples"].tolist(), arrays["scores"].tolist()))
    last: dict[int, tuple[float, int]] = {}
    for at, arrays in told.outcomes(name):
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


def _days(scores: Floats, y: Bools, when: Floats) -> tuple[tuple[float, int, float], ...]:
    days: Ints = (when // _DAY).astype(np.int64)
    out = []
    for day in np.unique(days).tolist():
        n = int((days <= day).sum())
        s, now = scores[:n], y[:n]
        if 0 < now.sum() < n:
            out.append((day * _DAY, n, Reference(s[~now], s[now]).auroc))
    return tuple(out)
