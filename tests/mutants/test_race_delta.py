"""The chance of another tree than the paper's, 0.001, is shared among the nodes of a race."""

import math

import pytest

import thrifty
from thrifty.trees import race


def test_nodes_share_one_thousandth(monkeypatch):
    given = []

    class Watched(race.NodeRace):
        def __init__(self, *args, **how):
            super().__init__(*args, **how)
            given.append(math.exp(self.log_delta))

    monkeypatch.setattr(race, "NodeRace", Watched)
    task = thrifty.streams.trees(1, 40, 3, 600, 4, random_state=3, max_nodes=6)[0]
    thrifty.Lifetime(thrifty.Trees(max_depth=4)).learn("t", task.X, task.y)
    assert len(given) >= 2
    assert given == pytest.approx([0.001 / (i * (i + 1)) for i in range(1, len(given) + 1)])
    assert sum(given) <= 0.001
