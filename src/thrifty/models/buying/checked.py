"""What a model rests on most is asked of the dear answerer, before the model is fitted.

Up the stairs (:mod:`thrifty.models.stairs`) a wrong "no" of the cheap answerer stays. On the few
features that matter most that costs more than further rows bring: part of the money is kept back,
and asks the dear one about them on every row of the table. Predictions ask it outright of the same
features first, so that a model reads what it was fitted to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from thrifty.labels.classes import Labels
from thrifty.models.buying.policy import Bought, Policy
from thrifty.models.memory.memory import Memory
from thrifty.models.stairs import StairCells
from thrifty.models.table import Table

__all__ = ["buy_and_check", "checked", "kept_back"]

#: of the money. Of 0, .15, .25 and .35 chosen on tmc2007_500 and slashdot, where .35 loses and .15
#: does not; measured on rcv1s1_500 and medical (docs/howto/prices.md)
_KEPT_BACK = 0.15


def buy_and_check(
    policy: Policy[Labels],
    cells: StairCells,
    labels: Labels,
    memory: Memory,
    money: float,
    rng: np.random.Generator,
) -> Bought:
    """What a policy buys with most of the money, and the dear one's answers for the rest."""
    before = cells.receipt().cost
    bought = policy.buy(cells, labels, memory, (1 - kept_back(cells)) * money, rng)
    left = money - (cells.receipt().cost - before)
    return replace(bought, table=checked(bought.table, cells, left))


def kept_back(cells: StairCells) -> float:
    """The part of a task's money for answers of the dear one; 0 where none waits for another."""
    return _KEPT_BACK if cells.expected else 0.0


def checked(table: Table, cells: StairCells, money: float) -> Table:
    """The table with answers of the dear one, feature by feature while the money lasts.

    Features stand in it with the most useful first.
    """
    values = table.values.copy()
    for j, feature in enumerate(table.features.tolist()):
        if not cells.climbs(feature):
            continue
        at = np.flatnonzero(table.bought[:, j] & (table.rows >= 0))
        cost = cells.price_of_dear(table.rows[at], feature)
        if cost > money + 1e-9:
            break
        money -= cost
        values[at, j] = cells.ask_dear(table.rows[at], feature)
    return replace(table, values=values)
