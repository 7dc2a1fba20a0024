"""``present=``: cells that are known not to exist are gaps, never asked for and never billed."""

import numpy as np
import pandas as pd
import pytest

import thrifty
from tests.market import seller
from thrifty.protocol import Cells

X = np.arange(12.0).reshape(4, 3) + 0.5
MASK = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 0]], dtype=bool)
EVERY = (range(4), range(3))
GAPS = np.where(MASK, X, np.nan)
DRAWN = thrifty.PriceList(
    {"x0": 1, "x1": 2, "x2": 3}, fees={"draw": (10, ["x1", "x2"])}
)  # 16 on row 0, 14 on row 1, 0 on row 2, 13 on row 3


class Lab:
    """A provider that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    def __call__(self, ids, names):
        self.asked += [(i, name) for i in ids for name in names]
        return [[X[i, int(name[1:])] for name in names] for i in ids]

    def source(self, **options) -> thrifty.Source:
        return seller(self, range(4), ["x0", "x1", "x2"], boolean=False, **options)


def test_a_table_counts_what_exists_alone():
    cells = Cells(thrifty.Source.from_array(X, present=MASK))
    np.testing.assert_array_equal(cells.get(*EVERY), GAPS)
    receipt = cells.receipt()
    assert (receipt.cells, receipt.cost, receipt.avoided_cells) == (7, 7.0, 0)
    assert receipt.max_cells_per_example == 3


def test_prices_and_fees_of_what_does_not_exist_are_not_due():
    cells = Cells(thrifty.Source.from_array(X, present=MASK), DRAWN)
    assert cells.row_costs(*EVERY).tolist() == [16, 14, 0, 13]
    cells.get(range(4), [1])  # row 1 has no x1: no needle yet
    assert cells.row_costs(*EVERY).tolist() == [4, 14, 0, 1]
    cells.table()
    assert cells.receipt().cost == 43


@pytest.mark.parametrize("prices", [1, DRAWN])
def test_a_provider_is_never_asked_nor_paid_for_a_gap(prices):
    lab = Lab()
    life = thrifty.Lifetime()
    cells = Cells(lab.source(prices=prices, present=MASK), ledger=life.ledger, task="t")
    asked = cells.price_of(*EVERY)
    np.testing.assert_array_equal(cells.get(*EVERY), GAPS)
    assert sorted(lab.asked) == [(i, f"x{f}") for i, f in np.argwhere(MASK).tolist()]
    assert cells.receipt().cost == asked == life.balance().spent == (7 if prices == 1 else 43)
    assert cells.receipt().reused_cells == 0


def test_a_second_task_reuses_what_was_bought_and_asks_for_no_gap(tmp_path):
    lab = Lab()
    life = thrifty.Lifetime(store=str(tmp_path / "a.db"))
    for task in ("first", "second"):
        reader = Cells(lab.source(prices=1, present=MASK), ledger=life.ledger, task=task)
        reader.get(*EVERY)
    assert (len(lab.asked), reader.receipt().cells, reader.receipt().reused_cells) == (7, 0, 7)


def test_an_order_fills_what_exists():
    prices = thrifty.PriceList({"x0": 4, "x1": 4, "x2": 4}, orders={"all": (6, ["x0", "x1", "x2"])})
    cells = Cells(thrifty.Source.from_array(X, present=MASK), prices)
    assert cells.row_costs(*EVERY).tolist() == [6, 6, 0, 6]
    cells.get([0, 3], [0])  # 4 each, alone
    cells.get([1], [0, 2])  # the order, which has no x1 there
    assert (cells.receipt().cost, cells.receipt().cells) == (14, 4)


def test_what_follows_from_a_gap_is_one():
    prices = thrifty.PriceList({"x0": 2, "x1": 1}, derived={"x2": ["x0", "x1"]})
    mask = np.ones_like(MASK)
    mask[1, 1] = False
    cells = Cells(thrifty.Source.from_array(X, present=mask), prices)
    assert cells.price_of([1], [2]) == 0
    assert cells.price_of([0], [2]) == 3


def test_masks_come_as_frames_and_functions():
    frame = pd.DataFrame(GAPS, columns=["a", "b", "c"])
    turned = frame.notna()[["c", "a", "b"]]
    source = thrifty.Source.from_frame(frame, present=turned)
    np.testing.assert_array_equal(source.present, MASK)
    told = []

    def exists(ids, names):
        told.append((ids, names))
        return MASK

    source = thrifty.Source.from_array(
        X, examples=list("pqrs"), name="ward", feature_names=list("abc"), present=exists
    )
    assert told == [(list("pqrs"), list("abc"))]
    np.testing.assert_array_equal(source.of_rows(np.array([3, 1])).present, MASK[[3, 1]])
    assert Cells(source.of_rows(np.array([2]))).price_of([0], [0, 1, 2]) == 0


def test_rows_that_come_twice_keep_their_gaps():
    source = thrifty.Source.from_array(
        X, examples=["p", "q", "p", "r"], name="ward", present=MASK, duplicates="newest"
    )
    np.testing.assert_array_equal(source.present, MASK[[1, 2, 3]])


@pytest.mark.parametrize(
    ("present", "says"),
    [
        (MASK[:3], "expected 4 examples x 3 features, got 3 x 3"),
        (MASK.T, "got 3 x 4"),
        (True, "one value"),
        (X, "no values"),
        (MASK.astype(str), "True and False"),
        ([[True], [True, False]], "rows x features"),
        (lambda ids, names: MASK[:1], "got 1 x 3"),
        (pd.DataFrame(MASK, columns=["x0", "x1", "y"]), "lacks ['x2']"),
    ],
)
@pytest.mark.parametrize("paid", [False, True])
def test_a_mask_of_another_shape_is_refused(present, says, paid):
    with pytest.raises(thrifty.errors.BadInput) as error:
        if paid:
            Lab().source(present=present)
        else:
            thrifty.Source.from_array(X, present=present)
    assert says in str(error.value)


def test_a_mask_without_a_gap_changes_nothing():
    source = thrifty.Source.from_array(X > 3, present=np.ones_like(MASK))
    assert source.present is None
    assert source.boolean.all()
