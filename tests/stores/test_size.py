"""What a task adds to its store beside what it bought."""

import os

import numpy as np

import thrifty


def test_a_task_over_a_million_features_adds_less_than_100_kb(tmp_path):
    path = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=path)
    life.ledger.book.store.shrink()  # no free pages that would hide what is added
    before = os.path.getsize(path)
    X = np.random.default_rng(0).integers(0, 2, (24, 1_000_000), dtype=np.uint8)
    learned = life.learn("wide", X, X[:, 123_456])
    assert os.path.getsize(path) - before < 100_000
    assert len(learned.receipt.per_feature) > 10_000
    again = thrifty.Lifetime.open(path).tasks[0].receipt
    assert again.cells == learned.receipt.cells and again.cost == learned.receipt.cost
    assert len(again.per_feature) == 10_000
    assert again.per_feature.items() <= learned.receipt.per_feature.items()
    least = min(again.per_feature.values())
    left_out = set(learned.receipt.per_feature) - set(again.per_feature)
    assert max(learned.receipt.per_feature[name] for name in left_out) <= least


def test_a_list_of_features_that_is_short_is_kept_whole(tmp_path):
    path = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=path)
    X = np.random.default_rng(0).integers(0, 2, (24, 20_000), dtype=np.uint8)
    learned = life.learn("wide", X, X[:, 1_234])
    assert thrifty.Lifetime.open(path).tasks[0].receipt == learned.receipt
