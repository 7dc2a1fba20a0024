"""Streams of the golden record: ``Models``, the default family, in each of its cases."""

from __future__ import annotations

from typing import Any

import numpy as np

import thrifty
from studies.golden_diary import Diary, bank, bits, bought_from, reals

__all__ = ["STREAMS"]


def wide_boolean(diary: Diary) -> None:
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


def numbers_with_gaps(diary: Diary) -> None:
    X, score = reals(2, 1000, 25, gaps=0.15)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "gaps", X, score > 1, spend="25 %")
    diary.learn(life, "unsaid", X, score < -0.5)  # how much is spent is Thrifty's to say
    new = reals(102, 300, 25, gaps=0.15)[0]
    for limits in ({}, {"stop": thrifty.Sure(0.9)}, {"per_row": 3}, {"spend": 900}):
        diary.predict(life, "gaps", new, **limits)
    diary.close(life)


def categories(diary: Diary) -> None:
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


def three_classes(diary: Diary) -> None:
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


def regression(diary: Diary) -> None:
    X, score = reals(5, 1000, 40)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "score", X, score, spend="20 %")
    new = reals(105, 300, 40)[0]
    for limits in ({}, {"per_row": 3}, {"spend": 800}):
        diary.predict(life, "score", new, **limits)
    diary.close(life)


def orders_and_free_columns(diary: Diary) -> None:
    X, score = reals(6, 700, 14)
    names = [f"t{j}" for j in range(14)]
    prices = thrifty.PriceList(
        {name: 0 if j < 3 else 2 + j % 4 for j, name in enumerate(names)},
        orders={"blood": (7, names[4:8]), "urine": (6, names[7:11])},
        currency="EUR",
    )
    life = thrifty.Lifetime(random_state=0)
    source = bought_from(diary, X[:500], names, prices, "clinic")
    diary.learn(life, "orders", source, score[:500] > 0.5, spend="6000 EUR")
    later = bought_from(diary, X[500:], names, prices, "later")
    diary.predict(life, "orders", later, stop=thrifty.Worth(errors=[10, 60]))
    diary.predict(life, "orders", bought_from(diary, X[500:], names, prices, "all"))
    diary.close(life)


def fees_and_calls(diary: Diary) -> None:
    X, score = reals(7, 600, 12)
    names = [f"t{j}" for j in range(12)]
    prices = thrifty.PriceList(
        1, fees={"draw": (5, names[3:9])}, discounts={"d": {names[9]: 0.5, names[10]: 0.4}}
    )
    life = thrifty.Lifetime(prices=prices, random_state=0)
    source = bought_from(diary, X[:450], names, prices, "fees")
    diary.learn(life, "fees", source, score[:450] > 0, spend=2500)
    diary.predict(life, "fees", bought_from(diary, X[450:], names, prices, "new"), per_row=9)
    diary.close(life)
    answers, (y,) = bits(8, 300, 30)
    life = thrifty.Lifetime(random_state=0)
    source = bank(answers)
    diary.learn(life, "calls", source, y, spend=0.3 * source.dry_run().price)
    diary.close(life)


def memory_over_tasks(diary: Diary) -> None:
    life = thrifty.Lifetime(random_state=0)
    for task in range(5):
        X, labels = bits(20 + task, 900, 200, n_labels=5)
        diary.learn(life, f"label {task}", X, labels[task], spend="6 %")
    diary.predict(life, "label 4", bits(120, 300, 200)[0])
    diary.close(life)


def cohort(diary: Diary) -> None:
    X, labels = bits(30, 900, 150, n_labels=2)
    life = thrifty.Lifetime(random_state=0)
    source = thrifty.Source.from_array(X, examples=range(len(X)), name="cohort")
    diary.note("bills", life.background(source, rows=150).to_dict())
    for name, y in zip(("first", "second"), labels):
        diary.learn(life, name, source, y, spend="8 %")
    diary.predict(life, "second", bits(130, 300, 150)[0])
    diary.close(life)


def predictions_to_come(diary: Diary) -> None:
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


def shared_ids_in_sqlite(diary: Diary) -> None:
    X, score = reals(10, 700, 30, gaps=0.05)
    names = [f"t{j}" for j in range(30)]
    path = diary.folder / "shared.db"
    budget = thrifty.Budget(total=30_000)
    life = thrifty.Lifetime(store=path, budget=budget, random_state=0)
    for name, y in (("high", score > 1), ("low", score < -1), ("score", score)):
        source = bought_from(diary, X, names, 1, "lab")
        diary.learn(life, name, source, y, spend=5000)
    again = thrifty.Lifetime.open(path)
    some = bought_from(diary, X, names, 1, "lab")
    diary.predict(again, "low", some, per_row=4)
    diary.predict(again, "score", some)  # most of it is owned by now
    diary.close(again)


def several_labels_at_once(diary: Diary) -> None:
    X, labels = bits(12, 500, 60, n_labels=4)
    life = thrifty.Lifetime(random_state=0)
    names = [f"label {k}" for k in range(4)]
    diary.learn(life, names, X, np.column_stack(labels), spend="15 %")
    new = bits(112, 150, 60)[0]
    diary.predict(life, "label 1", new)
    diary.predict(life, names[:3], new, per_row=12)
    diary.close(life)


def several_numbers_at_once(diary: Diary) -> None:
    X, score = reals(13, 400, 16)
    life = thrifty.Lifetime(random_state=0)
    both = np.column_stack([score, X[:, 3] + 0.5 * score])
    diary.learn(life, ["score", "other"], X, both, spend="20 %")
    diary.predict(life, "other", reals(113, 100, 16)[0])
    diary.close(life)


def sure(diary: Diary) -> None:
    X, score = reals(14, 800, 12)
    life = thrifty.Lifetime(prices=[1 + j % 4 for j in range(12)], random_state=0)
    diary.learn(life, "sure", X, score > 0, spend="50 %")
    new = reals(114, 300, 12)[0]
    for at in (0.8, 0.95):
        diary.predict(life, "sure", new, stop=thrifty.Sure(at))
    diary.close(life)


def joint(diary: Diary) -> None:
    X, score = reals(15, 600, 12)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "high", X, score > 1, spend="50 %")
    diary.learn(life, "low", X, score < -1, spend="50 %")
    new = reals(115, 200, 12)[0]
    both = ["high", "low"]
    diary.predict(life, both, new)
    diary.predict(life, both, new, per_row=5)
    diary.predict(life, both, new, stop=thrifty.Sure(0.9))
    interview = life.ask(both)
    while interview.next is not None:
        asked = interview.next.feature
        diary.note("cells", asked)
        interview.tell(float(new[0][int(asked[1:])]), feature=asked)
    diary.note("answers", {name: one.value for name, one in interview.answers.items()})
    diary.close(life)


def answers(diary: Diary) -> None:
    rng = np.random.default_rng(16)
    X = rng.random((900, 5))
    y = (X[:, 0] + 0.3 * X[:, 1] + 0.05 * rng.normal(size=900)) > 0.6
    life = thrifty.Lifetime(prices=0, random_state=0)
    diary.learn(life, "large", X[:200], y[:200])

    def ask(rows: list[int]) -> list[bool]:
        diary.note("cells", [int(row) for row in rows])
        return [bool(y[200 + int(row)]) for row in rows]

    oracle = thrifty.Oracle(ask, price="0.01 USD")
    said = life.answer("large", X[200:], oracle=oracle, agree=0.95, random_state=0)
    diary.note("answers", said.values, said.by_oracle)
    diary.note("bills", said.certificate.cost)
    diary.close(life)


def bought_labels(diary: Diary) -> None:
    X, score = reals(17, 300, 10)
    life = thrifty.Lifetime(random_state=0)

    def ask(rows: list[int]) -> list[bool]:
        diary.note("cells", [int(row) for row in rows])
        return [bool(score[int(row)] > 0.5) for row in rows]

    diary.learn(life, "asked for", X, thrifty.Oracle(ask, price=2.0), spend=900)
    diary.predict(life, "asked for", reals(117, 100, 10)[0])
    diary.close(life)


def updates(diary: Diary) -> None:
    X, score = reals(18, 900, 12)
    life = thrifty.Lifetime(random_state=0)
    diary.learn(life, "updated", X[:300], score[:300] > 0, spend="40 %")
    life["updated"].update(X[300:600], score[300:600] > 0, spend=1200)
    diary.predict(life, "updated", X[600:])
    life["updated"].rollback()
    diary.predict(life, "updated", X[600:])
    diary.close(life)


STREAMS = (
    wide_boolean, numbers_with_gaps, categories, three_classes, regression,
    orders_and_free_columns, fees_and_calls, memory_over_tasks, cohort,
    predictions_to_come, shared_ids_in_sqlite, several_labels_at_once, several_numbers_at_once,
    sure, joint, answers, bought_labels, updates,
)  # fmt: skip
