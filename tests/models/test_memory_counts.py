"""The memory of a lifetime: counts by column, the same in a store, owned rows, one set of words."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.market import alter
from thrifty.errors import StoreError
from thrifty.models.memory import Memory, MemoryUpdate


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE known_blocks SET block = x'0011'",
        "UPDATE known_blocks SET name = 'looks 0 7'",
        "UPDATE known_blocks SET name = 'looks'",
        """UPDATE lifetimes SET representation =
           replace(representation, '"n_features": 200', '"n_features": 20')""",
        """UPDATE lifetimes SET representation =
           replace(representation, '"n_features": 200', '"n_features": 1e300')""",
    ],
)
def test_damaged_blocks_are_said(tmp_path, damage):
    rng = np.random.default_rng(0)
    path = tmp_path / "s.db"
    with thrifty.Lifetime(store=path) as life:
        life.background(rng.random((60, 200)) < 0.2, rows=20)
    alter(path, damage)
    with pytest.raises(StoreError):
        thrifty.Lifetime.open(path)


def test_two_lifetimes_teach_one_store(tmp_path):
    """What another process has written meanwhile stays, in the store and in both memories."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 120)) < 0.2
    path = tmp_path / "s.db"
    one, two = (thrifty.Lifetime(store=path) for _ in range(2))
    for turn in range(3):
        for life in (one, two):
            life.background(X[rng.permutation(300)[:200]], rows=10 + turn)
    again = thrifty.Lifetime.open(path).representation
    assert again.to_dict() == two.representation.to_dict()
    assert again.background(120)[0].min() == 2 * (10 + 11 + 12)
    one._refresh()
    assert one.representation.to_dict() == again.to_dict()


def test_another_family_leaves_no_blocks(tmp_path):
    path = tmp_path / "s.db"
    life = thrifty.Lifetime(store=path)
    life.background(np.eye(50, dtype=bool), rows=20)
    count = "SELECT COUNT(*) FROM known_blocks"
    assert sqlite3.connect(path).execute(count).fetchone() == (1,)
    life.change(family=thrifty.Trees(max_depth=3))
    assert sqlite3.connect(path).execute(count).fetchone() == (0,)
    life.change(family=thrifty.Models())
    assert life.representation.tasks == 0 and len(life.representation) == 0


def update(rng, width):
    """What a task that sampled a tenth of the features teaches."""
    features = np.sort(rng.choice(width, width // 10, replace=False))
    samples = rng.integers(1, 90, len(features)) / 8
    return MemoryUpdate(features, samples, samples * rng.random(len(features)), features[:5])


def told(memory, width):
    samples, ones = memory.background(width)
    return samples.tolist(), ones.tolist(), list(memory), memory.tasks


def test_counts_are_sums_whatever_came_first_and_a_memory_never_changes():
    """Blocks of 65,536 columns are joined and split inside; nothing of it is seen."""
    rng, width = np.random.default_rng(0), 150_000
    updates = [update(rng, width) for _ in range(7)]
    memory, plain = Memory(), np.zeros((2, width))
    for one in updates:
        before = told(memory, width)
        after = memory.after(one, width)
        assert told(memory, width) == before
        memory = after
        plain[0, one.features] += one.samples
        plain[1, one.features] += one.ones
    assert np.abs(np.array(memory.background(width)) - plain).max() < 0.01
    other = Memory()
    for one in updates[::-1]:
        other = other.after(one, width)
    assert np.array_equal(other.background(width), memory.background(width))
    assert memory.tasks == 7 and set(memory) == {int(f) for o in updates for f in o.useful}


def test_a_memory_comes_back_from_json_and_from_its_blocks():
    rng, width = np.random.default_rng(1), 80_000
    memory = Memory()
    for _ in range(4):
        memory = memory.after(update(rng, width), width)
    memory = memory.after(MemoryUpdate(categories={"town": ("Bern", "Graz")}), width)
    kept = Memory.from_dict(json.loads(json.dumps(memory.to_dict())))
    blocks = {name: block.to_bytes() for name, block in memory.blocks().items()}
    read = Memory.from_dict({**json.loads(json.dumps(memory.head())), "blocks": blocks})
    for again in (kept, read):
        assert told(again, width) == told(memory, width)
        assert again.words == memory.words == {"town": ("Bern", "Graz")}


def test_features_that_are_new_were_never_seen():
    memory = Memory().after(MemoryUpdate(np.array([1]), np.array([8.0]), np.array([2.0])), 3)
    assert memory.background(5)[0].tolist() == [0, 8, 0, 0, 0]


def test_categories_mean_the_same_in_a_later_task():
    """The cohort saw other words first: a row's colour is the colour that it had."""
    rng = np.random.default_rng(0)

    def frame(n, colours, shares):
        numbers = {f"n{i}": rng.normal(size=n) for i in range(9)}
        return pd.DataFrame({"colour": rng.choice(colours, n, p=shares), **numbers})

    life = thrifty.Lifetime(random_state=0)
    life.background(frame(200, ["violet", "red"], [0.5, 0.5]), rows=200)
    X = frame(900, ["blue", "red", "violet"], [0.02, 0.49, 0.49])
    y = ((X["colour"] == "violet") & (X["n0"] > 0.6)).astype(int)
    model = life.learn("t", X, y, spend="60 %").model
    words, table = life.representation.words["colour"], model.table_
    place = table.features.tolist().index(0)
    codes = table.values[table.bought[:, place], place]
    rows = table.rows[table.bought[:, place]]
    assert set(words[:2]) == {"red", "violet"}
    assert [words[int(code)] for code in codes] == X["colour"].to_numpy()[rows].tolist()


def test_rows_that_are_owned_come_first(tmp_path):
    X = np.random.default_rng(6).normal(size=(900, 30))
    y = (X[:, :5].sum(axis=1) > 3).astype(int)
    order = np.random.default_rng(3).permutation(900)  # the task lists them in another order
    first, later = (
        thrifty.Source.from_array(X[rows], examples=rows.tolist(), name="people")
        for rows in (np.arange(900), order)
    )
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    life.background(first, rows=200)
    learned = life.learn("t", later, y[order], spend="5 %")
    assert learned.receipt.cells <= 0.05 * X.size
    assert learned.receipt.reused_cells >= 190 * len(learned.model.features_)
    assert learned.model.table_.n_rows >= 200
