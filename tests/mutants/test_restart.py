"""A restart forgets what was grown from the representation it forgets."""

import numpy as np

import thrifty


def test_after_a_restart_the_whole_tree_is_stored_and_nothing_else():
    random = np.random.default_rng(0)
    first, second = (random.random((300, 8)) < 0.5 for _ in range(2))
    family = thrifty.Trees(max_depth=3, learner=thrifty.trees.Paper())
    life = thrifty.Lifetime(family, agnostic=thrifty.agnostic.Restart(1))
    life.learn("one", first, first[:, 0])
    again = life.learn("two", second, second[:, 0] & second[:, 5])
    assert again.route == "scratch" and again.failure is not None
    # Compared with what was grown from the forgotten stump, the part below it would come too.
    assert len(life.representation) == 1
