"""How long and how wide a table of classes becomes: rows and features compete for the money."""

import numpy as np
from sklearn.metrics import roc_auc_score

import thrifty


def _table(n_telling: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 60))
    effect = X[:, :n_telling].sum(axis=1) / n_telling**0.5
    return X, (effect + rng.normal(size=900) > 0).astype(int)


def _learned(X: np.ndarray, y: np.ndarray) -> thrifty.ModelClassifier:
    life = thrifty.Lifetime(thrifty.Models(random_state=0))
    return life.learn("t", X, y, spend="40 %").model


def test_where_most_features_tell_half_of_the_rows_are_enough_while_they_wait():
    table = _learned(*_table(60)).table_
    assert table.n_rows <= 500 and table.width >= 36


def test_where_few_features_tell_the_model_is_nearly_as_good_as_with_them_alone():
    """They alone: .833."""
    new, truth = _table(2, seed=1)
    model = _learned(*_table(2))
    assert {0, 1} <= set(model.features_.tolist())
    assert roc_auc_score(truth, model.predict_proba(new)[:, 1]) > 0.8
