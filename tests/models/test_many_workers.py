"""``learn_many`` with Models: in waves of one as one by one, and whatever the workers."""

import os
import signal
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from tests.market import table_seller

#: our own models, and with prices one that is quick to fit: what is bought is decided alike
FAMILIES = {"cells": thrifty.Models(), "priced": thrifty.Models(LogisticRegression())}
PRICES = {"cells": None, "priced": np.linspace(0.5, 3.0, 30)}


def tasks(n=3):
    rng = np.random.default_rng(0)
    X = rng.random((1200, 30)) < rng.uniform(0.05, 0.3, 30)
    for t in range(n):
        rows = rng.permutation(len(X))[:200]
        y = X[:, 5 * t] | X[:, 5 * t + 1]
        yield f"t{t}", X[rows], y[rows] ^ (rng.random(200) < 0.05)


def learned_by(n_jobs, engine, prices, wave=1):
    life = thrifty.Lifetime(FAMILIES[prices], prices=PRICES[prices], random_state=3)
    life.learn_many(tasks(), n_jobs=n_jobs, engine=engine, wave=wave, spend="100 %")
    return life


@cache
def learned_by_hand(prices):
    life = thrifty.Lifetime(FAMILIES[prices], prices=PRICES[prices], random_state=3)
    for name, X, y in tasks():
        life.learn(name, X, y, spend="100 %")
    return life


@pytest.mark.parametrize(
    ("prices", "n_jobs", "engine"),
    [
        ("cells", 1, "threads"),
        pytest.param("cells", 2, "loky", marks=pytest.mark.slow),
        pytest.param("priced", 2, "threads", marks=pytest.mark.slow),
        ("priced", 2, "loky"),
    ],
)
def test_a_wave_of_one_is_one_by_one(prices, n_jobs, engine):
    same(learned_by_hand(prices), learned_by(n_jobs, engine, prices))


def test_nothing_is_tried_that_would_be_thrown_away(monkeypatch):
    tried = []
    real = thrifty.Models.use_rep
    monkeypatch.setattr(thrifty.Models, "use_rep", lambda *given: tried.append(1) or real(*given))
    learned_by(2, "threads", "priced")
    assert len(tried) == 3


def same(one, other):
    """Receipts, bills, memory and every probability, to the last bit."""
    assert list(one) == list(other)
    assert one.representation.to_dict() == other.representation.to_dict()
    bills = [life.bill().drop(columns="when", errors="ignore") for life in (one, other)]
    assert bills[0].equals(bills[1])
    for name, X, _ in tasks(len(one)):
        assert one._state.tasks[name].receipt == other._state.tasks[name].receipt
        assert np.array_equal(one[name].model.predict_proba(X), other[name].model.predict_proba(X))


@cache
def in_waves(prices):
    return learned_by(1, "threads", prices, wave=2)


@pytest.mark.parametrize(
    ("prices", "n_jobs", "engine"),
    [
        ("priced", 2, "threads"),
        pytest.param("priced", 2, "loky", marks=pytest.mark.slow),
        pytest.param("cells", 4, "loky", marks=pytest.mark.slow),
    ],
)
def test_a_wave_depends_on_no_worker(prices, n_jobs, engine):
    same(in_waves(prices), learned_by(n_jobs, engine, prices, wave=2))


@pytest.mark.parametrize("prices", [pytest.param("priced", marks=pytest.mark.slow), "cells"])
def test_workers_of_dask_are_as_good(prices, dask_client):
    """Real workers, in processes of their own: equal bills and models to the last bit."""
    same(in_waves(prices), learned_by(2, dask_client, prices, wave=2))


def test_a_worker_of_dask_that_dies_is_not_paid_twice(dask_client, tmp_path):
    """A worker is killed while it learns; the wave goes on with the other."""
    family = thrifty.Models(KillsItsWorker(str(tmp_path / "killed"), os.getpid()))
    lives = []
    for engine in ("threads", dask_client):
        life = thrifty.Lifetime(family, prices=PRICES["priced"], random_state=3)
        life.learn_many(tasks(2), n_jobs=2, engine=engine, wave=2, spend="100 %")
        lives.append(life)
    assert (tmp_path / "killed").exists(), "a worker was killed"
    same(*lives)
    assert lives[1].balance().spent == pytest.approx(lives[1].bill()["cost"].sum(), abs=1e-5)


class KillsItsWorker(LogisticRegression):
    """Ends the process that fits it, once: the flag file remembers."""

    def __init__(self, flag="", here=0):
        super().__init__()
        self.flag, self.here = flag, here

    def fit(self, X, y, sample_weight=None):
        if os.getpid() != self.here and not os.path.exists(self.flag):
            open(self.flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


def test_the_tasks_of_a_wave_see_what_was_known_at_its_start():
    """The second of a wave knows nothing of the first; the third, in the next wave, does."""
    waves, by_hand = in_waves("priced"), learned_by_hand("priced")
    alone = thrifty.Lifetime(FAMILIES["priced"], prices=PRICES["priced"], random_state=3)
    name, X, y = list(tasks())[1]
    alone.learn(name, X, y, spend="100 %")
    ours, one, other = (life[name].model.predict_proba(X) for life in (waves, alone, by_hand))
    assert np.array_equal(ours, one) and not np.array_equal(ours, other)
    assert len(waves.representation.to_dict()) == len(by_hand.representation.to_dict())


def by_id(n=3):
    """Tasks over rows that partly are the same people."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(260, 12))
    for t in range(n):
        rows = np.arange(30 * t, 30 * t + 200)
        ids = [f"p{i}" for i in rows]
        people = thrifty.Source.from_array(X[rows], examples=ids, name="people")
        yield f"t{t}", people, (X[rows, t] + X[rows, t + 1] > 0).astype(int)


@pytest.mark.parametrize("engine", ["threads", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_cell_that_two_want_is_booked_to_the_first(engine, tmp_path):
    life = thrifty.Lifetime(
        thrifty.Models(LogisticRegression()), store=tmp_path / "ids.db", random_state=0
    )
    life.learn_many(by_id(), n_jobs=2, engine=engine, wave=3, spend="60 %")
    first, second, _ = (life._state.tasks[name].receipt for name in life)
    assert first.reused_cells == 0
    assert second.reused_cells > 0
    counted = life.bill()["cost"].sum()
    assert counted == life.balance().spent, "each cell once, at 1 each"


def with_orders(wave, engine):
    """Tasks whose cells come in panels, with a fee for each row."""
    rng = np.random.default_rng(4)
    names = [f"x{f}" for f in range(6)]
    prices = thrifty.PriceList(
        dict.fromkeys(names, 2), orders={"panel": (3, names[:3])}, fees={"draw": (5, names)}
    )
    life = thrifty.Lifetime(FAMILIES["priced"], prices=prices, random_state=0)
    tables = [rng.normal(size=(90, 6)) for _ in range(2)]
    tasks = [(f"t{f}", X, (X[:, f] > 0).astype(int)) for f, X in enumerate(tables)]
    life.learn_many(tasks, n_jobs=2, engine=engine, wave=wave, spend="40 %")
    return life


@pytest.mark.parametrize("engine", ["threads", pytest.param("loky", marks=pytest.mark.slow)])
def test_orders_and_fees_are_paid_in_waves_too(engine):
    """The first of a wave knows nothing more than one by one: it costs the same, line by line."""
    by_hand, waves = (with_orders(wave, engine) for wave in (1, 2))
    receipts = [life._state.tasks["t0"].receipt for life in (by_hand, waves)]
    assert receipts[0] == receipts[1]
    assert receipts[0].cost > 0
    assert waves.balance().spent == sum(waves.bill()["cost"]) > receipts[0].cost


def test_labels_over_one_table_are_learned_at_once():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 8))
    labels = {f"above 0 in {f}": (X, (X[:, f] > 0).astype(int)) for f in range(3)}
    waves = thrifty.Lifetime(random_state=0)
    waves.learn_many(labels, n_jobs=2, spend="5 %")
    at_once = thrifty.Lifetime(random_state=0)
    at_once.learn(list(labels), X, {name: y for name, (_, y) in labels.items()}, spend="15 %")
    for name in labels:
        assert waves._state.tasks[name].receipt == at_once._state.tasks[name].receipt
        p = [life[name].model.predict_proba(X) for life in (waves, at_once)]
        assert np.array_equal(*p)


def test_what_is_paid_for_is_bought_in_turn_and_never_twice():
    rng = np.random.default_rng(3)
    X, sold = rng.normal(size=(150, 5)), []
    source = table_seller(X, sold=sold, boolean=False, prices=1)
    life = thrifty.Lifetime(random_state=0)
    tasks = [(f"t{j}", source, (X[:, j] > 0).astype(int)) for j in range(2)]
    life.learn_many(tasks, n_jobs=2, engine="threads", wave=2, spend=100)
    assert len(sold) == len(set(sold)) == life.balance().spent


@pytest.mark.parametrize("wave", [0, -1, 2.5, "eight"])
def test_a_wave_is_a_whole_number(wave):
    with pytest.raises(thrifty.errors.BadParameter, match="wave must be"):
        thrifty.Lifetime().learn_many([], wave=wave)


def test_a_task_that_is_wrong_says_so_in_its_turn():
    good = next(iter(tasks()))
    life = thrifty.Lifetime(FAMILIES["priced"], random_state=0)
    with pytest.raises(thrifty.errors.BadInput, match="one label per example"):
        life.learn_many([good, ("wrong", good[1].copy(), good[2][:-1])], n_jobs=2, wave=2)
    assert list(life) == [good[0]]
