"""The first half of ``thrifty demo``: ten questions about real, noisy scans, priced by the pixel.

The data are scikit-learn's own handwritten digits: 1,797 scans of 8 x 8 pixels. Ten labels, "is it
a 0?" to "is it a 9?", are learned one after the other over the same scans. Beside them, in the same
run: a model on every pixel, and what one would write by hand for the same money: a class-balanced
pilot, the pixels that told the classes apart best, logistic regression; of nine ways to divide the
bill the one that turned out best.

Questions are learned one after the other, because each makes the next one cheaper. Judging them on
held-out scans is as much work again, and needs no order: where there are several, other processes
open the store and do it meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

from thrifty.cells import PriceList, Source
from thrifty.lazy import Sure
from thrifty.lifetime import Lifetime
from thrifty.models import Models
from thrifty.typing import AnyArray, Fields

__all__ = ["Digits", "digits_table", "start_digits"]

Tried = dict[tuple[float, int], float]
_Judged = tuple[dict[str, float], Tried]

#: of all pixels, what one question may cost
_SPEND = "5 %"
_PRICE = 0.01
_N_TEST = 600
_NAME = "digits"


@dataclass
class Digits:
    """A row for each question, and what all of it cost."""

    rows: list[Fields]
    spent: float
    everything: float
    seconds: float

    def mean(self, key: str) -> float:
        """The mean of a column."""
        return float(np.mean([row[key] for row in self.rows]))


def start_digits(n_questions: int, console: Console, store: Path) -> Callable[[], Digits]:
    """Learn the questions; the function that is returned waits until all of them are judged."""
    train, _ = _split()
    X, digit = _scans()
    scans = Source.from_array(X[train], examples=train.tolist(), name="scans")
    prices = PriceList(_PRICE, currency="USD")
    life = Lifetime(Models(), prices=prices, store=store, name=_NAME, random_state=0)
    judges = _Judges(store) if n_questions > 1 else None
    started, rows, judged = perf_counter(), list[Fields](), list[Callable[[], _Judged]]()
    questions = range(n_questions)
    for d in track(questions, "learning ten questions", console=console, transient=True):
        y = (digit[train] == d).astype(int)
        learned = life.learn(_question(d), scans, y, spend=_SPEND)
        receipt = learned.receipt
        rows.append(
            {
                "question": _question(d),
                "cost": receipt.cost,
                "cells": receipt.cells,
                "reused_cells": receipt.reused_cells,
            }
        )
        bill = round(receipt.cost / _PRICE)
        judged.append(partial(_judge, store, d, bill) if judges is None else judges.ask(d, bill))
    life.close()

    def wait() -> Digits:
        found = [answer() for answer in judged]
        if judges is not None:
            judges.close()
        for row, (measured, _) in zip(rows, found):
            row |= measured
        _best_by_hand(rows, [tried for _, tried in found])
        spent = sum(row["cost"] for row in rows)
        return Digits(rows, spent, X[train].size * _PRICE, perf_counter() - started)

    return wait


class _Judges:
    """Two other processes; each opens the store for the question that it judges."""

    def __init__(self, store: Path) -> None:
        # A new interpreter each: a copy of this process would have its open store and threads.
        self._pool = ProcessPoolExecutor(2, get_context("spawn"))
        self._store = store
        for _ in range(2):  # they load their packages while the first question is learned
            self._pool.submit(_split)

    def ask(self, d: int, bill: int) -> Callable[[], _Judged]:
        return self._pool.submit(_judge, self._store, d, bill).result

    def close(self) -> None:
        self._pool.shutdown()


def _judge(store: Path, d: int, bill: int) -> _Judged:
    """How good the answers to a question are on the scans that were held out, and by hand."""
    train, test = _split()
    X, digit = _scans()
    y, held_out = (digit[train] == d).astype(int), (digit[test] == d).astype(int)
    with threadpool_limits(1), Lifetime.open(store, name=_NAME) as life:
        asked = life.predict(_question(d), X[test])
        quick = life.predict(_question(d), X[test], stop=Sure(0.99))
        measured = {
            "thrifty": _precision(held_out, asked.probabilities),
            "everything": _everything(X[train], y, X[test], held_out),
            "pixels_per_scan": asked.receipt.cells / _N_TEST,
            "pixels_when_sure": quick.receipt.cells / _N_TEST,
            "thrifty_when_sure": _precision(held_out, quick.probabilities),
        }
        return measured, _by_hand(X[train], y, X[test], held_out, bill)


def _scans() -> tuple[AnyArray, AnyArray]:
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return X, digit


def _split() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The scans to learn from, and those that nothing is learned from."""
    order = np.random.default_rng(0).permutation(1797)
    return order[_N_TEST:], order[:_N_TEST]


def _question(d: int) -> str:
    return f"is it a {d}?"


def _precision(y: AnyArray, probabilities: NDArray[np.float64] | None) -> float:
    from sklearn.metrics import average_precision_score

    assert probabilities is not None
    return float(average_precision_score(y, probabilities[:, 1]))


def _everything(X: AnyArray, y: AnyArray, test_X: AnyArray, test_y: AnyArray) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    return _precision(test_y, model.predict_proba(test_X))


def _by_hand(X: AnyArray, y: AnyArray, test_X: AnyArray, test_y: AnyArray, bill: int) -> Tried:
    """A share of the bill for a pilot of both classes, the rest for the best pixels on more rows.

    Ways to divide the bill: the pilot's share, and how many others for each row of the rare class.
    """
    from sklearn.linear_model import LogisticRegression

    found = {}
    few, many = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for share, per_positive in product((0.3, 0.5, 0.7), (2, 5, 99)):
        half = max(2, int(share * bill / X.shape[1] / 2))
        pilot = np.r_[few[:half], many[:half]]
        apart = np.abs(X[few[:half]].mean(0) - X[many[:half]].mean(0))
        best = np.argsort(-apart / (X[pilot].std(axis=0) + 1e-9))
        rows = np.union1d(np.r_[few, many[: per_positive * len(few)]], pilot)
        k = max(1, (bill - len(pilot) * X.shape[1]) // max(1, len(rows) - len(pilot)))
        chosen = best[: min(k, X.shape[1])]
        model = LogisticRegression(max_iter=300).fit(X[np.ix_(rows, chosen)] / 16, y[rows])
        found[share, per_positive] = _precision(test_y, model.predict_proba(test_X[:, chosen] / 16))
    return found


def _best_by_hand(rows: list[Fields], tried: list[Tried]) -> None:
    """The one way that was best over all questions, in hindsight."""
    best = max(tried[0], key=lambda way: np.mean([found[way] for found in tried]))
    for row, found in zip(rows, tried):
        row["by_hand"] = found[best]


def digits_table(seen: Digits) -> Table:
    """What was measured, a row per question."""
    table = Table(title="Ten questions about handwritten digits, 1 cent a pixel")
    for heading in ("question", "paid, USD", "Thrifty", "by hand, same bill", "every pixel"):
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
