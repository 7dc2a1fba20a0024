"""A user's own way to buy: what it is asked, and what is checked of what it brings back."""

from __future__ import annotations

import numpy as np

from thrifty.cells import Cells
from thrifty.errors import BadInput, BadParameter
from thrifty.labels.classes import Labels
from thrifty.labels.numbers import Numbers
from thrifty.models.buying.policy import Bought, Policy
from thrifty.models.memory.memory import Memory
from thrifty.models.table import Table

__all__ = ["buy_by", "check_way"]

#: what may be missing for a purchase: prices are sums of floats
_CENT = 1e-6


def check_way(way: object) -> None:
    """Say at once what a way to buy lacks."""
    if way is not None and (isinstance(way, type) or not callable(getattr(way, "buy", None))):
        raise BadParameter(
            "buying must be an object with buy(cells, labels, memory, allowance, rng), which gives "
            f"a thrifty.models.Bought; got {way!r}. examples/architecture/a_way_to_buy.py has one."
        )


def buy_by(
    way: Policy[Labels | Numbers],
    cells: Cells,
    labels: Labels | Numbers,
    memory: Memory,
    allowance: float,
    rng: np.random.Generator,
) -> Bought:
    """Let a user's way buy, and check that it kept to its allowance and read what it bought."""
    before = cells.receipt().cost
    found = way.buy(cells, labels, memory, allowance, rng)
    name, spent = type(way).__name__, cells.receipt().cost - before
    if not isinstance(found, Bought) or not isinstance(found.table, Table):
        raise BadInput(f"{name}.buy must give a thrifty.models.Bought; got {type(found).__name__}.")
    if spent > allowance + _CENT:
        raise BadInput(
            f"{name}.buy had {allowance:g} to spend and bought for {spent:g}. Ask "
            "cells.price_of(rows, features) before cells.get(rows, features)."
        )
    _check_read(name, found.table, cells)
    return found


def _check_read(name: str, table: Table, cells: Cells) -> None:
    """Every value of the table went through the door, and is what the door said."""
    own = table.rows >= 0
    rows, there = table.rows[own], table.bought[own]
    known = cells.margins(rows, table.features) <= 0
    if (there & ~known).any():
        i, j = np.argwhere(there & ~known)[0].tolist()
        raise BadInput(
            f"{name}.buy has a value of feature {int(table.features[j])} on row {int(rows[i])} "
            "that it did not buy. Read values with cells.get alone, and say in bought= which "
            "those are."
        )
    for j, f in enumerate(table.features.tolist()):
        at = np.flatnonzero(there[:, j])
        said = np.asarray(cells.get(rows[at], [f]), dtype=np.float64)[:, 0] if len(at) else at
        if not np.array_equal(said, table.values[own][at, j], equal_nan=True):
            raise BadInput(
                f"{name}.buy has other values of feature {f} than cells.get gave. Put into the "
                "table what the door said."
            )
