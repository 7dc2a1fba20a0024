"""Models through a lifetime: the bill, the store, users' estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import thrifty
from thrifty.errors import BadInput, BadParameter, ThriftyError


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


def test_spend_is_never_exceeded_and_nearly_used() -> None:
    X, y = words(0, n=600, N=120)
    for share in (0.02, 0.1, 0.5):
        life = thrifty.Lifetime(thrifty.Models())
        learned = life.learn("t", X, y, spend=f"{100 * share:g} %")
        assert 0.9 * share * X.size <= learned.receipt.cells <= share * X.size
        assert learned.route == "screened"


def test_the_useful_features_are_found() -> None:
    X, y = words(1)
    learned = thrifty.Lifetime(thrifty.Models()).learn("t", X, y, spend="10 %")
    assert len(set(range(6)) & set(learned.model.features_[:12].tolist())) >= 5


def test_the_same_seed_gives_the_same_model(texts) -> None:
    X, y, _, _, one = texts
    two = thrifty.Lifetime(thrifty.Models(random_state=3)).learn("t", X, y, spend="5 %").model
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


def test_only_the_needed_features_are_read(texts) -> None:
    X, _, _, _, model = texts
    other = np.asarray(X).copy()
    unread = np.setdiff1d(np.arange(X.shape[1]), model.features_)
    other[:, unread] = ~other[:, unread]
    assert np.array_equal(model.predict_proba(X), model.predict_proba(other))


def test_a_store_gives_the_same_model_and_memory(texts) -> None:
    X, _, place, life, model = texts
    again = thrifty.Lifetime.open(place)
    assert np.allclose(again["t"].predict_proba(X), model.predict_proba(X))
    assert again.representation.looks.sum() == pytest.approx(life.representation.looks.sum(), 1e-3)


def test_a_users_estimator_is_fitted_again_from_the_store(tmp_path) -> None:
    X, y = words(5)
    given = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    life = thrifty.Lifetime(thrifty.Models(given), store=tmp_path / "a.db")
    model = life.learn("t", X, y, spend="10 %").model
    assert not hasattr(given[-1], "coef_"), "what the user gave stays as it was"
    kept = thrifty.Lifetime.open(tmp_path / "a.db")["t"]
    with pytest.raises(ThriftyError, match="family=thrifty.Models"):
        kept.predict_proba(X)
    again = thrifty.Lifetime.open(tmp_path / "a.db", family=thrifty.Models(given))["t"]
    assert np.allclose(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("estimator", "said"),
    [(Perceptron(), "predict_proba"), (LinearSVC(), "predict_proba"), (StandardScaler, "scikit")],
)
def test_an_estimator_that_lacks_something(estimator, said) -> None:
    with pytest.raises(BadParameter, match=said):
        thrifty.Models(estimator)


def test_memory_leaves_more_for_the_rare_class() -> None:
    """The background of earlier tasks is not bought again."""
    X, _ = words(6, n=3000)

    def looks_in_the_rare_class(memory: bool) -> float:
        rng = np.random.default_rng(0)
        life, found = thrifty.Lifetime(thrifty.Models()), []
        for task in range(4):
            rows = rng.permutation(len(X))[:1000]
            logits = -3.5 + 2.5 * X[:, 10 * task + np.arange(6)].sum(axis=1)
            y = (rng.random(len(X)) < 1 / (1 + np.exp(-logits))).astype(int)
            life = life if memory else thrifty.Lifetime(thrifty.Models())
            table = life.learn(str(task), X[rows], y[rows], spend="4 %").model.table_
            found.append(table.bought[table.labels == 1].sum())
        return float(np.mean(found[2:]))

    assert looks_in_the_rare_class(True) > 1.1 * looks_in_the_rare_class(False)


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
    assert again.representation.looks.min() >= 200


def test_another_population_is_noticed() -> None:
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.05, 0.9, 200)
    life = thrifty.Lifetime()
    life.background(rng.random((400, 200)) < rates, rows=400)
    found = []
    for here in (rates, rates[::-1]):
        X = rng.random((800, 200)) < here
        y = (rng.random(800) < 0.1 + 0.5 * X[:, 0]).astype(int)
        family = life.family
        cells = thrifty.Cells(X, spend=0.05 * X.size)
        learned = family.use_rep(life.representation, cells, family.read_labels(y)).model
        found.append(learned.bought.info["drift"])
    assert found == [False, True]


def test_a_spend_too_small_says_what_would_do() -> None:
    X, y = words(8)
    with pytest.raises(BadInput, match="smallest useful is 400"):
        thrifty.Lifetime().learn("t", X, y, spend=100)


@pytest.mark.parametrize("y", [np.zeros(50), np.r_[1, np.zeros(49)]])
def test_classes_without_rows(y) -> None:
    with pytest.raises(BadInput, match="class"):
        thrifty.Lifetime().learn("t", np.eye(50, dtype=bool), y.astype(int))
