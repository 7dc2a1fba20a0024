"""What a prediction answered is kept by example, for the day when the truth is known."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from thrifty.lifetime.inputs import InputCounts
from thrifty.lifetime.prediction import Prediction
from thrifty.stores.outcome_pages import OutcomePages
from thrifty.stores.pages import SqlPages
from thrifty.typing import AnyArray

__all__ = ["note_answers"]


def note_answers(
    pages: SqlPages,
    account: str,
    task: str,
    version: int,
    ids: Sequence[str],
    made: Prediction,
    told: InputCounts | None = None,
) -> None:
    """Keep what was answered, by example, so that outcomes can be held against it.

    ``told``: what was asked for it, in bins.
    """
    if made.probabilities is None or made.probabilities.shape[1] != 2:
        return
    there = np.flatnonzero(made.answered)
    arrays: dict[str, AnyArray] = {
        "examples": pages.number("example", [ids[i] for i in there.tolist()]).astype(np.int64),
        "scores": made.probabilities[there, 1].astype(np.float64),
    }
    if told is not None:
        arrays |= {"told": told.counts, "asked_rows": np.array([len(there)])}
    OutcomePages(pages).put_answers(account, task, version, time.time(), arrays)
