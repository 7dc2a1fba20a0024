"""The dry run: nothing is bought, limits hold, likely numbers come true."""

from __future__ import annotations

import json

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadInput, TaskExists


def tasks(n=20, **how):
    return list(thrifty.streams.trees(n, 100, 4, 1500, 4, random_state=3, **how))


@pytest.mark.parametrize("learner", [thrifty.Paper(), thrifty.Race()])
def test_a_quote_is_close_to_what_learning_then_costs(learner):
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=learner))
    reused, scratch = [], []
    for task in tasks():
        quote = life.quote(task.name, task.X, task.y)
        learned = life.learn(task.name, task.X, task.y)
        if learned.route == "reused":
            assert learned.receipt.cells <= quote.reuse_cells_at_most
            reused.append((quote.reuse_cells, learned.receipt.cells))
        else:
            assert learned.receipt.cells <= quote.scratch_cells_at_most == task.X.size
            scratch.append((quote.scratch_cells, learned.receipt.cells))
    quoted, paid = np.array(reused[1:]).sum(axis=0)
    assert 0.6 < quoted / paid < 1.6
    if learner == thrifty.Paper():
        assert all(quoted == paid for quoted, paid in scratch)
    else:
        quoted, paid = np.array(scratch[1:]).sum(axis=0)
        assert 0.3 < quoted / paid < 4


def test_nothing_is_bought_and_nothing_remembered():
    calls = []

    def provider(ids, names):
        calls.append(len(ids))
        return np.zeros((len(ids), len(names)))

    source = thrifty.Source.from_callable(
        provider,
        name="provider",
        examples=[f"e{i}" for i in range(30)],
        features=["a", "b", "c"],
        prices=2.0,
    )
    life = thrifty.Lifetime(thrifty.Trees())
    quote = life.quote("task", source, [0, 1] * 15)
    assert calls == [] and len(life) == 0
    assert quote.scratch_cells_at_most == 90 and quote.scratch_cost_at_most == 180.0
    assert quote.reuse_cells is None and "empty" in quote.basis


def test_prices_count():
    X = np.random.default_rng(0).random((200, 4)) < 0.5
    family = thrifty.Trees(max_depth=2, learner=thrifty.Paper())
    life = thrifty.Lifetime(family, prices=[1.0, 2.0, 3.0, 4.0])
    assert life.quote("a", X, X[:, 3]).scratch_cost == 200 * 10.0
    life.learn("a", X.copy(), X[:, 3])
    before_any_reuse = life.quote("b", X.copy(), ~X[:, 3])
    assert before_any_reuse.reuse_cells == 200 and before_any_reuse.reuse_cost == 800.0
    assert life.learn("b", X.copy(), ~X[:, 3]).receipt.cost == 800.0
    assert life.quote("c", X.copy(), X[:, 3]).reuse_cost == 800.0


def test_owned_cells_are_not_quoted_again():
    X = np.random.default_rng(0).random((100, 6)) < 0.5
    source = thrifty.Source.from_array(X)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=thrifty.Paper()))
    life.learn("first", source, X[:, 2])
    assert life.quote("second", source, X[:, 3]).scratch_cells_at_most == 0


def test_one_class_costs_nothing():
    life = thrifty.Lifetime(thrifty.Trees())
    quote = life.quote("flat", np.eye(4, dtype=bool), [1, 1, 1, 1])
    assert (quote.reuse_cells, quote.scratch_cells) == (0, 0)


def test_a_tested_reuse_is_quoted_by_the_task_not_by_its_rows():
    family = thrifty.Trees(max_depth=4, learner=thrifty.Tested(0.05, 0.9))
    life = thrifty.Lifetime(family)
    stream = thrifty.streams.trees(12, 40, 2, 4000, 3, random_state=0)
    for task in stream:
        life.learn(task.name, task.X, task.y)
    task = stream[0]
    short = life.quote("short", task.X, task.y)
    long = life.quote("long", np.repeat(task.X, 5, axis=0), np.repeat(task.y, 5))
    assert short.reuse_rate > 0.5
    assert short.reuse_cells == long.reuse_cells


def test_it_prints_and_is_json():
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=thrifty.Paper()))
    for task in tasks(6):
        life.learn(task.name, task.X, task.y)
    quote = life.quote("next", task.X, task.y)
    assert json.loads(json.dumps(quote.to_dict()))["task"] == "next"
    assert "from scratch" in str(quote) and "of the latest tasks were reused" in str(quote)


def test_bad_input_is_refused_as_learn_refuses_it():
    life = thrifty.Lifetime(thrifty.Trees())
    X = np.eye(4, dtype=bool)
    with pytest.raises(BadInput, match="one label per example"):
        life.quote("a", X, [0, 1])
    life.learn("a", X, [0, 1, 1, 1])
    with pytest.raises(TaskExists):
        life.quote("a", X, [0, 1, 1, 1])


def test_the_currency_is_said_and_fees_are_counted_once_an_example():
    prices = thrifty.PriceList(
        {"a": 1, "b": 2, "c": 3}, fees={"draw": (9, ["a", "b", "c"])}, currency="EUR"
    )
    source = thrifty.Source.from_callable(
        lambda ids, names: np.zeros((len(ids), len(names))),
        name="lab",
        examples=[str(i) for i in range(10)],
        features=["a", "b", "c"],
        prices=prices,
    )
    quote = thrifty.Lifetime(thrifty.Trees()).quote("t", source, [0, 1] * 5)
    assert quote.currency == "EUR" and quote.to_dict()["currency"] == "EUR"
    assert quote.scratch_cost_at_most == 10 * (1 + 2 + 3 + 9)
    assert str(quote).count("150.00 EUR") == 2


def test_a_task_that_is_owned_in_part_is_quoted_for_the_rest():
    X = np.random.default_rng(0).random((100, 6)) < 0.5
    ids = [str(i) for i in range(100)]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=thrifty.Paper()), prices=2)

    def table(rows):
        return thrifty.Source.from_array(X[rows], examples=[ids[i] for i in rows], name="table")

    life.learn("first", table(range(60)), X[:60, 2])
    quote = life.quote("second", table(range(100)), ~X[:, 2])
    assert quote.scratch_cells_at_most == 40 * 6 and quote.scratch_cost_at_most == 2 * 40 * 6
    assert quote.reuse_cells == 40 and quote.reuse_cost == 80
