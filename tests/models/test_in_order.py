"""Buying one feature at a time: rows, probes and money."""

import numpy as np
import pytest

import thrifty
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.labels.classes import read_classes
from thrifty.models.buying import in_order
from thrifty.models.buying.in_order import InOrder
from thrifty.models.memory.memory import Memory


def _task(n=600, n_features=12, rare=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    y = np.zeros(n, dtype=int)
    y[np.argsort(-X[:, 3] - 0.3 * rng.normal(size=n))[:rare]] = 1
    return X, y


def test_features_are_compared_on_rows_that_they_are_bought_on(monkeypatch):
    """A probe of 150 rows of each class, where three for each of 40 rare ones are bought."""
    seen = []
    real = in_order._FewFeatures._one_more

    def one_more(self):
        seen.append((self.looked, self.rows))
        return real(self)

    monkeypatch.setattr(in_order._FewFeatures, "_one_more", one_more)
    X, y = _task()
    cells = Cells(X)
    bought = InOrder().buy(cells, read_classes(y), Memory(), 0.6 * X.size, np.random.default_rng(0))
    assert bought.table.features[0] == 3
    assert seen and all(0 < probe <= rows for probe, rows in seen)


@pytest.mark.parametrize("spend", [0.0, 1.0, 30.0, 200.0, 900.0])
def test_little_money_is_spent_or_refused_with_a_word(spend):
    X, y = _task()
    names = [f"x{i}" for i in range(12)]
    cells = Cells(X, thrifty.PriceList({name: 1.0 + i for i, name in enumerate(names)}))
    try:
        bought = InOrder().buy(cells, read_classes(y), Memory(), spend, np.random.default_rng(0))
    except BadInput as error:
        assert "which costs" in str(error) and "Raise spend=" in str(error)
        assert cells.receipt().cost == 0
    else:
        assert len(bought.table.features)
        assert cells.receipt().cost <= spend + 1e-6
