"""A random walk over all that a user may do with a store: every cell is paid for once.

Learn, predict, quote, reopen, another family, another lifetime's name, other column orders, new
columns, on all three stores. After every step the provider's bill is the ledger's sum, over all
lifetimes of the store, and no cell is on it twice.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thrifty
from thrifty.errors import NotInFamily
from thrifty.stores import MemoryStore, PostgresStore, SQLiteStore
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(24)]
NAMES = [f"f{i}" for i in range(9)]
FAMILIES = {
    "race": lambda: thrifty.Trees(max_depth=3),
    "paper": lambda: thrifty.Trees(max_depth=3, learner=thrifty.Paper()),
    "verified": lambda: thrifty.Trees(max_depth=3, learner=thrifty.Verified()),
    "lists": lambda: thrifty.Lists(max_depth=3),
}
PRICES = {
    "plain": 2,
    "orders": thrifty.PriceList(
        dict.fromkeys(NAMES, 3), orders={"two": (4, ["f0", "f1"])},
        fees={"draw": (5, ["f2", "f3"])},
    ),
}  # fmt: skip

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["learn", "predict", "quote", "reopen", "learn", "predict", "forget"]),
        st.sampled_from(sorted(FAMILIES)),
        st.integers(0, 4),  # the feature that is the label, or which task
        st.integers(3, 9),  # how many columns there are by now
        st.randoms(use_true_random=False),
    ),
    min_size=2, max_size=9,
)  # fmt: skip


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
                FAMILIES[family](), store=self.store, name=family
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
            with suppress(NotInFamily):  # what it bought stays owned
                getattr(life, what)(f"task {self.n}", source, y)
        elif len(life) and what == "predict":
            name = chance.choice(list(life))
            source, ids = self.source(chance, 9)
            model = life[name]
            made = life.predict(name, source)
            table = [[self.provider.value(e, f) for f in model.feature_names_] for e in ids]
            assert (made.values == model.predict(np.array(table, dtype=np.uint8))).all()
        elif len(life) and what == "forget":
            life.forget(chance.choice(list(life)))

    def check(self):
        bill = self.provider.bill()
        assert set(bill.cells.values()) <= {1}, "a cell was bought twice"
        spent = 0.0
        for family in list(self.lives):
            life = self.lives[family]
            balance = life.balance()
            assert balance.reserved == 0
            rows = life.bill_rows()
            assert sum(row["cost"] for row in rows) == pytest.approx(balance.spent)
            assert balance.spent == pytest.approx(balance.learning + balance.predictions)
            spent += balance.spent
        if self.prices == "plain" and len(self.lives) == len(self.seen()):
            assert spent == 2 * bill.cells.total(), "the provider's bill is the ledger's sum"

    def seen(self):
        return self.store.lifetimes()


def walk(open_store, steps, prices):
    user = Walk(open_store, prices)
    for step in steps:
        user.step(*step)
        for family in user.seen():
            user.life(family)
        user.check()


SLOWLY = settings(
    max_examples=20, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@pytest.mark.parametrize("prices", sorted(PRICES))
@SLOWLY
@given(steps=STEPS)
def test_a_random_walk_in_memory(prices, steps):
    store = MemoryStore()
    walk(lambda: store, steps, prices)


@pytest.mark.parametrize("prices", sorted(PRICES))
@SLOWLY
@given(steps=STEPS)
def test_a_random_walk_in_a_file(prices, steps, tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "s.db"
    walk(lambda: SQLiteStore(path), steps, prices)


@SLOWLY
@given(steps=STEPS)
def test_a_random_walk_in_postgres(steps, postgres):
    url = postgres.new_database()
    walk(lambda: PostgresStore(url), steps, "plain")
