"""Every door fulfils one protocol: a table's, a matched one's, one to bits, one to a paid source."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.cells import Cells, PriceList, Source
from thrifty.cells.bits import BitCells, bits_of

PRICES = PriceList([2, 3], fees={"draw": (4, ["age", "dose"])})


def table() -> Source:
    values = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 3.0], [60.0, 4.0]])
    return Source.from_array(values, feature_names=["age", "dose"])


def over_bits() -> tuple[BitCells, Cells]:
    cells = Cells(table(), PRICES)
    return BitCells(cells, bits_of(cells)), cells


def test_bits_say_what_their_cells_say_of_themselves():
    bits, cells = over_bits()
    assert bits.is_free and cells.is_free
    assert bits.n_offered == cells.n_offered == 2
    assert bits.offered.tolist() == cells.offered.tolist() == [0, 1]


def test_bits_of_a_cell_share_its_price():
    bits, cells = over_bits()
    per_cell = np.bincount(bits.parents, weights=bits.shared_prices)
    assert per_cell == pytest.approx(cells.shared_prices)
    assert bits.shared_prices.sum() == pytest.approx(2 + 3 + 4)
