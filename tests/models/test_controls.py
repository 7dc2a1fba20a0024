"""Rows of earlier tasks as controls: kept as all rows are spread, borrowed, tested for drift."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import thrifty
from thrifty.cells import Cells
from thrifty.labels.classes import read_classes
from thrifty.models.buying.halving import Halving
from thrifty.models.fits.mixture import fit_mixture_left_out
from thrifty.models.memory.controls import controls_of, remember_controls
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.purses.purse import Basket


def people(n, seed, features=20, share=0.05, moved=0.0):
    """Numbers of which each label has four of its own; the label is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) + moved
    mine = np.random.default_rng(1000 + seed).permutation(features)[:4]
    score = (X[:, mine] - moved).sum(axis=1) + rng.logistic(size=n)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


def buy(memory, X, y, cells, seed=0):
    return Halving().buy(Cells(X), read_classes(y), memory, cells, np.random.default_rng(seed))


@cache
def after_six_tasks():
    memory = Memory()
    for seed in range(6):
        X, y = people(1500, seed)
        memory = memory.after(buy(memory, X, y, 1200.0, seed).lesson, X.shape[1])
    return memory


def test_kept_rows_are_spread_as_all_rows_are():
    X, y = people(4000, 0, share=0.2)
    X[:, 0] = y  # one column is the label: among all rows a fifth
    basket = Basket(Cells(X), y, 1e9, np.random.default_rng(0))
    assert basket.buy(np.arange(20), 240) and basket.buy(np.array([3]), 400)
    rng = np.random.default_rng(0)
    rows = remember_controls(basket.columns, basket.codes, np.bincount(y), 0, rng)
    kept = controls_of(Memory().after(Lesson(controls=rows), 20))
    assert 0.1 < kept.of(0)[1].mean() < 0.3  # half of those bought
    assert len(kept.of(3)[0]) > len(kept.of(0)[0]) > 100
    rows = {round(x, 9) for x in X[:, 3].tolist()}
    assert all(round(x, 9) in rows for x in kept.of(3)[1].tolist())
    filled = kept.filled(np.array([0, 3]), np.arange(kept.n_rows), np.random.default_rng(0))
    assert (filled[kept.of(3)[0], 1] == kept.of(3)[1]).all() and np.isfinite(filled).all()


def test_a_later_task_begins_with_its_rare_class_and_borrows_others():
    X, y = people(1500, 77)
    fresh, later = buy(Memory(), X, y, 1200.0), buy(after_six_tasks(), X, y, 1200.0)
    own = later.table.rows >= 0
    assert fresh.info["controls"] == 0 and later.info["controls"] > 50
    rare = [t.labels[:40].mean() for t in (fresh.table, later.table)]
    assert rare[0] == 0.5 and rare[1] > 0.65
    weights = later.table.weights
    assert weights.sum() == pytest.approx(1500) and own.sum() < later.table.n_rows
    assert weights[later.table.labels == 1].sum() == pytest.approx(y.sum())


@pytest.mark.slow
def test_later_tasks_are_better_for_the_same_bill():
    def auc(life, seed):
        X, y = people(3500, seed)
        learned = life.learn(f"{seed}", X[:1500], y[:1500], spend=600.0)
        return roc_auc_score(y[1500:], learned.model.predict_proba(X[1500:])[:, 1])

    def new():
        return thrifty.Lifetime(thrifty.Models(random_state=0))

    life = new()
    with_memory = [auc(life, seed) for seed in range(7)][4:]
    assert np.mean(with_memory) > np.mean([auc(new(), seed) for seed in range(4, 7)]) + 0.02


def test_another_population_is_noticed_and_the_same_one_is_not():
    memory = after_six_tasks()
    same = [buy(memory, *people(1500, 50 + s), 1200.0).info["drift"] for s in range(6)]
    moved = [buy(memory, *people(1500, 70 + s, moved=1.5), 1200.0) for s in range(3)]
    assert not any(same)
    assert all(found.info["drift"] and found.info["controls"] == 0 for found in moved)
    assert all(0.3 < found.table.labels.mean() < 0.7 for found in moved)  # evened out


def test_borrowed_rows_leave_probabilities_honest():
    X, y = people(6000, 3, features=4, share=0.3)
    rare, others = np.flatnonzero(y[:500]), np.flatnonzero(y[:500] == 0)[:60]
    lent = np.arange(500, 900)  # of the population: their labels are not told
    at = np.concatenate([rare, others, lent])
    codes = np.concatenate([np.ones(len(rare), int), np.zeros(60 + len(lent), int)])
    sizes = np.array([0.7, 0.3]) * 500
    weights = (sizes / np.bincount(codes))[codes]
    borrowed = np.arange(len(at)) >= len(at) - 400
    model, _ = fit_mixture_left_out(X[at], codes, weights, borrowed=borrowed)
    as_others, _ = fit_mixture_left_out(X[at], codes, weights)
    mean = [m.predict_proba(X[900:])[:, 1].mean() for m in (model, as_others)]
    assert mean[0] == pytest.approx(0.3, rel=0.12)
    assert abs(mean[0] - 0.3) < abs(mean[1] - 0.3)
