"""The default model: at least as good as the better of its parts, honest, kept as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss

from thrifty.errors import BadInput
from thrifty.models.fits.mixture import fit_mixture, mixture_from_dict


def rows(n, seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    logit = X[:, 0] + X[:, 1] - 1.5 if kind == "additive" else 3 * X[:, 0] * X[:, 1] - 1.5
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_the_mixture_follows_the_data():
    card_like = fit_mixture(*rows(500, 0, "additive"), np.ones(500))
    tree_like = fit_mixture(*rows(500, 0, "crossed"), np.ones(500))
    of_trees = [model.shares[2] / sum(model.shares[:3]) for model in (card_like, tree_like)]
    assert of_trees[0] < 0.4 < of_trees[1]
    X, y = rows(2000, 1, "crossed")
    alone = tree_like.card.scores(X)[:, 0]
    assert log_loss(y, tree_like.predict_proba(X)) < log_loss(y, 1 / (1 + np.exp(-alone))) - 0.05


def test_weights_give_the_shares_of_the_whole_task():
    X, y = rows(3000, 2, "additive")
    many = np.flatnonzero(y == 0)
    kept = np.concatenate([np.flatnonzero(y == 1), many[: len(many) // 8]])
    weights = np.where(y[kept] == 1, 1.0, 8.0)
    model = fit_mixture(X[kept], y[kept], weights)
    asked, truth = rows(3000, 3, "additive")
    assert model.predict_proba(asked)[:, 1].mean() == pytest.approx(truth.mean(), rel=0.1)
    assert fit_mixture(X[kept], y[kept], np.ones(len(kept))).predict_proba(asked)[:, 1].mean() > 0.5


def test_json_and_back_and_classes_by_code():
    X, y = rows(300, 4, "crossed")
    y = np.where(np.nan_to_num(X[:, 2]) > 1, 5, y)  # codes need not be dense
    model = fit_mixture(X, y, np.ones(300))
    again = mixture_from_dict(json.loads(json.dumps(model.to_dict())))
    assert model.classes_.tolist() == [0, 1, 5] and model.trees is not None
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(300))


def test_the_same_seed_gives_the_same_model():
    X, y = rows(200, 5, "additive")
    first, second = (fit_mixture(X, y, np.ones(200), seed=7) for _ in range(2))
    assert (first.predict_proba(X) == second.predict_proba(X)).all()


@pytest.mark.parametrize("rare", [1, 2, 5])
def test_few_rows_of_a_class(rare):
    X, _ = rows(60, 6, "additive")
    y = np.zeros(60, dtype=int)
    y[:rare] = 1
    X[:rare, 0] = 4.0
    model = fit_mixture(X, y, np.ones(60))
    assert model.trees is None
    p = model.predict_proba(X)[:, 1]
    assert p[:rare].min() > p[rare:].mean()


def test_one_class_is_refused():
    with pytest.raises(BadInput, match="two classes"):
        fit_mixture(np.zeros((4, 1)), np.ones(4, dtype=int), np.ones(4))


def test_gaps_everywhere_and_constant_columns():
    X = np.column_stack([np.full(80, np.nan), np.full(80, 2.0), np.arange(80.0)])
    model = fit_mixture(X, (np.arange(80) > 40).astype(int), np.ones(80))
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict(X).tolist()[:5] == [0] * 5
