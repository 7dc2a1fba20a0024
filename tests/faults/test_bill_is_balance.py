"""The bill sums to the balance and to the ledger, in every state."""

import threading

import pytest

import thrifty
from tests.loops import AMPLE
from tests.market import seller
from thrifty import Answered, PriceList, Source
from thrifty.errors import PurchaseInDoubt, TaskExists
from thrifty.testing import FakeProvider

pytest.importorskip("pandas")

NAMES = [f"f{i}" for i in range(8)]


def sums(life) -> tuple[int, int, int]:
    """(bill, balance, accounts of the ledger), in millionths."""
    bill = life.bill()
    costs = bill["cost"].sum() if len(bill) else 0.0
    kept = life.ledger.book.read(lambda pages: pages.balance(None))[1]
    return round(costs * 1e6), round(life.balance().spent * 1e6), kept


def assert_one_sum(life, units: float) -> None:
    assert sums(life) == (round(units * 1e6),) * 3


@pytest.fixture(params=["memory", "file"])
def life(request, tmp_path):
    store = None if request.param == "memory" else tmp_path / "s.db"
    return thrifty.Lifetime(thrifty.Trees(max_depth=3), store=store, budget=AMPLE)


def learn(life, provider, rows, name="t", **options):
    ids = [f"p{i}" for i in rows]
    source = provider.source(ids, NAMES, prices=1, **options)
    return life.learn(name, source, [provider.value(i, "f0") for i in ids])


@pytest.mark.parametrize("outcome", ["billed", "not-billed", "billed, with values"])
def test_a_doubt_of_a_name_that_was_learned_again_on_other_rows(life, outcome):
    with pytest.raises(PurchaseInDoubt):
        learn(life, FakeProvider(faults=["error"] * 9), range(12), max_features=8)
    held = life.balance().reserved
    assert held > 0
    learned = learn(life, FakeProvider(), range(50, 80))
    before = learned.receipt.cost
    assert_one_sum(life, before)
    for one in life.ledger.open_purchases():
        values = [[1] * len(one.features)] * len(one.examples)
        life.ledger.resolve(one.id, outcome.split(",")[0], values if "values" in outcome else None)
    assert_one_sum(life, before + (held if outcome != "not-billed" else 0))
    assert life.tasks[0].receipt.cost == before == life.tasks[0].receipt.cells


def test_what_is_credited_later_is_on_the_bill_too(life):
    wrong = {"on": True}

    def odd(ids, names):
        if wrong["on"]:
            wrong["on"] = False
            return Answered(None, cost=3)
        return [[FakeProvider().value(i, n) for n in names] for i in ids]

    ids = [f"p{i}" for i in range(12)]
    source = seller(odd, ids, NAMES, name="provider", prices=1, max_examples=1)
    with pytest.raises(thrifty.errors.MalformedAnswer):
        life.learn("t", source, [FakeProvider().value(i, "f0") for i in ids])
    assert_one_sum(life, 3)
    learn(life, FakeProvider(), range(50, 80))
    (one,) = life.ledger.open_purchases()
    life.ledger.resolve(one.id, "not-billed")
    assert sums(life)[0] == sums(life)[1] == sums(life)[2]


def test_two_at_once_under_one_name(tmp_path):
    """The loser's money is in a row of its own; the winner's receipt is what its cells cost."""
    where = tmp_path / "s.db"
    lives = [
        thrifty.Lifetime(thrifty.Trees(max_depth=3), store=where, budget=AMPLE) for _ in range(2)
    ]
    slow, entered = threading.Event(), threading.Event()

    class Slow(FakeProvider):
        def __call__(self, ids, names, idempotency_key=None):
            answer = super().__call__(ids, names, idempotency_key)
            entered.set()
            slow.wait(20)
            return answer

    ended: list[object] = []

    def lose() -> None:
        try:
            ended.append(learn(lives[0], Slow(), range(20), max_examples=5))
        except TaskExists as error:
            ended.append(error)

    thread = threading.Thread(target=lose)
    thread.start()
    assert entered.wait(20)
    won = learn(lives[1], FakeProvider(), range(100, 130))
    slow.set()
    thread.join(60)
    assert isinstance(ended[0], TaskExists)
    assert won.receipt.cost == won.receipt.cells
    life = thrifty.Lifetime.open(where)
    assert life.tasks[0].receipt.cost == life.tasks[0].receipt.cells
    bill = life.bill()
    assert sums(life)[0] == sums(life)[1] == sums(life)[2] > round(won.receipt.cost * 1e6)
    assert len(bill) == 2 and bill["cost"].iloc[1] > 0


def test_an_earlier_try_of_the_task_is_on_its_receipt(tmp_path):
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=tmp_path / "s.db", budget=AMPLE)
    provider = FakeProvider(faults=["", "", "refuse", "refuse", "refuse", "refuse"])
    with pytest.raises(thrifty.errors.NotBilled):
        learn(life, provider, range(30), max_examples=4)
    assert sums(life)[0] == sums(life)[1] > 0
    learned = learn(life, provider, range(30), max_examples=4)
    assert learned.receipt.cost == learned.receipt.cells
    assert_one_sum(life, learned.receipt.cost)


def test_predictions_forgotten_tasks_and_lost_answers(life):
    provider = FakeProvider()
    learn(life, provider, range(40))
    ids = [f"q{i}" for i in range(6)]
    life.predict("t", provider.source(ids, NAMES, prices=1))
    odd = FakeProvider(faults=[None])
    with pytest.raises(thrifty.errors.MalformedAnswer):
        life.predict("t", odd.source([f"r{i}" for i in range(6)], NAMES, prices=1))
    assert sums(life)[0] == sums(life)[1] == sums(life)[2]
    for one in life.ledger.open_purchases():
        life.ledger.resolve(one.id, "not-billed")
    assert sums(life)[0] == sums(life)[1] == sums(life)[2]
    life.forget("t")
    learn(life, provider, range(60, 90))
    assert sums(life)[0] == sums(life)[1] == sums(life)[2]


def test_real_costs_are_on_every_receipt(life):
    def billed(ids, names):
        values = [[FakeProvider().value(i, n) for n in names] for i in ids]
        return Answered(values, cost=[f"0.0{len(names)}5" for _ in ids])

    ids = [f"p{i}" for i in range(30)]
    source = seller(billed, ids, NAMES, name="provider", prices=PriceList("0.1 EUR"))
    life.learn("t", source, [FakeProvider().value(i, "f0") for i in ids])
    more = seller(
        billed, [f"q{i}" for i in range(5)], NAMES, name="provider", prices=PriceList("0.5 EUR")
    )
    made = life.predict("t", more)
    assert round(sum(made.receipt.cost_per_row) * 1e6) == round(made.receipt.cost * 1e6)
    assert sums(life)[0] == sums(life)[1] == sums(life)[2]


@pytest.mark.parametrize("prices", [None, 0.07, PriceList("4.03 EUR")])
def test_tables_that_are_counted(prices, life):
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.random((60, 8)) < 0.5
    priced = thrifty.Lifetime(thrifty.Trees(max_depth=3), prices=prices, budget=AMPLE)
    priced.ledger.balance()  # it has one
    priced.learn("t", X, X[:, 0])
    table = Source.from_array(X, examples=[f"p{i}" for i in range(60)], name="table")
    priced.learn("u", table, X[:, 1])
    bill, balance, _ = sums(priced)
    assert bill == balance > 0


def test_what_is_owed_beyond_the_price_is_on_the_bill(life):
    """Per row what was spent and what is over, together what the provider billed."""
    billed = []

    def dear(ids, names):
        billed.append(2 * len(ids) * len(names))
        return Answered([[FakeProvider().value(i, n) for n in names] for i in ids], cost=billed[-1])

    ids = [f"p{i}" for i in range(12)]
    source = seller(dear, ids, NAMES, name="provider", prices=1, max_examples=4)
    for _ in range(9):  # each call raises once its values are kept
        try:
            life.learn("t", source, [FakeProvider().value(i, "f0") for i in ids])
            break
        except thrifty.errors.CostAboveReservation:
            continue
    bill, balance = life.bill(), life.balance()
    assert balance.over == sum(billed) / 2 > 0
    assert bill["over"].sum() == balance.over and bill["cost"].sum() == balance.spent
    assert bill["over"].sum() + bill["cost"].sum() == sum(billed)
    owed = bill[bill["over"] > 0]
    assert owed["task"].tolist() == ["t"] and owed["route"].tolist() == ["billed beyond its price"]


def test_the_command_prints_what_is_over_where_there_is_some(tmp_path):
    from typer.testing import CliRunner

    from thrifty.cli import app

    ids = [f"p{i}" for i in range(4)]
    for cost, shown in ((4, False), (9, True)):
        where = tmp_path / f"{cost}.db"
        life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=where, budget=AMPLE)
        source = Source.from_callable(
            lambda ids, names, cost=cost: Answered([[1]] * len(ids), cost=cost),
            examples=ids, features=["a"], name="provider", prices=1,
        )  # fmt: skip
        cells = thrifty.protocol.Cells(source, ledger=life.ledger, task="t")
        if shown:
            with pytest.raises(thrifty.errors.CostAboveReservation):
                cells.get(range(4), [0])
        else:
            cells.get(range(4), [0])
        life.close()
        printed = CliRunner().invoke(app, ["bill", str(where)]).output
        assert ("over" in printed) == ("billed beyond the prices, and owed, 5" in printed) == shown
