"""Hypothesis without a clock: kernels compile at their first call."""

import warnings

import pytest
from hypothesis import settings

settings.register_profile("kernels", deadline=None, max_examples=60)
settings.load_profile("kernels")


@pytest.fixture(autouse=True)
def quiet_wraparound():
    """Without the JIT numpy warns where words wrap around, which is what they are meant to do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)
        yield
