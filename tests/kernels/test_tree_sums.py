"""Trees added up by a kernel, against walking them one row at a time in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thrifty.models.fits.boosting import grow_boosted, grow_extra_trees
from thrifty.models.fits.tree_sums import TreeSum


def plain_scores(trees: TreeSum, values):
    found = np.tile(trees.base, (len(values), 1))
    for i, row in enumerate(values.tolist()):
        for root, c in zip(trees.roots.tolist(), trees.column.tolist()):
            at = root
            while trees.left[at] != at:
                x = row[trees.feature[at]]
                known, chosen = trees.sets.get(at, ((), ()))
                if math.isnan(x) or (at in trees.sets and x not in known):
                    to_left = trees.gap_left[at]
                else:
                    to_left = x in chosen if at in trees.sets else x <= trees.threshold[at]
                at = int(trees.left[at] if to_left else trees.right[at])
            found[i, c] += trees.value[at]
    return found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("categories", [False, True])
def test_the_sum_is_that_of_plain_walks(classes, categories):
    rng = np.random.default_rng(classes)
    X = np.column_stack([rng.integers(0, 6, 160), rng.normal(size=(160, 3))]).astype(float)
    y = (np.nan_to_num(X[:, 1]) + (X[:, 0] == 2) > 0.3).astype(np.int64)
    y[X[:, 2] > 1.2] = classes - 1
    X[rng.random(X.shape) < 0.1] = np.nan
    cut = np.array([categories, False, False, False])
    asked = X.copy()
    asked[::9, 0] = 17.0  # never seen
    for trees in (
        grow_boosted(X, y, np.ones(160), cut, 0),
        grow_extra_trees(X, y, np.ones(160), cut, 0),
    ):
        assert bool(trees.sets) == categories
        assert np.allclose(trees.scores(asked), plain_scores(trees, asked), atol=1e-12)


def test_no_rows_and_columns_in_any_layout():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    trees = grow_extra_trees(X, (X[:, 0] > 0).astype(np.int64), np.ones(200), np.zeros(3, bool), 0)
    assert trees.scores(X[:0]).shape == (0, 1)
    assert np.array_equal(trees.scores(np.asfortranarray(X)), trees.scores(X))
