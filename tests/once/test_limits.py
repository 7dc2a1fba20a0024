"""Nothing that costs is bought without a limit that a person set."""

import warnings

import numpy as np
import pytest

import thrifty
from tests.market import table_seller
from thrifty import PriceList
from thrifty.errors import DefaultShare, LimitNeeded

pytest.importorskip("pandas")

NAMES = [f"f{i}" for i in range(10)]
N = 200
PRICES = PriceList(3.25, currency="EUR")


def lab():
    """A provider of Boolean cells, and the cells that it was asked for."""
    X = np.random.default_rng(0).random((N, len(NAMES))) < 0.5
    asked = []
    return table_seller(X, NAMES, asked, prices=PRICES), X[:, 0] | X[:, 3], asked


def test_a_paid_function_needs_to_know_how_much():
    source, y, asked = lab()
    life = thrifty.Lifetime(random_state=0)
    with pytest.raises(LimitNeeded) as raised:
        life.learn("ill", source, y)
    said = str(raised.value)
    assert "at most 6500 EUR" in said and "spend='10 %'" in said and "650 EUR" in said
    assert "thrifty.Budget(total='6500 EUR')" in said
    assert raised.value.quote.scratch_cost_at_most == 6500
    assert not asked and not life.balance().spent and not len(life)
    assert life.learn("ill", source, y, spend="10 %").receipt.cost <= 650


@pytest.mark.parametrize("limit", ["total", "per_task"])
def test_a_budget_is_a_limit(limit):
    source, y, _ = lab()
    life = thrifty.Lifetime(budget=thrifty.Budget(**{limit: "500 EUR"}), random_state=0)
    assert 0 < life.learn("ill", source, y).receipt.cost <= 500


def test_a_budget_that_another_process_lowered_holds_where_the_lifetime_is_open(tmp_path):
    X = np.random.default_rng(0).normal(size=(N, 4))
    budget = thrifty.Budget(total=1000)
    life = thrifty.Lifetime(prices=1, store=tmp_path / "s.db", budget=budget, random_state=0)
    life.learn("a", X, X[:, 0] > 0, spend=60)
    thrifty.Lifetime.open(tmp_path / "s.db", budget=thrifty.Budget(total=70)).close()
    with pytest.raises(thrifty.errors.BudgetExceeded):
        life.predict("a", X + 2)
    assert life.balance().spent <= 70
    life.change(budget=thrifty.Budget(total=200))
    assert life.learn("c", X + 3, X[:, 1] > 0, spend=100).receipt.cost > 10


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a store"])
@pytest.mark.parametrize("calls", [1, 2], ids=["one call", "two calls"])
def test_a_budget_that_is_lowered_while_a_task_buys_holds_from_the_next_call(tmp_path, kept, calls):
    """What is in flight is booked; nothing is asked for with money that is not there any more."""
    store = tmp_path / "s.db" if kept else None
    life = thrifty.Lifetime(store=store, budget=thrifty.Budget(total=1000), random_state=0)
    other = thrifty.Lifetime.open(store) if kept else life
    X = np.random.default_rng(0).random((N, len(NAMES))) < 0.5
    asked, before = [], []

    def answer(ids, names):
        asked.append(len(ids) * len(names))
        if len(asked) == 5:
            other.change(budget=thrifty.Budget(total=40))
            before.extend(asked)  # a store is written while the other call goes on
        return X[[int(i[1:]) for i in ids]][:, [NAMES.index(n) for n in names]]

    source = thrifty.Source.from_callable(
        answer, examples=[f"p{i}" for i in range(N)], features=NAMES, name="lab", prices=1,
        max_examples=2, max_cells=10, concurrency=calls,
    )  # fmt: skip
    with pytest.raises(thrifty.errors.BudgetExceeded):
        life.learn("ill", source, X[:, 0] | X[:, 3], spend=500)
    assert life.balance().spent == sum(asked) <= max(sum(before), 40) + (calls - 1) * 10
    assert life.balance().reserved == 0 and life.bill()["cost"].sum() == sum(asked)
    life.change(budget=thrifty.Budget(total=1000))
    assert "ill" not in life and life.learn("ill", source, X[:, 0] | X[:, 3], spend=500).receipt


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a store"])
def test_a_budget_that_is_lowered_while_a_table_is_read_books_nothing(tmp_path, kept):
    store = tmp_path / "s.db" if kept else None
    budget = thrifty.Budget(total=1000)
    life = thrifty.Lifetime(store=store, prices=1, budget=budget, random_state=0)
    other = thrifty.Lifetime.open(store) if kept else life

    X = np.random.default_rng(0).normal(size=(N, 4))
    source = thrifty.Source.from_array(X)

    class Slow(type(source)):
        def read(self, rows, features):
            other.change(budget=thrifty.Budget(total=40))
            return super().read(rows, features)

    source.__class__ = Slow
    with pytest.raises(thrifty.errors.BudgetExceeded):
        life.learn("ill", source, X[:, 0] > 0, spend=200)
    assert life.balance().spent == 0 and "ill" not in life


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a store"])
def test_a_budget_that_is_set_later_counts_what_was_spent_before(tmp_path, kept):
    """Learned, predicted and forgotten while nothing limited it."""
    X = np.random.default_rng(0).normal(size=(N, 4))
    life = thrifty.Lifetime(prices=1, store=tmp_path / "s.db" if kept else None, random_state=0)
    life.learn("gone", X - 2, X[:, 1] > 0, spend=60)
    life.forget("gone")
    life.learn("a", X, X[:, 0] > 0, spend=60)
    life.predict("a", X + 1, per_row=1)
    spent = life.balance().spent
    life.change(budget=thrifty.Budget(total=spent + 70))
    assert life.balance().spent == life.bill()["cost"].sum() == spent
    life.learn("c", X + 3, X[:, 1] > 0, spend=60)
    with pytest.raises(thrifty.errors.BudgetExceeded):
        life.predict("a", X + 2, per_row=1)
    assert spent < life.balance().spent == life.bill()["cost"].sum() <= spent + 70


def test_where_no_whole_row_may_be_bought_that_is_said_and_what_is_free_is_learned():
    source, y, asked = lab()
    life = thrifty.Lifetime(budget=thrifty.Budget(per_example=1), random_state=0)
    with pytest.raises(thrifty.errors.BudgetExceeded, match="allowed per example"):
        life.learn("ill", source, y)
    assert not asked and not life.balance().spent
    X = np.random.default_rng(0).normal(size=(N, 3))
    budget = thrifty.Budget(per_example=1)
    life = thrifty.Lifetime(prices=[0, 1, 1], budget=budget, random_state=0)
    assert life.learn("free", X, X[:, 0] > 0).receipt.cost == 0


@pytest.mark.parametrize("family", [thrifty.Trees(max_depth=3), thrifty.Lists(max_depth=2)])
def test_the_papers_families_need_a_budget_where_a_source_costs(family):
    source, y, asked = lab()
    with pytest.raises(LimitNeeded, match=r"at most 6500 EUR.*Give the lifetime a budget") as one:
        thrifty.Lifetime(family).learn("ill", source, y)
    assert "spend=" not in str(one.value) and not asked
    life = thrifty.Lifetime(family, budget=thrifty.Budget(total="6500 EUR"))
    assert life.learn("ill", source, y).receipt.cells == len(asked) > 0


def test_prices_of_the_lifetime_count_and_so_do_labels_at_once_and_updates():
    X = np.random.default_rng(0).normal(size=(N, 5))
    y = X[:, 0] > 0
    life = thrifty.Lifetime(prices=2, random_state=0)
    with pytest.raises(LimitNeeded, match="at most 2000"):
        life.learn("a", X, y)
    with pytest.raises(LimitNeeded, match=r"life.learn\(\['a', 'b'\], X, y, spend='10 %'\)"):
        life.learn(["a", "b"], X, {"a": y, "b": ~y})
    with pytest.raises(LimitNeeded):
        life.learn_many([("a", X, y), ("b", X, ~y)], n_jobs=2)
    life.learn("a", X, y, spend="20 %")
    with pytest.raises(LimitNeeded, match=r"life\['a'\].update\(X, y, spend='10 %'\)"):
        life["a"].update(X + 1, y)
    assert life.balance().spent <= 400


def test_what_is_owned_or_free_needs_no_limit():
    source, y, asked = lab()
    life = thrifty.Lifetime(random_state=0)
    life.learn("all", source, y, spend="100 %")
    owned = len(asked)
    thrifty.Lifetime(prices=0).learn("free", np.eye(40), [0, 1] * 20)
    if owned == N * len(NAMES):
        life.learn("again", source, ~y)
        assert len(asked) == owned


def test_without_prices_a_tenth_is_read_and_said_once():
    X = np.random.default_rng(0).normal(size=(1000, 30))
    y = X[:, 0] > 0
    life = thrifty.Lifetime(random_state=0)
    with pytest.warns(
        DefaultShare, match=r"a: .*at most 3,000 of 30,000 cells.*spend='100 %'"
    ) as on:
        learned = life.learn("a", X, y)
    assert on[0].filename == __file__
    assert 0 < learned.receipt.cells <= 3000
    with warnings.catch_warnings():
        warnings.simplefilter("error", DefaultShare)
        assert life.learn("b", X.copy(), y).receipt.cells <= 3000
        thrifty.ModelClassifier().fit(X, y)  # on its own: as it was
        thrifty.Lifetime(thrifty.Trees(max_depth=2)).learn("c", X > 0, y)


@pytest.mark.parametrize(("n", "m"), [(4, 2), (10, 2), (12, 1), (30, 3), (60, 8)])
def test_a_tenth_of_a_small_table_is_enough_for_a_first_look(n, m):
    X = np.random.default_rng(0).normal(size=(n, m))
    life = thrifty.Lifetime(random_state=0)
    assert life.learn("a", X, np.arange(n) % 2).receipt.cells > 0


def test_workers_read_as_much_as_one_by_one():
    X = np.random.default_rng(0).normal(size=(300, 12))
    tasks = [(f"t{i}", X, X[:, i] > 0) for i in range(4)]
    one, many = (thrifty.Lifetime(random_state=0) for _ in range(2))
    one.learn_many(tasks, wave=2)
    many.learn_many(tasks, n_jobs=2, wave=2)
    assert one.bill().equals(many.bill())
