"""Details of models that a small change would break unnoticed."""

from __future__ import annotations

import numpy as np

import thrifty
from thrifty.models.fits.quality_wide import table_without


def test_another_seed_buys_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = X[:, 0] + rng.normal(size=400) > 0
    bought = [
        set(thrifty.ModelClassifier(spend=800, random_state=s).fit(X, y).table_.rows.tolist())
        for s in (1, 2, 1)
    ]
    assert bought[0] == bought[2] != bought[1]


def test_what_no_row_has_said_is_not_taken_out_of_a_belief():
    """Beliefs without some rows: without none they stay, without rare ones they come down."""
    rng = np.random.default_rng(1)
    X = rng.random((600, 80)) < 0.08
    y = X[:, 0] | (X[:, 1] & (rng.random(600) < 0.8))
    table = thrifty.ModelClassifier(spend=6000, random_state=0).fit(X, y).table_
    assert table.effects is not None
    none = table_without(table, np.array([], dtype=np.int64))
    assert np.array_equal(none.effects, table.effects)
    telling = np.flatnonzero((table.labels == 1) & (table.values[:, 0] == 1))[:5]
    without = table_without(table, telling)
    assert without.effects[0, 0] < table.effects[0, 0] - 0.1
