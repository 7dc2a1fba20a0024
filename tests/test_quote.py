"""The dry run: nothing is bought, limits hold, likely numbers come true."""

import json
import time

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.loops import one_by_one
from tests.market import seller
from tests.shell import python, run
from thrifty.errors import BadInput, BadParameter, TaskExists, ThriftyError


def tasks(n=20, **how):
    return list(thrifty.streams.trees(n, 100, 4, 1500, 4, random_state=3, **how))


@pytest.mark.parametrize("learner", [thrifty.trees.Paper(), thrifty.trees.Race()])
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
    if learner == thrifty.trees.Paper():
        assert all(quoted == paid for quoted, paid in scratch)
    else:
        quoted, paid = np.array(scratch[1:]).sum(axis=0)
        assert 0.3 < quoted / paid < 4


def test_nothing_is_bought_and_nothing_remembered():
    calls = []

    def provider(ids, names):
        calls.append(len(ids))
        return np.zeros((len(ids), len(names)))

    source = seller(provider, [f"e{i}" for i in range(30)], ["a", "b", "c"], prices=2.0)
    life = thrifty.Lifetime(thrifty.Trees())
    quote = life.quote("task", source, [0, 1] * 15)
    assert calls == [] and len(life) == 0
    assert quote.scratch_cells_at_most == 90 and quote.scratch_cost_at_most == 180.0
    assert quote.reuse_cells is None and "empty" in quote.basis


def test_prices_count():
    X = np.random.default_rng(0).random((200, 4)) < 0.5
    family = thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper())
    life = thrifty.Lifetime(family, prices=[1.0, 2.0, 3.0, 4.0])
    assert life.quote("a", X, X[:, 3]).scratch_cost == 200 * 10.0
    life.learn("a", X.copy(), X[:, 3])
    before_any_reuse = life.quote("b", X.copy(), ~X[:, 3])
    assert before_any_reuse.reuse_cells == 200 and before_any_reuse.reuse_cost == 800.0
    assert life.learn("b", X.copy(), ~X[:, 3]).receipt.cost == 800.0
    assert life.quote("c", X.copy(), X[:, 3]).reuse_cost == 800.0


def test_one_class_costs_nothing():
    life = thrifty.Lifetime(thrifty.Trees())
    quote = life.quote("flat", np.eye(4, dtype=bool), [1, 1, 1, 1])
    assert (quote.reuse_cells, quote.scratch_cells) == (0, 0)


def test_a_tested_reuse_is_quoted_by_the_task_not_by_its_rows():
    family = thrifty.Trees(max_depth=4, learner=thrifty.trees.Tested(0.05, 0.9))
    stream = thrifty.streams.trees(12, 40, 2, 4000, 3, random_state=0)
    life = one_by_one(stream, family)
    task = stream[0]
    short = life.quote("short", task.X, task.y)
    long = life.quote("long", np.repeat(task.X, 5, axis=0), np.repeat(task.y, 5))
    assert short.reuse_rate > 0.5
    assert short.reuse_cells == long.reuse_cells
    assert short.scratch_cells < task.X.size  # races do not buy everything


def test_it_prints_and_is_json():
    learner = thrifty.trees.Paper()
    life, task = one_by_one(tasks(6), thrifty.Trees(max_depth=4, learner=learner)), tasks(6)[-1]
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
    source = seller(
        lambda ids, names: np.zeros((len(ids), len(names))),
        [str(i) for i in range(10)],
        ["a", "b", "c"],
        prices=prices,
    )
    quote = thrifty.Lifetime(thrifty.Trees()).quote("t", source, [0, 1] * 5)
    assert quote.currency == "EUR" and quote.to_dict()["currency"] == "EUR"
    assert quote.scratch_cost_at_most == 10 * (1 + 2 + 3 + 9)
    assert str(quote).count("150.00 EUR") == 2


def test_a_task_that_is_owned_in_part_is_quoted_for_the_rest():
    X = np.random.default_rng(0).random((100, 6)) < 0.5
    ids = [str(i) for i in range(100)]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=thrifty.trees.Paper()), prices=2)

    def table(rows):
        return thrifty.Source.from_array(X[rows], examples=[ids[i] for i in rows], name="table")

    life.learn("first", table(range(60)), X[:60, 2])
    quote = life.quote("second", table(range(100)), ~X[:, 2])
    assert quote.scratch_cells_at_most == 40 * 6 and quote.scratch_cost_at_most == 2 * 40 * 6
    assert quote.reuse_cells == 40 and quote.reuse_cost == 80


# -- families that stop where their money ends ------------------------------------------------

NAMES = [f"t{i}" for i in range(10)]


def clinic_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(NAMES)))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 2] - X[:, 5]) + rng.normal(size=n) > 0.3
    return X, y


PRICE_LISTS = {
    "flat": None,
    "by feature": {name: 1.5 * (i + 1) for i, name in enumerate(NAMES)},
    "fees": thrifty.PriceList(
        dict.fromkeys(NAMES, 3), fees={"draw": (9, NAMES[:6])}, currency="USD"
    ),
    "panels": thrifty.PriceList(
        dict.fromkeys(NAMES, 5),
        orders={"basic": (8, NAMES[:4]), "large": (14, NAMES[:8])},
        currency="EUR",
    ),
    "some free": {name: 0.0 if i < 3 else 7.0 for i, name in enumerate(NAMES)},
}


class Lab:
    """A provider that counts its calls."""

    def __init__(self, X):
        self.X, self.calls = X, 0

    def __call__(self, ids, names):
        self.calls += 1
        return [[self.X[int(i), NAMES.index(n)] for n in names] for i in ids]

    def source(self, prices, rows=None, **limits):
        ids = [str(i) for i in range(len(self.X) if rows is None else rows)]
        how = {"kinds": dict.fromkeys(NAMES, "number"), "allow_missing": True, **limits}
        return seller(self, ids, NAMES, prices=prices, **how)


@pytest.mark.some(5)
@pytest.mark.parametrize("spend", ["5 %", "20 %"])
@pytest.mark.parametrize("prices", PRICE_LISTS)
def test_what_models_are_quoted_is_what_they_then_cost(prices, spend):
    X, y = clinic_rows()
    lab = Lab(X)
    life = thrifty.Lifetime(random_state=0)
    quote = life.quote("ill", lab.source(PRICE_LISTS[prices]), y, spend=spend)
    assert lab.calls == 0 and len(life) == 0 and life.balance().spent == 0
    receipt = life.learn("ill", lab.source(PRICE_LISTS[prices]), y, spend=spend).receipt
    assert receipt.cost <= quote.scratch_cost_at_most == quote.spend
    assert abs(quote.cost - receipt.cost) <= 0.05 * receipt.cost
    assert 0.5 * receipt.cells <= quote.cells <= 2 * receipt.cells
    assert 0.3 * lab.calls <= quote.calls <= 3 * lab.calls


def test_a_quote_without_spend_is_no_longer_everything():
    X, y = clinic_rows(3000)
    life = thrifty.Lifetime(prices=2.0, random_state=0, budget=thrifty.Budget(10**9))
    wide = np.hstack([X] * 7)
    quote = life.quote("ill", wide, y)
    assert quote.scratch_cost_at_most == 2 * 30_000 < 2 * wide.size
    cost = life.learn("ill", wide, y).receipt.cost
    assert cost <= quote.scratch_cost_at_most and 0.5 * cost <= quote.cost <= 2 * cost


def test_what_is_owned_is_rehearsed_as_owned():
    X, y = clinic_rows()
    lab = Lab(X)
    life = thrifty.Lifetime(random_state=0)
    life.learn("first", lab.source(4), y, spend="30 %")
    quote = life.quote("second", lab.source(4), ~y, spend="10 %")
    receipt = life.learn("second", lab.source(4), ~y, spend="10 %").receipt
    assert receipt.reused_cells > 0
    assert abs(quote.cost - receipt.cost) <= 0.05 * receipt.cost
    bought = life.background(lab.source(4), rows=300)
    assert bought.cells > 0
    nothing = life.quote("third", lab.source(4), y)
    assert nothing.cells == nothing.cost == nothing.calls == 0


def test_minutes_come_from_calls_that_were_made():
    X, y = clinic_rows(60)

    class Slow(Lab):
        def __call__(self, ids, names):
            time.sleep(0.3)
            return super().__call__(ids, names)

    lab = Slow(X)
    life = thrifty.Lifetime(random_state=0)
    first = life.quote("a", lab.source(1, max_examples=20), y, spend=100)
    assert first.seconds_a_call is None and "none was made yet" in str(first)
    life.learn("a", lab.source(1, max_examples=20), y, spend=100)
    quote = life.quote("b", lab.source(1, max_examples=20), ~y, spend=100)
    assert 0.3 <= quote.seconds_a_call < 3
    assert quote.minutes >= quote.calls * 0.3 / 60
    two = life.quote("b", lab.source(1, max_examples=20, concurrency=2), ~y, spend=100)
    assert two.minutes < quote.minutes or quote.calls < 2
    slow = life.quote("b", lab.source(1, max_examples=20, per_second=0.1), ~y, spend=100)
    assert slow.minutes >= slow.calls / 0.1 / 60


def test_budgets_numbers_and_categories_are_quoted():
    X, y = clinic_rows(200)
    life = thrifty.Lifetime(prices=1, budget=thrifty.Budget(total=250, per_task=200))
    assert life.quote("few", X, y).scratch_cost_at_most == 200
    dose = life.quote("dose", X, np.nan_to_num(X[:, 2]) + 0.25, spend=150)
    assert 0 < dose.cost <= 150
    frame = pd.DataFrame(X, columns=NAMES).assign(ward=np.where(y, "north", "south"))
    said = life.quote("where", frame, y, spend="10 %")
    assert 0 < said.cost <= said.spend and json.dumps(said.to_dict())


def test_bad_money_is_refused_as_learn_refuses_it():
    X, y = clinic_rows(50)
    life = thrifty.Lifetime(prices=thrifty.PriceList(2, currency="EUR"))
    with pytest.raises(ThriftyError, match="one currency"):
        life.quote("a", X, y, spend="5 USD")
    with pytest.raises(BadInput, match="spend must be"):
        life.quote("a", X, y, spend="much")
    with pytest.raises(BadParameter, match="cannot stop"):
        thrifty.Lifetime(thrifty.Trees(learner=thrifty.trees.Paper())).quote("a", X > 0, y, spend=5)


def test_the_command_quotes_and_writes_nothing(tmp_path):
    X, y = clinic_rows(120)
    table, file = tmp_path / "patients.csv", tmp_path / "clinic.toml"
    frame = pd.DataFrame(X.round(3), columns=NAMES).assign(ill=y.astype(int))
    frame.insert(0, "id", [f"p{i}" for i in range(120)])
    frame.to_csv(table, index=False)
    said = run("quote", table, "--label", "ill", "--id", "id", "--spend", "10 %")
    assert "ill: nothing bought yet" in said.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["patients.csv"]
    text = (
        'prices = {per_feature = 3, currency = "EUR"}\n[source]\ncsv = "patients.csv"\n'
        'id = "id"\nwithout = ["ill"]\nallow_missing = true\n'
        '[[tasks]]\nname = "ill"\nlabel = "ill"\nspend = "90 EUR"\n'
    )
    file.write_text(text)
    (quoted,) = json.loads(run("quote", file, "--json").stdout)["tasks"]
    assert quoted["currency"] == "EUR" and 80 < quoted["cost"] <= 90
    run("learn", file)
    before = (tmp_path / "clinic.db").read_bytes()
    assert "learned before" in str(run("quote", file, ok=False).exception)
    more = '[[tasks]]\nname = "well"\nlabel = "ill"\nspend = "60 EUR"\n'
    file.write_text(text.replace("per_feature = 3", "per_feature = 4") + more)
    assert json.loads(run("quote", file, "--json").stdout)["tasks"][0]["task"] == "well"
    assert (tmp_path / "clinic.db").read_bytes() == before


def test_a_table_is_quoted_where_no_package_of_providers_is_installed():
    code = """
import sys
for name in ("aiolimiter", "anyio", "tenacity", "httpx"):
    sys.modules[name] = None  # as where they are not installed
import numpy as np, thrifty
X = np.random.default_rng(0).normal(size=(200, 8))
print(thrifty.Lifetime(prices=2.0).quote("t", X, X[:, 0] > 0, spend="10 %").cost)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) <= 320
