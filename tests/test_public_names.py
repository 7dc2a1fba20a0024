"""The public names: sorted, present, and none missing from design."""

from __future__ import annotations

import thrifty
from thrifty import errors


def test_all_is_sorted_and_true():
    for module in (thrifty, errors):
        assert list(module.__all__) == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)


def test_every_error_is_drawn_in_the_tree():
    for name in errors.__all__:
        assert name in (errors.__doc__ or "")
        assert issubclass(getattr(errors, name), errors.ThriftyError | UserWarning)
