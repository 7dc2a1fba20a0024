"""What is said where growing cannot go on is true."""

import numpy as np
import pytest

import thrifty
from thrifty.errors import NotInFamily


@pytest.mark.parametrize("learner", [thrifty.trees.Paper(), thrifty.trees.Race()])
def test_on_xor_the_greedy_tree_is_blamed_and_not_every_tree(learner):
    """Columns 1 and 2 tell the labels within two splits; column 0 gains alone and leads astray."""
    a, b = np.repeat([0, 0, 1, 1], 16), np.repeat([0, 1, 0, 1], 16)
    y = a ^ b
    hint = np.where(np.arange(64) % 16 < 3, 1 - y, y)
    X = np.column_stack([hint, a, b]).astype(bool)
    in_order = thrifty.TreeClassifier(max_depth=2).fit(X[:, 1:], y)
    assert (in_order.predict(X[:, 1:]) == y).all()  # so one of depth 2 is right
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2, learner=learner))
    with pytest.raises(NotInFamily) as said:
        life.learn("xor", X, y)
    assert "largest gain at each split does not get every example right" in str(said.value)
    assert "Another tree of that depth might" in str(said.value)
    assert "no tree" not in str(said.value)
