"""What would be noticed if parts of a fit were wrong: held-out losses, and what must not matter."""

import numpy as np
import pytest
from scipy.special import expit

from thrifty.models.fits.adaptive_ridge import fit_penalised
from thrifty.models.fits.calibration import fit_slope


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


@pytest.mark.parametrize("shrinkage", [20.0, 1e-3])
def test_few_columns_are_fitted_to_the_very_minimum(shrinkage):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 4)) * [1, 5, 0.2, 0]
    y = (columns[:, 0] + 0.5 * columns[:, 1] + rng.logistic(size=200) > 1).astype(np.int64)
    at, found = fit_penalised(columns, y, 2, np.ones(200), shrinkage)
    wrong = expit(columns @ found[:, 0] + at) - y
    assert np.abs(columns.T @ wrong + shrinkage * found[:, 0]).max() < 1e-3
    assert abs(wrong.sum()) < 1e-3


def test_classes_that_a_column_parts_wholly_are_fitted_too():
    x = np.linspace(-1, 1, 60)[:, None]
    at, found = fit_penalised(x, (x[:, 0] > 0).astype(np.int64), 2, np.ones(60), 1e-3)
    assert 10 < found[0, 0] < 1e3 and abs(at[0]) < 1
