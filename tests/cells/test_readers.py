"""Every reader says all there is to say: of a table, matched, of bits, paid for."""

import inspect

import numpy as np
import pytest

from tests.market import ledger, table_seller
from thrifty.cells import Cells, PriceList, Source
from thrifty.cells.bit_cells import BitCells, bits_of
from thrifty.cells.features import match_features

NAMES = ["age", "dose"]
PRICES = PriceList([2, 3], fees={"draw": (4, NAMES)})
VALUES = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 3.0], [60.0, 4.0]])
#: what changes a reader of a table that others bought from meanwhile
CHANGES = {"is_another_call", "charge_again", "own"}
MEMBERS = sorted(name for name in vars(Cells) if not name.startswith("_"))
#: what the methods are called with, by the names of their parameters
GIVEN = {
    "rows": np.arange(4),
    "features": np.array([0, 1]),
    "mask": np.array([15], dtype=np.uint64),
    "owned": [0],
    "wanted": [0, 1],
    "salt": 7,
    "row": 1,
    "feature": 1,
}


def table() -> Source:
    return Source.from_array(VALUES, feature_names=NAMES)


def whole() -> Cells:
    return Cells(table(), PRICES)


def matched() -> Cells:
    match = match_features(["gone", "dose", "age"], table(), needed=[1, 2])
    return Cells(table(), PRICES, match=match)


def paid() -> Cells:
    source = table_seller(VALUES, NAMES, prices=PRICES, boolean=False)
    return Cells(source, ledger=ledger(), task="t")


def over(cells: Cells) -> BitCells:
    return BitCells(cells, bits_of(cells))


READERS = {
    "table": whole,
    "matched": matched,
    "paid": paid,
    "bits": lambda: over(whole()),
    "bits of a match": lambda: over(matched()),
    "bits of paid": lambda: over(paid()),
}


def said(reader: Cells, name: str) -> object:
    """What a member says, called with what it wants where it is a method."""
    member = getattr(reader, name)
    if not inspect.ismethod(member):
        return member
    return member(**{p: GIVEN[p] for p in inspect.signature(member).parameters})


@pytest.mark.parametrize("which", READERS)
@pytest.mark.parametrize(
    "name", [m for m in MEMBERS if m not in {*CHANGES, "columns", "everything"}]
)
def test_every_reader_answers_whatever_it_is_asked(which, name):
    said(READERS[which](), name)


@pytest.mark.parametrize("name", ["columns", "everything"])
def test_booleans_are_packed_alike(name):
    X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], dtype=bool)
    assert np.array_equal(said(over(Cells(X)), name), said(Cells(X), name))


def test_bits_say_what_their_cells_say_of_themselves():
    for cells in (whole(), matched(), paid()):
        bits = over(cells)
        assert bits.is_free == cells.is_free
        assert bits.n_offered == cells.n_offered == 2
        assert bits.offered.tolist() == cells.offered.tolist()
        assert bits.row_order(3).tolist() == cells.row_order(3).tolist()
        assert bits.owns_any_of(0) == cells.owns_any_of(0)


def test_bits_of_a_cell_share_its_price():
    cells = whole()
    bits = over(cells)
    per_cell = np.bincount(bits.parents, weights=bits.shared_prices)
    assert per_cell == pytest.approx(cells.shared_prices)
    assert bits.shared_prices.sum() == pytest.approx(2 + 3 + 4)


def test_a_feature_that_the_source_lacks_is_zero_and_free():
    cells = matched()
    assert cells.get([0, 1], [0, 2]).tolist() == [[0, 30], [0, 40]]
    assert cells.table()[:, 0].tolist() == [0, 0, 0, 0]
    assert cells.receipt().per_feature == {"age": 4, "dose": 4}
    assert cells.fees == ((4.0, (2, 1)),) and cells.absent.tolist() == [True, False, False]
    assert cells.price_between([0], [0, 1]) == 7.0
