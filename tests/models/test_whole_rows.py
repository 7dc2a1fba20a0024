"""Whole rows show what unseen features add to a wide score; the mean probability is the share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import thrifty
from thrifty.models.fits.linear_score import fit_linear


def words(n, rng, N=1500, share=0.03):
    """Texts: long ones hold many words together; the rare class has some of its own."""
    y = rng.random(n) < share
    rate = np.full(N, 0.02)
    length = np.exp(0.8 * rng.normal(size=(n, 1)))
    p = np.clip(rate * length, 0, 0.9)
    p[:, :40] = np.clip(p[:, :40] * np.where(y, 5.0, 1.0)[:, None], 0, 0.9)
    return rng.random((n, N)) < p, y


def test_the_mean_probability_is_near_the_share_where_whole_rows_can_be_paid():
    rng = np.random.default_rng(0)
    X, y = words(1500, rng)
    asked, _ = words(6000, rng)
    learned = thrifty.Lifetime(random_state=0).learn("rare", X, y, spend="10 %")
    table = learned.model.table_
    assert table.bought[table.labels == 0].all(axis=1).sum() >= 30  # whole rows, for this
    mean = learned.model.predict_proba(asked)[:, 1].mean()
    assert mean == pytest.approx(y.mean(), rel=0.35)
    # without them it is further off: what was not bought counts as if it were always at its mean
    others = np.flatnonzero(table.labels == 0)
    cut = table.bought.copy()
    cut[others[:30], np.argmin(table.bought[others].mean(axis=0))] = False
    before = fit_linear(replace(table, bought=cut))
    values = asked[:, learned.model.features_].astype(float)
    off = abs(np.log(before.predict_proba(values)[:, 1].mean() / y.mean()))
    line = learned.model.estimator_.linear.predict_proba(values)[:, 1].mean()
    assert abs(np.log(line / y.mean())) < off
