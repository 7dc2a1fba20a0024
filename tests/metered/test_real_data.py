"""Every real data set that is there: identical predictions, no more cells than the paths have."""

import pytest

from speed import metered
from studies.data import data_sets

SETS = list(data_sets(max_rows=600))


@pytest.mark.slow
@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_identical_predictions(data):
    for name, model in metered.models().items():
        row = metered._row(data, name, model)
        assert row["identical"], row
        if name == "tree":
            assert row["most"] <= row["longest path"]
