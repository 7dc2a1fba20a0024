"""The slope and intercept of a calibration are the best there are, however steep the scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from thrifty.models.fits.logistic import fit_slope, slope_losses


@pytest.mark.parametrize("steep", [0.3, 1, 3, 8])
def test_no_other_slope_has_a_lower_loss(steep):
    rng = np.random.default_rng(int(10 * steep))
    for _ in range(20):
        scores = rng.normal(2 * rng.normal(), steep, rng.integers(40, 400))
        told = scores * rng.uniform(0.15, 3) - 1
        codes = (rng.random(len(scores)) < 1 / (1 + np.exp(-told))).astype(np.int64)
        codes[:2] = 0, 1
        weights = rng.uniform(0.5, 2, len(scores))

        def loss(at, scores=scores, codes=codes, weights=weights):
            eta = at[0] + at[1] * scores
            return np.average(np.logaddexp(0, eta) - codes * eta, weights=weights)

        best = minimize(loss, [0, 1], method="L-BFGS-B", bounds=[(-60, 60), (0.2, 5)]).fun
        assert fit_slope(scores[:, None], codes, weights)[1] <= best + 1e-4
        assert slope_losses(scores[:, None], codes, weights)[0] <= best + 1e-4
