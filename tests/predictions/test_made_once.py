"""Orders and prefixes are made once, kept in the store, and loaded with the model."""

from __future__ import annotations

import numpy as np

import thrifty
from thrifty.models.asking import ask


def test_reopened_store_has_the_prefixes_and_answers_the_same(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = (X[:, 1] + 0.5 * X[:, 4] + 0.5 * rng.normal(size=400) > 0).astype(int)
    new = rng.normal(size=(80, 6))
    with thrifty.Lifetime(store=tmp_path / "life.db", random_state=0) as life:
        life.learn("ill", X, y, spend="80 %")
        first = life.predict("ill", new.copy(), stop=thrifty.Sure(0.8))
    made = []
    fit = ask.fit_prefixes
    monkeypatch.setattr(ask, "fit_prefixes", lambda *a, **k: made.append(1) or fit(*a, **k))
    with thrifty.Lifetime.open(tmp_path / "life.db") as life:
        again = life.predict("ill", new.copy(), stop=thrifty.Sure(0.8))
        assert made == []
        assert np.allclose(again.probabilities, first.probabilities, atol=1e-6)
        assert again.stopped == first.stopped
        life.change(prices=[1, 1, 1, 1, 1, 9])  # other prices, another order
        life.predict("ill", new.copy(), stop=thrifty.Sure(0.8))
        assert made == [1]
