"""Long tables: columns that tell only together are kept, rare rows are all looked at."""

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadInput

N, WIDTH = 24_000, 20


def test_a_long_table_of_gaps_is_refused():
    X = np.full((N, WIDTH), np.nan)
    source = thrifty.Source.from_array(X, allow_missing=True)
    with pytest.raises(BadInput, match="are missing on the"):
        thrifty.Lifetime().learn("a", source, np.arange(N) % 2, spend="5 %")


def test_tails_of_many_rows_are_kept():
    """A class of 1 in 200 is told by the ends of a number, which a short table cuts off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 8))
    score = 2 * X[:, 0] + X[:, 1]
    y = score > np.quantile(score, 0.995)
    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("a", X, y, spend="20 %")
    new = np.zeros((2, 8))
    new[:, 0] = 2.2, 3.2
    low, high = learned.model.predict_proba(new)[:, 1]
    assert high > 1.5 * low
