"""The number of an example: fast on bits, and the one that its values give one by one."""

import hashlib

import numpy as np
import pytest

from thrifty.cells.sources import Source
from thrifty.cells.sources.base import row_keys
from thrifty.trees.representation import share_any, with_keys

WORD = 2**64


def mixed(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def plain_key(names, values) -> int:
    """One example, feature by feature; stores hold these numbers, so they may not change."""
    salts = [
        int.from_bytes(hashlib.blake2b(n.encode(), digest_size=8).digest(), "little") for n in names
    ]
    total = 0
    for f in sorted(range(len(names)), key=salts.__getitem__)[:256]:
        value = np.nan if np.isnan(values[f]) else float(values[f]) + 0.0
        total += mixed(int(np.float64(value).view(np.uint64)) ^ salts[f])
    return mixed(total % WORD)


random = np.random.default_rng(0)
TABLES = {
    "bits": random.random((9, 13)) < 0.5,
    "more bits than are needed": random.random((5, 300)) < 0.5,
    "bits as numbers": (random.random((6, 9)) < 0.5).astype(float),
    "gaps": np.where(random.random((8, 11)) < 0.3, np.nan, random.integers(0, 3, (8, 11))),
    "bits beside whole numbers": np.c_[random.integers(-3, 5, (7, 3)), random.random((7, 9)) < 0.5],
    "one of each": np.array([[0.5, 1.0], [-0.0, 0.0]]),
}


@pytest.mark.parametrize("which", TABLES)
def test_keys_are_those_of_the_values_one_by_one(which):
    source = Source.from_array(TABLES[which], allow_missing=True)
    expected = [plain_key(source.feature_names, row) for row in TABLES[which].astype(float)]
    assert row_keys(source).tolist() == expected


def test_rows_that_come_twice_are_remembered_once_and_none_is_missed():
    keys = np.array([7, 3, 7, WORD - 1, 3], dtype=np.uint64)
    taught = with_keys(with_keys(b"", keys), keys[:2])
    assert np.frombuffer(taught, "<u8").tolist() == [3, 7, WORD - 1]
    for key in keys:
        assert share_any(taught, np.array([5, key], dtype=np.uint64))
    assert not share_any(taught, np.array([0, 4, WORD - 2], dtype=np.uint64))
