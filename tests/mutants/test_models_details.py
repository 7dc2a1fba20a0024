"""Details of models that a small change would break unnoticed."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from tests.models.test_halving import buy, clinic

import thrifty
from thrifty.cells import Cells
from thrifty.labels.classes import read_classes
from thrifty.models import learning
from thrifty.models.asking.certificate import RUNGS
from thrifty.models.asking.joint_order import _JointSearch
from thrifty.models.buying.halving import Search
from thrifty.models.buying.looks import look_once
from thrifty.models.evidence.classes import ClassEvidence
from thrifty.models.fits import linear_and_trees
from thrifty.models.fits.estimators import _middles
from thrifty.models.fits.for_all import _dense, _task
from thrifty.models.fits.line import LineDesign
from thrifty.models.fits.linear_score import LinearScore
from thrifty.models.fits.mixture import Mixture
from thrifty.models.fits.proxy import _best_split
from thrifty.models.fits.quality_wide import table_without
from thrifty.models.fits.target import Target
from thrifty.models.fits.tree_sums import TreeSum
from thrifty.models.memory.memory import Memory
from thrifty.models.purses.account import Account
from thrifty.models.purses.purse import rows_known
from thrifty.models.table import Table


def test_another_seed_buys_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = X[:, 0] + rng.normal(size=400) > 0
    bought = [
        set(thrifty.ModelClassifier(spend=800, random_state=s).fit(X, y).table_.rows.tolist())
        for s in (1, 2, 1)
    ]
    assert bought[0] == bought[2] != bought[1]


def test_what_no_row_has_said_is_not_taken_out_of_a_belief():
    """Beliefs without some rows: without none they stay, without rare ones they come down."""
    rng = np.random.default_rng(1)
    X = rng.random((600, 80)) < 0.08
    y = X[:, 0] | (X[:, 1] & (rng.random(600) < 0.8))
    table = thrifty.ModelClassifier(spend=6000, random_state=0).fit(X, y).table_
    assert table.effects is not None
    none = table_without(table, np.array([], dtype=np.int64))
    assert np.array_equal(none.effects, table.effects)
    telling = np.flatnonzero((table.labels == 1) & (table.values[:, 0] == 1))[:5]
    without = table_without(table, telling)
    assert without.effects[0, 0] < table.effects[0, 0] - 0.1


def _search(cells, y, spend, rng):
    evidence = ClassEvidence(cells, read_classes(y), Memory(), float(spend), rng)
    return Search(cells, evidence, Memory(), rng)


def test_looking_costs_no_more_than_its_share():
    """The rest is for the features that were chosen."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 300)
    for features, spend in ((60, 6000), (200, 9000)):
        cells = Cells(rng.normal(size=(600, features)), spend=float(spend))
        search = _search(cells, y, spend, rng)
        search.halve()
        assert search.rounds > 0
        assert 0.25 * spend < cells.n_bought <= 0.4 * spend


def test_what_gives_no_points_is_not_on_the_card():
    linear = LinearScore(np.array([1.5, 0.0, -0.7]), np.array([0.2, 0.1, 0.0]), -1.0)
    card = linear.scorecard(["fever", "cough", "rash"], {}, ["well", "ill"])
    assert [row.feature for row in card.rows] == ["fever"]


def test_numbers_are_predicted_for_no_more_than_what_may_be_spent():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 6))
    life = thrifty.Lifetime(prices=[0.25] * 6, random_state=0)
    life.learn("worth", X, X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=120))
    new = rng.normal(size=(40, 6))
    for spend in (9.5, 10.0, 19.5):
        assert life.predict("worth", new, spend=spend).receipt.cost <= spend + 1e-6


def test_a_larger_table_is_tall():
    """Rows tell more than features that tell little: 424 rows of 12 features, of 60."""
    X, y = clinic()
    _, bought = buy(X, y, 0.1 * X.size)
    assert bought.table.n_rows > 15 * len(bought.table.features)


def test_a_split_is_made_where_it_tells_most():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, (200, 3))
    wrong = np.where(codes[:, 1] > 1, 0.5, -0.5) + 0.1 * rng.normal(size=200)
    bins = codes + 4 * np.arange(3)
    sums = np.array([np.bincount(bins.ravel(), np.repeat(w, 3)) for w in (wrong, 0 * wrong + 0.25)])
    assert tuple(_best_split(np.ascontiguousarray(sums.T), 3, 4, 1.0, 1.0)) == (1, 1)


def test_rungs_are_levels_that_a_row_can_reach():
    for p in (0.5, 0.9, 0.99):
        levels = [p + (1 - p) * part for part in RUNGS]
        assert p == levels[-1] < levels[0] < 1
        assert levels == sorted(levels, reverse=True)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("kind", [thrifty.ModelClassifier, thrifty.ModelRegressor])
def test_a_users_estimator_has_the_threads_it_asks_for(monkeypatch, kind, own):
    given = []
    monkeypatch.setattr(
        learning, "in_one_thread", lambda one=True: given.append(one) or nullcontext()
    )
    X = np.random.default_rng(6).normal(size=(60, 3))
    estimator = LogisticRegression() if kind is thrifty.ModelClassifier else Ridge()
    kind(estimator if own else None).fit(X, np.round(X[:, 0]) > 0)
    assert given[-1:] == [not own]


def test_no_trees_are_grown_that_would_count_for_nothing(monkeypatch):
    monkeypatch.setattr(linear_and_trees, "_forest", lambda *_: "forest")
    monkeypatch.setattr(linear_and_trees, "_correction", lambda *_: "correction")
    monkeypatch.setattr(linear_and_trees, "_shift", lambda *_: 0.0)
    monkeypatch.setattr(linear_and_trees, "_binned", lambda *_: (None, None))
    monkeypatch.setattr(linear_and_trees, "add_up", lambda parts, shift=0.0: parts)
    grown = [linear_and_trees.grow_beside(None, None, None, 0.2, trust, 0) for trust in (0.0, 0.5)]
    assert grown == [[(0.2, "forest")], [(0.2, "forest"), (0.4, "correction")]]


def test_further_rows_are_counted():
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1], 200)
    cells = Cells(rng.normal(size=(400, 20)), spend=4000.0)
    search = _search(cells, y, 4000, rng)
    search.halve()
    search.chosen, search.rows = [0, 1], 60
    assert search._buy_rows(200) == search.rows - 60 > 20


def test_a_gap_that_tells_has_a_column():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(200, 2))
    y = np.arange(200) % 2
    X[y == 1, 0] = np.nan
    line = LineDesign.of(X, np.zeros(2, bool)).fit(np.arange(200), y, 2, np.ones(200))
    scores = line.scores(X)[:, 0]
    assert abs(scores[y == 1].mean() - scores[y == 0].mean()) > 1


def test_rows_that_are_owned_by_a_share_are_counted():
    X = np.zeros((10, 4))
    before = Cells(X)
    before.get([0, 1, 2], [0, 1, 2, 3])
    before.get([3], [0, 1])
    before.meter.owned.add(before.meter)
    cells = Cells(X, owned=before.meter.owned)
    assert [rows_known(cells, share) for share in (1.0, 0.75, 0.5, 0.0)] == [3, 3, 4, 10]


@pytest.mark.parametrize("owned", [0, 7, 20])
def test_what_is_owned_whole_is_looked_at_for_nothing(owned):
    X, y = np.zeros((40, 3), bool), np.repeat([0, 1], 20)
    before = Cells(X)
    rows = [*range(owned), *range(20, 20 + owned // 2)]
    before.get(rows, [0, 1, 2])
    before.meter.owned.add(before.meter)
    account = Account(
        Cells(X, owned=before.meter.owned, spend=50.0), y, 50.0, np.random.default_rng(0)
    )
    assert {*account.a.tolist(), *account.b.tolist()} == {owned, owned // 2}
    assert account.left == 50.0


def test_looks_where_a_call_costs_stay_within_their_share():
    """As many rows of each kind as that pays for, and no more."""
    rng = np.random.default_rng(10)
    cells = Cells(rng.random((300, 5)) < 0.2, spend=900.0)
    account = Account(cells, np.arange(300) % 2, 900.0, rng)
    look_once(account, 205.0)
    assert account.a.tolist() == account.b.tolist() == [20] * 5
    assert cells.n_bought == 200


def test_where_a_row_is_asked_once_the_second_part_asks_what_told_in_the_first():
    """Of a lifetime that has learned nothing yet."""
    rng = np.random.default_rng(11)
    X = rng.random((300, 40)) < 0.4
    search = _search(Cells(X, spend=4000.0), X[:, 10] | X[:, 11], 4000, rng)
    search.pilot(search.by_scores)
    assert set(search.chosen[:2]) == {10, 11}
    assert min(map(search.basket.bought, range(40))) == 50  # half of the money, 40 features a row
    assert search.rows > 100 and len(search.chosen) == 31


def test_rows_without_a_label_are_of_no_class():
    target = Target(np.array([2, -1, 0, 2, -1]), 3)
    dense = _dense(_task(target, np.ones(5)), 5)
    assert dense.codes.tolist() == [1, -1, 0, 1, -1]
    assert dense.known.tolist() == [True, False, True, True, False]


def test_what_nobody_has_shown_is_ranked_by_its_gain():
    """Where none of them gains more than chance would."""
    X = np.random.default_rng(12).normal(size=(40, 2))
    search = _JointSearch([some_table(X)], [1.0], lambda owned, wanted: 1.0, [], 1, 0)
    search.present = [search.first.probabilities([])]
    search.first.gains = lambda _: np.array([[0.1, -1.0], [0.2, -1.0]])
    assert [step for step, _ in search._ranked()] == [(1,), (0,)]


def some_table(X):
    n = len(X)
    return Table(
        np.arange(X.shape[1]), np.arange(n), X, np.ones(X.shape, bool), np.ones(n), np.arange(n) % 2
    )


def test_no_trees_ask_for_no_features():
    none, no_nodes = np.zeros(0), np.zeros(0, np.int64)
    trees = TreeSum(
        no_nodes, no_nodes, no_nodes, none, no_nodes, no_nodes, none.astype(bool), none, {},
        np.array([0.3]),
    )  # fmt: skip
    assert trees._width == 0
    assert trees.scores(np.zeros((2, 0))).tolist() == [[0.3], [0.3]]


def test_a_mixture_says_that_its_quality_was_looked_for():
    X = np.random.default_rng(13).normal(size=(80, 3))
    model = thrifty.ModelClassifier(random_state=0).fit(X, X[:, 0] > 0)
    assert isinstance(model.estimator_, Mixture) and model.estimator_.measured is True


def test_a_gap_is_the_median_to_an_estimator_that_takes_none():
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [5.0, np.nan], [9.0, np.nan]])
    assert _middles(values).tolist() == [5.0, 0.0]
