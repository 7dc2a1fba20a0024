"""A named table is charged once, whoever learns and predicts from it at the same time."""

import time

import numpy as np
import pytest

import thrifty
from thrifty.cells.ledger.book import on_point
from thrifty.lifetime.transaction import TaskOptions

N, F = 60, 6
IDS = [f"p{i}" for i in range(N)]
NAMES = [f"f{i}" for i in range(F)]
X = np.random.default_rng(0).integers(0, 2, (N, F)).astype(bool)
LABELS = [X[:, 0] & X[:, 1], X[:, 1] | X[:, 2], X[:, 2] & ~X[:, 0], X[:, 0] | X[:, 3]]
FAMILY = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())


def table(rows=slice(None)):
    ids = IDS[rows]
    return thrifty.Source.from_array(X[rows], examples=ids, name="clinic", feature_names=NAMES)


PRICES = {
    "free": 0,
    "1 each": None,
    "euros": thrifty.PriceList(2, currency="EUR"),
    "with a fee": thrifty.PriceList(1, fees={"draw": (5, NAMES[:3])}, currency="EUR"),
    "with orders": thrifty.PriceList(
        dict.fromkeys(NAMES[3:], 1.0), orders={"panel": (2, NAMES[:3])}, currency="EUR"
    ),
}
FULL = {"free": 0, "1 each": 6, "euros": 12, "with a fee": 11, "with orders": 5}


class Meanwhile:
    """A family that lets something happen after its first task has looked at all of it."""

    def __init__(self, family, work) -> None:
        self._family, self._work = family, work

    def __getattr__(self, name):
        return getattr(self._family, name)

    def from_scratch(self, cells, labels, failed):
        found = self._family.from_scratch(cells, labels, failed)
        work, self._work = self._work, lambda: None
        work()
        return found


def check(life, full, cells=N * F):
    bill = life.bill()
    assert life.balance().spent == pytest.approx(full) == bill["cost"].sum()
    assert bill["cells"].sum() == cells


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a store"])
def test_two_learners_of_one_table_pay_for_each_cell_once(tmp_path, prices, kept):
    """With a budget of exactly what all of it costs, and each cell with who was first."""
    store = tmp_path / "s.db" if kept else None
    budget = thrifty.Budget(total=N * FULL[prices] or 1)
    life = thrifty.Lifetime(FAMILY, store=store, prices=PRICES[prices], budget=budget)
    other = thrifty.Lifetime.open(store) if kept else life
    half = slice(N // 2)
    first = Meanwhile(FAMILY, lambda: other.learn("b", table(half), LABELS[1][half]))
    learned = life._learning.learn("a", table(), LABELS[0], TaskOptions(), first)
    check(life, N * FULL[prices])
    assert learned.receipt.reused_cells == N * F // 2
    assert learned.receipt.cost == N // 2 * FULL[prices]


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a store"])
@pytest.mark.parametrize("meanwhile", [False, True], ids=["one after another", "at once"])
def test_what_an_example_may_cost_holds_for_all_tasks(tmp_path, kept, meanwhile):
    store = tmp_path / "s.db" if kept else None
    prices = thrifty.PriceList(1, fees={"draw": (1, NAMES[:3])})
    budget = thrifty.Budget(per_example=4)
    life = thrifty.Lifetime(FAMILY, store=store, prices=prices, budget=budget)
    other = thrifty.Lifetime.open(store) if kept else life
    first = lambda: other.learn("a", table(), LABELS[0], features=NAMES[:3])  # noqa: E731
    if not meanwhile:
        first()
    family = Meanwhile(FAMILY, first if meanwhile else lambda: None)
    said = TaskOptions(features=NAMES[3:])
    with pytest.raises(thrifty.errors.BudgetExceeded, match="allowed per example"):
        life._learning.learn("b", table(), X[:, 3] & X[:, 4], said, family)
    costs = life.ledger.book.read(lambda pages: pages.example_costs(pages.numbers("example", IDS)))
    assert (costs == 4_000_000).all()
    check(life, N * 4, N * 3)


def test_a_fee_that_another_paid_meanwhile_is_not_paid_again(tmp_path):
    prices = thrifty.PriceList(1, fees={"draw": (5, NAMES[:4])})
    life = thrifty.Lifetime(FAMILY, store=tmp_path / "s.db", prices=prices)
    other = thrifty.Lifetime.open(tmp_path / "s.db")
    learn = lambda: other.learn("b", table(), LABELS[0], features=NAMES[:2])  # noqa: E731
    said = TaskOptions(features=NAMES[2:4])
    life._learning.learn("a", table(), X[:, 2] & X[:, 3], said, Meanwhile(FAMILY, learn))
    check(life, N * (4 + 5), N * 4)


def test_predictions_at_the_same_time_pay_for_each_cell_once(tmp_path):
    life = thrifty.Lifetime(FAMILY, store=tmp_path / "s.db", prices=3)
    life.learn("a", X, LABELS[0])
    life.learn("b", X, LABELS[1])
    before = life.balance().spent
    one, two = life.predict(["a", "b"], table()), None
    bought = life.balance().spent - before
    life = thrifty.Lifetime(FAMILY, store=tmp_path / "t.db", prices=3)
    life.learn("a", X, LABELS[0])
    life.learn("b", X, LABELS[1])
    other = thrifty.Lifetime.open(tmp_path / "t.db")
    before, done = life.balance().spent, []

    class Slow(type(table())):
        """Another prediction of the same rows is made while this one is being read."""

        def read(self, rows, features):
            if not done:
                done.append(1)
                done.append(other.predict(["a", "b"], table()))
            return super().read(rows, features)

    slow = table()
    slow.__class__ = Slow
    two = life.predict(["a", "b"], slow)
    assert life.balance().spent - before == pytest.approx(bought)
    assert life.bill()["cost"].sum() == pytest.approx(life.balance().spent)
    assert two.receipt.cost == 0 < done[1].receipt.cost == one.receipt.cost
    assert two.receipt.reused_cells == one.receipt.cells


@pytest.mark.parametrize("prices", ["free", "with a fee"])
@pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)
def test_processes_pay_for_each_cell_once(where, prices, tools, fast_path):
    """Each has looked at everything before any of them commits."""
    budget = thrifty.Budget(total=N * FULL[prices] or 1)
    thrifty.Lifetime(FAMILY, store=where, prices=PRICES[prices], budget=budget).close()
    n = 3

    def work(i):
        def wait(point):
            if point == "before-commit":
                (fast_path / f"ready {i}").touch()
                until = time.monotonic() + 60
                while len(list(fast_path.glob("ready *"))) < n and time.monotonic() < until:
                    time.sleep(0.01)

        on_point(wait)
        life = thrifty.Lifetime.open(where)
        life.learn(f"t{i}", table(), LABELS[i])
        life.close()

    pids = [tools.in_child(lambda i=i: work(i)) for i in range(n)]
    assert [tools.wait_for(pid) for pid in pids] == [0] * n
    check(thrifty.Lifetime.open(where), N * FULL[prices])


def test_labels_at_once_and_updates_pay_for_each_cell_once(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(120, 4))
    ids = [f"q{i}" for i in range(120)]
    y = {"a": (values[:, 0] > 0).astype(int), "b": (values[:, 1] > 0).astype(int)}

    def rows(some):
        names = list("wxyz")
        return thrifty.Source.from_array(
            values[some], examples=ids[some], name="ward", feature_names=names
        )

    life = thrifty.Lifetime(store=tmp_path / "s.db", prices=1, random_state=0)
    other = thrifty.Lifetime.open(tmp_path / "s.db")
    first, last = slice(60), slice(60, 120)
    done = []

    class Slow(type(rows(first))):
        def read(self, at, features):
            if not done:
                done.append(1)
                self.work()
            return super().read(at, features)

    def slow(some, work):
        made = rows(some)
        made.__class__, made.work = Slow, work
        done.clear()
        return made

    everything = lambda: other.learn("c", rows(first), y["a"][first], spend=240)  # noqa: E731
    both = {name: labels[first] for name, labels in y.items()}
    life.learn(["a", "b"], slow(first, everything), both, spend=240)
    assert life.balance().spent == life.bill()["cost"].sum() == life.bill()["cells"].sum() <= 240
    more = lambda: other.learn("d", rows(last), y["b"][last], spend=240)  # noqa: E731
    life["a"].update(slow(last, more), y["a"][last], spend=240)
    assert life.balance().spent == life.bill()["cost"].sum() == life.bill()["cells"].sum() <= 480


def interviewed(store):
    values = np.random.default_rng(0).normal(size=(200, 4))
    life = thrifty.Lifetime(store=store, prices=2, random_state=0)
    life.learn("ill", values, (values[:, 2] > 0).astype(int), spend="100 %")
    return life


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a store"])
def test_two_interviews_of_one_row_book_a_cell_once(tmp_path, kept):
    life = interviewed(tmp_path / "s.db" if kept else None)
    before = life.balance().spent
    one, two = life.ask("ill", id="p1"), life.ask("ill", id="p1")
    one.tell(1.5, paid=True)
    two.tell(1.5, paid=True)
    assert life.balance().spent - before == one.cost == 2 and two.cost == 0
    assert life.bill()["cost"].sum() == life.balance().spent


@pytest.mark.parametrize("paid", [False, True])
def test_a_value_that_is_refused_is_not_booked(tmp_path, paid):
    life = interviewed(tmp_path / "s.db")
    before = life.balance().spent
    one, two = life.ask("ill", id="p1"), life.ask("ill", id="p1")
    one.tell(1.5, paid=paid)
    with pytest.raises(thrifty.errors.ChangedValue):
        two.tell(2.5, paid=True)
    assert life.balance().spent - before == one.cost == 2 * paid and two.cost == 0
    assert life.bill()["cost"].sum() == life.balance().spent
    assert two.next.feature == "x2"
    assert life.ask("ill", id="p1").known == {"x2": 1.5}
