"""What would be noticed if parts of a fit were wrong: held-out losses, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells, as_source
from thrifty.models.fits.line import LineDesign
from thrifty.models.fits.logistic import fit_slope
from thrifty.models.purses.purse import Basket


def held_out_loss(slope, scores, y):
    eta = slope * scores
    return float(np.mean(np.logaddexp(0.0, eta) - y * eta))


@pytest.mark.parametrize("steep", [0.4, 1.0])
def test_scores_that_are_too_steep_or_too_flat_are_mended_for_new_rows(steep):
    rng = np.random.default_rng(0)
    truth = 1.5 * rng.normal(size=4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    weights = rng.uniform(0.2, 1.8, size=4000)
    some, new = slice(0, 1000), slice(1000, None)
    scores = steep * truth
    slope, _ = fit_slope(scores[some, None], y[some], weights[some])
    best = min(held_out_loss(s, scores[new], y[new]) for s in np.geomspace(0.2, 5.0, 60))
    assert held_out_loss(slope, scores[new], y[new]) < best + 0.003


def test_which_of_two_classes_is_called_the_first_changes_no_line():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 6))
    y = (X[:, 0] + rng.logistic(size=150) > -2.5).astype(np.int64)  # nine of ten are of class 1
    design = LineDesign.of(X, np.zeros(6, bool))
    rows, ones = np.arange(150), np.ones(150)
    this, other = (design.fit(rows, codes, 2, ones).scores(X)[:, 0] for codes in (y, 1 - y))
    assert np.abs(this).max() > 1
    assert np.abs(this + other).max() < 0.01 * np.abs(this).max()


def test_classes_take_turns_from_where_they_were_told_to():
    codes = np.repeat([0, 1, 2], [200, 60, 40])
    rows = np.random.default_rng(2).permutation(300)
    cells = Cells(as_source(rows[:, None].astype(float)), spend=300.0)
    basket = Basket(cells, codes[rows], 300.0, np.random.default_rng(3), others=50.0)
    before = basket.order[:30].tolist()
    basket.even_out(30)
    assert basket.order[:30].tolist() == before and sorted(basket.order) == list(range(300))
    assert (basket.codes == codes[rows][basket.order]).all()
    assert np.bincount(basket.codes[:120]).tolist() == [40, 40, 40]  # as long as all have rows
    assert np.bincount(basket.codes[120:160]).tolist() == [20, 20]


def test_another_seed_looks_at_other_rows_and_the_same_at_the_same():
    rng = np.random.default_rng(4)
    X = rng.random((300, 12)) < 0.4
    y = X[:, 0] | X[:, 1]

    def said(seed):
        model = thrifty.ModelClassifier(spend=600, random_state=seed).fit(X, y)
        return model.predict_proba(X)[:, 1]

    first = said(1)
    assert (first == said(1)).all() and (first != said(2)).any()
