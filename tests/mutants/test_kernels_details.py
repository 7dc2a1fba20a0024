"""Details of kernels that a small change would break unnoticed."""

import numpy as np
import pytest

from thrifty import kernels
from thrifty.kernels import jit, thresholds


def test_a_bound_for_three_classes_lies_above_a_cut_below_which_nothing_was():
    """The bin holds one row of the first class and nothing lies below it: the bound is exact."""
    totals, low, high = np.array([3, 2, 2]), np.array([0, 0, 0]), np.array([1, 0, 0])
    lx, corner = kernels.xlogx_table(7), np.zeros(3, dtype=np.int64)
    before = (9 + 4 + 4) / 7
    found = thresholds._bound(low, high, (totals, 7, before, lx, kernels.GINI), corner)
    assert found == pytest.approx((1.0 + (4 + 4 + 4) / 6 - before) / 7)


def test_compiling_is_said_once(capsys, monkeypatch):
    monkeypatch.setattr(jit, "_is_ours", bool)
    monkeypatch.setattr(jit, "_first_on_this_machine", lambda: True)
    heard = []
    monkeypatch.setattr("numba.core.event.register", lambda what, listener: heard.append(listener))
    jit._show_compiling.__wrapped__()
    (listener,) = heard
    for name in ("gains", None, "races"):
        listener.on_start(name)
    assert capsys.readouterr().err.count("compiling kernels") == 1
