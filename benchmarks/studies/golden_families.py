"""Streams of the golden record: the paper's families and rules, stores, wrapped models, purges."""

from __future__ import annotations

from typing import Any

import numpy as np

import thrifty
from studies.golden_diary import Diary, bank, bits, bought_from, reals

__all__ = ["STREAMS"]


def _run(diary: Diary, family: Any, tasks: Any, n_rows: int = 60, **given: Any) -> None:
    """A lifetime over a stream of the theory; each model predicts rows of the first task."""
    life = thrifty.Lifetime(family, random_state=0, **given)
    rows = None
    for task in tasks:
        rows = task.X[:n_rows] if rows is None else rows
        diary.learn(life, task.name, task.X, task.y)
        diary.predict(life, task.name, rows)
    diary.close(life)


def _trees(learner: Any = None) -> Any:
    return thrifty.Trees(max_depth=5, learner=learner or thrifty.trees.Paper())


def trees_of_the_paper(diary: Diary) -> None:
    _run(diary, _trees(), thrifty.streams.trees(10, 80, 5, 1000, 5, random_state=100))


def trees_with_a_warm_up(diary: Diary) -> None:
    learner = thrifty.trees.Paper(warm_up=thrifty.trees.WarmUp(0.2, 4))
    _run(diary, _trees(learner), thrifty.streams.trees(8, 60, 4, 800, 5, random_state=101))


def raced_trees(diary: Diary) -> None:
    _run(
        diary,
        _trees(thrifty.trees.Race()),
        thrifty.streams.trees(8, 60, 4, 1500, 5, random_state=1),
    )
    gini = thrifty.trees.Race(gain="gini")
    _run(diary, _trees(gini), thrifty.streams.trees(4, 60, 4, 1500, 5, random_state=2))


def trees_of_numbers(diary: Diary) -> None:
    for learner in (thrifty.trees.Paper(), thrifty.trees.Race()):
        _run(diary, _trees(learner), thrifty.streams.reals(5, 40, 3, 600, 4, random_state=3))


def tested_trees(diary: Diary) -> None:
    learner = thrifty.trees.Tested(0.05, 0.9, random_state=0)
    _run(diary, _trees(learner), thrifty.streams.trees(5, 50, 4, 4000, 4, random_state=4))


def trees_of_three_classes(diary: Diary) -> None:
    X, _ = reals(25, 400, 12)
    y = np.where(X[:, 3] > 0.2, np.where(X[:, 5] > 0, "a", "b"), "c")
    life = thrifty.Lifetime(_trees(), random_state=0)
    diary.learn(life, "three", X, y)
    diary.predict(life, "three", reals(125, 100, 12)[0])
    diary.close(life)


def lists(diary: Diary) -> None:
    tasks = thrifty.streams.lists(8, 60, 4, 800, 6, random_state=100)
    _run(diary, thrifty.Lists(max_depth=20), tasks)


def monomials(diary: Diary) -> None:
    tasks = thrifty.streams.monomials(8, 30, 3, 60, 4, random_state=5)
    _run(diary, thrifty.Monomials(max_degree=4), tasks, n_rows=20)


def polynomials(diary: Diary) -> None:
    tasks = thrifty.streams.polynomials(5, 12, 3, 300, 3, 2, random_state=6)
    _run(diary, thrifty.Polynomials(3, 2), tasks, n_rows=20)


def _ruled(diary: Diary, rule: Any) -> None:
    """Two kinds of tasks in turn: what the first taught does not help the second."""
    first = thrifty.streams.trees(6, 60, 3, 600, 4, random_state=7)
    second = thrifty.streams.trees(6, 60, 3, 600, 4, random_state=8)
    life = thrifty.Lifetime(_trees(), agnostic=rule, random_state=0)
    for k, (one, other) in enumerate(zip(first, second)):
        diary.learn(life, f"first {k}", one.X, one.y)
        diary.learn(life, f"second {k}", other.X, other.y)
    diary.close(life)


def rule_expansion(diary: Diary) -> None:
    _ruled(diary, thrifty.agnostic.Expansion())


def rule_restart(diary: Diary) -> None:
    _ruled(diary, thrifty.agnostic.Restart(2))


def rule_balanced(diary: Diary) -> None:
    _ruled(diary, thrifty.agnostic.Balanced(1, 4, n_tasks=12))


def rule_doubling(diary: Diary) -> None:
    _ruled(diary, thrifty.agnostic.Doubling())


def _orders(diary: Diary, store: Any) -> None:
    """The same in every store: orders, a fee, a discount, a budget, two tasks, a prediction."""
    X, score = reals(26, 260, 12)
    names = [f"t{j}" for j in range(12)]
    prices = thrifty.PriceList(
        {name: 1 + j % 3 for j, name in enumerate(names)},
        orders={"blood": (4, names[1:5])},
        fees={"draw": (3, names[5:8])},
        discounts={"d": {names[9]: 0.5, names[10]: 0.4}},
        currency="EUR",
    )
    budget = thrifty.Budget(total="9000 EUR")
    life = thrifty.Lifetime(store=store, prices=prices, budget=budget, random_state=0)
    source = bought_from(diary, X[:200], names, prices, "ward")
    diary.learn(life, "orders", source, score[:200] > 0.5, spend="1200 EUR")
    diary.learn(life, "again", source, score[:200] < 0, spend="800 EUR")
    diary.predict(life, "orders", bought_from(diary, X[200:], names, prices, "new"))
    diary.close(life)


def orders_in_memory(diary: Diary) -> None:
    _orders(diary, None)


def orders_in_sqlite(diary: Diary) -> None:
    _orders(diary, diary.folder / "orders.db")


def orders_in_postgres(diary: Diary) -> None:
    _orders(diary, diary.new_database())


def trees_that_pay(diary: Diary) -> None:
    X, _ = bits(27, 300, 40)
    names = [f"b{j}" for j in range(40)]
    path = diary.folder / "trees.db"
    prices = [1 + j % 5 for j in range(40)]
    budget = thrifty.Budget(total=100_000)
    life = thrifty.Lifetime(_trees(), store=path, prices=prices, budget=budget, random_state=0)
    source = bought_from(diary, X.astype(float), names, prices, "paid")
    diary.learn(life, "paid", source, X[:, 1] | X[:, 2] & X[:, 9])
    life.close()
    again = thrifty.Lifetime.open(path)
    diary.learn(again, "another", source, X[:, 3] & ~X[:, 5])
    diary.close(again)


def questions(diary: Diary) -> None:
    said, (y,) = bits(28, 160, 20)
    life = thrifty.Lifetime(store=diary.folder / "bank.db", random_state=0)
    source = bank(said[:120])
    diary.learn(life, "asked", source, y[:120], spend=0.5 * source.dry_run().price)
    diary.predict(life, "asked", bank(said[120:]), per_row=0.0002)
    diary.close(life)


def wrapped(diary: Diary) -> None:
    from sklearn.ensemble import RandomForestClassifier

    X, score = reals(29, 300, 10)
    fitted = RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, score > 0)
    life = thrifty.Lifetime(random_state=0)
    reader = life.metered(fitted, bought_from(diary, X, [f"t{j}" for j in range(10)], 1, "w"))
    diary.note("answers", reader.predict())
    diary.receipt(reader.receipt)
    diary.close(life)


def stand_alone(diary: Diary) -> None:
    X, score = reals(30, 300, 10)
    for made in (thrifty.TreeClassifier(max_depth=4), thrifty.ModelClassifier()):
        diary.note("answers", made.fit(X, score > 0).predict_proba(X[:50]))
    diary.note("answers", thrifty.ModelRegressor().fit(X, score).predict(X[:50]))


def many_at_once(diary: Diary) -> None:
    tasks = list(thrifty.streams.trees(6, 50, 3, 500, 4, random_state=9))
    life = thrifty.Lifetime(_trees(), random_state=0)
    for learned in life.learn_many([(t.name, t.X, t.y) for t in tasks], n_jobs=1):
        diary.receipt(learned.receipt)
        diary.note("answers", learned.model.tree_.to_dict())
    diary.close(life)


def quotes(diary: Diary) -> None:
    X, score = reals(31, 200, 9)
    names = [f"t{j}" for j in range(9)]
    life = thrifty.Lifetime(random_state=0)
    source = bought_from(diary, X, names, 2, "quoted")
    quote = life.quote("later", source, score > 0, spend=600)
    diary.note("bills", quote.cells, quote.cost)
    diary.learn(life, "later", source, score > 0, spend=600)
    diary.close(life)


def purges(diary: Diary) -> None:
    X, score = reals(32, 200, 9)
    names = [f"t{j}" for j in range(9)]
    life = thrifty.Lifetime(store=diary.folder / "purged.db", random_state=0)
    source = bought_from(diary, X, names, 1, "purged")
    diary.learn(life, "before", source, score > 0, spend=500)
    life.ledger.purge("7")
    diary.close(life)
    rest = bought_from(diary, X[100:], names, 1, "rest")
    diary.predict(life, "before", rest)
    diary.close(life)


STREAMS = (
    trees_of_the_paper, trees_with_a_warm_up, raced_trees, trees_of_numbers, tested_trees,
    trees_of_three_classes, lists, monomials, polynomials, rule_expansion, rule_restart,
    rule_balanced, rule_doubling, orders_in_memory, orders_in_sqlite, orders_in_postgres,
    trees_that_pay, questions, wrapped, stand_alone, many_at_once, quotes, purges,
)  # fmt: skip
