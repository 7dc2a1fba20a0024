"""Hypothesis without a clock: kernels compile at their first call."""

from hypothesis import settings

settings.register_profile("trees", deadline=None)
settings.load_profile("trees")
