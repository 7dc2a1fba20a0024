"""How long and how wide a table of classes becomes: rows and features compete for the money."""

import numpy as np

import thrifty


def _table(n_telling: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 60))
    effect = X[:, :n_telling].sum(axis=1) / n_telling**0.5
    return X, (effect + rng.normal(size=900) > 0).astype(int)


def _learned(X: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    life = thrifty.Lifetime(thrifty.Models(random_state=0))
    table = life.learn("t", X, y, spend="40 %").model.table_
    return table.n_rows, len(table.features)


def test_where_most_features_tell_half_of_the_rows_are_enough_while_they_wait():
    rows, features = _learned(*_table(60))
    assert rows <= 500 and features >= 36


def test_where_few_features_tell_rows_are_not_kept_back():
    rows, features = _learned(*_table(2))
    assert rows > 700 and features < 36
