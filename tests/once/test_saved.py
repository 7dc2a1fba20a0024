"""What was saved: what the same rows and features cost in full, each cell once, less what was paid.

Random lives on a provider that counts for itself: tasks, predictions, updates, rollbacks, purges,
forgotten tasks, a store that is opened again. What the lifetime says of them in one place is what
it says in every other.
"""

import numpy as np
import pytest

import thrifty
from thrifty import PriceList, Source
from thrifty.lifetime.bill import bill_lines, lines_beside

NAMES = [f"f{i}" for i in range(6)]
EACH = {name: 1 + i for i, name in enumerate(NAMES)}
LISTS = {
    "each": PriceList(EACH, currency="EUR"),
    "fee": PriceList(EACH, fees={"draw": (2, ["f1", "f2"])}, currency="EUR"),
    "panel": PriceList(EACH, orders={"panel": (5, ["f3", "f4", "f5"])}, currency="EUR"),
}


class Clinic:
    """A provider with a value for each cell, and a count of what it was paid for."""

    def __init__(self, rng, prices):
        self.values = rng.normal(size=(400, len(NAMES)))
        self.prices, self.asked = prices, 0

    def source(self, rows):
        def answer(ids, names):
            self.asked += len(ids) * len(names)
            return [[self.values[int(i[1:]), NAMES.index(n)] for n in names] for i in ids]

        return Source.from_callable(
            answer, examples=[f"p{i}" for i in rows], features=NAMES, name="lab",
            prices=self.prices, max_examples=20, kinds=dict.fromkeys(NAMES, "number"),
        )  # fmt: skip

    def labels(self, rows, f):
        return (self.values[rows, f] + 0.3 * self.values[rows, (f + 1) % 6] > 0).astype(int)


def test_the_month_after_counts_no_money_that_was_paid():
    """Learn, predict new rows, update on them: 4,800 in full, and what was not paid is saved."""
    rng = np.random.default_rng(0)
    clinic = Clinic(rng, PriceList(dict.fromkeys(NAMES, 4), currency="EUR"))
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", clinic.source(range(100)), clinic.labels(range(100), 0), spend="40 %")
    new = range(100, 200)
    life.predict("ill", clinic.source(new), stop=None)
    before = life.balance()
    assert before.everything == 4800 and before.saved == 4800 - before.spent
    life["ill"].update(clinic.source(new), clinic.labels(new, 0), spend=100)
    after = life.balance()
    assert after.everything == 4800 and after.saved == 4800 - after.spent <= before.saved


def test_rows_that_are_only_predicted_count_in_full():
    X = np.random.default_rng(0).normal(size=(100, 4))
    life = thrifty.Lifetime(prices=2, random_state=0)
    life.learn("ill", X, X[:, 0] > 0, spend="30 %")
    assert life.balance().everything == 800
    new = X[:50] + 1
    life.predict("ill", new)
    life.predict("ill", new)
    balance = life.balance()
    assert balance.everything == 800 + 400
    assert balance.saved == balance.everything - balance.spent


def test_labels_on_other_rows_of_one_table_are_other_rows():
    X = np.random.default_rng(0).normal(size=(100, 4))
    y = (X[:, 0] > 0).astype(float)
    life = thrifty.Lifetime(random_state=0)
    with pytest.warns(UserWarning):
        life.learn("a", X, np.where(np.arange(100) < 50, y, np.nan), spend="50 %")
        life.learn("b", X, np.where(np.arange(100) < 50, np.nan, y), spend="50 %")
    assert life.balance().everything_cells == 400


def test_bought_labels_count_in_full_too():
    X = np.random.default_rng(0).random((300, 4))
    y = X[:, 0] > 0.5
    oracle = thrifty.Oracle(lambda rows: y[rows], price="0.5 USD")
    life = thrifty.Lifetime(prices=0, random_state=0)
    life.learn("large", X, oracle, spend="30 USD")
    balance = life.balance()
    assert balance.everything == 150 and balance.saved == 150 - balance.spent


def test_a_task_that_ends_halfway_counts_in_full():
    clinic = Clinic(np.random.default_rng(0), LISTS["each"])
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), budget=thrifty.Budget(total=200))
    with pytest.raises(thrifty.errors.BudgetExceeded):
        life.learn("t", clinic.source(range(60)), clinic.labels(range(60), 0))
    balance = life.balance()
    assert balance.spent == 0 or balance.saved == 60 * sum(EACH.values()) - balance.spent


class Life:
    """A random life, and what a clerk who only watches the provider knows of it."""

    def __init__(self, seed, prices, store):
        self.rng = np.random.default_rng(seed)
        self.clinic, self.store = Clinic(self.rng, prices), store
        self.life = thrifty.Lifetime(store=store, budget=thrifty.Budget(total=9999), random_state=0)
        #: rows that were brought, by the id they have had in the store
        self.brought: set[tuple[int, int]] = set()
        self.purged, self.n = dict.fromkeys(range(60), 0), 0

    def any(self, some):
        return some[int(self.rng.integers(len(some)))]

    def rows(self):
        size = int(self.rng.integers(15, 40))
        return sorted(self.rng.choice(60, size=size, replace=False).tolist())

    def bring_new(self, row):
        self.purged[row] = 0
        return self.bring([row])

    def bring(self, rows):
        self.brought |= {(row, self.purged[row]) for row in rows}
        return self.clinic.source(rows)

    def learn(self):
        rows, f = self.rows(), int(self.rng.integers(6))
        y = self.clinic.labels(rows, f)
        if min(np.bincount(y, minlength=2)) >= 5:
            self.life.learn(f"task {self.n} of {f}", self.bring(rows), y, spend="25 %")

    def predict(self, name):
        stop = self.any([None, thrifty.Sure(0.8)])
        self.life.predict(name, self.bring(self.rows()), stop=stop)

    def update(self, name):
        rows = self.rows()
        self.life[name].update(self.bring(rows), self.clinic.labels(rows, int(name[-1])), spend=60)

    def purge(self, name):
        if self.store is None:
            return  # of a store
        row = self.any(sorted({row for row, _ in self.brought}))
        self.life.ledger.purge(f"p{row}")
        self.purged[row] += 1

    def forget(self, name):
        self.life.forget(name)

    def rollback(self, name):
        states = [version.state for version in self.life[name].versions]
        if "before" in states[: states.index("present")]:
            self.life[name].rollback()

    def reopen(self, name):
        if self.store is not None:
            self.life = thrifty.Lifetime.open(self.store)

    def live(self, steps):
        verbs = ["predict", "predict", "update", "update", "purge", "forget", "rollback", "reopen"]
        for _ in range(steps):
            self.n += 1
            tasks = list(self.life)
            if not tasks or self.rng.random() < 0.25:
                self.learn()
            else:
                getattr(self, self.any(verbs))(self.any(tasks))


def check(one, prices):
    """Every figure of a life against every other, and against the clerk's."""
    life, each = one.life, prices.price(NAMES)
    balance = life.balance()

    def cents(amount):
        return round(amount * 1e6)

    assert cents(balance.everything) == cents(len(one.brought) * each)
    assert cents(balance.saved) == cents(balance.everything) - cents(balance.spent)
    assert cents(balance.left) == cents(9999) - cents(balance.spent)
    assert cents(balance.learning) + cents(balance.predictions) == cents(balance.spent)
    assert sum(cents(row["cost"]) for row in life._bill_rows()) == cents(balance.spent)
    lines = bill_lines([task.receipt for task in life.tasks], lines_beside(life._state))
    assert sum(cents(a) for _, _, a in lines["learning"]) == cents(balance.learning)
    assert sum(cents(a) for _, _, a in lines["predictions"]) == cents(balance.predictions)
    for task in life.tasks:
        asked = [NAMES[f] for f in task.model.features_.tolist()]
        assert task.prediction_price == prices.price(asked)
    if life.tasks:
        task = one.any(list(life.tasks))
        new = max((row for row, _ in one.brought if row >= 60), default=59) + 1
        paid = life.predict(task.name, one.bring_new(new), stop=None).receipt.cost
        assert paid <= task.prediction_price + 1e-9


@pytest.mark.parametrize("seed", range(34))
@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("kept", ["memory", "file"])
@pytest.mark.some(8)
def test_every_figure_of_a_random_life_agrees(seed, listed, kept, tmp_path):
    store = None if kept == "memory" else tmp_path / "life.db"
    one = Life(seed, LISTS[listed], store)
    for _ in range(4):
        one.live(3)
        check(one, LISTS[listed])
