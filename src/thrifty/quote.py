"""A dry run: what a task would cost if it is reused, and what if it is learned from scratch.

Not a cell is bought for it. What is certain before buying is said as an upper limit; what is likely
comes from the lifetime's own receipts, scaled to the new task: reused tasks by their cells per
example (by their cells alone under ``Tested``, whose bill does not grow with the examples), tasks
from scratch by their share of the whole table. Before any task was reused the stored metafeatures
themselves give an estimate. Whether a task *can* be reused is known only by trying; the share of
the last tasks that were is in the quote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thrifty.attempt import Route
from thrifty.cells import Cells, Receipt
from thrifty.protocol import Family
from thrifty.trees import Metafeatures, Race, Tested, Trees, Verified
from thrifty.trees.tree import Leaf, Node, Tree

__all__ = ["Quote", "quote_task"]

#: estimates look at this many tasks of a route, the latest ones
_LATEST = 10
#: a raced task costs about this many times its paths (docs/racing.md)
_RACED = 1.2


@dataclass(frozen=True, slots=True)
class Quote:
    """What a task would cost; None where nothing is known yet.

    Attributes
    ----------
    reuse_cells, reuse_cost : likely, if the representation is enough
    reuse_cells_at_most : never more, if it is enough
    scratch_cells, scratch_cost : likely, if it is not
    scratch_cells_at_most, scratch_cost_at_most : every cell that is not owned yet
    reuse_rate : the share of the latest tasks that were reused
    basis : where the likely numbers come from
    """

    task: str
    reuse_cells: int | None
    reuse_cost: float | None
    reuse_cells_at_most: int | None
    scratch_cells: int
    scratch_cost: float
    scratch_cells_at_most: int
    scratch_cost_at_most: float
    reuse_rate: float | None
    basis: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.task}: nothing bought yet"]
        if self.reuse_cells is None:
            lines.append("  reused        unknown")
        else:
            most = self.reuse_cells_at_most
            limit = "" if most is None else f", at most {most:,} cells"
            lines.append(
                f"  reused        about {self.reuse_cells:,} cells, {self.reuse_cost:,.2f}{limit}"
            )
        lines.append(
            f"  from scratch  about {self.scratch_cells:,} cells, {self.scratch_cost:,.2f}, "
            f"at most {self.scratch_cells_at_most:,} cells, {self.scratch_cost_at_most:,.2f}"
        )
        if self.reuse_rate is not None:
            lines.append(f"  {self.reuse_rate:.0%} of the latest tasks were reused")
        return "\n".join([*lines, f"  {self.basis}"])


def quote_task(
    name: str,
    family: Family,
    representation: Any,
    history: Sequence[tuple[Route, Receipt]],
    cells: Cells,
    n_classes: int | None,
) -> Quote:
    """The quote for a task whose door is ``cells``; nothing is asked of that door but its prices.

    ``n_classes`` is None for families that do not learn classes.
    """
    if n_classes == 1:
        return Quote(name, 0, 0.0, 0, 0, 0.0, 0, 0.0, _rate(history), "one class: a single leaf")
    owned = cells.meter.owned.count()
    whole = cells.n_examples * cells.n_features
    price = float(cells.prices.mean()) if len(cells.prices) else 0.0
    most = whole - owned
    reuse, reuse_price, basis = _reuse(family, representation, history, cells)
    limit = _limit(family, representation, cells)
    if reuse is not None and limit is not None:
        reuse = min(reuse, limit)
    share, scratch_basis = _scratch_share(family, history)
    scratch = min(round(share * whole), most)
    return Quote(
        task=name,
        reuse_cells=reuse,
        reuse_cost=None if reuse is None else reuse * reuse_price,
        reuse_cells_at_most=limit,
        scratch_cells=scratch,
        scratch_cost=scratch * price,
        scratch_cells_at_most=most,
        scratch_cost_at_most=most * price,
        reuse_rate=_rate(history),
        basis=f"reused: {basis}; from scratch: {scratch_basis}",
    )


def _rate(history: Sequence[tuple[Route, Receipt]]) -> float | None:
    latest = history[-_LATEST:]
    return sum(route == "reused" for route, _ in latest) / len(latest) if latest else None


def _of_route(history: Sequence[tuple[Route, Receipt]], reused: bool) -> list[Receipt]:
    return [receipt for route, receipt in history if (route == "reused") == reused][-_LATEST:]


def _reuse(
    family: Family, representation: Any, history: Sequence[tuple[Route, Receipt]], cells: Cells
) -> tuple[int | None, float, str]:
    """Likely cells, the price of one, and where that comes from."""
    receipts = _of_route(history, reused=True)
    if receipts:
        looked_at = np.array([r.cells + r.reused_cells for r in receipts], dtype=np.float64)
        if not isinstance(getattr(family, "learner", None), Tested):
            looked_at *= cells.n_examples / np.array([r.n_examples for r in receipts])
        bought = sum(r.cells for r in receipts)
        price = sum(r.cost for r in receipts) / bought if bought else float(cells.prices.mean())
        return round(float(looked_at.mean())), price, f"as the last {len(receipts)} reused tasks"
    if len(representation) == 0:
        return None, 0.0, "impossible, the representation is empty"
    if isinstance(family, Trees) and isinstance(representation, Metafeatures):
        return _from_metafeatures(family, representation, cells)
    return None, 0.0, "no task was reused yet"


def _from_metafeatures(
    family: Trees, representation: Metafeatures, cells: Cells
) -> tuple[int, float, str]:
    """Every root is bought on every example, then the paths; a race buys little but the paths."""
    trees = [tree for tree in representation if isinstance(tree, Node)]
    roots = sorted({tree.split.feature for tree in trees})
    path = max(_mean_depth(tree) for tree in trees)
    each = _RACED * path if _races(family) else len(roots) + path - 1
    price = float(cells.prices[roots].mean())
    return round(each * cells.n_examples), price, "from the stored metafeatures alone"


def _mean_depth(tree: Tree) -> float:
    """The average depth of a leaf when every split is even."""
    if isinstance(tree, Leaf):
        return 0.0
    return 1.0 + (_mean_depth(tree.false) + _mean_depth(tree.true)) / 2


def _limit(family: Family, representation: Any, cells: Cells) -> int | None:
    """2 (|F~| + d) cells an example (paper, Lemma 2), where the lemma holds."""
    if not isinstance(family, Trees) or _evidence(family):
        return None
    if not cells.boolean.all() or len(representation) == 0:
        return None
    each = min(cells.n_features, 2 * (len(representation) + family.max_depth))
    return int(each * cells.n_examples)


def _scratch_share(
    family: Family, history: Sequence[tuple[Route, Receipt]]
) -> tuple[float, str]:
    """The share of the table that scratch is likely to buy."""
    if isinstance(family, Trees) and not _races(family) and not _evidence(family):
        return 1.0, "every cell"
    receipts = _of_route(history, reused=False)
    if not receipts:
        return 1.0, "every cell, until a task has shown better"
    shares = [(r.cells + r.reused_cells) / (r.n_examples * r.n_features) for r in receipts]
    return float(np.mean(shares)), f"as the last {len(receipts)} tasks that were not reused"


def _evidence(family: Trees) -> bool:
    return isinstance(family.learner, Verified)


def _races(family: Trees) -> bool:
    return isinstance(family.learner, Race) or getattr(family.learner, "race", False)
