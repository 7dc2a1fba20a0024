"""A random walk over all that a user may do with a store: every cell is paid for once.

Learn, predict, quote, reopen, another family, another lifetime's name, other column orders, new
columns, forgetting, budgets that end, on all three stores, with single prices and with orders and
fees. After every step the provider's bill is the ledger's sum, over all lifetimes of the store, and
no cell is on it twice. The provider sums up its bill by itself, from the calls in its log.

THRIFTY_WALKS=500 walks longer than by default.
"""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thrifty
from thrifty.errors import BadInput, BudgetExceeded, NotInFamily
from thrifty.stores import MemoryStore, PostgresStore, SQLiteStore
from thrifty.testing import FakeProvider

pandas = pytest.importorskip("pandas")

IDS = [f"p{i}" for i in range(24)]
NAMES = [f"f{i}" for i in range(9)]
FAMILIES = {
    "race": lambda: thrifty.Trees(max_depth=3),
    "paper": lambda: thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper()),
    "tested": lambda: thrifty.Trees(max_depth=3, learner=thrifty.trees.Tested(0.2, 0.8)),
    "lists": lambda: thrifty.Lists(max_depth=3),
    "models": lambda: thrifty.Models(),
}
PRICES = {
    "plain": 2,
    "orders": thrifty.PriceList(
        dict.fromkeys(NAMES, 3), orders={"two": (4, ["f0", "f1"])}, fees={"draw": (5, ["f2", "f3"])}
    ),
}


def billed_singly(provider):
    return 2 * provider.bill().cells.total()


def billed_by_orders(provider):
    """What a laboratory with these prices bills for the calls that it got, in their order."""
    total, drawn = 0, set()
    for call in provider._read():
        names = set(call["names"])
        for example in call["ids"]:
            total += 3 * len(names - {"f0", "f1"})
            total += {0: 0, 1: 3, 2: 4}[len(names & {"f0", "f1"})]
            if names & {"f2", "f3"} and example not in drawn:
                drawn.add(example)
                total += 5
    return total


BILLED = {"plain": billed_singly, "orders": billed_by_orders}
WALK = ["learn", "predict", "quote", "reopen", "learn", "short of money", "forget"]
STEP = st.tuples(
    st.sampled_from(WALK),
    st.sampled_from(sorted(FAMILIES)),
    st.integers(0, 4),  # the feature that is the label, or which task
    st.integers(3, 9),  # how many columns there are by now
    st.integers(0, 2**32).map(random.Random),
)
STEPS = st.lists(STEP, min_size=2, max_size=9)


class Walk:
    """A user of a store, and the provider who bills."""

    def __init__(self, open_store, prices):
        self.open_store, self.prices = open_store, prices
        self.store = open_store()
        self.provider = FakeProvider()
        self.lives = {}
        self.n = 0

    def life(self, family):
        """Each family has its lifetime; all of them share what was bought."""
        if family not in self.lives:
            self.lives[family] = thrifty.Lifetime(
                FAMILIES[family](), store=self.store, name=family, budget=thrifty.Budget(10**9)
            )
        return self.lives[family]

    def source(self, chance, width):
        ids = chance.sample(IDS, chance.randint(4, 24))
        names = chance.sample(NAMES[:width], width)
        if self.prices != "plain":  # an order names its features: they must be there
            names = chance.sample(NAMES, 9)
        return self.provider.source(
            ids, names, prices=PRICES[self.prices], max_examples=chance.choice([None, 5])
        ), ids

    def step(self, what, family, which, width, chance):
        life = self.life(family)
        if what == "reopen":
            self.store = self.open_store()
            self.lives.clear()
        elif what in ("learn", "quote"):
            source, ids = self.source(chance, width)
            y = [self.provider.value(e, NAMES[which % 3]) for e in ids]
            self.n += 1
            try:
                getattr(life, what)(f"task {self.n}", source, y)
            except (NotInFamily, BadInput) as error:  # what it bought stays owned
                assert isinstance(error, NotInFamily) or "class" in str(error)
        elif len(life) and what in ("predict", "short of money"):
            self.predict(life, chance.choice(list(life)), chance, what == "short of money")
        elif len(life) and what == "forget":
            life.forget(chance.choice(list(life)))

    def predict(self, life, name, chance, short):
        source, ids = self.source(chance, 9)
        model = life[name].model
        if short:
            most = life.balance().spent + chance.randint(0, 40)
            life.change(budget=thrifty.Budget(total=most))
        try:
            made = life.predict(name, source)
        except BudgetExceeded as error:
            made = error.prediction
            assert life.balance().spent <= most
        life.change(budget=thrifty.Budget(total=1_000_000))
        table = [[self.provider.value(e, f) for f in model.feature_names_] for e in ids]
        right = model.predict(pandas.DataFrame(table, columns=list(model.feature_names_)))
        assert (made.values == right)[made.answered].all()

    def check(self):
        bill = self.provider.bill()
        assert set(bill.cells.values()) <= {1}, "a cell was bought twice"
        spent = 0.0
        for family in list(self.lives):
            life = self.lives[family]
            balance = life.balance()
            assert balance.reserved == 0
            rows = life._bill_rows()
            assert sum(row["cost"] for row in rows) == pytest.approx(balance.spent)
            assert balance.spent == pytest.approx(balance.learning + balance.predictions)
            spent += balance.spent
        if len(self.lives) == len(self.seen()):
            billed = BILLED[self.prices](self.provider)
            assert spent == pytest.approx(billed), "the provider's bill is the ledger's sum"

    def seen(self):
        return self.store.lifetimes()


def walk(open_store, steps, prices):
    user = Walk(open_store, prices)
    for step in steps:
        user.step(*step)
        for family in user.seen():
            user.life(family)
        user.check()


def slowly(walks):
    return settings(
        max_examples=int(os.environ.get("THRIFTY_WALKS", walks)),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@pytest.mark.parametrize("prices", sorted(PRICES))
@slowly(8)
@given(steps=STEPS)
def test_a_random_walk_in_memory(prices, steps):
    store = MemoryStore()
    walk(lambda: store, steps, prices)


@pytest.mark.parametrize("prices", sorted(PRICES))
@slowly(6)
@given(steps=STEPS)
def test_a_random_walk_in_a_file(prices, steps, tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "s.db"
    walk(lambda: SQLiteStore(path), steps, prices)


@pytest.mark.parametrize("prices", sorted(PRICES))
@slowly(3)  # a server answers each step more slowly
@given(steps=STEPS)
def test_a_random_walk_in_postgres(prices, steps, postgres):
    url = postgres.new_database()
    walk(lambda: PostgresStore(url), steps, prices)
