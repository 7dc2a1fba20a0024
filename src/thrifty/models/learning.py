"""One task: buy a table, fit what is to be fitted on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.cells import Cells
from thrifty.models.choice import policy_for
from thrifty.models.fitting import fit
from thrifty.models.memory import Memory
from thrifty.models.policy import Bought
from thrifty.trees.labels import Labels

__all__ = ["LearnedTable", "learn_table"]

#: the share of everything that a task may cost where nothing is said
_DEFAULT_SHARE = 0.05


@dataclass(frozen=True)
class LearnedTable:
    """What was bought, and what was fitted on it."""

    bought: Bought
    fitted: Any


def learn_table(
    cells: Cells, labels: Labels, memory: Memory, estimator: Any, seed: int
) -> LearnedTable:
    """Buy within the door's allowance and fit."""
    allowance = cells.allowance
    if allowance is None:
        allowance = _DEFAULT_SHARE * cells.n_examples * float(cells.prices.sum())
    rng = np.random.default_rng(seed)
    bought = policy_for(cells, labels).buy(cells, labels, memory, float(allowance), rng)
    return LearnedTable(bought, fit(bought.table, estimator, seed=seed))
