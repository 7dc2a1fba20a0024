"""Compiling is shown once, and only for our own kernels."""

import os
import subprocess
import sys

import pytest

CODE = "import numpy; from thrifty import kernels; kernels.mask_of_rows(numpy.arange(2), 3)"


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_the_first_compilation_is_shown_and_the_second_run_has_none(tmp_path):
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run(
            [sys.executable, "-c", CODE], env=settings, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert told[0].stderr.count("compiling kernels") == 1
    assert told[1].stderr == "" and told[0].stdout == ""
