"""The theorems on monomials, and what the default mode promises, on seeded streams."""

import time

import numpy as np
import pytest

import thrifty
from tests.guarantees.seeds import seeds, shifted
from thrifty.errors import NotEnoughExamples


def lived(family, stream, **more):
    """A lifetime that has learned the stream; every target must come out exactly."""
    life = thrifty.Lifetime(family, **more)
    for task in stream:
        model = life.learn(task.name, task.X, task.y).model
        assert model.exponents_ == task.target, task.name
    return life


def cells(life, route):
    return np.array([task.receipt.cells for task in life.tasks if task.route == route])


def test_paper_mode_keeps_its_theorem():
    size = {"n_tasks": 30, "n_features": 60, "n_metafeatures": 4, "n_examples": 1500}
    life = lived(
        thrifty.Monomials(6, method="paper"),
        thrifty.streams.monomials(*size.values(), 6, random_state=shifted(0)),
    )
    assert len(cells(life, "scratch")) <= 4 and len(life.representation) <= 4
    total = sum(task.receipt.cells for task in life.tasks)
    assert total <= thrifty.bounds.monomials(**size, max_degree=6)


def test_the_naive_baseline_keeps_its_theorem():
    size = {"n_tasks": 30, "n_features": 60, "n_metafeatures": 4, "n_examples": 1500}
    life = lived(
        thrifty.Monomials(6, method="features"),
        thrifty.streams.monomials(*size.values(), 6, random_state=shifted(0)),
    )
    assert len(cells(life, "scratch")) <= 4
    total = sum(task.receipt.cells for task in life.tasks)
    assert total <= thrifty.bounds.powers_features(**size, max_degree=6)


def test_paper_mode_with_too_few_rows_is_loud_and_stays_clean():
    life = thrifty.Lifetime(thrifty.Monomials(6, method="paper"))
    refused = 0
    for task in thrifty.streams.monomials(20, 60, 4, 60, 6, random_state=shifted(1)):
        try:
            learned = life.learn(task.name, task.X, task.y)
        except NotEnoughExamples as error:
            refused += 1
            assert error.failure.details["rows_needed"] > 60
        else:
            assert learned.model.exponents_ == task.target
        assert len(life.representation) <= 4
    assert refused > 10


def test_default_mode_in_small():
    stream = thrifty.streams.monomials(60, 200, 6, 150, 8, random_state=shifted(5))
    life = lived(thrifty.Monomials(8), stream)
    assert len(life.representation) <= 6
    reused = cells(life, "reused")
    assert len(reused) >= 54 and np.median(reused) <= 20  # one row of the features seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(6))
def test_paper_mode_at_length(seed):
    size = {"n_tasks": 100, "n_features": 200, "n_metafeatures": 8, "n_examples": 3000}
    life = lived(
        thrifty.Monomials(8, method="paper", delta=1e-4),
        thrifty.streams.monomials(*size.values(), 8, random_state=seed),
    )
    assert len(cells(life, "scratch")) <= 8 and len(life.representation) <= 8
    total = sum(task.receipt.cells for task in life.tasks)
    assert total <= thrifty.bounds.monomials(**size, max_degree=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(8))
def test_default_mode_at_length(seed):
    stream = thrifty.streams.monomials(200, 1000, 10, 300, 10, random_state=seed)
    life = lived(thrifty.Monomials(10), stream)
    assert len(life) == 200 and len(life.representation) <= 10
    assert sum(task.receipt.cells for task in life.tasks) <= 300_000
    assert np.median(cells(life, "reused")) <= 40
    assert cells(life, "scratch").max() <= 80 * 1000


@pytest.mark.slow
def test_scratch_with_ten_thousand_features():
    stream = thrifty.streams.monomials(
        5, 10_000, 5, 300, 5, random_state=shifted(0), metafeature_degree=5
    )
    for task in stream:
        life = thrifty.Lifetime(thrifty.Monomials(5))
        start = time.process_time()
        learned = life.learn(task.name, task.X, task.y)
        assert time.process_time() - start < 10
        assert learned.model.exponents_ == task.target
        assert learned.receipt.cells <= 80 * 10_000


@pytest.mark.slow
def test_the_bill_grows_with_the_slope_of_a_reused_task():
    stream = thrifty.streams.monomials(5000, 1000, 10, 60, 10, random_state=shifted(7))
    life = lived(thrifty.Monomials(10), stream)
    bill = np.cumsum([task.receipt.cells for task in life.tasks])
    slope = (bill[-1] - bill[499]) / (5000 - 500)
    assert slope == pytest.approx(np.median(cells(life, "reused")), rel=0.05)
    assert len(cells(life, "scratch")) <= 10 and len(life.representation) <= 10
