"""Points added up by a kernel, against looking up each bin in plain Python."""

import numpy as np
import pytest

from thrifty.models.scorecard import Bins, Points


def card(classes: int) -> Points:
    rng = np.random.default_rng(classes)
    bins = (
        Bins(np.array([-1.0, 0.0, 2.0]), None, np.array([1.0, 2, 3, 4, 5])),
        Bins(np.zeros(0), ((1.0, 4.0), (2.0,)), np.array([1.0, 1, 0])),
        Bins(np.array([0.5]), None, np.array([1.0, 1, 0])),  # no gap was seen
        Bins(np.array([0.5]), None, np.array([1.0, 1, 1])),  # says nothing
    )
    points = [rng.normal(size=(len(b), classes)) for b in bins[:3]]
    return Points(bins, rng.normal(size=classes), (*points, np.zeros((3, classes))))


@pytest.mark.parametrize("classes", [1, 3])
def test_the_sum_is_that_of_the_bins(classes):
    points = card(classes)
    rng = np.random.default_rng(9)
    X = np.column_stack(
        [rng.normal(size=300), rng.integers(0, 6, 300), rng.normal(size=300), rng.normal(size=300)]
    )
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0, 0], X[1, 0], X[2, 0] = -1.0, np.inf, -np.inf
    expected = np.tile(points.intercepts, (300, 1))
    for f, bins in enumerate(points.bins):
        for i, code in enumerate(bins.codes(X[:, f]).tolist()):
            if code >= 0:
                expected[i] += points.points[f][code]
    assert np.array_equal(points.scores(X), expected)
    assert np.array_equal(points.scores(np.asfortranarray(X)), expected)
    assert points.scores(X[:0]).shape == (0, classes)


def test_what_would_be_read_beyond_its_end_is_refused():
    points = card(1)
    with pytest.raises(ValueError, match="points of 4 features got 2"):
        points.scores(np.zeros((1, 2)))
    short = Points(points.bins, points.intercepts, (points.points[0][:2], *points.points[1:]))
    with pytest.raises(ValueError, match="2 lines of points for 5 bins"):
        short.scores(np.zeros((1, 4)))
