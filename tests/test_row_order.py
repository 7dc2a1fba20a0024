"""The order in which learners take rows: a secret of the lifetime, kept, or ``random_state``."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest

import thrifty
from tests.loops import assert_same, one_by_one
from thrifty.powers import Monomials
from thrifty.powers.values import shuffled
from thrifty.stores.saved import SavedLifetime
from thrifty.stores.settings import row_seed

TREES = thrifty.Trees(max_depth=3)


def seed_of(life):
    return life._state.row_seed


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
        seeds.append(seed_of(thrifty.Lifetime(TREES, store=store)))
        if store is not None:  # its own, whoever opens it and says nothing of a seed
            assert seed_of(thrifty.Lifetime.open(store)) == seeds[-1]
            assert seed_of(thrifty.Lifetime(store=store)) == seeds[-1]
    assert len(set(seeds)) == 4 and min(seeds) > 1000


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
def test_random_state_gives_the_order_again(where, tmp_path, nothing_said, request):
    store = store_named(where, "kept", tmp_path, request)
    assert seed_of(thrifty.Lifetime(TREES, random_state=5, store=store)) == 5
    if store is not None:
        assert seed_of(thrifty.Lifetime.open(store)) == 5
        assert seed_of(thrifty.Lifetime(store=store, random_state=6)) == 6  # said on purpose
        assert seed_of(thrifty.Lifetime(store=store)) == 6
    assert row_seed(None) != row_seed(None)


def test_a_store_that_was_begun_without_a_secret_is_given_one(tmp_path, nothing_said):
    path = str(tmp_path / "s.db")
    thrifty.Lifetime(TREES, store=path).close()
    with contextlib.closing(sqlite3.connect(path)) as book, book:
        kept = json.loads(book.execute("SELECT settings FROM lifetimes").fetchone()[0])
        assert kept.pop("row_seed")
        book.execute("UPDATE lifetimes SET settings = ?", [json.dumps(kept)])
    given = seed_of(thrifty.Lifetime.open(path))
    assert given > 1000 and seed_of(thrifty.Lifetime.open(path)) == given


def test_lifetimes_that_begin_together_agree_on_one_secret(tmp_path, nothing_said, monkeypatch):
    """The second one writes after the first has read that there is none."""
    path = str(tmp_path / "s.db")
    others = []
    take = SavedLifetime.take

    def slow(self, given, begun):
        if not others:
            others.append(None)
            others[0] = thrifty.Lifetime(TREES, store=path)
        take(self, given, begun)

    monkeypatch.setattr(SavedLifetime, "take", slow)
    lives = thrifty.Lifetime(TREES, store=path), others[0], thrifty.Lifetime.open(path)
    assert len(set(map(seed_of, lives))) == 1


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

    def bill(state):
        life = thrifty.Lifetime(thrifty.Trees(3, learner), random_state=state)
        return str(life.learn("t", X, y).receipt.per_feature)

    bills = [bill(state) for state in (1, 2, 3)]
    assert bills == [bill(state) for state in (1, 2, 3)] and len(set(bills)) > 1


def test_tasks_that_are_learned_ahead_take_the_same_order():
    tasks = thrifty.streams.trees(8, 40, 2, 900, 3, random_state=1)
    life = thrifty.Lifetime(TREES, random_state=9)
    life.learn_many(tasks, n_jobs=2, engine="threads")
    assert_same(one_by_one(tasks, TREES, random_state=9), life)


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
