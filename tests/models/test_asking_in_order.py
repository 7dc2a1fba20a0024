"""Asking in order: whoever is sure stops, limits hold, and the money buys the most it can."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import thrifty
from tests.models.tables import ask_in_order, prefixes_of, table_of
from thrifty.errors import BadParameter
from thrifty.models.asking.ahead import plan_for
from thrifty.models.asking.ladder import prefix_sizes
from thrifty.models.asking.order import each_costs, find_order
from thrifty.stopping import equal_posterior

PRICES = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0])


def drawn(n, seed, shift=-2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    score = 2.0 * X[:, 5] + 1.2 * X[:, 2] + 0.8 * X[:, 6] + 0.5 * X[:, 3] + shift
    return X, (score + rng.logistic(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def made():
    X, y = drawn(1500, 0)
    table = table_of(X, y)
    price = each_costs(PRICES)
    order = find_order(table, price)
    return prefixes_of(table, order, price, LogisticRegression()), *drawn(3000, 1)


def asked(prefixes, X, **given):
    return ask_in_order(prefixes, lambda rows, fs: X[np.ix_(rows, fs)], len(X), **given)


def test_sizes_are_close_at_first_double_later_and_end_with_all():
    assert prefix_sizes(0) == []
    assert prefix_sizes(3) == [1, 2, 3]
    assert prefix_sizes(30) == [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 30]
    assert prefix_sizes(100)[-3:] == [32, 64, 100]


def test_without_a_rule_every_row_is_asked_everything(made):
    prefixes, X, _ = made
    got = asked(prefixes, X)
    assert set(got.stopped) == {"finished"} and (got.cost == prefixes.prices[-1]).all()


def test_cells_that_make_answers_worse_are_not_asked(made):
    """Four features tell; the noise of the others costs held-out rows more than it tells them."""
    prefixes, *_ = made
    losses = prefixes.losses()
    assert (losses[1:] <= np.minimum.accumulate(losses)[:-1] + 1e-3).all()
    assert set(prefixes.parts[-1].features) >= {2, 3, 5, 6} and prefixes.prices[-1] < PRICES.sum()


def test_rows_that_stopped_are_sure_and_the_others_were_asked_everything(made):
    prefixes, X, y = made
    got = asked(prefixes, X, stop=thrifty.Sure(0.9, give_up=False))
    equal = equal_posterior(got.probabilities, prefixes.shares)
    each = np.arange(len(X))
    sure = got.stopped == "sure"
    for p in (equal, got.probabilities):  # both, and of the class that is the answer
        assert (p[each, got.values][sure] >= 0.7).all()
    for answer in (0, 1):  # few less probable than .9, so that those with an answer are right
        assert (y[sure & (got.values == answer)] == answer).mean() >= 0.9
    assert 0.2 < sure.mean() < 1
    assert (got.cost[~sure] == prefixes.prices[-1]).all()
    assert got.cost.mean() < 0.75 * PRICES.sum()
    whole = asked(prefixes, X)
    lost = roc_auc_score(y, whole.probabilities[:, 1]) - roc_auc_score(y, got.probabilities[:, 1])
    assert lost < 0.03


def test_rows_without_hope_stop_early_and_those_that_are_sure_are_the_same(made):
    prefixes, X, _ = made
    whole = asked(prefixes, X, stop=thrifty.Sure(0.99, give_up=False))
    got = asked(prefixes, X, stop=thrifty.Sure(0.99))
    lost = got.stopped == "hopeless"
    assert lost.any() and (got.cost[lost] < PRICES.sum()).all()
    assert (got.cost <= whole.cost).all() and got.cost.sum() < whole.cost.sum()
    sure = got.stopped == "sure"
    assert (whole.stopped[sure] == "sure").all()
    np.testing.assert_array_equal(got.probabilities[sure], whole.probabilities[sure])


def test_probabilities_after_stopping_mean_what_they_say(made):
    prefixes, X, y = made
    for p in (0.8, 0.95):
        got = asked(prefixes, X, stop=thrifty.Sure(p))
        assert got.probabilities[:, 1].mean() / y.mean() == pytest.approx(1, abs=0.1)


def test_no_row_is_asked_what_it_is_not_charged_for(made):
    prefixes, X, _ = made
    seen = np.zeros(X.shape, dtype=bool)

    def get(rows, features):
        assert not seen[np.ix_(rows, features)].any()  # nothing twice
        seen[np.ix_(rows, features)] = True
        return X[np.ix_(rows, features)]

    got = ask_in_order(prefixes, get, len(X), stop=thrifty.Sure(0.9), per_row=6, spend=9000)
    assert np.allclose(seen @ PRICES, got.cost) and (seen.sum(axis=1) == got.asked).all()
    assert got.cost.max() <= 6 and got.cost.sum() <= 9000


def test_spend_alone_finds_the_rule_that_spends_it_best(made):
    prefixes, X, y = made
    rough = asked(prefixes, X, per_row=4)
    best = asked(prefixes, X, spend=4.0 * len(X))
    assert best.cost.sum() <= 4.0 * len(X) and best.cost.mean() > 3.4
    loss = [-np.log(g.probabilities[np.arange(len(y)), y]).mean() for g in (rough, best)]
    assert loss[1] <= loss[0] + 0.003
    plan = plan_for(prefixes, 4.0)
    assert plan.mean <= 4.0


def test_worth_weighs_the_fall_of_the_loss_against_its_price(made):
    prefixes, X, y = made
    spent = [asked(prefixes, X, stop=thrifty.Worth(r)).cost.mean() for r in (0.0005, 0.01, 0.2)]
    assert spent[0] > spent[1] > spent[2]
    rule = thrifty.Worth(errors=[10, 100])
    got = asked(prefixes, X, stop=rule)
    costs = np.array([[0, 10], [100, 0]])
    total = got.cost.mean() + costs[y, got.values].mean()
    for other in (thrifty.Worth(0.2), thrifty.Sure(0.99)):
        rival = asked(prefixes, X, stop=other)
        decided = rule.decide(rival.probabilities)
        assert total <= rival.cost.mean() + costs[y, decided].mean() + 0.3


def test_expensive_errors_are_asked_about_more(made):
    prefixes, X, _ = made
    few, many = (
        asked(prefixes, X, stop=thrifty.Worth(errors=[c, c])).cost.mean() for c in (1, 500)
    )
    assert few < many


@pytest.mark.parametrize("bad", [{"rate": -1}, {}, {"errors": [1]}, {"errors": [[1, 2]]}])
def test_worth_says_what_it_needs(bad):
    with pytest.raises(BadParameter, match="rate|errors"):
        thrifty.Worth(**bad)


def test_through_a_lifetime_any_estimator_stops_and_the_receipt_agrees():
    X, y = drawn(600, 3)
    life = thrifty.Lifetime(
        thrifty.Models(DecisionTreeClassifier(max_depth=4, random_state=0)), prices=list(PRICES),
        random_state=0,
    )  # fmt: skip
    life.learn("ill", X, y, spend="60 %")
    new, truth = drawn(400, 4)
    # One small tree is seldom surer than this on held-out rows.
    some = life.predict("ill", new, stop=thrifty.Sure(0.7, give_up=False))
    assert {"sure"} <= set(some.stopped)
    whole = life.predict("ill", drawn(400, 4)[0])
    assert some.receipt.cost < whole.receipt.cost
    assert some.receipt.cost == pytest.approx(some.receipt.cost_per_row.sum())
    by_all = roc_auc_score(truth, whole.probabilities[:, 1])
    assert roc_auc_score(truth, some.probabilities[:, 1]) > max(by_all - 0.08, 0.7)


def test_a_rule_that_is_none_and_errors_for_other_classes_are_refused():
    X, y = drawn(300, 3)
    life = thrifty.Lifetime(thrifty.Models(LogisticRegression()))
    life.learn("ill", X, y, spend="80 %")
    with pytest.raises(BadParameter, match="Sure"):
        life.predict("ill", X, stop=0.9)
    with pytest.raises(BadParameter, match="2 classes"):
        life.predict("ill", X, stop=thrifty.Worth(errors=[1, 2, 3]))
