"""The order in which learners take rows: a secret of the lifetime, kept, or ``random_state``."""

import json
import sqlite3

import numpy as np
import pytest

import thrifty
from thrifty.powers import Monomials
from thrifty.powers.values import shuffled
from thrifty.stores.saved import SavedLifetime
from thrifty.stores.settings import row_seed


@pytest.fixture
def nothing_said(monkeypatch):
    monkeypatch.delenv("THRIFTY_ROW_SEED", raising=False)


def store_named(where, name, tmp_path, request):
    """None, a file, or a database of a real server."""
    if where == "memory":
        return None
    if where == "sqlite":
        return str(tmp_path / f"{name}.db")
    return request.getfixturevalue("postgres").new_database()


def table(seed=0, n=3000, k=30):
    X = np.random.default_rng(seed).random((n, k)) < 0.5
    return X, X[:, 3] & X[:, 5] | X[:, 7]


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
def test_without_a_seed_each_lifetime_has_a_secret_of_its_own(
    where, tmp_path, nothing_said, request
):
    seeds = []
    for k in range(4):
        store = store_named(where, f"{k}", tmp_path, request)
        seeds.append(
            thrifty.Lifetime(thrifty.Trees(max_depth=3), store=store)._state.settings.drawn_row_seed
        )
        if store is not None:  # its own, whoever opens it and says nothing of a seed
            assert thrifty.Lifetime.open(store)._state.settings.drawn_row_seed == seeds[-1]
            assert thrifty.Lifetime(store=store)._state.settings.drawn_row_seed == seeds[-1]
    assert len(set(seeds)) == 4 and min(seeds) > 1000


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
def test_random_state_gives_the_order_again(where, tmp_path, nothing_said, request):
    store = store_named(where, "kept", tmp_path, request)
    family = thrifty.Trees(max_depth=3)
    assert thrifty.Lifetime(family, random_state=5, store=store)._state.settings.drawn_row_seed == 5
    if store is not None:
        assert thrifty.Lifetime.open(store)._state.settings.drawn_row_seed == 5
        assert (
            thrifty.Lifetime(store=store, random_state=6)._state.settings.drawn_row_seed == 6
        )  # said on purpose
        assert thrifty.Lifetime(store=store)._state.settings.drawn_row_seed == 6
    assert row_seed(None) != row_seed(None)


def test_a_store_that_was_begun_without_a_secret_is_given_one(tmp_path, nothing_said):
    path = str(tmp_path / "s.db")
    thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path).close()
    with sqlite3.connect(path) as book:
        (table,) = [
            name
            for (name,) in book.execute("select name from sqlite_master where type = 'table'")
            if "settings" in {c[1] for c in book.execute(f"pragma table_info({name})")}
        ]
        kept = json.loads(book.execute(f"select settings from {table}").fetchone()[0])
        assert kept.pop("row_seed")
        book.execute(f"update {table} set settings = ?", [json.dumps(kept)])
    book.close()
    given = thrifty.Lifetime.open(path)._state.settings.drawn_row_seed
    assert given > 1000
    assert thrifty.Lifetime.open(path)._state.settings.drawn_row_seed == given


def test_lifetimes_that_begin_together_agree_on_one_secret(tmp_path, nothing_said, monkeypatch):
    """The second one writes after the first has read that there is none."""
    path = str(tmp_path / "s.db")
    others = []
    take = SavedLifetime.take

    def slow(self, given, begun):
        if not others:
            others.append(None)
            others[0] = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
        take(self, given, begun)

    monkeypatch.setattr(SavedLifetime, "take", slow)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=path)
    assert (
        life._state.settings.drawn_row_seed
        == others[0]._state.settings.drawn_row_seed
        == thrifty.Lifetime.open(path)._state.settings.drawn_row_seed
    )


def bits(family, tasks, store):
    """All that a user can see of tasks learned one after another with one seed."""
    life = thrifty.Lifetime(family, store=store, random_state=7)
    learned = [life.learn(*task) for task in tasks]
    said = [
        (made.route, made.receipt.cells, made.receipt.per_feature, str(made.model.to_dict()))
        for made in learned
    ]
    values = [life.predict(name, X[:50]).values.tolist() for name, X, _ in tasks]
    life.close()
    return said, values


@pytest.mark.parametrize(
    "family",
    [
        thrifty.Models(),
        thrifty.Trees(3, thrifty.trees.Race()),
        thrifty.Trees(3, thrifty.trees.Tested(0.1, 0.9)),
        Monomials(3),
    ],
    ids=["models", "trees", "tested", "monomials"],
)
def test_same_seed_same_bits_in_memory_and_in_every_store(family, tmp_path, request):
    if isinstance(family, Monomials):
        stream = thrifty.streams.monomials(4, 30, 2, 300, 3, random_state=1)
    else:
        stream = thrifty.streams.trees(3, 40, 2, 600, 3, random_state=1)
    tasks = [(t.name, t.X, t.y) for t in stream]
    expected = bits(family, tasks, None)
    for where in ("sqlite", "postgres"):
        assert bits(family, tasks, store_named(where, "bits", tmp_path, request)) == expected


@pytest.mark.parametrize(
    "learner", [thrifty.trees.Race(), thrifty.trees.Tested(0.2, 0.8, random_state=0)]
)
def test_trees_take_rows_in_the_lifetimes_order(learner):
    X, y = table()
    bills = [
        [
            thrifty.Lifetime(thrifty.Trees(3, learner), random_state=state)
            .learn("t", X, y)
            .receipt.per_feature
            for _ in range(2)
        ]
        for state in (1, 2, 3)
    ]
    assert all(first == second for first, second in bills)
    assert len({str(first) for first, _ in bills}) > 1


@pytest.mark.parametrize("engine", ["threads"])
def test_tasks_that_are_learned_ahead_take_the_same_order(engine):
    tasks = [(t.name, t.X, t.y) for t in thrifty.streams.trees(8, 40, 2, 900, 3, random_state=1)]
    bills = []
    for many in (False, True):
        life = thrifty.Lifetime(thrifty.Trees(max_depth=3), random_state=9)
        if many:
            life.learn_many(tasks, n_jobs=2, engine=engine)
        else:
            for task in tasks:
                life.learn(*task)
        bills.append([row["cells"] for row in life._bill_rows()])
    assert bills[0] == bills[1]


def accepted(store, seed, state):
    """Whether a monomial that is wrong on 188 of 200 rows is accepted.

    The rows that a constant order verifies on fit; the others do not.
    """
    random = np.random.default_rng(seed)
    X, Z = random.uniform(1, 2, (2, 200, 12))
    y = Z[:, 3] * 2.0
    laid_out = shuffled(200)[:12]
    y[laid_out] = Z[laid_out, 3]
    life = thrifty.Lifetime(Monomials(2), random_state=state, store=store)
    life.learn("first", X, X[:, 3])
    try:
        life.learn("second", Z, y)
    except thrifty.errors.ThriftyError:
        return False
    return True


def test_monomials_are_verified_on_rows_that_nobody_could_foresee(tmp_path, nothing_said):
    """One random row verifies: by luck it is one of the 12 of 200, 6 times in a hundred."""
    assert accepted(None, 0, 0)  # the data are what they are said to be
    for where in ("memory", "file"):
        stores = [None if where == "memory" else str(tmp_path / f"{k}.db") for k in range(8)]
        assert sum(accepted(store, k, None) for k, store in enumerate(stores)) <= 4
