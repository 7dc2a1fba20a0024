"""What ``Sure(p)`` promises: of rows that stop with an answer p are right, on rows of no choice."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import thrifty
from tests.models.tables import ask_in_order, prefixes_of, table_of
from thrifty.models.asking.ladder import ladder_of
from thrifty.models.asking.order import each_costs, find_order
from thrifty.models.asking.stored import ladder_from_dict, ladder_to_dict
from thrifty.models.fits import calibration


def test_the_likeliest_class_must_be_beyond_p_as_it_is_and_weighted_equally():
    shares = np.array([0.9, 0.1])
    p = np.array([[0.999, 0.001], [0.97, 0.03], [0.3, 0.7], [0.02, 0.98]])
    assert thrifty.Sure(0.95).stops(p, shares).tolist() == [True, False, False, True]


def test_a_rare_label_is_not_sure_before_anything_was_asked():
    shares = np.array([0.97, 0.03])
    assert not thrifty.Sure(0.9).stops(shares[None, :], shares).any()


def noise(n_rows, n_features, seed):
    """Features that tell nothing at all."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features)) < 0.3
    return X.astype(float), rng.integers(0, 2, n_rows)


def test_features_that_only_seemed_to_tell_do_not_make_a_row_sure():
    X, y = noise(120, 150, 0)
    table = table_of(X, y)
    price = each_costs(np.ones(150))
    choose = partial(find_order, price=price)
    new, _ = noise(400, 150, 1)
    said = []
    for way in (None, choose):
        prefixes = prefixes_of(table, choose(table), price, sizes=(1, 2, 4, 8), choose=way)
        got = ask_in_order(prefixes, lambda r, f: new[np.ix_(r, f)], 400, per_row=8)
        said.append(float(got.probabilities.max(axis=1).mean()))
    assert said[1] < 0.6 and said[1] < said[0] - 0.05


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_sure_rows_are_right_as_often_as_said_each_class_apart(share):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 12))
    score = X[:, :5] @ np.array([2.5, 2.0, 1.5, 1.0, 0.5]) + rng.logistic(size=4000)
    y = (score > np.quantile(score, 1 - share)).astype(int)
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X[:1000], y[:1000], spend="60 %")
    got = life.predict("ill", X[1000:], stop=thrifty.Sure(0.9))
    sure = np.array(got.stopped) == "sure"
    for answer in (0, 1):
        here = sure & (got.values == answer)
        assert here.sum() > 50
        assert (y[1000:][here] == answer).mean() >= 0.9 - 0.03


def learned(n=1500, seed=3, noisy=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 3000, 6))
    score = X[:, :3] @ np.array([3.0, 2.0, 1.0]) + noisy * rng.logistic(size=len(X))
    y = (score > 0).astype(int)
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X[:n], y[:n], spend="100 %")
    return life, X[n:], y[n:]


def test_the_receipt_states_what_was_seen_on_held_out_rows():
    life, X, _ = learned()
    got = life.predict("ill", X, stop=thrifty.Sure(0.9))
    assert "held-out rows that were sure" in got.receipt.promise
    assert "90 % limit" in got.receipt.promise
    assert life.predict("ill", X.copy(), per_row=2).receipt.promise == ""


def test_a_certificate_holds_on_new_rows_and_says_what_it_rests_on():
    life, X, y = learned()
    got = life.predict("ill", X, stop=thrifty.Sure(0.9, certified=True))
    sure = np.array(got.stopped) == "sure"
    assert got.receipt.promise.startswith("certified") and sure.mean() > 0.2
    for answer in (0, 1):
        here = sure & (got.values == answer)
        assert (y[here] == answer).mean() >= 0.9


def test_what_cannot_be_certified_is_refused_before_a_cell_is_bought():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400)
    life = thrifty.Lifetime(random_state=0)
    life.learn("noise", X, y, spend="100 %")
    before = life.balance().spent
    with pytest.raises(thrifty.errors.BadInput, match="cannot be certified with what is owned"):
        life.predict("noise", X[:50].copy(), stop=thrifty.Sure(0.9, certified=True))
    assert life.balance().spent == before
    few = thrifty.Lifetime(random_state=0)
    few.learn("few", X[:60], X[:60, 0] > 0, spend="100 %")
    with pytest.raises(thrifty.errors.BadInput, match="It takes 230 held-out rows"):
        few.predict("few", X[:50].copy(), stop=thrifty.Sure(0.99, certified=True))


def test_certified_is_refused_where_it_means_nothing():
    with pytest.raises(thrifty.errors.BadParameter, match="probability of 1"):
        thrifty.Sure(1.0, certified=True)
    with pytest.raises(thrifty.errors.BadParameter, match="True or False"):
        thrifty.Sure(0.9, certified=1)
    trees = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    trees.learn("or", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    with pytest.raises(thrifty.errors.BadParameter, match="without a certificate"):
        trees.predict("or", [[1, 0]], stop=thrifty.Sure(0.9, certified=True))


def test_docs_readme_and_the_command_say_the_same_sentence():
    sentence = (
        "of the rows that stop as sure and are answered with a class, at least p are of that class"
    )
    root = Path(__file__).resolve().parents[2]
    places = ["README.md", "docs/predicting.md", "src/thrifty/commands/options.py"]
    for place in places:
        text = (root / place).read_text(encoding="utf-8").replace('"', "")
        assert sentence in " ".join(text.split()), place
    assert sentence in " ".join(thrifty.Sure.__doc__.split()).replace("Of the", "of the")


def test_no_more_is_stated_than_the_rows_at_the_top_support():
    rng = np.random.default_rng(0)
    z = rng.normal(-1.5, 2.0, 4000)
    true = np.where(z > 1, 0.7, 1 / (1 + np.exp(-z)))  # the surest rows have noisy labels
    y = (rng.random(4000) < true).astype(int)
    p = np.column_stack([1 / (1 + np.exp(z)), 1 / (1 + np.exp(-z))])
    said = calibration.fit_scaling_cautiously(p, y, np.ones(4000))
    top = said(p)[z > 3, 1]
    slope_alone = calibration.fit_scaling(p, y, np.ones(4000))(p)[z > 3, 1]
    assert y[z > 3].mean() < 0.8 < 0.85 < slope_alone.mean()
    assert top.mean() < slope_alone.mean() - 0.05
    # rows keep their order, and the other class says what it did
    assert (np.diff(said(p)[np.argsort(z), 1]) > 0).all()
    low = said(p)[z < -3, 0]
    assert low.mean() > 0.95


def test_a_top_of_few_rows_says_less_and_of_rows_that_stand_for_many_still_less():
    p = np.tile([[0.05, 0.95]], (12, 1))
    y = np.ones(12, dtype=np.int64)
    others = np.tile([[0.95, 0.05]], (12, 1)), np.zeros(12, dtype=np.int64)
    both = np.vstack([p, others[0]]), np.concatenate([y, others[1]])
    alike = calibration.most_supported(*both, np.ones(24))
    weighing = calibration.most_supported(*both, np.repeat([1.0, 3.0], 12))
    assert alike.tolist() == [12 / 13, 12 / 13]
    assert weighing.tolist() == [36 / 37, 12 / 15]


def test_several_classes_share_what_the_likeliest_may_not_have():
    capped = calibration.Scaling(1.0, np.zeros(3), np.array([0.6, 0.9, 0.9]))
    got = capped(np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1]]))
    assert np.allclose(got, [[0.6, 0.3, 0.1], [0.1, 0.8, 0.1]], atol=1e-3)


def test_lengths_between_those_that_pipelines_were_fitted_at_are_scaled_as_their_neighbours():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 6))
    y = (X.sum(axis=1) + rng.logistic(size=300) > 0).astype(int)
    table = table_of(X, y)
    price = each_costs(np.ones(6))
    choose = partial(find_order, price=price)
    made = prefixes_of(table, choose(table), price, choose=choose)
    two, three, four = (made.parts[k].scaling for k in (2, 3, 4))
    assert two.slope != four.slope
    assert three.slope == pytest.approx((two.slope + four.slope) / 2)
    assert np.allclose(three.most, (two.most + four.most) / 2)
    (again,) = ladder_from_dict(ladder_to_dict(ladder_of(made))).tasks
    assert np.allclose(again.parts[3].scaling.most, three.most)
