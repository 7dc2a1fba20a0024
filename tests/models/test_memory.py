"""What the memory keeps in a store: the same counts, few bytes, nothing changed in place."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thrifty.models.memory import Lesson, Memory


def taught(n_features: int, seen: int, seed: int = 0) -> tuple[Memory, Lesson]:
    rng = np.random.default_rng(seed)
    features = np.sort(rng.permutation(n_features)[:seen])
    looks = rng.integers(1, 40, seen) + rng.integers(0, 1000, seen) / 1000
    lesson = Lesson(features, looks, np.floor(looks * 0.1), features[:20])
    return Memory().after(lesson, n_features), lesson


@pytest.mark.parametrize("seen", [10, 5000])
def test_a_memory_comes_back_as_it_was(seen):
    memory, _ = taught(20_000, seen)
    again = Memory.from_dict(json.loads(json.dumps(memory.to_dict())))
    for name in ("looks", "ones", "useful"):
        assert np.array_equal(getattr(again, name), np.round(getattr(memory, name), 3))
    assert again.to_dict() == memory.to_dict()


def test_many_features_take_few_bytes():
    memory, _ = taught(1_000_000, 50_000)
    assert len(json.dumps(memory.to_dict())) < 10 * 50_000


def test_a_memory_never_changes():
    memory, lesson = taught(20_000, 5000)
    before = memory.to_dict()
    memory.after(lesson, 20_000)
    assert memory.to_dict() == before
