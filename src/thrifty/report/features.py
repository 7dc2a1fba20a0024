"""Which features the money went to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thrifty.report.ink import SERIES, frame, plain_text, value_axis
from thrifty.report.number_text import as_counted
from thrifty.report.view import LifetimeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST", "FeatureSpend", "draw_features", "spend_by_feature"]

MOST = 15


@dataclass(frozen=True)
class FeatureSpend:
    """One feature, or many together: cells bought in all tasks, and their cost."""

    name: str
    cells: int
    cost: float
    many: bool = False


def spend_by_feature(view: LifetimeView, most: int = MOST) -> list[FeatureSpend]:
    """The dearest features first, the rest summed into one last line.

    A feature's own price counts; the fee of a panel belongs to no feature alone and is left out.
    """
    cells: Counter[str] = Counter()
    for task in view.tasks:
        cells.update(task.receipt.per_feature)
    spends = [FeatureSpend(name, n, n * view.price(name)) for name, n in cells.items()]
    spends = [spend for spend in spends if spend.cost > 0]  # what is free is no expense
    spends.sort(key=lambda spend: (-spend.cost, -spend.cells, as_counted(spend.name)))
    if len(spends) <= most + 1:
        return spends
    rest = spends[most:]
    name = f"the other {len(rest):,} features"
    total = FeatureSpend(name, sum(s.cells for s in rest), sum(s.cost for s in rest), many=True)
    return [*spends[:most], total]


def draw_features(axes: Axes, spends: list[FeatureSpend], unit: str = "cells") -> None:
    """Bars, the dearest on top; the sum of the rest would dwarf them and is left to the words."""
    named = [s for s in spends if not s.many]
    axes.barh(range(len(named)), [_amount(s, unit) for s in named], color=SERIES[0], height=0.7)
    axes.set_yticks(range(len(named)), [plain_text(s.name) for s in named], fontsize=8)
    axes.invert_yaxis()
    value_axis(axes, [max((_amount(s, unit) for s in named), default=1.0)], "x")
    axes.locator_params(axis="x", nbins=5)
    what = "cells bought" if unit == "cells" else f"spent ({unit})" if unit else "spent"
    frame(axes, what, "feature", grid="x")


def _amount(spend: FeatureSpend, unit: str) -> float:
    return spend.cells if unit == "cells" else spend.cost
