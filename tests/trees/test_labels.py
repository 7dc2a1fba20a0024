"""Labels as codes and as bits, held against numpy's own."""

import numpy as np
import pytest
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.labels import Labels, read_classes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "y",
    [
        RNG.integers(-3, 4, 100),
        RNG.integers(0, 255, 1000).astype(np.uint8),
        np.array([True, False, True]),
        np.array([True]),
        np.array([1, 10**6]),
        np.array([2**63 - 1, -(2**63)]),
        np.array([2**64 - 1, 2**64 - 2, 3], dtype=np.uint64),
        np.array(["well", "sick", "well"]),
    ],
    ids=str,
)
def test_classes_and_codes_are_those_of_unique(y: NDArray[np.generic]) -> None:
    labels = read_classes(y)
    classes, codes = np.unique(y, return_inverse=True)
    assert labels.classes.dtype == classes.dtype
    assert labels.classes.tolist() == classes.tolist()
    assert labels.codes.tolist() == codes.tolist()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_masks_hold_the_rows_of_each_class(n: int) -> None:
    codes = RNG.integers(0, 3, n)
    masks = Labels(codes, np.arange(3)).masks()
    for c in range(3):
        assert kernels.rows_of_mask(masks[c]).tolist() == np.flatnonzero(codes == c).tolist()
