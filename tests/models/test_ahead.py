"""Which plan spends a given mean: the best, and of those that look alike the one that uses it."""

import numpy as np
import pytest

from thrifty.models.asking.ahead import plan_for
from thrifty.models.asking.ladder import Prefix, Prefixes
from thrifty.models.fits.calibration import Scaling


def prefixes(likelihoods):
    """Prefixes of 0, 1, 2, ... features; of each, how likely it held the true class of each row."""
    p = np.array(likelihoods)
    codes = np.arange(p.shape[1]) % 2
    seen = np.where(codes[None, :, None] == np.arange(2), p[:, :, None], 1 - p[:, :, None])
    same = Scaling(1.0, np.zeros(2))
    parts = tuple(Prefix(tuple(range(k)), float(k), None, same) for k in range(len(p)))
    return Prefixes(parts, np.arange(2), np.full(2, 0.5), seen, codes, np.ones(p.shape[1]))


def rows(mean, n=200, spread=0.15):
    rng = np.random.default_rng(int(1000 * mean))
    return np.clip(mean + spread * rng.normal(size=n), 0.05, 0.95)


@pytest.mark.parametrize(("last", "spent"), [(0.69, 3.0), (0.5, 1.0)])
def test_money_is_used_unless_that_is_seen_to_harm(last, spent):
    """One feature looks best; three look as good to so few rows, or plainly worse."""
    made = prefixes([rows(0.5), rows(0.7), rows(0.6), rows(last)])
    assert made.losses().argmin() == 1
    assert plan_for(made, 3.0).mean == pytest.approx(spent, abs=0.05)


def test_a_plan_that_uses_the_money_is_the_best_one():
    made = prefixes([rows(0.5), rows(0.6), rows(0.7), rows(0.8)])
    assert plan_for(made, 3.0).loss == pytest.approx(made.losses()[3], rel=1e-6)
    assert plan_for(made, 1.0).mean <= 1.0
