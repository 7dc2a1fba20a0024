"""The first half of ``thrifty demo``: ten questions about real, noisy scans, priced by the pixel.

The data are scikit-learn's own handwritten digits: 1,797 scans of 8 x 8 pixels. Ten labels, "is it
a 0?" to "is it a 9?", are learned at once, so that what is bought of a scan serves all of them; and
a new scan is asked once for all ten answers. Beside them, in the same run: a model on every pixel,
and what one would write by hand for the same money: whole scans, bought once for all ten questions,
with boosted trees and with a forest; of the two the one that turned out better.

How good they are on held-out scans is found by another process meanwhile, which opens the store.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from thrifty.cells import PriceList, Source
from thrifty.lifetime import Lifetime
from thrifty.models import Models
from thrifty.typing import AnyArray, Fields

__all__ = ["Digits", "digits_table", "start_digits"]

_Columns = dict[str, list[float]]
P = ParamSpec("P")
T = TypeVar("T")

#: of all pixels, what the questions together may cost
_SPEND = "15 %"
_PRICE = 0.01
_N_TEST = 600
_NAME = "digits"


@dataclass
class Digits:
    """A row for each question, what all of it cost, and how many pixels a new scan is asked for."""

    rows: list[Fields]
    spent: float
    everything: float
    pixels: float
    seconds: float

    def mean(self, key: str) -> float:
        """The mean of a column."""
        return float(np.mean([row[key] for row in self.rows]))


def start_digits(n_questions: int, console: Console, store: Path) -> Callable[[], Digits]:
    """Learn the questions; the function that is returned waits until all of them are judged."""
    train, _ = _split()
    X, Y = _scans(n_questions)
    scans = Source.from_array(X[train], examples=train.tolist(), name="scans")
    prices = PriceList(_PRICE, currency="USD")
    started, questions = perf_counter(), _questions(n_questions)
    judge = _Judge()
    everything = judge.ask(_everything, n_questions)
    with Lifetime(Models(), prices=prices, store=store, name=_NAME, random_state=0) as life:
        with console.status(f"learning {n_questions} questions at once"):
            many = life.learn(questions, scans, Y[train], spend=_SPEND)
        spent = life.balance().spent
    rows: list[Fields] = [
        {"question": name, "cost": one.receipt.cost, "cells": one.receipt.cells}
        for name, one in many.items()
    ]
    ours = judge.ask(_ours, store, n_questions)
    by_hand = judge.ask(_by_hand, n_questions, round(spent / _PRICE))

    def wait() -> Digits:
        said, pixels = ours()
        for key, column in (*said.items(), *by_hand().items(), *everything().items()):
            for row, value in zip(rows, column):
                row[key] = value
        judge.close()
        return Digits(rows, spent, X[train].size * _PRICE, pixels, perf_counter() - started)

    return wait


class _Judge:
    """Another process, which works meanwhile."""

    def __init__(self) -> None:
        # A new interpreter: a copy of this process would have its open store and threads.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"))

    def ask(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        return self._pool.submit(work, *args, **kwargs).result

    def close(self) -> None:
        self._pool.shutdown()


def _ours(store: Path, n_questions: int) -> tuple[_Columns, float]:
    """How good the answers are on the scans that were held out; all from one walk of a scan."""
    _, test = _split()
    X, Y = _scans(n_questions)
    with threadpool_limits(1), Lifetime.open(store, name=_NAME) as life:
        asked = life.predict(_questions(n_questions), X[test])
        found = [_precision(Y[test, d], one.probabilities) for d, one in enumerate(asked.values())]
        return {"thrifty": found}, asked.receipt.cells / _N_TEST


def _everything(n_questions: int) -> _Columns:
    """Boosted trees on every pixel of every scan."""
    train, _ = _split()
    with threadpool_limits(1):
        return {"everything": _boosted(n_questions, train)}


def _by_hand(n_questions: int, bill: int) -> _Columns:
    """Whole scans for the bill, bought once for all questions: the better of two models."""
    train, _ = _split()
    few = train[: bill // _scans(1)[0].shape[1]]
    with threadpool_limits(1):
        tried = [_boosted(n_questions, few), _forest(n_questions, few)]
    return {"by_hand": max(tried, key=lambda found: float(np.mean(found)))}


def _boosted(n_questions: int, rows: NDArray[np.int64]) -> list[float]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    _, test = _split()
    X, Y = _scans(n_questions)
    made = [HistGradientBoostingClassifier(random_state=0).fit(X[rows], y) for y in Y[rows].T]
    return [_precision(Y[test, d], one.predict_proba(X[test])) for d, one in enumerate(made)]


def _forest(n_questions: int, rows: NDArray[np.int64]) -> list[float]:
    from sklearn.ensemble import ExtraTreesClassifier

    _, test = _split()
    X, Y = _scans(n_questions)
    made = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=0).fit(X[rows], Y[rows])
    return [_precision(Y[test, d], votes) for d, votes in enumerate(made.predict_proba(X[test]))]


def _scans(n_questions: int) -> tuple[AnyArray, AnyArray]:
    """The scans, and a column for each question."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return X, np.eye(10, dtype=np.int64)[digit][:, :n_questions]


def _split() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The scans to learn from, and those that nothing is learned from."""
    order = np.random.default_rng(0).permutation(1797)
    return order[_N_TEST:], order[:_N_TEST]


def _questions(n: int) -> list[str]:
    return [f"is it a {d}?" for d in range(n)]


def _precision(y: AnyArray, probabilities: NDArray[np.float64] | None) -> float:
    from sklearn.metrics import average_precision_score

    assert probabilities is not None
    return float(average_precision_score(y, probabilities[:, 1]))


def digits_table(seen: Digits) -> Table:
    """What was measured, a row per question."""
    table = Table(title="Ten questions about handwritten digits, 1 cent a pixel")
    headings = (
        "question",
        "share of the bill, USD",
        "Thrifty",
        "by hand, same bill",
        "every pixel",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "question" else "right")
    for row in seen.rows:
        table.add_row(
            row["question"],
            f"{row['cost']:.2f}",
            f"{row['thrifty']:.3f}",
            f"{row['by_hand']:.3f}",
            f"{row['everything']:.3f}",
        )
    table.add_row(
        "mean (sum of the bill)",
        f"{seen.spent:.2f}",
        f"{seen.mean('thrifty'):.3f}",
        f"{seen.mean('by_hand'):.3f}",
        f"{seen.mean('everything'):.3f}",
    )
    return table
