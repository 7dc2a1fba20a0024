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

import numpy as np

from thrifty.attempt import Expected, Route
from thrifty.cells import Cells, Receipt
from thrifty.cells.prices.money import to_units
from thrifty.protocol import AnyFamily, Representation
from thrifty.typing import Json

__all__ = ["Quote", "quote_task"]

#: estimates look at this many tasks of a route, the latest ones
_LATEST = 10
#: cells whose price is worked out one by one, with what is owned of them
_LARGE = 5_000_000


@dataclass(frozen=True, slots=True)
class Quote:
    """What a task would cost; None where nothing is known yet.

    Attributes
    ----------
    reuse_cells, reuse_cost : int or None and float or None
        likely, if the representation is enough
    reuse_cells_at_most : int or None
        never more, if it is enough
    scratch_cells, scratch_cost : int and float
        likely, if it is not
    scratch_cells_at_most, scratch_cost_at_most : int and float
        every cell that is not owned yet
    reuse_rate : float or None
        the share of the latest tasks that were reused
    basis : str
        where the likely numbers come from
    currency : str
        of the costs; "" where the prices have none

    Cells that are owned cost nothing and are in none of these numbers.
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
    currency: str = ""

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        unit = f" {self.currency}" if self.currency else ""
        lines = [f"{self.task}: nothing bought yet"]
        if self.reuse_cells is None:
            lines.append("  reused        unknown")
        else:
            most = self.reuse_cells_at_most
            limit = "" if most is None else f", at most {most:,} cells"
            lines.append(
                f"  reused        about {self.reuse_cells:,} cells, {self.reuse_cost:,.2f}{unit}"
                f"{limit}"
            )
        lines.append(
            f"  from scratch  about {self.scratch_cells:,} cells, {self.scratch_cost:,.2f}{unit}, "
            f"at most {self.scratch_cells_at_most:,} cells, "
            f"{self.scratch_cost_at_most:,.2f}{unit}"
        )
        if self.reuse_rate is not None:
            lines.append(f"  {self.reuse_rate:.0%} of the latest tasks were reused")
        return "\n".join([*lines, f"  {self.basis}"])


def quote_task(
    name: str,
    family: AnyFamily,
    representation: Representation,
    history: Sequence[tuple[Route, Receipt]],
    cells: Cells,
    n_classes: int | None,
) -> Quote:
    """The quote for a task whose door is ``cells``; nothing is asked of that door but its prices.

    ``n_classes`` is None for families that do not learn classes.
    """
    if n_classes == 1:
        return Quote(
            name, 0, 0.0, 0, 0, 0.0, 0, 0.0, _rate(history), "one class: a single leaf",
            cells.currency,
        )  # fmt: skip
    whole = cells.n_examples * cells.n_offered
    most = whole - cells.meter.owned.count(cells.offered)
    most_cost = _price_of_the_rest(cells, whole) if most else 0.0
    missing = most / whole if whole else 0.0
    expected = family.expected_cells(representation, cells)
    reuse, reuse_price, basis = _reuse(expected, len(representation), history, cells)
    limit = None
    if expected.reused_at_most is not None and len(representation):
        limit = int(min(cells.n_offered, expected.reused_at_most) * cells.n_examples)
        limit = min(limit, most)
    if reuse is not None:
        reuse = min(round(reuse * missing), most if limit is None else limit)
    share, scratch_basis = _scratch_share(expected, history)
    scratch = round(share * most)
    return Quote(
        task=name,
        reuse_cells=reuse,
        reuse_cost=None if reuse is None else reuse * reuse_price,
        reuse_cells_at_most=limit,
        scratch_cells=scratch,
        scratch_cost=scratch * most_cost / most if most else 0.0,
        scratch_cells_at_most=most,
        scratch_cost_at_most=most_cost,
        reuse_rate=_rate(history),
        basis=f"reused: {basis}; from scratch: {scratch_basis}",
        currency=cells.currency,
    )


def _price_of_the_rest(cells: Cells, whole: int) -> float:
    """What everything costs that is not owned; of very large tables, what it costs at most."""
    if whole > _LARGE:
        return cells.n_examples * to_units(cells.price_of_an_example())
    return cells.price_of(np.arange(cells.n_examples), np.arange(cells.n_features))


def _rate(history: Sequence[tuple[Route, Receipt]]) -> float | None:
    latest = history[-_LATEST:]
    return sum(route == "reused" for route, _ in latest) / len(latest) if latest else None


def _of_route(history: Sequence[tuple[Route, Receipt]], reused: bool) -> list[Receipt]:
    return [receipt for route, receipt in history if (route == "reused") == reused][-_LATEST:]


def _reuse(
    expected: Expected, known: int, history: Sequence[tuple[Route, Receipt]], cells: Cells
) -> tuple[int | None, float, str]:
    """Likely cells, the price of one, and where that comes from."""
    receipts = _of_route(history, reused=True)
    if receipts:
        looked_at = np.array([r.cells + r.reused_cells for r in receipts], dtype=np.float64)
        if expected.grows_with_examples:
            looked_at *= cells.n_examples / np.array([r.n_examples for r in receipts])
        bought = sum(r.cells for r in receipts)
        price = sum(r.cost for r in receipts) / bought if bought else float(cells.prices.mean())
        return round(float(looked_at.mean())), price, f"as the last {len(receipts)} reused tasks"
    if not known:
        return None, 0.0, "impossible, the representation is empty"
    if expected.reused is None:
        return None, 0.0, "no task was reused yet"
    features = list(expected.reused_features) or slice(None)
    price = float(cells.prices[features].mean())
    return round(expected.reused * cells.n_examples), price, "from the stored metafeatures alone"


def _scratch_share(
    expected: Expected, history: Sequence[tuple[Route, Receipt]]
) -> tuple[float, str]:
    """The share of the table that scratch is likely to buy."""
    if expected.buys_everything:
        return 1.0, "every cell"
    receipts = _of_route(history, reused=False)
    if not receipts:
        return 1.0, "every cell, until a task has shown better"
    shares = [(r.cells + r.reused_cells) / (r.n_examples * r.n_features) for r in receipts]
    return float(np.mean(shares)), f"as the last {len(receipts)} tasks that were not reused"
