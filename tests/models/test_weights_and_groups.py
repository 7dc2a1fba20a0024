"""Rows that weigh, rows that belong together: sample_weight and groups."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import thrifty
from thrifty.errors import BadInput, BadParameter
from thrifty.models.fits.folds import make_folds
from thrifty.models.fits.quality import quality_of


def drawn(n=300, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    return X, (X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n) > 0).astype(int)


def everything(estimator=None):
    return thrifty.ModelClassifier(estimator, spend="100 %", random_state=0)


# -- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [False, True])
def test_whole_weights_are_rows_repeated(numbers):
    X, y = drawn()
    model = everything(LogisticRegression(C=1e6))  # a penalty counts weights in their mean
    if numbers:
        y = X[:, 0] + 0.1 * X[:, 1] ** 2
        model = thrifty.ModelRegressor(LinearRegression(), spend="100 %", random_state=0)
    times = np.random.default_rng(1).integers(0, 4, size=len(y))
    says = model.predict if numbers else model.predict_proba
    model.fit(X, y, sample_weight=times)
    weighed = says(X)
    model.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighed == pytest.approx(says(X), abs=1e-6 if numbers else 1e-3)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=["own", "logistic"])
def test_a_class_that_weighs_more_is_said_more_often(estimator):
    X, y = drawn()
    plain = everything(estimator).fit(X, y).predict_proba(X)[:, 1]
    heavy = everything(estimator).fit(X, y, sample_weight=1 + 8 * y).predict_proba(X)[:, 1]
    assert np.log(heavy / (1 - heavy)).mean() > np.log(plain / (1 - plain)).mean() + 1
    assert roc_auc_score(y, heavy) > roc_auc_score(y, plain) - 0.03


def test_a_lifetime_weighs_rows_and_buys_nothing_on_those_that_weigh_nothing():
    X, y = drawn(400)
    weights = np.where(np.arange(400) < 200, 0.0, 1.0)
    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("t", X, y, spend="50 %", sample_weight=weights)
    assert learned.receipt.n_examples == 200
    assert (learned.model.table_.weights > 0).all()
    heavy = life.learn("u", X, y, spend="50 %", sample_weight=1 + 8 * y)
    p, q = learned.model.predict_proba(X)[:, 1], heavy.model.predict_proba(X)[:, 1]
    assert q.mean() > p.mean() + 0.1


@pytest.mark.parametrize("weights", [[-1] + [1] * 299, [0] * 300, [1] * 299, ["a"] * 300])
def test_bad_weights(weights):
    X, y = drawn()
    with pytest.raises(BadInput, match="sample_weight"):
        everything().fit(X, y, sample_weight=weights)
    with pytest.raises(BadInput, match="sample_weight"):
        thrifty.Lifetime().learn("t", X, y, sample_weight=weights)


def test_an_estimator_without_weights_gets_rows_drawn_by_weight():
    X, y = drawn(600)
    plain = everything(KNeighborsClassifier(25)).fit(X, y).predict_proba(X)[:, 1]
    heavy = everything(KNeighborsClassifier(25)).fit(X, y, sample_weight=1 + 8 * y)
    assert heavy.predict_proba(X)[:, 1].mean() > plain.mean() + 0.15
    alike = KNeighborsClassifier(25).fit(X, y).predict_proba(X)[:, 1]
    assert plain == pytest.approx(alike, abs=1e-9)  # rows that weigh alike come once each
    numbers = thrifty.ModelRegressor(KNeighborsRegressor(5), spend="100 %", random_state=0)
    assert numbers.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.8


# -- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_folds", [2, 3, 4])
@pytest.mark.parametrize("by_class", [True, False])
def test_no_fold_parts_a_group(n_folds, by_class):
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 40, size=200), rng.integers(0, 2, size=200)
    folds = make_folds(200, n_folds, 0, y if by_class else None, groups)
    assert len(np.unique(folds)) == n_folds
    assert all(len(np.unique(folds[groups == g])) == 1 for g in np.unique(groups))


def copied(n=60, copies=10, seed=0):
    """Rows that come ten times, with labels that nothing predicts."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 6)), rng.permutation(np.arange(n) % 2)
    return np.repeat(X, copies, axis=0), np.repeat(y, copies), np.repeat(np.arange(n), copies)


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier(3)], ids=["own", "neighbours"])
def test_groups_make_the_stated_quality_honest(estimator):
    X, y, groups = copied()
    inflated = everything(estimator).fit(X, y).quality_.auc
    honest = everything(estimator).fit(X, y, groups=groups).quality_.auc
    assert inflated.low > 0.8  # labels that are noise, told nearly perfectly
    assert honest.low < 0.5 + 0.15
    assert honest.value < inflated.value - 0.2
    assert honest.high - honest.low > inflated.high - inflated.low


def test_groups_make_the_stated_quality_of_numbers_honest():
    X, _, groups = copied()
    y = np.repeat(np.random.default_rng(3).normal(size=60), 10)
    model = thrifty.ModelRegressor(KNeighborsRegressor(3), spend="100 %", random_state=0)
    assert model.fit(X, y).quality_.r2.value > 0.9
    assert model.fit(X, y, groups=groups).quality_.r2.value < 0.3


def test_an_interval_is_of_groups():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60) % 2, 10)
    p = np.clip(np.repeat(rng.normal(0.3 + 0.4 * (np.arange(60) % 2), 0.3), 10), 0.01, 0.99)
    both, groups = np.column_stack([1 - p, p]), np.repeat(np.arange(60), 10)
    of_rows = quality_of(both, codes, np.ones(600)).auc
    of_groups = quality_of(both, codes, np.ones(600), groups=groups).auc
    one_each = quality_of(both[::10], codes[::10], np.ones(60)).auc
    assert of_groups.value == of_rows.value == pytest.approx(one_each.value)
    assert of_groups.high - of_groups.low > 1.8 * (of_rows.high - of_rows.low)
    assert (of_groups.low, of_groups.high) == pytest.approx((one_each.low, one_each.high), abs=0.03)


def test_a_lifetime_keeps_groups_with_the_model_it_stores(tmp_path):
    X, y, groups = copied()
    store = tmp_path / "clinic.db"
    life = thrifty.Lifetime(store=store, random_state=0)
    learned = life.learn("t", X, y, spend="100 %", groups=[f"p{g}" for g in groups])
    assert learned.model.quality_.auc.low < 0.65
    life.close()
    kept = thrifty.Lifetime.open(store)["t"].model.table_
    rows = kept.rows
    assert (kept.groups[:, None] == kept.groups[None, :]).tolist() == (
        groups[rows][:, None] == groups[rows][None, :]
    ).tolist()


def test_groups_with_one_member_each_are_as_if_nothing_was_said():
    X, y = drawn()
    plain = everything().fit(X, y)
    alone = everything().fit(X, y, groups=np.arange(len(y)))
    assert (plain.predict_proba(X) == alone.predict_proba(X)).all()
    assert plain.quality_ == alone.quality_


@pytest.mark.parametrize(
    ("groups", "said"),
    [([1] * 300, "one group"), ([1] * 299, "shape"), ([None] + [1] * 299, "example 0 has none")],
)
def test_bad_groups(groups, said):
    X, y = drawn()
    with pytest.raises(BadInput, match=said):
        everything().fit(X, y, groups=groups)
    with pytest.raises(BadInput, match=said):
        thrifty.Lifetime().learn("t", X, y, groups=groups)


def test_who_cannot_weigh_says_so():
    X, y = drawn()
    with pytest.raises(BadParameter, match="Trees takes no sample_weight="):
        thrifty.Lifetime(thrifty.Trees()).learn("t", X > 0, y, sample_weight=np.ones(300))
    with pytest.raises(BadParameter, match="one label at a time"):
        thrifty.Lifetime().learn(["a", "b"], X, np.c_[y, y], groups=np.arange(300) % 30)
