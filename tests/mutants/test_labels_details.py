"""Labels and groups that cannot be read: an error of ours, which says what to do."""

import numpy as np
import pytest

from thrifty.errors import BadInput
from thrifty.labels import read_groups, real_labels


def test_groups_of_several_kinds_cannot_be_ordered():
    groups = np.array([1, "ward", 2, "ward"], dtype=object)
    with pytest.raises(BadInput, match="one kind that can be ordered"):
        read_groups(groups, 4)


@pytest.mark.parametrize("labels", [["high", "low"], [{}, 1.0]])
def test_words_are_no_numbers(labels):
    with pytest.raises(BadInput, match="labels must be numbers"):
        real_labels(labels)


def test_the_first_row_without_a_group_is_named():
    with pytest.raises(BadInput, match="example 2 has none"):
        read_groups(np.array([1.0, 2.0, np.nan, np.nan]), 4)
