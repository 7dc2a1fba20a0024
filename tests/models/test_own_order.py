"""An order of its own for each row: a pointer is found; where it does not pay nothing changes."""

import json
from functools import partial

import numpy as np
import pytest

import thrifty
from tests.models.tables import prefixes_of, table_of
from thrifty.errors import StoreError
from thrifty.models.asking import own_order as own
from thrifty.models.asking.latent_classes import fit_latent_classes, latent_classes_from_dict
from thrifty.models.asking.order import each_costs, find_order
from thrifty.models.asking.own_order import own_order


def pointer(n, seed, bits=4):
    """Bits, and a number that says which of them is the label."""
    rng = np.random.default_rng(seed)
    shown, which = rng.integers(0, 2, (n, bits)), rng.integers(0, bits, n)
    return np.column_stack([shown, which]).astype(float), shown[np.arange(n), which]


@pytest.fixture(scope="module")
def pointed():
    life = thrifty.Lifetime(random_state=0)
    life.learn("task", *pointer(600, 0), spend="100 %")
    return life


def test_limits_hold_and_explanations_sum_to_the_receipt(pointed):
    X, _ = pointer(100, 3)
    for given in ({"per_row": 1}, {"spend": 150.0}, {"spend": 90.0, "per_row": 2}):
        got = pointed.predict("task", X.copy(), **given)
        assert got.receipt.cost <= given.get("spend", np.inf)
        each = [got.explain(i).cost for i in range(len(X))]
        assert max(each) <= given.get("per_row", 5)
        assert sum(each) == pytest.approx(got.receipt.cost)


def test_where_rows_do_not_differ_the_fixed_order_stays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X @ [2.0, 1.5, 1.0, 0.5, 0.0] + rng.logistic(size=300) > 0).astype(int)
    table, price = table_of(X, y), each_costs(np.ones(5))
    choose = partial(find_order, price=price)
    fixed = prefixes_of(table, choose(table), price, choose=choose)
    assert own_order(table, fixed, choose(table), price, 0) is None


def corners(n, seed, features=5):
    """Four classes, each told by two cells of its own; all else is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(0.5, 0.3, (n, features))
    for bit in range(2):
        X[np.arange(n), y + bit] = ((y >> bit) & 1) + 0.1 * rng.normal(size=n)
    return X, y


@pytest.fixture(scope="module")
def latent():
    X, y = corners(400, 0)
    return fit_latent_classes(X, y, np.ones(400), [False] * 5, 4, 0)


def test_latent_classes_ask_and_come_back_from_the_store(tmp_path, monkeypatch):
    """Where they pay, which is not looked at here: cube and digits of benchmarks/afa.py show it."""
    monkeypatch.setattr(own, "CLEAR", -np.inf)
    X, y = corners(140, 0)
    new, truth = corners(200, 1)
    with thrifty.Lifetime(store=tmp_path / "life.db", random_state=0) as life:
        life.learn("task", X, y, spend="100 %")
        before = life.predict("task", new.copy(), per_row=3)
        within = life.predict("task", new.copy(), spend=400.0)
        # rows that are clear leave what others need, and nothing is bought once it is spent
        assert list(within.stopped).count("sure") > 100 and within.receipt.cost <= 400
    with thrifty.Lifetime.open(tmp_path / "life.db") as again:
        after = again.predict("task", new.copy(), per_row=3)
        (ladder,) = again["task"].model._ladders.values()
    assert ladder.tasks[0].chooser is not None
    assert np.allclose(before.probabilities, after.probabilities, atol=1e-6)
    assert (after.values == truth).mean() > 0.8


@pytest.mark.parametrize("odd", [-1, 10**9])
def test_a_group_of_no_class_is_refused_before_room_is_made_for_it(latent, odd):
    told = latent.to_dict()
    told["class_of"] = [odd, *told["class_of"][1:]]
    with pytest.raises(StoreError, match="groups of no class"):
        latent_classes_from_dict(told)


def test_a_latent_class_has_what_it_would_have_after_the_answer(latent):
    """The expected fall of the entropy is the mean over the answers, weighted by how likely."""
    nothing = np.zeros((1, 5), dtype=np.uint8)
    codes, likely = latent.answers_of(2)
    assert likely.sum() == pytest.approx(1.0)
    after = np.repeat(nothing, len(codes), axis=0)
    after[:, 2] = codes

    def doubt(p):
        return -(np.exp(p) * p).sum(axis=1)

    fell = doubt(latent.logs(nothing))[0] - likely @ doubt(latent.logs(after))
    assert latent.falls(nothing)[0, 2] == pytest.approx(fell, abs=0.05)
    assert (latent.falls(after)[:, 2] == 0).all()


def test_latent_classes_come_back_and_strange_ones_are_refused(latent):
    data = json.loads(json.dumps(latent.to_dict()))
    codes = latent.codes(corners(20, 2)[0])
    assert np.allclose(latent_classes_from_dict(data).logs(codes), latent.logs(codes))
    with pytest.raises(StoreError, match="no tables"):
        latent_classes_from_dict({**data, "class_of": data["class_of"][:2]})


def test_gaps_and_categories_are_values_of_latent_classes():
    rng = np.random.default_rng(3)
    y = np.arange(300) % 3
    X = np.column_stack([y + 10.0, rng.normal(size=300)])
    X[y == 1, 1] = np.nan
    model = fit_latent_classes(X, y, np.ones(300), [True, False], 3, 0)
    for one in range(2):
        codes = model.codes(X)
        codes[:, 1 - one] = 0
        right = model.logs(codes).argmax(axis=1) == y
        assert right[y == 1].all() and right.mean() > (0.95 if one == 0 else 0.5)
