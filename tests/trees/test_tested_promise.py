"""What ``Tested`` promises: on whose rows, for which portion, in which order."""

import numpy as np
import pytest

import thrifty
from tests.market import table_seller
from thrifty.trees.representation import Metafeatures, share_any, with_keys
from thrifty.trees.tested import rows_to_pass
from thrifty.trees.tree import stump


def lifetime(**how):
    learner = thrifty.trees.Tested(0.01, 0.95, random_state=0)
    return thrifty.Lifetime(thrifty.Trees(max_depth=12, learner=learner), **how)


def noisy_table(seed, n_rows=3000, n_features=40):
    """Labels are one feature, one in ten flipped: only luck with these very rows explains them."""
    random = np.random.default_rng(seed)
    X = random.random((n_rows, n_features)) < 0.5
    return X, X[:, 0] ^ (random.random(n_rows) < 0.1)


def test_a_tree_fitted_to_the_same_rows_is_not_promised_to_be_right_on_others():
    """Tasks share rows, the second has the first one's labels: its tree is in the metafeatures."""
    X, y = noisy_table(0)
    life = lifetime()
    life.learn("first", X, y)
    again = life.learn("again", X, y)
    other_X, other_y = noisy_table(1, 20_000)
    error = np.mean(again.model.predict(other_X) != other_y)
    assert again.route == "reused" and error > 0.05
    assert again.receipt.promise == ""


def test_the_same_rows_are_known_again_after_a_store_was_closed(tmp_path):
    X, y = noisy_table(0)
    lifetime(store=str(tmp_path / "s.db")).learn("first", X, y)
    life = thrifty.Lifetime.open(str(tmp_path / "s.db"))
    assert life.learn("again", X, y).receipt.promise == ""


def simple_table(seed, n_rows=20_000, n_features=40):
    X = np.random.default_rng(seed).random((n_rows, n_features)) < 0.5
    return X, X[:, 3] & X[:, 5]


def test_rows_that_are_new_carry_the_promise_and_shared_ones_ask_for_more():
    life = lifetime()
    assert life.learn("first", *simple_table(0)).receipt.promise == ""  # from scratch: none
    fresh = life.learn("fresh", *simple_table(1))
    shared = life.learn("shared", *simple_table(0))
    assert "new to the metafeatures" in fresh.receipt.promise
    assert "any tree of its size" in shared.receipt.promise
    n_fresh, n_shared = (
        int(task.receipt.promise.split("right on ")[1].split()[0]) for task in (fresh, shared)
    )
    assert n_fresh == rows_to_pass(0.01, 0.95, 1)
    # two splits: ln(2 (8 * 40)^2) + ln 6 + ln 20,000 more than ln(1 / delta)
    more = np.log(2 * 320.0**2) + np.log(6) + np.log(20_000)
    assert n_shared == int(np.ceil((np.log(0.025) - more) / np.log1p(-0.01)))
    assert fresh.receipt.cells < shared.receipt.cells < 20_000


def test_a_portion_that_fails_does_not_buy_all_rows():
    """The newest metafeature is of another task; the portion after it holds the right one."""
    bills = {}
    for rule in (thrifty.agnostic.Expansion(), thrifty.agnostic.Doubling()):
        life = lifetime(agnostic=rule)
        for name, feature in (("a", 3), ("b", 5), ("c", 7), ("a again", 3)):
            X = np.random.default_rng(feature + len(name)).random((20_000, 40)) < 0.5
            learned = life.learn(name, X, X[:, feature])
        assert learned.route == "reused" and learned.model.tree_.split.feature == 3
        bills[type(rule).__name__] = learned.receipt.cells
    assert bills["Doubling"] < 3_000 and bills["Expansion"] < 3_000


def test_the_confidence_is_spent_once_over_all_portions_and_attempts():
    error, confidence = 0.02, 0.9
    spent = sum(
        (1 - error) ** rows_to_pass(error, confidence, attempt, portion=portion)
        for attempt in range(1, 200)
        for portion in range(1, 60)
    )
    assert spent <= 1 - confidence
    whole = sum((1 - error) ** rows_to_pass(error, confidence, i) for i in range(1, 5000))
    assert 0.9 * (1 - confidence) <= whole <= 1 - confidence


def test_portions_are_numbered_as_they_are_tried():
    known = Metafeatures(tuple(map(stump, range(7))))
    portions = list(thrifty.agnostic.Doubling().portions(known))
    assert [p.portion for p in portions] == [1, 2, 3, 4]
    assert [p.partial for p in portions] == [True, True, True, False]
    assert [p.portion for p in thrifty.agnostic.Expansion().portions(known)] == [0]


def rows_asked(random_state=None, store=None):
    """The rows that a test asked about, of a task whose tree is known."""
    learner = thrifty.trees.Tested(0.01, 0.95, random_state=random_state)
    family = thrifty.Trees(max_depth=3, learner=learner)
    life = thrifty.Lifetime(family, store=store, budget=thrifty.Budget(total=10**6))
    life.learn("first", *simple_table(0, 3000, 12))
    X, y = simple_table(1, 3000, 12)
    asked = []
    source = table_seller(X, sold=asked)
    life = life if store is None else thrifty.Lifetime.open(store)
    life.learn("second", source, y)
    return {row for row, _ in asked}


def test_the_order_of_rows_is_secret_unless_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("THRIFTY_ROW_SEED", raising=False)
    assert rows_asked() != rows_asked()
    assert rows_asked(5) == rows_asked(5) != rows_asked(6)


def test_a_store_keeps_the_order(tmp_path, monkeypatch):
    stores = [str(tmp_path / f"{k}.db") for k in range(3)]
    assert rows_asked(5, stores[0]) == rows_asked(5)
    monkeypatch.delenv("THRIFTY_ROW_SEED", raising=False)
    assert rows_asked(None, stores[1]) != rows_asked(None, stores[2])


@pytest.mark.parametrize("state", [-1, 0.5, "x"])
def test_a_bad_random_state_is_refused(state):
    with pytest.raises(thrifty.errors.BadParameter, match="random_state"):
        thrifty.trees.Tested(random_state=state)


@pytest.mark.parametrize("first", [0, 1500, 2900])
@pytest.mark.parametrize("with_ids", [True, False])
def test_rows_that_come_again_in_part_are_known_again(first, with_ids):
    """The second task's rows are the first one's from ``first`` on, then others."""
    X, y = noisy_table(0, 6000)
    life = lifetime()
    before, after = slice(0, 3000), slice(first, first + 3000)

    def brought(rows):
        if not with_ids:
            return X[rows].copy()
        ids = range(6000)[rows]
        return thrifty.Source.from_array(X[rows], examples=ids, name="people")

    life.learn("first", brought(before), y[before])
    again = life.learn("again", brought(after), y[after])
    assert "new to the metafeatures" not in again.receipt.promise
    other_X, other_y = noisy_table(1, 20_000)
    error = np.mean(again.model.predict(other_X) != other_y)
    assert error <= 0.01 or again.receipt.promise == ""


def test_columns_in_another_order_do_not_hide_that_rows_are_the_same():
    pandas = pytest.importorskip("pandas")
    X, y = simple_table(0, 8000)
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    life = lifetime()
    life.learn("first", frame[:4000], y[:4000])
    turned = frame[frame.columns[::-1]][3900:]
    assert "any tree of its size" in life.learn("again", turned, y[3900:]).receipt.promise


def test_ids_of_another_source_are_other_rows():
    life = lifetime()
    for name, seed in (("ours", 0), ("theirs", 1)):
        X, y = simple_table(seed)
        source = thrifty.Source.from_array(X, examples=range(len(X)), name=name)
        learned = life.learn(name, source, y)
    assert "new to the metafeatures" in learned.receipt.promise


def test_what_doubling_puts_first_because_of_rows_counts_as_taught_by_them():
    """The order of metafeatures is part of what is tested; rows that changed it are not new."""
    life = lifetime(agnostic=thrifty.agnostic.Doubling())
    for name, feature, seed in (("a", 3, 0), ("b", 5, 1), ("a again", 3, 2), ("b again", 5, 2)):
        X, _ = simple_table(seed)
        learned = life.learn(name, X, X[:, feature])
    assert learned.route == "reused" and "any tree of its size" in learned.receipt.promise


def test_many_rows_are_kept_in_part_and_few_whole():
    keys = np.random.default_rng(0).integers(0, 2**63, 100_000, dtype=np.uint64) * np.uint64(2)
    many, few = with_keys(b"", keys), with_keys(b"", keys[:3000])
    assert len(few) == 8 * 3000 and 5_800 < len(many) / 8 < 6_700
    assert share_any(many, keys[-200:]) and not share_any(few, keys[3000:])
    known = Metafeatures(rows=many)
    assert Metafeatures.from_dict(known.to_dict()) == known
