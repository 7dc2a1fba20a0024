"""Alternatives: the cheap answer everywhere, the dear one where that pays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.models.buying.checked import checked, kept_back
from thrifty.models.buying.looks import Background, complete_rows, look_around
from thrifty.models.purses.account import Account
from thrifty.models.stairs import StairCells, Step, find_steps, for_predictions, on_stairs, way_of
from thrifty.models.table import Table

N, WIDTH = 1000, 12


def answers(noise: float = 0.2, rate: float = 0.08, seed: int = 0):
    """Small and large answers beside each other, and a label."""
    rng = np.random.default_rng(seed)
    large = rng.random((N, WIDTH)) < rate
    small = large ^ (rng.random(large.shape) < noise)
    return np.hstack([small, large]), large[:, 0] | large[:, 1] | large[:, 2]


def prices(cheap: float = 0.1) -> thrifty.PriceList:
    things = {f"t{j}": [f"x{j}", f"x{j + WIDTH}"] for j in range(WIDTH)}
    each = [cheap] * WIDTH + [1.0] * WIDTH
    return thrifty.PriceList(each, alternatives=things)


def test_a_thing_is_asked_as_its_answers_are_worth():
    rare = np.array([[760, 10], [190, 40]])
    assert way_of(rare, 0.1, 1.0) == ((1,), False)
    assert way_of(rare[::-1, ::-1], 0.1, 1.0) == ((0,), False)
    # at nine tenths of the price it is not worth the way
    assert way_of(rare, 0.9, 1.0) == ((), True)
    # evenly spread, a fifth wrong: neither stands for the other
    assert way_of(np.array([[400, 100], [100, 400]]), 0.1, 1.0) is None
    assert way_of(np.diag([500, 300, 200]), 0.1, 1.0) == ((), False)
    assert way_of(np.array([[1.0, 0.0], [0.0, 0.0]]), 0.1, 1.0) == ((), True)


def test_steps_are_found_for_a_small_part_of_the_money():
    X, _ = answers()
    cells = Cells(X, prices(), spend=6000.0)
    steps = find_steps(cells, 6000.0, np.random.default_rng(0))
    assert len(steps) == WIDTH and cells.receipt().cost <= 0.04 * 6000
    assert sum(s.again == (1.0,) and not s.alone for s in steps) >= WIDTH - 2
    # a few rows by chance are no reason to buy what says nothing
    assert way_of(np.array([[20, 1], [17, 2]]), 0.1, 1.0) == ((), True)
    # with hardly any money nothing is decided, and nothing is spent
    poor = Cells(X, prices(), spend=100.0)
    assert find_steps(poor, 100.0, np.random.default_rng(0)) == () and poor.n_bought == 0


def test_the_door_pays_for_dear_answers_only_after_some_cheap_ones():
    X, _ = answers()
    steps = [Step(j, j + WIDTH, (1.0,), (0.0, 0.0), 0.25) for j in range(WIDTH)]
    cells = on_stairs(Cells(X, prices()), steps)
    assert isinstance(cells, StairCells)
    rows, dear = np.arange(200), np.arange(WIDTH, 2 * WIDTH)
    before = cells.price_of(rows, dear)
    assert before == pytest.approx(200 * WIDTH * 0.375)
    found = cells.get(rows, dear)
    small, large = X[:200, :WIDTH], X[:200, WIDTH:]
    assert (found == (small & large)).all()
    assert cells.receipt().cost == pytest.approx(0.1 * small.size + small.sum())
    assert cells.price_of(rows, dear) == 0 == cells.price_of(rows, np.arange(WIDTH))
    assert (cells.get(rows, dear) == found).all()  # for nothing
    assert cells.receipt().cost == pytest.approx(0.1 * small.size + small.sum())
    assert not cells.get(rows, [0]).any() and cells.absent[0] and not cells.absent[WIDTH]
    assert cells.owned_rows(dear).tolist() == rows.tolist()
    assert cells.looked_at(0, WIDTH) and not cells.looked_at(300, WIDTH)
    # what is owned of the dear one is read, and no cheap one bought for it
    plain = Cells(X, prices())
    plain.get([5], [WIDTH])
    up = on_stairs(plain, steps)
    assert up.get([5], [WIDTH])[0, 0] == X[5, WIDTH] and up.receipt().cost == 1.0


def test_what_is_asked_on_the_way_is_no_feature_to_look_at():
    """0 on every row for nothing: it would lower what is believed of how often others are 1."""
    X, y = answers()
    steps = [Step(j, j + WIDTH, (1.0,), (0.0, 0.0), 0.25) for j in range(WIDTH)]
    account = Account(
        on_stairs(Cells(X, prices()), steps), y.astype(int), 900.0, np.random.default_rng(0)
    )
    none = Background(np.zeros(2 * WIDTH), np.zeros(2 * WIDTH))
    look_around(account, none, 600.0, 0.5)
    assert account.a[WIDTH:].all() and not account.a[:WIDTH].any() and not account.b[:WIDTH].any()


def test_joint_rows_end_before_the_money_does():
    """What tells most is asked of the dear one more often than its price expects: no guesses."""
    X, y = answers(rate=0.4)
    steps = [Step(j, j + WIDTH, (1.0,), (0.0, 0.0), 0.25) for j in range(WIDTH)]
    cells = on_stairs(Cells(X, prices(), spend=400.0), steps)
    account = Account(cells, y.astype(int), 400.0, np.random.default_rng(0))
    dear = np.arange(WIDTH, 2 * WIDTH)
    complete_rows(account, dear, 6, 2.0)
    a, b = int(account.a[WIDTH]), int(account.b[WIDTH])
    rows = np.concatenate([account.rare[:a], account.others[:b]])
    found = cells.get(rows, dear[:6])
    assert a + b > 50 and (found == (X[rows, :6] & X[rows, WIDTH : WIDTH + 6])).all()
    exact = Account(
        on_stairs(Cells(X, prices(), spend=400.0), [replace(s, again=()) for s in steps]),
        y.astype(int), 400.0, np.random.default_rng(0),
    )  # fmt: skip
    assert exact.parts == (1.0,) and len(account.parts) > 1


def test_predictions_ask_the_dear_one_outright_of_what_the_model_rests_on():
    steps = [Step(j, j + WIDTH, (1.0,), (0.0, 0.0), 0.2) for j in range(WIDTH)]
    order = [WIDTH + 5, WIDTH + 3, *(WIDTH + j for j in range(WIDTH) if j not in (3, 5))]
    each = np.array([0.02] * WIDTH + [1.0] * WIDTH)
    asked = for_predictions(steps, order, each)
    assert [s.cheap for s in asked if s.alone] == [3, 5]  # 2 + 10 x .22 of 12; .4 are 4.8
    # where the way is dear already nothing is added, and what is asked alone stays so
    assert for_predictions(steps, order, np.array([0.5] * WIDTH + [1.0] * WIDTH)) == tuple(steps)
    for said in ({"alone": True, "again": ()}, {"again": ()}):  # the dear one, the cheap one alone
        decided = tuple(replace(s, **said) for s in steps)
        assert for_predictions(decided, order, each) == decided


def test_the_first_features_of_a_table_are_asked_of_the_dear_one_while_the_money_lasts():
    X, y = answers()
    steps = [Step(j, j + WIDTH, (1.0,), (0.0, 0.0), 0.25) for j in range(WIDTH)]
    cells = on_stairs(Cells(X, prices()), steps)
    rows, dear = np.arange(100), np.arange(WIDTH, 2 * WIDTH)
    bought = np.ones((100, WIDTH), dtype=bool)
    bought[50:, 0] = False
    values = np.where(bought, cells.get(rows, dear), np.nan)
    table = Table(dear, rows, values, bought, np.ones(100), y[:100].astype(int))
    spent, small = cells.receipt().cost, X[:100, :WIDTH]
    cost = float((~small[:50, 0]).sum() + (~small[:, 1]).sum())  # a yes was asked about already
    found = checked(table, cells, cost + 1)
    assert cells.receipt().cost == spent + cost
    assert (found.values[:50, 0] == X[:50, WIDTH]).all() and np.isnan(found.values[50:, 0]).all()
    assert (found.values[:, 1] == X[:100, WIDTH + 1]).all()
    assert (found.values[:, 2:] == values[:, 2:]).all()
    # the door gives the same from now on, for nothing
    assert (cells.get(rows, [WIDTH + 1])[:, 0] == X[:100, WIDTH + 1]).all()
    assert cells.receipt().cost == spent + cost
    # where nobody waits for another's answer nothing is kept back
    decided = on_stairs(Cells(X, prices()), [replace(step, again=()) for step in steps])
    assert kept_back(cells) > 0 == kept_back(decided)


def test_where_money_ends_the_likeliest_answer_stands():
    X, _ = answers()
    steps = [Step(j, j + WIDTH, (1.0,), (0.0, 0.0), 0.25) for j in range(WIDTH)]
    cells = on_stairs(Cells(X, prices(), spend=250.0), steps)
    found = cells.get(np.arange(200), np.arange(WIDTH, 2 * WIDTH))
    assert cells.receipt().cost <= 250.0 + 1e-9
    assert found.sum() < (X[:200, :WIDTH] & X[:200, WIDTH:]).sum()
    assert not (found & ~X[:200, WIDTH:]).any()


def test_words_are_compared_by_what_they_say():
    """The cheap one lists its answers in another order."""

    def look_up(ids, names):
        said = {"quick": ["high", "low", "low"], "lab": ["high", "low", "high"]}
        return [[said[n][int(i)] for n in names] for i in ids]

    source = thrifty.Source.from_callable(
        look_up, examples=[0, 1, 2], features=["quick", "lab"], name="lab",
        kinds={"quick": ["low", "high"], "lab": ["high", "low"]},
        prices=thrifty.PriceList([1, 10], alternatives={"crp": ["quick", "lab"]}),
    )  # fmt: skip
    cells = Cells(source, ledger=thrifty.Lifetime().ledger, task="t")
    up = on_stairs(cells, [Step(0, 1, (0.0,), (0.0, 1.0), 0.3)])  # after "high", in the lab's words
    assert up.get([0, 1, 2], [1])[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert up.receipt().cost == 13.0


def test_both_are_as_good_as_the_large_one_for_half_of_the_money(tmp_path):
    X, y = answers()
    large, half, paid = [], [], []
    for seed in range(3):
        life = thrifty.Lifetime(prices=1, random_state=seed)
        life.learn("y", X[:600, WIDTH:], y[:600], spend=7200)
        large.append(np.mean(life.predict("y", X[600:, WIDTH:]).values == y[600:]))
        with thrifty.Lifetime(
            prices=prices(), random_state=seed, store=tmp_path / f"{seed}.db"
        ) as both:
            learned = both.learn("y", X[:600], y[:600], spend=3600)
            assert learned.receipt.cost <= 3600 and learned.model.steps_
        # the way of asking is kept in the store
        with thrifty.Lifetime.open(tmp_path / f"{seed}.db") as both:
            found = both.predict("y", X[600:])
            paid.append(found.receipt.cost / (400 * WIDTH))
            half.append(np.mean(found.values == y[600:]))
    assert np.mean(half) > np.mean(large) - 0.06 and np.mean(paid) < 0.7


def test_a_cheap_one_that_says_nothing_is_left_out():
    X, y = answers(noise=0.5)
    life = thrifty.Lifetime(prices=prices(), random_state=0)
    model = life.learn("y", X[:600], y[:600], spend=7200).model
    assert all(s.alone for s in model.steps_)
    assert (model.features_ >= WIDTH).all()
    assert np.mean(life.predict("y", X[600:]).values == y[600:]) > 0.9


def test_an_updated_model_keeps_its_stairs_and_so_does_one_without_some_rows(tmp_path):
    """Next month costs what this month did: the dear one after some answers of the cheap one."""
    X, y = answers(noise=0.1)
    with thrifty.Lifetime(prices=prices(), random_state=0, store=tmp_path / "s.db") as life:
        first = life.learn("y", X[:600], y[:600], spend=3600).model
        climbed = [s for s in first.steps_ if s.dear in first.features_ and not s.alone]
        assert len(climbed) > 6
        month = X[600:800]
        updated = life.update("y", month, y[600:800])
        small, others = month[:, [s.cheap for s in climbed]], len(first.features_) - len(climbed)
        paid = 0.1 * small.size + small.sum() + others * len(month)
        assert updated.state == "present" and updated.receipt.cost == pytest.approx(paid)
    with thrifty.Lifetime.open(tmp_path / "s.db") as life:
        found = life.predict("y", X[800:])
        assert found.receipt.cost < 0.5 * len(first.features_) * 200
        assert np.mean(found.values == y[800:]) > 0.9
    assert first.of_rows(np.arange(400)).steps_ == first.steps_


def test_damaged_steps_are_refused():
    from thrifty.models import ModelClassifier

    X, y = answers()
    model = (
        thrifty.Lifetime(prices=prices(), random_state=0)
        .learn("y", X[:600], y[:600], spend=3600)
        .model
    )
    data = model.to_dict()
    assert ModelClassifier.from_dict(data).steps_ == model.steps_
    data["steps"] = [{**data["steps"][0], "dear": 99}]
    with pytest.raises(ValueError, match="not there"):
        ModelClassifier.from_dict(data)
