"""The theorems on monomials, and what the default mode promises, on seeded streams."""

import time

import numpy as np
import pytest

import thrifty
from tests.guarantees.lives import bill, bound, cells, scratch
from tests.guarantees.seeds import seeds, shifted
from thrifty.errors import NotEnoughExamples


def lived(family, stream, **more):
    """A lifetime that has learned the stream; every target must come out exactly."""
    life = thrifty.Lifetime(family, **more)
    for task in stream:
        model = life.learn(task.name, task.X, task.y).model
        assert model.exponents_ == task.target, task.name
    return life


@pytest.mark.parametrize(
    ("method", "rule"),
    [("paper", thrifty.bounds.monomials), ("features", thrifty.bounds.powers_features)],
)
def test_paper_mode_and_the_naive_baseline_keep_their_theorems(method, rule):
    sizes = (30, 60, 4, 1500)
    stream = thrifty.streams.monomials(*sizes, 6, random_state=shifted(0))
    life = lived(thrifty.Monomials(6, method=method), stream)
    assert scratch(life) <= 4 and (method == "features" or len(life.representation) <= 4)
    assert bill(life) <= bound(rule, sizes, max_degree=6)


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
    sizes = (100, 200, 8, 3000)
    stream = thrifty.streams.monomials(*sizes, 8, random_state=seed)
    life = lived(thrifty.Monomials(8, method="paper", delta=1e-4), stream)
    assert scratch(life) <= 8 and len(life.representation) <= 8
    assert bill(life) <= bound(thrifty.bounds.monomials, sizes, max_degree=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(8))
def test_default_mode_at_length(seed):
    stream = thrifty.streams.monomials(200, 1000, 10, 300, 10, random_state=seed)
    life = lived(thrifty.Monomials(10), stream)
    assert len(life) == 200 and len(life.representation) <= 10
    assert bill(life) <= 300_000
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
    assert scratch(life) <= 10 and len(life.representation) <= 10
