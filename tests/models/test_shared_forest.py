"""Tasks on the same rows may share a forest: where rows left out ask for it, and nowhere else."""

from __future__ import annotations

import numpy as np

from thrifty.models.asking.order import Order
from thrifty.models.asking.prefixes import fit_lengths, scaled
from thrifty.models.asking.shared_forest import with_shared_forest
from thrifty.models.table import Table

N, WIDTH = 240, 6


def fits_of(X, Y):
    order = Order(((), *((f,) for f in range(WIDTH))), (0.0,) + (1.0,) * WIDTH)
    parted = [(np.flatnonzero(np.arange(N) % 2 == i), order) for i in (0, 1)]
    keys = np.arange(1, N + 1, dtype=np.uint64)
    out = []
    for y in Y.T:
        whole = np.ones(X.shape, dtype=bool)
        table = Table(np.arange(WIDTH), np.arange(N), X, whole, np.ones(N), y, keys=keys)
        out.append(fit_lengths(table, order, sizes=[1, 4, 6], parted=parted))
    return out


def loss(fit, k):
    right = fit.p[k][np.arange(N), fit.table.labels]
    return -np.log(right).mean()


def test_labels_of_one_structure_share_trees_and_say_what_their_models_do():
    """Eight corners of a cube, far from additive: each label alone has 30 rows."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 8, N)
    bits = (corner[:, None] >> np.arange(3)) & 1
    X = np.hstack([2.0 * bits, 2.0 * (bits ^ bits[:, [1, 2, 0]])]) + rng.normal(size=(N, WIDTH))
    fits = fits_of(X, (corner[:, None] == np.arange(4)).astype(int))
    shared = with_shared_forest(fits, [1.0] * 4, 0)
    last = len(fits[0].models) - 1
    assert sum(loss(f, last) for f in shared) < 0.97 * sum(loss(f, last) for f in fits)
    # of rows that were seen, more is known than of those left out; but about the same
    for before, fit in zip(fits, shared):
        assert fit.models[1] is before.models[1]  # one feature: no forest
        model = fit.models[last]
        assert model is not before.models[last]
        told = model.predict_proba(X[:, fit.beginnings[last]])[:, 1]
        assert abs(np.corrcoef(told, fit.p[last][:, 1])[0, 1]) > 0.6
        assert abs(told.mean() - fit.table.labels.mean()) < 0.06
    made = scaled(shared[0], lambda had, want: float(len(set(want) - set(had))))
    assert made.seen.shape == (len(fits[0].models), N, 2)


def test_labels_that_lines_tell_keep_their_own_models():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, WIDTH))
    Y = (X[:, :3] * 2 + rng.logistic(size=(N, 3)) > 0).astype(int)
    fits = fits_of(X, Y)
    assert with_shared_forest(fits, [1.0] * 3, 0) == fits
