"""Several labels at once: one table, a bill that is shared, models as good as labels allow."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from tests.market import table_seller
from thrifty.errors import BadInput, TaskExists
from thrifty.lifetime import learning


def made(n=300, k=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0, X[:, 3] > 1]).astype(int)
    return X, Y


@pytest.mark.parametrize("store", [None, "kept.db"])
def test_the_bills_of_labels_at_once_sum_to_what_was_paid(store, tmp_path):
    X, Y = made()
    kept = None if store is None else str(tmp_path / store)
    life = thrifty.Lifetime(store=kept, prices=0.37)
    many = life.learn(["a", "b", "c"], X, Y, spend="20 %")
    assert list(many) == ["a", "b", "c"] == list(life)
    paid = life.balance().spent
    assert paid <= 0.2 * X.size * 0.37 + 1e-9
    assert sum(one.receipt.cost for one in many.values()) == pytest.approx(paid)
    assert sum(one.receipt.cells for one in many.values()) == round(paid / 0.37)
    assert life.bill()["cost"].sum() == pytest.approx(paid)
    right = [(many[n].model.predict(X) == Y[:, j]).mean() for j, n in enumerate(many)]
    assert min(right) > 0.8
    if kept:
        again = thrifty.Lifetime.open(kept)
        assert (again["b"].model.predict(X) == many["b"].model.predict(X)).all()


def test_labels_at_once_take_what_tells_on_all_rows():
    X, Y = made(n=200, k=16)
    many = thrifty.Lifetime(random_state=0).learn(["a", "b", "c"], X, Y, spend="40 %")
    for one in many.values():
        table = one.model.table_
        assert {0, 1, 2, 3} <= set(table.features.tolist()) and table.width < 16
        assert table.bought.all() and table.n_rows > 0.4 * 200  # as many whole rows cost as much


def test_rows_that_were_bought_are_learned_from_however_wide_the_table_is():
    """Of 1,200 features a few dozen are bought on most rows: less than a quarter of each."""
    rng = np.random.default_rng(0)
    X = rng.random((500, 1200)) < 0.1
    X[:, :8] = rng.random((500, 8)) < 0.5
    Y = {"a": (X[:, :4].sum(axis=1) > 2).astype(int), "b": (X[:, 4:8].sum(axis=1) > 2).astype(int)}
    life = thrifty.Lifetime()
    learned = life.learn(["a", "b"], X, Y, spend="5 %")
    whole_rows = 0.05 * 500
    for one in learned.values():
        assert len(one.model.table_.rows) > 2 * whole_rows


def test_numbers_at_once_have_few_features_on_many_rows_where_few_tell():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 48))
    Y = X[:600, :4] @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(600, 3))
    life = thrifty.Lifetime(thrifty.Models(labels="numbers"), random_state=0)
    many = life.learn(["a", "b", "c"], X[:600], Y, spend="6 %")
    assert life.balance().spent <= 0.06 * X[:600].size
    for name in "abc":
        table = many[name].model.table_
        assert set(range(4)) <= set(table.features.tolist())
        assert table.width <= 12 and table.n_rows > 60  # 36 whole rows cost as much


def test_numbers_at_once_keep_most_of_the_features_where_all_tell():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 48))
    Y = X @ rng.normal(size=(48, 3)) + rng.normal(size=(600, 3))
    life = thrifty.Lifetime(thrifty.Models(labels="numbers"), random_state=0)
    many = life.learn(["a", "b", "c"], X, Y, spend="40 %")
    assert many["a"].model.table_.width >= 24


def test_frames_gaps_and_numbers_come_together():
    X, Y = made()
    frame = pd.DataFrame({"half": Y[:, 0].astype(float), "number": 2 * X[:, 1] + X[:, 4]})
    frame.loc[::2, "half"] = np.nan
    life = thrifty.Lifetime()
    many = life.learn(["number", "half"], X, frame, spend="40 %")
    assert isinstance(many["number"].model, thrifty.ModelRegressor)
    assert set(many["half"].model.table_.rows.tolist()) <= set(range(1, 300, 2))
    assert many["half"].model.classes_.tolist() == [0, 1]
    wrong = many["number"].model.predict(X) - frame["number"]
    assert (wrong**2).mean() < 0.5 * frame["number"].var()


def test_other_families_learn_them_one_after_another():
    rng = np.random.default_rng(0)
    X = rng.random((200, 6)) < 0.5
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    many = life.learn(["a", "b"], X, {"a": X[:, 0], "b": X[:, 1]})
    assert [one.route for one in many.values()] == ["scratch", "scratch"]


@cache
def with_an_old_task():
    life = thrifty.Lifetime()
    life.learn("old", made(seed=1)[0], made()[1][:, 0], spend="10 %")
    return life


@pytest.mark.parametrize(
    ("names", "change", "error", "said"),
    [
        (["a", "b"], lambda Y: Y, BadInput, "a column for each of the 2 names"),
        (["a", "b", "c"], lambda Y: {"a": Y[:, 0], "b": Y[:, 1], "d": Y[:, 2]}, BadInput, "'c'"),
        (["a", "b"], lambda Y: {"a": Y[:, 0], "b": Y[:9, 1]}, BadInput, "'b' must be one per row"),
        (["a", "b"], lambda Y: {"a": Y[:, 0], "b": 0 * Y[:, 1]}, BadInput, "one class"),
        (["a", "a", "b"], lambda Y: Y, BadInput, "comes twice"),
        (["a", "old"], lambda Y: Y[:, :2], TaskExists, "old"),
    ],
)
def test_bad_labels_are_refused_before_a_cell_is_bought(names, change, error, said):
    X, Y = made()
    life = with_an_old_task()
    before = life.balance().spent
    with pytest.raises(error, match=said):
        life.learn(names, X, change(Y), spend="10 %")
    assert life.balance().spent == before


def test_what_is_owned_is_learned_from_for_nothing_and_refit_buys_nothing():
    X, Y = made(400)
    Y[:, 0] ^= np.random.default_rng(5).random(400) < 0.2  # so that more rows tell more
    source = thrifty.Source.from_array(X, examples=[f"p{i}" for i in range(400)], name="clinic")
    life = thrifty.Lifetime(random_state=0)
    for name, y, spend in zip("ab", Y.T, ("5 %", "50 %")):
        life.learn(name, source, y, spend=spend)
    spent = life.balance().spent
    free = life.learn("c", source, Y[:, 2], spend=0)
    assert free.receipt.cost == 0 and free.receipt.reused_cells > 0
    before = life["a"].model
    again = life.refit()
    assert "a" in again and life.balance().spent == spent
    after = life["a"].model
    assert set(after.features_) <= set(before.features_), "a prediction costs what it did"
    assert set(after.table_.rows) - set(before.table_.rows), "what was bought for b teaches a too"
    with pytest.raises(BadInput, match="spend"):
        thrifty.Lifetime().learn("c", X, Y[:, 2], spend=0)


@pytest.mark.parametrize(
    ("without", "same"),
    [(range(0, 400, 10), True), (range(5, 400, 10), False), (range(0, 400, 8), False)],
)
def test_tasks_without_labels_on_other_rows_are_not_taken_for_the_same_rows(without, same):
    """Row i of the one is not row i of the other, whether they are as many or not."""
    X, Y = made(400)
    life = thrifty.Lifetime(thrifty.Models(LogisticRegression()), random_state=0)
    gaps = [None if i % 10 == 0 else int(v) for i, v in enumerate(Y[:, 0])]
    others = [None if i in without else int(v) for i, v in enumerate(Y[:, 1])]
    life.learn("a", X, gaps, spend="6 %")
    life.learn("b", X, others, spend="24 %")
    rows = {learning._rows_of(task) for task in life._learning._latest.values()}
    assert len(rows) == (1 if same else 2)
    spent = life.balance().spent
    assert "a" in life.refit() and life.balance().spent == spent


def test_free_features_are_the_first_stage_and_money_never_harms():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    y = (X[:, 0] + X[:, 3] + 0.5 * rng.normal(size=1200) > 0).astype(int)
    prices = {f"x{i}": 0 if i < 3 else 2 for i in range(6)}
    right = []
    for spend in ("0 %", "5 %", "40 %"):
        life = thrifty.Lifetime(prices=prices)
        learned = life.learn("y", X[:600], y[:600], spend=spend)
        right.append((learned.model.predict(X[600:]) == y[600:]).mean())
        assert (learned.receipt.cost == 0) == (spend == "0 %")
    assert right[0] > 0.65 and right[2] > right[0] + 0.08 and right[1] > right[0] - 0.02


def test_the_rare_rows_of_a_later_task_are_bought_whatever_others_own():
    """Earlier tasks own a part of most rows; the later one has 24 of its own class."""
    rng = np.random.default_rng(0)
    n = 1200
    X, rare = rng.random((n, 60)) < 0.2, np.zeros(n, dtype=int)
    rare[rng.permutation(n)[:24]] = 1
    X[rare == 1, 5] = True
    source = thrifty.Source.from_array(X, examples=[f"p{i}" for i in range(n)], name="s")
    life = thrifty.Lifetime(thrifty.Models(random_state=0), random_state=0)
    for j in range(4):
        y = X[:, 10 + j] ^ (rng.random(n) < 0.1)
        life.learn(f"task {j}", source, y.astype(int), spend="8 %")
    table = life.learn("rare", source, rare, spend="3 %").model.table_
    rare_rows = table.bought[table.labels == 1]
    assert len(rare_rows) == 24 and rare_rows[:, table.features == 5].all()
    assert rare_rows.mean() > table.bought.mean() + 0.1


@pytest.mark.parametrize("stored", [False, True])
def test_the_bills_of_labels_at_once_sum_to_what_the_provider_was_paid(tmp_path, stored):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    asked = []
    lab = table_seller(X, sold=asked, boolean=False, prices=2)
    life = thrifty.Lifetime(store=str(tmp_path / "a.db") if stored else None, random_state=0)
    many = life.learn(["a", "b", "c"], lab, (X[:, :3] > 0).astype(int), spend="30 %")
    paid = 2.0 * len(asked)
    assert life.balance().spent == life.bill()["cost"].sum() == paid
    assert sum(one.receipt.cost for one in many.values()) == paid
    assert set(life.bill()["route"]) == {"bought"}


def test_a_rare_row_that_is_owned_and_would_be_bought_counts_once():
    """Else the money goes on rows that hold one row of the class, and the task is refused after."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    source = thrifty.Source.from_array(X, examples=[f"r{i}" for i in range(200)], name="rows")
    for seed in range(4):
        life = thrifty.Lifetime(thrifty.Models(), random_state=seed)
        first = life.learn("a", source, rng.random(200) < 0.5, spend=120.0)
        y = np.zeros(200, dtype=int)
        y[first.model.table_.rows[0]] = 1
        others = np.setdiff1d(np.arange(200), first.model.table_.rows)
        y[rng.choice(others, 3, replace=False)] = 1
        before = life.balance().spent
        life.learn("b", source, y, spend=120.0)
        assert life.balance().spent <= before + 120
