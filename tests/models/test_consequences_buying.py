"""What buying, the memory and the columns of a fit are for: a bill, a rate, a loss on new rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import thrifty
from thrifty.cells import Cells
from thrifty.models.buying.looks import Background, look_around
from thrifty.models.buying.wide import _lesson
from thrifty.models.fits.line import LineDesign
from thrifty.models.fits.points import Design
from thrifty.models.memory.memory import Memory
from thrifty.models.purses.account import Account

pd = pytest.importorskip("pandas")

N, TOLD, SHARE = 200, 60, 0.25
RATE, IN_RARE = 0.08, 0.25


def ward(rng, n=2000):
    """Sixty of 200 Booleans are three times as common in a quarter of the rows."""
    y = rng.random(n) < SHARE
    X = rng.random((n, N)) < RATE
    X[:, :TOLD] = rng.random((n, TOLD)) < np.where(y, IN_RARE, RATE)[:, None]
    return X, y.astype(int)


def test_probabilities_of_a_wide_task_add_up_to_the_share_of_its_rare_class():
    """Each rare row stands for those that were not bought; were it one row, .2 of the share."""
    X, y = ward(np.random.default_rng(0))
    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("ill", X, y, spend="4 %")
    table = learned.model.table_
    rare = table.labels == table.rare_code
    assert table.weights[rare].sum() == pytest.approx(y.sum())
    new, _ = ward(np.random.default_rng(1), 4000)
    assert 0.7 < learned.model.predict_proba(new)[:, 1].mean() / SHARE < 1.4


@pytest.mark.parametrize("a, b", [(100, 100), (150, 60), (200, 10)])
def test_the_background_is_how_common_a_feature_is_among_all_rows(a, b):
    """It is 1 in the rare class alone, of which more was looked at than there is of it.

    Were each look one row it would seem to be 1 on .5, .71 and .95 of the rows; without a cap,
    where fewer others were looked at, on .45 and .87 of them.
    """
    codes = np.repeat([1, 0], [250, 750])
    X = np.column_stack([codes == 1, np.random.default_rng(0).random(1000) < 0.5])
    account = Account(Cells(X), codes, 1e9, np.random.default_rng(0))
    both = np.arange(2)
    account.look(both, np.full(2, a), np.full(2, b))
    looks, ones = Memory().after(_lesson(account, both), 2).background(2)
    assert ones[0] / looks[0] == pytest.approx(SHARE, rel=0.01)


def test_a_feature_that_was_useful_before_is_believed_sooner():
    """Later features 5 and 30 say the same; every earlier task had used 30."""
    rng = np.random.default_rng(2)
    life = thrifty.Lifetime(random_state=0)
    for i in range(3):
        X = rng.normal(size=(300, 60))
        life.learn(f"{i}", X, X[:, 30] + 0.3 * rng.normal(size=300) > 0, spend="20 %")
    X = rng.normal(size=(300, 60))
    X[:, 5] = X[:, 30]
    learned = life.learn("twins", X, X[:, 30] + 0.3 * rng.normal(size=300) > 0, spend="20 %")
    assert learned.model.table_.features[0] == 30


def with_fees(rng, n=1500):
    """Features 0 to 3 and 4 to 7 tell as much of the label; the first four take a fee of 60."""
    y = rng.random(n) < 0.3
    X = rng.random((n, 80)) < 0.1
    X[:, :8] = rng.random((n, 8)) < np.where(y, 0.45, 0.1)[:, None]
    return X, y.astype(int)


def test_a_fee_is_part_of_what_a_look_costs():
    """Were it not, both kinds would be looked at on as many rows."""
    X, y = with_fees(np.random.default_rng(3))
    names = [f"f{i}" for i in range(80)]
    prices = thrifty.PriceList(dict.fromkeys(names, 1.0), fees={"visit": (60.0, names[:4])})
    cells = Cells(thrifty.Source.from_frame(pd.DataFrame(X, columns=names)), prices=prices)
    account = Account(cells, y, 12_000.0, np.random.default_rng(0))
    look_around(account, Background(np.zeros(80), np.zeros(80)), 6_000.0, 0.5)
    assert account.a[4:8].mean() > 2 * account.a[:4].mean()


def left_out(fit, draw, n, seeds):
    """The mean AUROC of what is fitted on n rows, on 2,000 others."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, n)
        new, labels = draw(rng, 2000)
        found.append(roc_auc_score(labels, fit(X, y)(new)))
    return float(np.mean(found))


def line(categories):
    def fit(X, y):
        design = LineDesign.of(X, np.full(X.shape[1], categories))
        made = design.fit(np.arange(len(y)), y, 2, np.ones(len(y)))
        return lambda new: made.scores(new)[:, 0]

    return fit


def a_few_gaps(rng, n):
    """A twentieth of the cells is missing, and says nothing."""
    X = rng.normal(size=(n, 15))
    z = X @ np.r_[np.full(5, 0.8), np.zeros(10)]
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.int64)
    return np.where(rng.random(X.shape) < 0.05, np.nan, X), y


def test_a_few_gaps_make_no_columns():
    """A column for each feature's three or four gaps: .736 on new rows; without, .765."""
    assert left_out(line(False), a_few_gaps, 72, 30) > 0.75


def rare_words(rng, n):
    """Twelve categories; in each two words are common and one of them tells, forty are rare."""
    common = rng.random((n, 12)) < 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-(common[:, :4] - 0.5) @ np.full(4, 2.5)))).astype(
        np.int64
    )
    X = np.where(rng.random((n, 12)) < 0.4, rng.integers(2, 42, (n, 12)), common)
    return X.astype(float), y


def test_rare_categories_make_no_columns():
    """A column for every word that one row has: .679 on new rows; without, .699."""
    assert left_out(line(True), rare_words, 60, 30) > 0.689


def mostly_nothing(rng, n):
    """Zero on a fifth of the rows, where the label is common; little more or less tells nothing."""
    zero = rng.random(n) < 0.2
    X = np.where(zero, 0.0, rng.normal(size=n))[:, None]
    return X, (rng.random(n) < np.where(zero, 0.8, 0.2)).astype(np.int64)


def test_a_value_that_many_rows_share_has_a_bin_of_its_own():
    """Beside what is next to it: .712 on new rows; with bins of their own .732."""

    def fit(X, y):
        design = Design.of(X, np.ones(len(y)), np.array([False]), 8)
        points = design.fit(np.arange(len(y)), y, 2, np.ones(len(y)), 1.0)
        return lambda new: points.scores(new)[:, 0]

    assert left_out(fit, mostly_nothing, 600, 6) > 0.722
