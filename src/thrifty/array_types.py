"""Short names for arrays of one kind, the same in every module."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
#: bits, 64 to a word
Words: TypeAlias = NDArray[np.uint64]
