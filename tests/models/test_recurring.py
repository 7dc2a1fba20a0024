"""The same label at other sites is recognised; other labels are not."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty


def site(label, seed, n=1200, N=100, boolean=True):
    """Rows of a site; each label depends on six features of its own."""
    rng = np.random.default_rng(seed)
    rates = np.random.default_rng(0).uniform(0.03, 0.1, N)
    X = rng.random((n, N)) < rates if boolean else rng.normal(size=(n, N))
    told = X[:, 6 * label : 6 * label + 6].sum(axis=1)
    logits = -5.0 + 5.0 * told if boolean else -1.0 + 1.2 * told
    return X, (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)


def stream(labels, **given):
    life = thrifty.Lifetime(thrifty.Models(recurring=True), **given)
    for i, label in enumerate(labels):
        life.learn(f"{i}", *site(label, i), spend="12 %")
    return life


@pytest.fixture(scope="module")
def visited(tmp_path_factory):
    """Two labels, each at two sites, and the store they are kept in: only read."""
    place = tmp_path_factory.mktemp("visited") / "a.db"
    return stream([0, 1, 0, 1], store=place), place


def test_the_same_label_at_another_site(visited):
    life, _ = visited
    routes = [task.route for task in life.tasks]
    assert routes[:2] == ["screened"] * 2 and "reused" in routes[2:]
    for i, task in enumerate(life.tasks):
        if task.route == "reused":
            assert task.receipt.cells < 0.31 * life.tasks[0].receipt.cells
            assert "accepted as it is" in task.receipt.promise and "5 %" in task.receipt.promise
            X, _ = site(i % 2, 100 + i)
            home = life[str(i - 2)]
            assert np.array_equal(life[task.name].predict_proba(X), home.predict_proba(X))


def test_labels_that_do_not_recur_are_learned():
    life = stream(range(2))
    assert [task.route for task in life.tasks] == ["screened"] * 2
    plain = thrifty.Lifetime()
    for i in range(2):
        plain.learn(f"{i}", *site(i, i), spend="12 %")
    # the whole bill is the same: the test is paid from it
    both = [sum(task.receipt.cells for task in one.tasks) for one in (life, plain)]
    assert both[0] <= 1.02 * both[1]


def test_a_recognised_model_survives_a_store(visited, tmp_path):
    life, place = visited
    again = thrifty.Lifetime.open(shutil.copy(place, tmp_path))
    assert again.family.recurring and again.tasks[2].route == "reused"
    X, y = site(0, 9)
    assert np.allclose(again["2"].predict_proba(X), life["0"].predict_proba(X))
    assert again.learn("4", X, y, spend="12 %").route == "reused"


@pytest.mark.parametrize("given", [None, LogisticRegression()])
def test_numbers_recur_too(given, tmp_path):
    family = thrifty.Models(given, recurring=True)
    life = thrifty.Lifetime(family, store=tmp_path / "a.db")
    for i, label in enumerate([0, 1, 0]):
        life.learn(f"{i}", *site(label, i, boolean=False, N=40), spend="30 %")
    assert [task.route for task in life.tasks] == ["screened", "screened", "reused"]
    X, _ = site(0, 5, boolean=False, N=40)
    assert np.allclose(life["2"].predict_proba(X), life["0"].predict_proba(X))
    if given is not None:  # a model for every prefix of the features: quick with this one
        again = thrifty.Lifetime.open(tmp_path / "a.db", family=family)
        stopped = again.predict("2", X, stop=thrifty.Sure(0.95))
        assert stopped.receipt.cells_per_row.mean() < len(again["2"].features_)


def test_off_unless_it_is_asked_for():
    life = thrifty.Lifetime()
    for i in range(2):
        life.learn(f"{i}", *site(0, i), spend="12 %")
    assert [task.route for task in life.tasks] == ["screened"] * 2
    assert not life.representation.hypotheses
