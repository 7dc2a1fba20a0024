"""Compiling is shown once, and only for our own kernels."""

import os

import pytest

from tests.shell import python

CODE = (
    "import numpy; from thrifty import kernels; kernels.mask_of_rows(numpy.arange(2), 3)",
    "import numpy as n; from thrifty import kernels; "
    "kernels.unpack_columns(n.zeros((1, 1), n.uint64), n.arange(2))",
)


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_the_first_compilation_is_shown_and_those_of_other_kernels_are_not(tmp_path):
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [python(code, env=settings) for code in CODE]
    assert told[0].stderr.count("compiling kernels") == 1
    assert told[1].stderr == "" and told[0].stdout == ""
