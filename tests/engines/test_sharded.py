"""Sharded scratch: the tree of one machine, whatever the shards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thrifty
from thrifty import kernels
from thrifty.engines import grow_sharded, sharded
from thrifty.errors import BadInput, BadParameter, ContradictoryLabels
from thrifty.labels.classes import read_classes
from thrifty.packed import pack
from thrifty.trees.gains.gain import gain_named
from thrifty.trees.growing.scratch import grow_from_scratch


def alone(X, y, gain="entropy", max_depth=None):
    return grow_from_scratch(
        kernels.pack_tiles(X),
        read_classes(y),
        gain_named(gain),
        np.ones(X.shape[1]),
        max_depth=max_depth,
    )


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 9999),
    st.integers(1, 5),
    st.sampled_from([3, 40, 600, 1100]),
    st.sampled_from(["entropy", "gini"]),
    st.integers(2, 3),
)
def test_the_tree_of_one_machine(seed, n_shards, n_features, gain, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (120, n_features), dtype=np.uint8)
    y = rng.integers(0, n_classes, 120)
    found = grow_sharded(
        X, y, engine="threads", n_jobs=2, n_shards=n_shards, gain=gain, max_depth=4
    )
    assert found == alone(X, y, gain, 4)


def test_grown_until_pure_and_with_few_counts_kept(monkeypatch):
    task = thrifty.streams.trees(1, 1200, 2, 400, 4, random_state=5)[0]
    expected = alone(task.X, task.y)
    assert grow_sharded(task.X, task.y, engine="threads", n_jobs=3) == expected
    monkeypatch.setattr(sharded, "BUFFER", 1)  # nothing fits: everything is counted anew
    assert grow_sharded(task.X, task.y, engine="threads", n_jobs=3) == expected


def test_from_a_packed_file(tmp_path):
    task = thrifty.streams.trees(1, 700, 2, 300, 3, random_state=1)[0]
    np.save(tmp_path / "x.npy", task.X)
    source = thrifty.Source.from_packed(pack(tmp_path / "x.npy", tmp_path / "x.cells").path)
    assert grow_sharded(source, task.y, engine="threads", n_jobs=2) == alone(task.X, task.y)


def test_a_shard_that_is_lost_is_made_again(monkeypatch):
    task = thrifty.streams.trees(1, 700, 2, 300, 3, random_state=1)[0]
    counting, calls = sharded.Shard.best, []

    def dies_once(self):
        calls.append(self.first)
        if len(calls) == 3:
            raise RuntimeError("the worker was killed")
        return counting(self)

    monkeypatch.setattr(sharded.Shard, "best", dies_once)
    found = grow_sharded(task.X, task.y, engine="threads", n_jobs=2)
    assert found == alone(task.X, task.y) and calls.count(0) > 1


def test_one_class_is_a_leaf():
    X = np.eye(3, dtype=np.uint8)
    assert grow_sharded(X, [1, 1, 1], engine="threads").label == 0


def test_bad_input():
    X = np.zeros((4, 3), dtype=np.uint8)
    with pytest.raises(ContradictoryLabels):
        grow_sharded(X, [0, 1, 0, 1], engine="threads")
    with pytest.raises(BadInput, match="one label per example"):
        grow_sharded(X, [0, 1], engine="threads")
    with pytest.raises(BadInput, match="Boolean features"):
        grow_sharded(X + 0.5, [0, 1, 0, 1], engine="threads")
    with pytest.raises(BadParameter, match="cannot hold a shard"):
        grow_sharded(X, [0, 1, 0, 1], engine="loky")
    with pytest.raises(BadParameter, match="gain must be a name"):
        grow_sharded(X, [0, 1, 0, 1], engine="threads", gain=lambda *a: None)
