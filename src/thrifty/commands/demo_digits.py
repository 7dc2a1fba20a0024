"""The first half of ``thrifty demo``: ten questions about real, noisy scans, priced by the pixel.

The data are scikit-learn's own handwritten digits: 1,797 scans of 8 x 8 pixels. Ten labels, "is it
a 0?" to "is it a 9?", are learned one after the other over the same scans. Beside them, in the same
run: a model on every pixel, and what one would write by hand for the same money: a class-balanced
pilot, the pixels that told the classes apart best, logistic regression; of nine ways to divide the
bill the one that turned out best.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from thrifty.cells import PriceList, Source
from thrifty.lazy import Sure
from thrifty.lifetime import Lifetime
from thrifty.models import Models
from thrifty.outside import AnyArray, Json, LabelsLike, TableLike

__all__ = ["Digits", "digits_table", "run_digits"]

Tried = dict[tuple[float, int], float]

#: of all pixels, what one question may cost
_SPEND = "5 %"
_PRICE = 0.01
_N_TEST = 600


@dataclass
class Digits:
    """A row for each question, and what all of it cost."""

    rows: list[Json] = field(default_factory=list)
    spent: float = 0.0
    everything: float = 0.0
    seconds: float = 0.0

    def mean(self, key: str) -> float:
        """The mean of a column."""
        return float(np.mean([row[key] for row in self.rows]))


def run_digits(n_questions: int, console: Console, store: Path | None = None) -> Digits:
    """Learn the questions and measure everything on scans that were held out."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:_N_TEST], order[_N_TEST:]
    scans = Source.from_array(X[train], examples=train.tolist(), name="scans")
    prices = PriceList(_PRICE, currency="USD")
    life = Lifetime(Models(), prices=prices, store=store, name="digits", random_state=0)
    seen, started = Digits(everything=X[train].size * _PRICE), perf_counter()
    questions, tried = range(n_questions), list[Tried]()
    for d in track(questions, "learning ten questions", console=console, transient=True):
        y, held_out = (digit[train] == d).astype(int), (digit[test] == d).astype(int)
        name = f"is it a {d}?"
        before = life.balance().spent
        learned = life.learn(name, scans, y, spend=_SPEND)
        cost = life.balance().spent - before
        asked = life.predict(name, X[test])
        quick = life.predict(name, X[test], stop=Sure(0.99))
        bill = round(float(cost) / _PRICE)
        tried.append(_by_hand(X[train], y, X[test], held_out, bill))
        seen.rows.append({
            "question": name,
            "cost": float(cost),
            "cells": learned.receipt.cells,
            "reused_cells": learned.receipt.reused_cells,
            "thrifty": _precision(held_out, asked.probabilities),
            "everything": _everything(X[train], y, X[test], held_out),
            "pixels_per_scan": asked.receipt.cells / _N_TEST,
            "pixels_when_sure": quick.receipt.cells / _N_TEST,
            "thrifty_when_sure": _precision(held_out, quick.probabilities),
        })  # fmt: skip
    _best_by_hand(seen, tried)
    seen.spent, seen.seconds = sum(row["cost"] for row in seen.rows), perf_counter() - started
    return seen


def _precision(y: AnyArray, probabilities: NDArray[np.float64] | None) -> float:
    from sklearn.metrics import average_precision_score

    assert probabilities is not None
    return float(average_precision_score(y, probabilities[:, 1]))


def _everything(X: TableLike, y: LabelsLike, test_X: Any, test_y: Any) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    return _precision(test_y, model.predict_proba(test_X))


def _by_hand(X: TableLike, y: LabelsLike, test_X: Any, test_y: Any, bill: int) -> Tried:
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
        found[share, per_positive] = _precision(
            test_y, model.predict_proba(test_X[:, chosen] / 16)
        )
    return found


def _best_by_hand(seen: Digits, tried: list[Tried]) -> None:
    """The one way that was best over all questions, in hindsight."""
    best = max(tried[0], key=lambda way: np.mean([found[way] for found in tried]))
    for row, found in zip(seen.rows, tried):
        row["by_hand"] = found[best]


def digits_table(seen: Digits) -> Table:
    """What was measured, a row per question."""
    table = Table(title="Ten questions about handwritten digits, 1 cent a pixel")
    for heading in ("question", "paid, USD", "Thrifty", "by hand, same bill", "every pixel"):
        table.add_column(heading, justify="left" if heading == "question" else "right")
    for row in seen.rows:
        table.add_row(
            row["question"], f"{row['cost']:.2f}", f"{row['thrifty']:.3f}",
            f"{row['by_hand']:.3f}", f"{row['everything']:.3f}",
        )  # fmt: skip
    table.add_row(
        "mean (sum of the bill)", f"{seen.spent:.2f}", f"{seen.mean('thrifty'):.3f}",
        f"{seen.mean('by_hand'):.3f}", f"{seen.mean('everything'):.3f}",
    )  # fmt: skip
    return table
