"""Models through a lifetime: the bill, the store, users' estimators."""

import numpy as np
import pytest

import thrifty


def words(seed: int, n: int = 1200, N: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Sparse Boolean features; a rare label that six of them tell."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, N)) < rng.uniform(0.02, 0.2, N)
    logits = -3.5 + 2.5 * X[:, :6].sum(axis=1)
    return X, (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """One task, learned into a store: for tests that only read it."""
    X, y = words(2)
    place = tmp_path_factory.mktemp("texts") / "a.db"
    life = thrifty.Lifetime(thrifty.Models(random_state=3), store=place)
    return X, y, place, life, life.learn("t", X, y, spend="5 %").model


def test_the_useful_features_are_found() -> None:
    X, y = words(1)
    found = []
    for seed in range(3):
        model = thrifty.Lifetime(random_state=seed).learn("t", X, y, spend="10 %").model
        found.append(len(set(range(6)) & set(model.features_[:12].tolist())))
    assert np.mean(found) >= 4


def test_only_the_needed_features_are_read(texts) -> None:
    X, _, _, _, model = texts
    other = np.asarray(X).copy()
    unread = np.setdiff1d(np.arange(X.shape[1]), model.features_)
    other[:, unread] = ~other[:, unread]
    assert np.array_equal(model.predict_proba(X), model.predict_proba(other))


def test_a_store_gives_the_same_model_and_memory(texts) -> None:
    X, _, place, life, model = texts
    again = thrifty.Lifetime.open(place)
    assert np.allclose(again["t"].model.predict_proba(X), model.predict_proba(X))
    kept, ours = (one.representation.background(X.shape[1]) for one in (again, life))
    assert np.array_equal(kept, ours) and np.sum(ours) > 0


def test_a_cohort_is_paid_once_and_owned_by_later_tasks(tmp_path) -> None:
    X, y = words(7)
    source = thrifty.Source.from_array(X, examples=range(len(X)), name="texts")
    life = thrifty.Lifetime(store=tmp_path / "a.db")
    assert life.background(source, rows=200).cells == 200 * X.shape[1]
    learned = life.learn("t", source, y, spend="3 %")
    assert learned.receipt.cells <= 0.03 * X.size
    assert learned.receipt.reused_cells >= 200 * X.shape[1]
    again = thrifty.Lifetime.open(tmp_path / "a.db")
    assert again.balance().spent == 200 * X.shape[1] + learned.receipt.cells
    assert again.representation.background(X.shape[1])[0].min() >= 200
