"""Which way of buying the data calls for."""

from __future__ import annotations

from thrifty.cells import Cells
from thrifty.models.pilot import Pilot
from thrifty.models.policy import Policy

__all__ = ["policy_for"]


def policy_for(cells: Cells) -> Policy:
    """All features Boolean: the wide way; else the way for numbers, categories and gaps."""
    return Pilot()
