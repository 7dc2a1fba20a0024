"""The tally of a receipt against its plain twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thrifty import kernels

counts = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40)), min_size=1, max_size=50)


@given(counts)
def test_tally_equals_its_twin(pairs):
    bought, reused = (np.array(column, dtype=np.int64) for column in zip(*pairs))
    cells, again, some = kernels.tally(bought, reused)
    assert (int(cells), int(again)) == (int(bought.sum()), int(reused.sum()))
    assert some.tolist() == np.flatnonzero(bought).tolist()
