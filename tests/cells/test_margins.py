"""What one feature costs where others are owned: after a path, row by row, and over bits."""

import random
import tracemalloc

import numpy as np
import pytest

from tests.cells.price_lists import random_list
from tests.market import ledger
from thrifty import PriceList, Source
from thrifty.cells.bit_cells import Bit, BitCells
from thrifty.cells.features import match_features
from thrifty.protocol import Cells
from thrifty.testing import FakeProvider

ROWS = 70


def random_reader(seed: int) -> tuple[Cells, list[str], random.Random]:
    rng = random.Random(seed)
    names, parts = random_list(rng)
    prices = PriceList(**{key: value for key, value in parts.items() if value})
    X = np.random.default_rng(seed).integers(0, 2, (ROWS, len(names)))
    return Cells(Source.from_array(X, feature_names=names), prices), names, rng


@pytest.mark.parametrize("seed", range(60))
def test_margins_are_one_bill_for_each_feature(seed):
    cells, names, rng = random_reader(seed)
    every = np.arange(len(names))
    for _ in range(4):
        some = rng.sample(range(len(names)), rng.randint(1, len(names)))
        cells.get(rng.sample(range(ROWS), 20), some)
    rows = np.array(sorted(rng.sample(range(ROWS), 40)))
    found = cells.margins(rows, every)
    for f in every.tolist():
        np.testing.assert_allclose(found[:, f], cells.row_costs(rows, [f]), atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_prices_after_a_path_are_those_of_a_row_that_went_down_it(seed):
    cells, names, rng = random_reader(seed)
    asked = rng.sample(range(len(names)), rng.randint(1, len(names) - 1))
    found = cells.prices_after(asked)
    if found is cells.prices:
        return  # every feature is sold by itself
    for f in asked:
        cells.get([0], [f])
    np.testing.assert_allclose(found, cells.margins([0], np.arange(len(names)))[0], atol=1e-9)


def test_a_plain_list_has_the_same_prices_everywhere():
    cells = Cells(np.eye(3), [1.0, 2.0, 3.0])
    assert cells.prices_after([0]) is cells.prices


def test_what_an_order_fills_beside_is_free_through_a_ledger_too():
    names = ["na", "k", "cl"]
    prices = PriceList({"cl": 3}, orders={"panel": (5, ["na", "k"])}, fees={"draw": (9, names)})
    book = ledger()
    cells = Cells(FakeProvider().source(range(4), names, prices=prices), ledger=book, task="t")
    cells.get([0], [0])
    assert cells.margins([0, 1], [0, 1, 2]).tolist() == [[0, 0, 3], [14, 14, 12]]
    assert cells.receipt().cost == 14


def test_bits_of_a_cell_that_is_there_cost_nothing_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    source = Source.from_array(X, feature_names=["na", "k", "cl"])
    cells = Cells(source, PriceList({"cl": 3}, orders={"panel": (5, ["na", "k"])}))
    bits = BitCells(
        cells, [bit for f in source.feature_names for bit in (Bit(f), Bit(f, "missing"))]
    )
    before = bits.margins([150], np.arange(bits.n_features))[0]
    na = np.flatnonzero(bits.parents == 0)
    untouched = next(r for r in range(200) if not cells.looked_at(r, 0))
    bits.get([untouched], na[:1])
    after = bits.margins([untouched], np.arange(bits.n_features))[0]
    assert set(after[bits.parents <= 1]) == {0.0} and set(after[bits.parents == 2]) == {3.0}
    assert set(bits.prices_after(na[:1].tolist())[bits.parents <= 1]) == {0.0}
    assert before.shape == (bits.n_features,) and bits.depends.all()
    assert bits.price_between(na.tolist(), [int(np.flatnonzero(bits.parents == 2)[0])]) == 3.0


def test_a_matched_reader_counts_in_its_own_features():
    names = ["na", "k"]
    source = Source.from_array(np.ones((3, 2)), feature_names=names)
    prices = PriceList(None, orders={"panel": (5, names)}, fees={"draw": (1, names)})
    match = match_features(["gone", "k", "na"], source, needed=[1, 2])
    cells = Cells(source, prices, match=match)
    cells.get([0], [2])
    assert cells.margins([0, 1], [0, 1, 2]).tolist() == [[0, 0, 0], [0, 6, 6]]
    assert cells.depends.tolist() == [False, True, True]
    assert cells.prices_after([2])[1:].tolist() == [0, 0]


def test_a_wide_table_is_priced_in_little_memory():
    """A share of everything is priced before anything is bought: no table of prices is made."""
    cells = Cells(np.zeros((600, 20_000), dtype=bool), prices=np.full(20_000, 0.5))
    cells.get([3], np.arange(7))
    tracemalloc.start()
    whole = cells.price_of(np.arange(600), np.arange(20_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert whole == 0.5 * (600 * 20_000 - 7)
    assert peak < 30e6  # as floats it would be 96 MB
