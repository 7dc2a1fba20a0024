"""Alternatives: the cheap answer everywhere, the expensive one where that pays."""

import numpy as np
import pytest

import thrifty

N, WIDTH = 1000, 12


def answers(noise: float = 0.2, rate: float = 0.08, seed: int = 0):
    """Small and large answers beside each other, and a label."""
    rng = np.random.default_rng(seed)
    large = rng.random((N, WIDTH)) < rate
    small = large ^ (rng.random(large.shape) < noise)
    return np.hstack([small, large]), large[:, 0] | large[:, 1] | large[:, 2]


def prices(cheap: float = 0.1) -> thrifty.PriceList:
    things = {f"t{j}": [f"x{j}", f"x{j + WIDTH}"] for j in range(WIDTH)}
    each = [cheap] * WIDTH + [1.0] * WIDTH
    return thrifty.PriceList(each, alternatives=things)


def test_both_are_as_good_as_the_large_one_for_half_of_the_money(tmp_path):
    X, y = answers()
    large, half, paid = [], [], []
    for seed in range(3):
        life = thrifty.Lifetime(prices=1, random_state=seed)
        life.learn("y", X[:600, WIDTH:], y[:600], spend=7200)
        large.append(np.mean(life.predict("y", X[600:, WIDTH:]).values == y[600:]))
        with thrifty.Lifetime(
            prices=prices(), random_state=seed, store=tmp_path / f"{seed}.db"
        ) as both:
            learned = both.learn("y", X[:600], y[:600], spend=3600)
            assert learned.receipt.cost <= 3600 and learned.model.steps_
        # the way of asking is kept in the store
        with thrifty.Lifetime.open(tmp_path / f"{seed}.db") as both:
            found = both.predict("y", X[600:])
            paid.append(found.receipt.cost / (400 * WIDTH))
            half.append(np.mean(found.values == y[600:]))
    assert np.mean(half) > np.mean(large) - 0.06 and np.mean(paid) < 0.7


def test_a_cheap_one_that_says_nothing_is_left_out():
    X, y = answers(noise=0.5)
    life = thrifty.Lifetime(prices=prices(), random_state=0)
    model = life.learn("y", X[:600], y[:600], spend=7200).model
    assert all(s.alone for s in model.steps_)
    assert (model.features_ >= WIDTH).all()
    assert np.mean(life.predict("y", X[600:]).values == y[600:]) > 0.9


def test_an_updated_model_keeps_its_cascade_and_so_does_one_without_some_rows(tmp_path):
    """Next month costs what this month did: the expensive one after some cheap answers."""
    X, y = answers(noise=0.1)
    with thrifty.Lifetime(prices=prices(), random_state=0, store=tmp_path / "s.db") as life:
        first = life.learn("y", X[:600], y[:600], spend=3600).model
        climbed = [s for s in first.steps_ if s.expensive in first.features_ and not s.alone]
        assert len(climbed) > 6
        month = X[600:800]
        updated = life["y"].update(month, y[600:800], spend="100 %")
        small, others = month[:, [s.cheap for s in climbed]], len(first.features_) - len(climbed)
        paid = 0.1 * small.size + small.sum() + others * len(month)
        assert updated.state == "present" and updated.receipt.cost == pytest.approx(paid)
    with thrifty.Lifetime.open(tmp_path / "s.db") as life:
        found = life.predict("y", X[800:])
        assert found.receipt.cost < 0.5 * len(first.features_) * 200
        assert np.mean(found.values == y[800:]) > 0.9
    assert first.of_rows(np.arange(400)).steps_ == first.steps_


def test_damaged_steps_are_refused():
    from thrifty.models import ModelClassifier

    X, y = answers()
    life = thrifty.Lifetime(prices=prices(), random_state=0)
    model = life.learn("y", X[:600], y[:600], spend=3600).model
    data = model.to_dict()
    assert ModelClassifier.from_dict(data).steps_ == model.steps_
    data["steps"] = [{**data["steps"][0], "dear": 99}]
    with pytest.raises(ValueError, match="not there"):
        ModelClassifier.from_dict(data)
