"""Details of commands and certificates that a small change would break unnoticed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from thrifty.certified.certificate import _too_few
from thrifty.certified.divergence import least_checks
from thrifty.commands.csv_file import _with_points

pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize(("words", "numbers"), [(["-", "NA"], True), (["a", "b", "c"], False)])
def test_marks_for_gaps_are_few_words(words, numbers):
    """A column with more words than two is of categories, though some look like numbers."""
    found = _with_points(pandas.DataFrame({"dose": ["1,5", "2,25", *words]}))
    assert found["dose"].tolist()[:2] == (["1.5", "2.25"] if numbers else ["1,5", "2,25"])


def test_rows_are_few_up_to_twice_what_is_checked():
    needed = least_checks(1 - 0.95, 0.95)
    for level, rows, few in (
        (0.95, 2 * needed, True),
        (0.95, 2 * needed + 1, False),
        (1.0, 9, False),
    ):
        done = SimpleNamespace(
            by_chance=False, target=SimpleNamespace(level=level), bought=np.zeros(rows, bool)
        )
        assert bool(_too_few(done, 0.95)) == few
