"""The one fit: what a store gives back, honest held-out statements, every kind of table."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.metrics import roc_auc_score

import thrifty
from tests.models.tables import table_of
from thrifty.models.fits.fitting import fit_tables, fitted_from_dict
from thrifty.models.fits.stack import fit_stack, fit_stacks
from thrifty.models.fits.tree_ensembles import grow_forest
from thrifty.models.table import Table

KINDS = ["two", "three", "numbers", "rates", "stages"]


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Three numbers, one with gaps, and a category of three words."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 3, n)])
    X[rng.random(n) < 0.2, 1] = np.nan
    return X


def score(X: np.ndarray, seed: int = 0) -> np.ndarray:
    noise = 0.3 * np.random.default_rng(50 + seed).normal(size=len(X))
    return X[:, 0] + np.nan_to_num(X[:, 1], nan=1.0) + 1.5 * (X[:, 3] == 1) + noise


def table(kind: str, n: int = 260, seed: int = 0) -> Table:
    X = rows(n, seed)
    s = score(X, seed)
    y = s if kind == "numbers" else np.digitize(s, [0.3, 1.5] if kind == "three" else [0.6])
    bought = np.ones(X.shape, dtype=bool)
    made = table_of(X, y, bought, categories=(0, 0, 0, 3))
    if kind == "rates":  # Boolean features with holes, and what earlier tasks saw of them
        X = (np.nan_to_num(X) > 0.5).astype(float)
        bought[n // 2 :, 2:] = False
        background = np.column_stack([np.full(4, 200.0), np.full(4, 60.0)])
        made = replace(made, values=np.where(bought, X, np.nan), bought=bought,
                       categories=(), background=background)  # fmt: skip
    if kind == "stages":
        bought[n // 2 :, 2:] = False
        made = replace(made, values=np.where(bought, X, np.nan), bought=bought, first=2)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_fit_says_the_same_to_the_bit(kind):
    made = table(kind)
    ((fitted, held_out),) = fit_tables([made], seed=1)
    again = fitted_from_dict(json.loads(json.dumps(fitted.to_dict())))
    new = rows(60, 9) if kind != "rates" else (np.nan_to_num(rows(60, 9)) > 0.5).astype(float)
    new[0] = np.nan
    np.testing.assert_array_equal(again.predict(new), fitted.predict(new))
    assert np.isfinite(fitted.predict(new)).all() and held_out.shape[0] == made.n_rows
    if kind != "numbers":
        np.testing.assert_array_equal(again.predict_proba(new), fitted.predict_proba(new))
        assert again.quality == fitted.quality and fitted.quality is not None
    assert again.summary() == fitted.summary()


@pytest.mark.parametrize("kind", ["two", "three"])
def test_what_is_said_of_held_out_rows_is_what_new_rows_show(kind):
    said, shown, own = [], [], []
    for seed in range(4):
        made, new = table(kind, seed=seed), rows(2000, 100 + seed)
        codes = np.digitize(score(new, 100 + seed), [0.3, 1.5] if kind == "three" else [0.6])
        fitted, held_out = fit_stack(made)
        each = np.arange(made.n_rows), made.labels
        said.append(-np.log(held_out[each]).mean())
        own.append(-np.log(fitted.predict_proba(made.values)[each]).mean())
        shown.append(-np.log(fitted.predict_proba(new)[np.arange(2000), codes]).mean())
    assert np.mean(said) == pytest.approx(np.mean(shown), rel=0.2)
    assert np.mean(own) < 0.8 * np.mean(said)


def test_the_error_that_is_said_of_numbers_is_that_of_new_rows():
    fitted, _ = fit_stack(table("numbers"))
    new = rows(2000, 3)
    truth = score(new, 3)
    wrong = float(np.sqrt(np.mean((fitted.predict(new) - truth) ** 2)))
    assert wrong == pytest.approx(fitted.error, rel=0.25) and wrong < 0.7 * truth.std()


def test_labels_that_share_their_rows_are_as_good_as_alone_and_say_so_alone():
    one, other = table("two"), table("two")
    other = replace(other, labels=(np.nan_to_num(other.values[:, 2]) > 0).astype(int))
    together, new = fit_stacks([one, other]), rows(1000, 4)
    for made, (fitted, held_out) in zip((one, other), together):
        alone, _ = fit_stack(made)
        assert held_out.shape == (260, 2)
        apart = np.abs(fitted.predict_proba(new) - alone.predict_proba(new)).mean()
        assert apart < 0.05


def test_groups_are_never_parted_by_held_out_rows():
    """Every row comes five times; labels are noise, which a parted group would tell."""
    said = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = np.repeat(rng.normal(size=(60, 3)), 5, axis=0), np.repeat(np.arange(60) % 2, 5)
        bought = np.ones(X.shape, dtype=bool)
        bought[4::5, 1:] = False  # of each group one row is outside the block without holes
        made = table_of(np.where(bought, X, np.nan), y, bought, groups=np.repeat(np.arange(60), 5))
        said.append(fit_stack(made)[0].quality.auc.value)
    parted = fit_stack(replace(made, groups=None))[0].quality.auc.value
    assert np.mean(said) < 0.65 and parted > 0.9


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_arrays_of_trees_say_what_scikit_learns_forest_says(numbers, searched):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)).astype(np.float32).astype(float)
    y = X[:, 0] * X[:, 1] if numbers else (X[:, 0] * X[:, 1] > 0).astype(int)
    name = "RandomForest" if searched else "ExtraTrees"
    make = getattr(ensemble, name + ("Regressor" if numbers else "Classifier"))
    tried = 2 if searched else 0.5 if numbers else "sqrt"
    theirs = make(25, min_samples_leaf=2, max_features=tried, random_state=3).fit(X, y)
    kinds, new = np.zeros(4, bool), rng.normal(size=(200, 4)).astype(np.float32).astype(float)
    ours, told, _ = grow_forest(
        X, [y], [0 if numbers else 2], np.ones(150), kinds, 3, 25, searched=searched
    )
    said = theirs.predict(new) if numbers else 4 * (theirs.predict_proba(new)[:, 1] - 0.5)
    assert ours.scores(new)[:, 0] == pytest.approx(said, abs=1e-6)
    assert told == pytest.approx(theirs.feature_importances_)


def test_a_column_of_gaps_alone_is_a_constant_to_trees():
    X = np.column_stack([np.linspace(-1, 1, 150), np.full(150, np.nan)])
    y = (X[:, 0] > 0).astype(int)
    found, _, _ = grow_forest(X, [y], [2], np.ones(150), np.zeros(2, bool), 0, searched=True)
    assert ((found.scores(X)[:, 0] > 0) == (X[:, 0] > 0)).mean() > 0.95


def test_one_test_with_a_limit_is_found_among_many_features():
    """As in thyroid tables: what decides is an interval of one feature of forty."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(150, 40)), rng.normal(size=(2000, 40))
        y, truth = (np.abs(x[:, 7] - 0.4) < 0.5 for x in (X, new))
        made = table_of(X, y.astype(int))
        said = fit_stack(made, seed)[0].predict_proba(new)[:, 1]
        found.append(roc_auc_score(truth, said))
    assert np.mean(found) > 0.93


def test_trees_see_what_acts_together_and_change_little_where_all_adds_up():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(600, 5)), rng.normal(size=(1000, 5))
    made = table_of(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    fitted, _ = fit_stack(made)
    truth = new[:, 0] * new[:, 1] > 0
    assert roc_auc_score(truth, fitted.scores(new)[:, 0]) > 0.9
    assert roc_auc_score(truth, fitted.ridge.scores(new)[:, 0]) < 0.6
    adds = (X[:, :2].sum(axis=1) + rng.logistic(size=600) > 0).astype(int)
    fitted, _ = fit_stack(replace(made, labels=adds))
    both = np.corrcoef(fitted.scores(new)[:, 0], fitted.ridge.scores(new)[:, 0])
    assert both[0, 1] > 0.95


def test_the_same_seed_gives_the_same_bits_and_summaries_name_the_parts():
    one, two = (fit_stack(table("two"), seed=5)[0] for _ in range(2))
    np.testing.assert_array_equal(one.scores(rows(50, 7)), two.scores(rows(50, 7)))
    assert one.summary().startswith("An ensemble of a scorecard (shown) and ")
    assert sum(one.shares) == pytest.approx(1.0)


def test_few_rows_are_a_scorecard_alone():
    few = table("two", 12)
    fitted, held_out = fit_stack(replace(few, labels=np.r_[1, 1, 1, np.zeros(9, int)]))
    assert held_out is None and fitted.summary() == "A scorecard: add up the points."


def test_a_store_keeps_every_part(tmp_path):
    X = rows(200)
    Y = {"up": X[:, 2] > 0, "one": X[:, 3] == 1}
    life = thrifty.Lifetime(store=tmp_path / "a.db", random_state=0)
    many = life.learn(["up", "one"], X, Y, spend="60 %")
    assert "a kernel model" in str(many["up"].model)
    asked = rows(40, seed=5)
    told = life.predict("up", asked).probabilities
    life.close()
    again = thrifty.Lifetime.open(tmp_path / "a.db")
    np.testing.assert_array_equal(again.predict("up", asked).probabilities, told)


def test_labels_of_the_same_rows_share_their_forests_whatever_each_class_weighs():
    X = rows(260)
    labels = [(score(X, seed) > limit).astype(int) for seed, limit in enumerate((0.2, 0.6, 1.1))]
    tables = [table_of(X, y, np.ones(X.shape, dtype=bool), categories=(0, 0, 0, 3)) for y in labels]
    # a class weighs its share of a population in which all of them are 1 in 7
    each = [np.where(y == 1, 1 / 7 / y.mean(), 6 / 7 / (1 - y.mean())) for y in labels]
    tables = [replace(one, weights=weights) for one, weights in zip(tables, each)]
    one, *others = (found.trees for found, _ in fit_stacks(tables))
    for other in others:
        assert np.array_equal(one.feature, other.feature)
        assert np.array_equal(one.threshold, other.threshold)
