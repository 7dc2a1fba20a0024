"""One decorator for every kernel.

``nogil`` lets plain threads run kernels side by side; ``cache`` keeps the machine code on disk.
Numba's own threading layers are avoided: the omp layer kills forked children and workqueue aborts
under threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

from thrifty.kernels.progress import show_compiling

__all__ = ["jit"]

F = TypeVar("F", bound=Callable[..., object])


def jit(function: F) -> F:
    """Compile at the first call, keep the result on disk, release the interpreter lock."""
    return cast(F, numba.njit(nogil=True, cache=True, error_model="numpy")(function))


show_compiling()
