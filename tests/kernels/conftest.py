"""Kernels also run without the JIT."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def quiet_wraparound():
    """Without the JIT numpy warns where words wrap around, which is what they are meant to do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)
        yield
