"""What the memory keeps, and how: by column, the same in a store, nothing changed in place."""

from __future__ import annotations

import base64
import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

import thrifty
from thrifty.agnostic import Counts
from thrifty.cells.ledger.arrays import pack_arrays
from thrifty.errors import StoreError
from thrifty.models.memory.layers import COLUMNS, remember
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.stores import SQLiteStore
from thrifty.stores.in_parts import load_parts, write_parts

N = 3 * COLUMNS + 100


def lesson_of(n_features: int, seen: int, seed: int = 0) -> Lesson:
    rng = np.random.default_rng(seed)
    features = np.sort(rng.permutation(n_features)[:seen])
    looks = rng.integers(1, 40, seen) + rng.integers(0, 1000, seen) / 1000
    return Lesson(features, looks, np.floor(looks * 0.1), features[:20])


def taught(n_features: int, seen: int, seed: int = 0) -> Memory:
    return Memory().after(lesson_of(n_features, seen, seed), n_features)


def with_sketches(features: list[int], seed: int, memory: Memory) -> Lesson:
    rng = np.random.default_rng(seed)
    sketches = {f: remember(memory.sketch(f), rng.normal(f, 1, 50), np.ones(50)) for f in features}
    return Lesson(useful=np.array(features[:1]), sketches=sketches, words={"x": ("a", "b")})


def same(one: Memory, other: Memory) -> bool:
    return json.dumps(one.to_dict()) == json.dumps(other.to_dict())


@pytest.mark.parametrize("seen", [0, 10, 5000])
def test_a_memory_comes_back_as_it_was(seen):
    memory = taught(20_000, seen)
    again = Memory.from_dict(json.loads(json.dumps(memory.to_dict())))
    for name in ("looks", "ones", "useful"):
        assert np.array_equal(getattr(again, name), getattr(memory, name))
    assert same(again, memory)


def test_many_features_take_few_bytes():
    assert len(json.dumps(taught(1_000_000, 50_000).to_dict())) < 10 * 50_000


def test_a_memory_never_changes():
    memory = taught(20_000, 5000)
    before = json.dumps(memory.to_dict())
    memory.after(lesson_of(20_000, 5000), 20_000)
    assert json.dumps(memory.to_dict()) == before


def test_layers_add_up_to_what_was_seen():
    """Against plain dense counts, lessons of all sizes, some beyond the features known before."""
    rng, memory = np.random.default_rng(0), Memory()
    looks, ones, useful = np.zeros((3, N), dtype=np.int64)
    for seed in range(60):
        width = N if seed > 10 else N - COLUMNS
        lesson = lesson_of(width, int(rng.integers(1, 400)), seed)
        memory = memory.after(lesson, width)
        looks[lesson.features] += np.rint(lesson.looks * 1000).astype(np.int64)
        ones[lesson.features] += np.rint(lesson.ones * 1000).astype(np.int64)
        useful[lesson.useful] += 1
    assert np.array_equal(memory.looks, looks / 1000) and np.array_equal(memory.ones, ones / 1000)
    assert np.array_equal(memory.usefulness(N + 7)[:N], useful)
    assert sorted(memory) == np.flatnonzero(useful).tolist() and len(memory) == (useful > 0).sum()
    assert useful[list(memory)].tolist() == sorted(useful[useful > 0], reverse=True)
    assert max(len(layers) for layers in memory.counts.blocks.values()) <= 10


def test_of_sketches_the_newest_counts():
    memory = Memory()
    for seed, features in enumerate([[1, 5, COLUMNS + 2], [5], [5, 9], [1]]):
        memory = memory.after(with_sketches(features, seed, memory), N)
    rows = {f: memory.sketch(f)["rows"] for f in (1, 5, 9, COLUMNS + 2)}
    assert rows == {1: 100.0, 5: 150.0, 9: 50.0, COLUMNS + 2: 50.0} and memory.sketch(2) is None
    assert np.median(memory.sketch(COLUMNS + 2)["at"]) == pytest.approx(COLUMNS + 2, abs=1)


def test_what_a_task_did_not_touch_is_shared():
    first = taught(N, 20_000)
    few = Lesson(np.array([COLUMNS + 5]), np.ones(1), np.ones(1))
    second = first.after(few, N)
    new = {name for name, block in second.blocks().items() if first.blocks().get(name) is not block}
    assert new == {"looks 1 1"}
    again = second.after(with_sketches([4], 0, second), N)
    repeated = again.after(Lesson(words={"x": ("a", "b")}), N)
    assert all(repeated.blocks()[name] is block for name, block in again.blocks().items())


def test_a_memory_of_before_opens():
    """Lists, packed counts, and sketches among the notes, as earlier versions wrote them."""
    spread = remember(None, np.arange(40.0), np.ones(40))
    lists = {
        "n_features": 9,
        "tasks": 2,
        "features": [2, 4],
        "looks": [1.5, 3.0],
        "ones": [0.25, 1.0],
        "useful": [0, 2],
        "notes": {"values:7": spread, "words of x": ["a"]},
    }
    memory = Memory.from_dict(lists)
    assert memory.looks.tolist() == [0, 0, 1.5, 0, 3, 0, 0, 0, 0] and list(memory) == [4]
    assert memory.sketch(7) == spread and memory.words == {"x": ("a",)}
    packed = pack_arrays(
        {
            "steps": np.array([2, 2], np.int32),
            "looks": np.array([1500, 3000]),
            "ones": np.array([250, 1000]),
            "useful": np.array([0, 2], np.int32),
        }
    )
    kept = {key: lists[key] for key in ("n_features", "tasks", "notes")}
    text = base64.b64encode(packed).decode()
    assert same(Memory.from_dict({**kept, "packed": text}), memory)


def test_notes_of_a_store_come_into_their_fields():
    """Rows were blocks of the kind "note" once; a kind that this version does not know is left."""
    blocks = {
        "note 0 rows:3": b'"abc"',
        "rows 1 rows:cohort 0": b'"def"',
        "rows 4 rows:7": b'"ghi"',
        "note 2 words of x": b'["a", "b"]',
        "note 3 model 00ff": b'{"n": 1}',
        "note 9 later": b"1",
    }
    memory = Memory.from_dict({"n_features": 9, "tasks": 8, "blocks": blocks})
    assert (memory.controls, memory.cohorts) == (["abc", "ghi"], ["def"])
    assert memory.words == {"x": ("a", "b")} and memory.hypotheses == [{"n": 1}]
    assert list(memory.notes.controls) == [3, 7]
    after = memory.after(Lesson(controls={3: "new"}, cohort="more", words={"x": ("a", "b")}), 9)
    written = {name: block.to_bytes() for name, block in after.blocks().items()}
    assert written == {
        "rows 0 rows:3": b'"new"',
        "rows 1 rows:cohort 0": b'"def"',
        "rows 4 rows:7": b'"ghi"',
        "rows 5 rows:cohort 1": b'"more"',
        "note 2 words of x": b'["a", "b"]',
        "note 3 model 00ff": b'{"n": 1}',
    }


class Kept:
    """A memory in a store, and the bytes of blocks that each write takes there."""

    def __init__(self, path) -> None:
        self.path = path
        self.book = SQLiteStore(path).book("x", {"family": "Models"}, {})

    def write(self, memory: Memory, stored: Memory | None) -> int:
        before = self.blocks()
        state = {"counts": Counts().to_dict()}
        self.book.write(lambda pages: write_parts(pages, state, memory, stored))
        return sum(len(b) for name, b in self.blocks().items() if before.get(name) != b)

    def blocks(self) -> dict[str, bytes]:
        return dict(sqlite3.connect(self.path).execute("SELECT name, block FROM known_blocks"))

    def read(self) -> Memory:
        def work(pages):
            return load_parts(pages, pages.state().representation, thrifty.Models())[0]

        return self.book.read(work)


def test_a_task_writes_what_it_bought_not_the_whole(tmp_path):
    """Many features, all known: a thousand of them, anywhere, are some kilobytes."""
    many, kept = 250_000, Kept(tmp_path / "s.db")
    memory = taught(many, many)
    whole = kept.write(memory, None)
    assert whole > 500_000
    bytes_of = []
    for seed in range(1, 13):
        after = memory.after(lesson_of(many, 1000, seed), many)
        bytes_of.append(kept.write(after, memory))
        memory = after
    assert bytes_of[0] < 10_000 and np.mean(bytes_of) < 40_000 and max(bytes_of) < whole / 10
    assert same(kept.read(), memory)
    # layers that have become one are taken out
    assert set(kept.blocks()) == set(memory.blocks())


def test_sketches_and_notes_of_a_store(tmp_path):
    kept, memory = Kept(tmp_path / "s.db"), Memory()
    for seed, features in enumerate([[1, 5], [5], [9, 5], [1]]):
        models = {f"{9 - seed}": {"n": seed}}
        lesson = with_sketches(features, seed, memory)
        after = memory.after(replace(lesson, useful=lesson.useful[:0], hypotheses=models), N)
        kept.write(after, memory if seed else None)
        memory = after
    again = kept.read()
    assert same(again, memory) and [note["n"] for note in again.hypotheses] == [0, 1, 2, 3]


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
    connection = sqlite3.connect(path)
    connection.execute(damage)
    connection.commit()
    connection.close()
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
    assert same(again, two.representation) and again.looks.min() == 2 * (10 + 11 + 12)
    one.refresh()
    assert same(one.representation, again)


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
