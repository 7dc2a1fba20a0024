"""Twelve streams of the default family: every bill, every model, every probability, as hashes.

    python benchmarks/default_streams.py

Only public names are used, and no data but what is drawn here, so that any version runs them;
``old_and_new.py`` compares two. A stream is a function of a :class:`Diary`, which notes what each
learned task and each prediction gave and the CPU time it took.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: of a row of the bill, what differs from one run to the next
VOLATILE = {"at", "when", "started", "seconds"}


class Diary:
    """What a stream gave, step by step: bills, models and answers in hashes, seconds of CPU."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds: list[float] = []
        self._said = {what: hashlib.sha256() for what in ("bills", "models", "answers")}

    def note(self, what: str, *values: object) -> None:
        for value in values:
            self._said[what].update(_bytes(value) + b"\n")

    def learn(self, life: Any, name: str, X: Any, y: Any, **given: Any) -> Any:
        """``life.learn``, noted."""
        start = time.process_time()
        learned = life.learn(name, X, y, **given)
        self.seconds.append(time.process_time() - start)
        self.note("bills", name, learned.route, learned.receipt.to_dict())
        self.note("models", learned.model.to_dict())
        return learned

    def predict(self, life: Any, name: str, X: Any, **given: Any) -> Any:
        """``life.predict``, noted."""
        start = time.process_time()
        made = life.predict(name, X, **given)
        self.seconds.append(time.process_time() - start)
        self.note("bills", name, made.receipt.to_dict())
        self.note("answers", made.values, made.probabilities, list(map(str, made.stopped)))
        return made

    def close(self, life: Any) -> None:
        """The whole bill of a lifetime, and its balance."""
        for row in life.bill_rows():
            kept = {key: row[key] for key in row if key not in VOLATILE}
            # a cohort has a name that is drawn
            self.note("bills", re.sub(r"background [0-9a-f]{8}", "background", repr(kept)))
        balance = life.balance()
        self.note("bills", balance.spent, balance.learning, balance.predictions)

    def to_dict(self) -> dict[str, Any]:
        hashes = {what: said.hexdigest()[:16] for what, said in self._said.items()}
        return {"seconds": self.seconds, **hashes}


def _bytes(value: object) -> bytes:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    return json.dumps(value, sort_keys=True, default=_plain).encode()


def _plain(value: Any) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict) or hasattr(value, "items"):
        return dict(value.items())
    return repr(value)


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


def bought_from(thrifty: Any, X: Any, names: list[str], prices: Any, name: str) -> Any:
    """A paid provider of a table's cells."""
    column = {key: j for j, key in enumerate(names)}
    return thrifty.Source.from_callable(
        lambda ids, asked: X[np.ix_([int(i) for i in ids], [column[key] for key in asked])],
        examples=range(len(X)),
        features=names,
        prices=prices,
        name=name,
        allow_missing=True,
        kinds=dict.fromkeys(names, "number"),
    )


def wide_boolean(thrifty: Any, diary: Diary) -> None:
    X, (y,) = bits(1, 1500, 400)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "wide", X, y, spend="5 %")
    diary.predict(life, "wide", bits(101, 400, 400)[0])
    diary.close(life)
    X, (y,) = bits(11, 1500, 50)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "narrower", X, y, spend="15 %")  # stopping early fits many prefixes
    diary.predict(life, "narrower", bits(111, 400, 50)[0], stop=thrifty.Sure(0.95))
    diary.close(life)


def numbers_with_gaps(thrifty: Any, diary: Diary) -> None:
    X, score = reals(2, 1000, 25, gaps=0.15)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "gaps", X, score > 1, spend="25 %")
    diary.learn(life, "unsaid", X, score < -0.5)  # how much is spent is Thrifty's to say
    new = reals(102, 300, 25, gaps=0.15)[0]
    for limits in ({}, {"stop": thrifty.Sure(0.9)}, {"per_row": 3}, {"spend": 900}):
        diary.predict(life, "gaps", new, **limits)
    diary.close(life)


def categories(thrifty: Any, diary: Diary) -> None:
    import pandas

    def drawn(seed: int, n: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        town = rng.choice(["Berlin", "Lyon", "Oslo", "Porto"], n)
        frame = pandas.DataFrame({f"x{j}": rng.normal(size=n) for j in range(8)})
        frame["town"], frame["ward"] = town, rng.choice(list("abcdefg"), n)
        frame["smokes"] = rng.random(n) < 0.3
        score = frame["x1"] + 2.0 * (town == "Oslo") - 1.0 * frame["smokes"] + rng.normal(size=n)
        return frame, np.where(score > 0.8, "ill", "well")

    X, y = drawn(3, 900)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "words", X, y, spend="40 %")
    new = drawn(103, 300)[0]
    diary.predict(life, "words", new)
    diary.predict(life, "words", new[new.columns[::-1]], per_row=4)
    diary.close(life)


def three_classes(thrifty: Any, diary: Diary) -> None:
    from sklearn.linear_model import LogisticRegression

    X, score = reals(4, 900, 20)
    y = np.digitize(score, [-1.0, 1.0])
    new = reals(104, 300, 20)[0]
    for family in (thrifty.Models(), thrifty.Models(LogisticRegression(max_iter=300))):
        life = thrifty.Lifetime(family, random_state=0)
        diary.learn(life, "three", X, y, spend="30 %")
        diary.predict(life, "three", new)
        diary.predict(life, "three", new, stop=thrifty.Sure(0.8))
        diary.close(life)


def regression(thrifty: Any, diary: Diary) -> None:
    X, score = reals(5, 1000, 40)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "score", X, score, spend="20 %")
    new = reals(105, 300, 40)[0]
    for limits in ({}, {"per_row": 3}, {"spend": 800}):
        diary.predict(life, "score", new, **limits)
    diary.close(life)


def orders_and_free_columns(thrifty: Any, diary: Diary) -> None:
    X, score = reals(6, 700, 14)
    names = [f"t{j}" for j in range(14)]
    prices = thrifty.PriceList(
        {name: 0 if j < 3 else 2 + j % 4 for j, name in enumerate(names)},
        orders={"blood": (7, names[4:8]), "urine": (6, names[7:11])},
        currency="EUR",
    )
    life = thrifty.Lifetime(random_state=0)
    source = bought_from(thrifty, X[:500], names, prices, "clinic")
    diary.learn(life, "orders", source, score[:500] > 0.5, spend="6000 EUR")
    later = bought_from(thrifty, X[500:], names, prices, "later")
    diary.predict(life, "orders", later, stop=thrifty.Worth(errors=[10, 60]))
    diary.predict(life, "orders", bought_from(thrifty, X[500:], names, prices, "all"))
    diary.close(life)


def fees_and_calls(thrifty: Any, diary: Diary) -> None:
    X, score = reals(7, 600, 12)
    names = [f"t{j}" for j in range(12)]
    prices = thrifty.PriceList(
        1, fees={"draw": (5, names[3:9])}, discounts={"d": {names[9]: 0.5, names[10]: 0.4}}
    )
    life = thrifty.Lifetime(prices=prices, random_state=0)
    source = bought_from(thrifty, X[:450], names, prices, "fees")
    diary.learn(life, "fees", source, score[:450] > 0, spend=2500)
    diary.predict(life, "fees", bought_from(thrifty, X[450:], names, prices, "new"), per_row=9)
    diary.close(life)
    answers, (y,) = bits(8, 300, 30)
    life = thrifty.Lifetime(random_state=0)
    source = _bank(thrifty, answers)
    diary.learn(life, "calls", source, y, spend=0.3 * source.dry_run().price)
    diary.close(life)


def _bank(thrifty: Any, X: Any) -> Any:
    """Questions to a model that answers with the rows of a table."""

    def ask(prompt: str) -> str:
        row = int(re.findall(r"text number (\d+)", prompt)[0])
        asked = [int(j) for j in re.findall(r"Is (\d+) so\?", prompt)]
        return json.dumps({str(i): "yes" if X[row, j] else "no" for i, j in enumerate(asked, 1)})

    texts = {i: f"text number {i}" + " and more" * 40 for i in range(len(X))}
    questions = {f"q{j}": f"Is {j} so?" for j in range(X.shape[1])}
    rates = thrifty.Rates("0.15 USD", "0.60 USD")
    return thrifty.Source.from_questions(texts, questions, ask=ask, rates=rates, concurrency=1)


def memory_over_tasks(thrifty: Any, diary: Diary) -> None:
    life = thrifty.Lifetime(random_state=0)
    for task in range(5):
        X, labels = bits(20 + task, 900, 200, n_labels=5)
        diary.learn(life, f"label {task}", X, labels[task], spend="6 %")
    diary.predict(life, "label 4", bits(120, 300, 200)[0])
    diary.close(life)


def cohort(thrifty: Any, diary: Diary) -> None:
    X, labels = bits(30, 900, 150, n_labels=2)
    life = thrifty.Lifetime(random_state=0)
    source = thrifty.Source.from_array(X, examples=range(len(X)), name="cohort")
    diary.note("bills", life.background(source, rows=150).to_dict())
    for name, y in zip(("first", "second"), labels):
        diary.learn(life, name, source, y, spend="8 %")
    diary.predict(life, "second", bits(130, 300, 150)[0])
    diary.close(life)


def recurring(thrifty: Any, diary: Diary) -> None:
    life = thrifty.Lifetime(thrifty.Models(recurring=True), random_state=0)
    for i, label in enumerate((0, 2, 0, 2)):
        X, labels = bits(40 + i, 1000, 100, n_labels=3)
        diary.learn(life, f"site {i}", X, labels[label], spend="12 %")
    diary.predict(life, "site 3", bits(140, 300, 100)[0])
    diary.close(life)


def predictions_to_come(thrifty: Any, diary: Diary) -> None:
    X, score = reals(9, 800, 20)
    new = reals(109, 300, 20)[0]
    family = thrifty.Models(predictions=2000, errors=[20, 100])
    life = thrifty.Lifetime(family, prices=[1 + j % 3 for j in range(20)], random_state=0)
    diary.learn(life, "to come", X, score > 1, spend="30 %")
    diary.predict(life, "to come", new)
    diary.predict(life, "to come", new, stop=thrifty.Worth(0.002))
    diary.close(life)
    life = thrifty.Lifetime(thrifty.Models(predictions=500), random_state=0)
    diary.learn(life, "numbers to come", X, score, spend="30 %")
    diary.predict(life, "numbers to come", new)
    diary.close(life)


def shared_ids_in_sqlite(thrifty: Any, diary: Diary) -> None:
    X, score = reals(10, 700, 30, gaps=0.05)
    names = [f"t{j}" for j in range(30)]
    path = diary.folder / "shared.db"
    budget = thrifty.Budget(total=30_000)
    life = thrifty.Lifetime(store=path, budget=budget, random_state=0)
    for name, y in (("high", score > 1), ("low", score < -1), ("score", score)):
        source = bought_from(thrifty, X, names, 1, "lab")
        diary.learn(life, name, source, y, spend=5000)
    again = thrifty.Lifetime.open(path)
    some = bought_from(thrifty, X, names, 1, "lab")
    diary.predict(again, "low", some, per_row=4)
    diary.predict(again, "score", some)  # most of it is owned by now
    diary.close(again)


STREAMS: dict[str, Callable[[Any, Diary], None]] = {
    one.__name__.replace("_", " "): one
    for one in (
        wide_boolean, numbers_with_gaps, categories, three_classes, regression,
        orders_and_free_columns, fees_and_calls, memory_over_tasks, cohort, recurring,
        predictions_to_come, shared_ids_in_sqlite,
    )
}  # fmt: skip


def run_streams(thrifty: Any) -> dict[str, dict[str, Any]]:
    """Each stream by its name: seconds of every step, and the three hashes."""
    found = {}
    for name, stream in STREAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            diary = Diary(Path(folder))
            stream(thrifty, diary)
        found[name] = diary.to_dict()
    return found


if __name__ == "__main__":
    import thrifty

    for name, found in run_streams(thrifty).items():
        hashes = " ".join(found[what] for what in ("bills", "models", "answers"))
        print(f"{name:24} {hashes} {sum(found['seconds']):7.2f} s")
