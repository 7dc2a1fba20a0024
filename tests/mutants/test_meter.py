"""A cell is charged once: to the first task that looks at it."""

import numpy as np

from thrifty import kernels
from thrifty.cells import Cells, Owned, Source
from thrifty.cells.ledger.meter import Meter

X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], dtype=bool)


def rows(*which):
    return kernels.mask_of_rows(np.array(which), 4)


def test_what_was_looked_at_stays_looked_at():
    cells = Cells(X)
    for row in (0, 1, 0, 1, 2, 0):
        cells.get([row], [1])
    assert cells.receipt().cells == 3 and cells.receipt().max_cells_per_example == 1


def test_what_every_earlier_task_bought_is_owned():
    source = Source.from_array(X)
    owned = Owned(4, 2)
    bills = []
    for row, feature in ((0, 0), (1, 1), (0, 0), (1, 1)):
        cells = Cells(source, None, owned)
        cells.get([row], [feature])
        bills.append((cells.receipt().cells, cells.receipt().reused_cells))
        owned.add(cells.meter)
    assert bills == [(1, 0), (1, 0), (0, 1), (0, 1)] and owned.count() == 2


def test_owned_cells_are_reused_once_each_where_everything_is_owned():
    owned = Owned(4, 2)
    everything = Meter(4, 2)
    everything.charge_everything()
    owned.add(everything)
    meter = Meter(4, 2, owned)
    for which in (rows(0), rows(1), rows(0), rows(0, 1)):
        meter.charge(np.array([1]), which)
    assert meter.reused_per_feature.tolist() == [0, 2]
    assert meter.bought_per_feature.sum() == 0 and meter.max_per_example() == 0


def test_a_table_that_one_task_looked_at_keeps_its_columns_and_no_more():
    owned = Owned(64, 5000)
    first, second = Meter(64, 5000, owned), Meter(64, 5000)
    first.charge(np.array([7, 4999]), rows(0, 1))
    owned.add(first)
    assert owned.memory < 100 and owned.count() == 4
    again = Meter(64, 5000, owned)  # the second task: all of it is laid out
    again.charge(np.array([7, 8]), rows(1, 2))
    assert again.bought_per_feature[[7, 8]].tolist() == [1, 2]
    assert again.reused_per_feature[[7, 8]].tolist() == [1, 0]
    owned.add(again)
    assert owned.count() == 7 and owned.count(np.array([7, 4999])) == 5
    second.charge_everything()
    owned.add(second)
    assert owned.everything and owned.count() == 64 * 5000
