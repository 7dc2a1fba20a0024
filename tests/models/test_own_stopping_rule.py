"""A stopping rule says itself what it needs: one of a user's own is one class."""

from dataclasses import dataclass

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadParameter
from thrifty.stopping import Settled, StoppingRule, probability_for_trees, rule_for_models


@dataclass(frozen=True)
class Hopeless(StoppingRule):
    """Stop whoever is not going to have the label."""

    reason = "hopeless"

    def stops(self, p, class_shares, price_next=0.0, fall_next=None):
        return p[:, 1] < 0.2


class WeighsNothing(StoppingRule):
    """Told of falls and prices, it goes on only where they are free."""

    weighs_falls = True
    seen = None

    def stops(self, p, class_shares, price_next=0.0, fall_next=None):
        WeighsNothing.seen = np.shape(price_next), np.shape(fall_next)
        return np.full(len(p), True)


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 4))
    y = X[:, 0] + 0.5 * X[:, 1] > 0.6
    life = thrifty.Lifetime(random_state=0)
    life.learn("a", X, y, spend="80 %")
    return life, rng.normal(size=(30, 4))


def test_models_stop_by_it_and_say_its_reason(learned):
    life, new = learned
    made = life.predict("a", new, stop=Hopeless())
    stopped = np.array(made.stopped)
    assert set(stopped) == {"hopeless", "finished"}
    assert (made.probabilities[stopped == "hopeless", 1] < 0.2).all()


def test_one_that_weighs_falls_is_told_them(learned):
    life, new = learned
    life.predict("a", new, stop=WeighsNothing())
    prices, falls = WeighsNothing.seen
    assert prices == falls and len(prices) == 2


def test_trees_stop_by_a_probability_alone():
    assert probability_for_trees(thrifty.Sure(0.9)) == 0.9
    assert probability_for_trees(None) is None
    for rule in (Hopeless(), thrifty.Worth(0.1), "sure"):
        with pytest.raises(BadParameter, match="trees stop with thrifty.Sure"):
            probability_for_trees(rule)


def test_what_is_no_rule_for_users_is_refused():
    assert rule_for_models(None) is None
    for rule in (Settled(0.4), "sure", 0.9):
        with pytest.raises(BadParameter, match="models stop with thrifty.Sure"):
            rule_for_models(rule)
