"""Hypothesis without a clock, and the naive twins that exact routines are held against."""

from hypothesis import settings

settings.register_profile("powers", deadline=None, max_examples=40)
settings.load_profile("powers")
