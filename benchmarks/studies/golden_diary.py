"""What a stream of the golden record gave, as three hashes; and the tables it draws.

Only public names are used, and no data but what is drawn here, so that other versions run them.
Numbers are rounded to nine places: the record is of what was bought and said, not of the last bit
of a sum. It holds on one kind of machine, since other linear algebra rounds otherwise.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import thrifty

__all__ = ["Diary", "bank", "bits", "bought_from", "reals"]

#: of a receipt or a row of the bill, what is cells and what is money; the rest may be reworded
_CELLS = ("cells", "reused_cells", "avoided_cells", "max_cells_per_example", "per_feature", "gaps")
_MONEY = ("task", "cost", "currency", "over")
_PLACES = 9


class Diary:
    """What a stream gave, step by step: cells, bills and answers in hashes, seconds of CPU."""

    def __init__(self, folder: Path, new_database: Any = None) -> None:
        self.folder = folder
        #: a PostgreSQL schema of its own: the URL
        self.new_database = new_database
        self.seconds: list[float] = []
        self._said = {what: hashlib.sha256() for what in ("cells", "bills", "answers")}

    def note(self, what: str, *values: object) -> None:
        """Add to one of the hashes."""
        for value in values:
            told = json.dumps(_plain(value), sort_keys=True)
            # a cohort has a name that is drawn
            told = re.sub(r"background [0-9a-f]{8}", "background", told)
            self._said[what].update(told.encode() + b"\n")

    def learn(self, life: Any, name: Any, X: Any, y: Any, **given: Any) -> Any:
        """``life.learn``, noted."""
        start = time.process_time()
        learned = life.learn(name, X, y, **given)
        self.seconds.append(time.process_time() - start)
        for each in learned.values() if isinstance(learned, Mapping) else [learned]:
            self.receipt(each.receipt)
            self.note("bills", each.route)
            for shown in ("exponents_", "terms_"):
                self.note("answers", repr(getattr(each.model, shown, None)))
            if hasattr(each.model, "tree_"):
                self.note("answers", each.model.tree_.to_dict())
        return learned

    def predict(self, life: Any, name: Any, X: Any, **given: Any) -> Any:
        """``life.predict``, noted."""
        start = time.process_time()
        made = life.predict(name, X, **given)
        self.seconds.append(time.process_time() - start)
        self.receipt(made.receipt)
        for each in [made] if isinstance(name, str) else [made[one] for one in name]:
            self.note("answers", each.values, each.probabilities, [str(s) for s in each.stopped])
        return made

    def receipt(self, receipt: Any) -> None:
        """What was bought, and what it cost."""
        told = receipt.to_dict()
        self.note("cells", {key: told[key] for key in _CELLS if key in told})
        self.note("cells", told.get("cells_per_row"))
        self.note("bills", {key: told[key] for key in _MONEY if key in told})

    def close(self, life: Any) -> None:
        """The whole bill of a lifetime, and its balance."""
        for row in life.bill().to_dict("records"):
            self.note("bills", {key: row[key] for key in _MONEY if key in row})
            self.note("cells", {key: row[key] for key in _CELLS if key in row})
        balance = life.balance()
        self.note("bills", balance.spent, balance.reserved, balance.learning, balance.predictions)

    def to_dict(self) -> dict[str, Any]:
        """Seconds of every step, and the three hashes."""
        hashes = {what: said.hexdigest()[:16] for what, said in self._said.items()}
        return {"seconds": self.seconds, **hashes}


def _plain(value: Any) -> object:
    """As JSON, with numbers rounded and nothing of whether an array or a list holds them."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return round(value, _PLACES) + 0.0  # no negative zero
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def bits(seed: int, n: int, N: int, n_labels: int = 1) -> tuple[Any, list[Any]]:
    """Rare Boolean features; each label depends on five of its own, with noise."""
    rng = np.random.default_rng(seed)
    rates = np.random.default_rng(0).uniform(0.03, 0.2, N)
    X = rng.random((n, N)) < rates
    told = [X[:, 3 * k : 3 * k + 5].sum(axis=1) for k in range(n_labels)]
    return X, [(rng.random(n) < 1 / (1 + np.exp(3.5 - 3.0 * t))).astype(int) for t in told]


def reals(seed: int, n: int, N: int, gaps: float = 0.0) -> tuple[Any, Any]:
    """Numbers, and a score that a few of them make, one by a product; gaps where asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N))
    score = 1.5 * X[:, 2] - X[:, 5] + X[:, 7] * X[:, 8] + 0.7 * rng.normal(size=n)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, score


def bought_from(diary: Diary, X: Any, names: list[str], prices: Any, name: str) -> Any:
    """A paid provider of a table's cells; which of them it was asked for is noted."""
    column = {key: j for j, key in enumerate(names)}

    def ask(ids: Any, asked: Any) -> Any:
        diary.note("cells", sorted(int(i) for i in ids), sorted(asked))
        return X[np.ix_([int(i) for i in ids], [column[key] for key in asked])]

    return thrifty.Source.from_callable(
        ask,
        examples=range(len(X)),
        features=names,
        prices=prices,
        name=name,
        allow_missing=True,
        kinds=dict.fromkeys(names, "number"),
        concurrency=1,
    )


def bank(X: Any) -> Any:
    """Questions to a model that answers with the rows of a table."""

    def ask(prompt: str) -> str:
        row = int(re.findall(r"text number (\d+)", prompt)[0])
        asked = [int(j) for j in re.findall(r"Is (\d+) so\?", prompt)]
        return json.dumps({str(i): "yes" if X[row, j] else "no" for i, j in enumerate(asked, 1)})

    texts = {str(i): f"text number {i}" + " and more" * 40 for i in range(len(X))}
    questions = {f"q{j}": f"Is {j} so?" for j in range(X.shape[1])}
    rates = thrifty.Rates("0.15 USD", "0.60 USD")
    return thrifty.Source.from_questions(texts, questions, ask=ask, rates=rates, concurrency=1)
