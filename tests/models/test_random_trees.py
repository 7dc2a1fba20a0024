"""Trees from scikit-learn's builder are those of its estimators, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.models.fits.boosting import _RandomTrees, grow_random_trees

LOOKED_AT = ("feature", "threshold", "children_left", "value", "weighted_n_node_samples")


def columns(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "numbers":
        return rng.normal(size=(150, 2))
    codes = rng.integers(0, 4 if kind == "four" else 2, (150, 3 if kind == "tasks" else 1))
    return 2 * codes if kind == "four" else codes  # classes need not be 0, 1, 2


@pytest.mark.parametrize("kind", ["two", "four", "tasks", "numbers"])
@pytest.mark.parametrize("alike", [True, False])
def test_they_are_those_of_the_estimators(kind, alike, monkeypatch):
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(150, 6)).astype(np.float32).round(1), columns(kind, rng)
    weights = np.ones(150) if alike else rng.uniform(0.5, 2.0, 150)
    how = {"n_trees": 5, "tried": 2, "in_leaf": 3, "seed": 7}
    by_builder, seen = _RandomTrees.by_builder, []

    def noted(trees):
        seen.append(by_builder(trees))
        return seen[-1]

    monkeypatch.setattr(_RandomTrees, "by_builder", noted)
    ours = grow_random_trees(table, y, weights, **how)
    assert ours is seen[0], "this version of scikit-learn is grown the long way"

    def another_version(trees):
        raise TypeError

    monkeypatch.setattr(_RandomTrees, "by_builder", another_version)
    theirs = grow_random_trees(table, y, weights, **how)
    assert len(ours) == len(theirs) == 5
    for one, other in zip(ours, theirs):
        for name in LOOKED_AT:
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert not np.array_equal(ours[0].threshold, ours[1].threshold)
