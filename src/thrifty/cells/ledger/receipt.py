"""What one task, or one prediction, bought, reused and avoided; and its bill, line by line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from thrifty.cells.prices.tariff import PriceOfCells, Tariff
from thrifty.html import facts_html, table_html
from thrifty.typing import Bools, Floats, Ints, Json, JsonLike
from thrifty.untrusted import readable


@dataclass(frozen=True, slots=True)
class Receipt:
    """The bill of one task.

    Attributes
    ----------
    cells : int
        distinct cells bought
    cost : float
        what they cost, in units of ``currency``; of a paid source also what failed or was lost
    reused_cells : int
        cells this task looked at that an earlier task had paid for
    avoided_cells : int
        everything there was to buy, less what was bought: the cells of this task's examples and
        features that nobody owned before it, and that it did not buy either. (Of more than 2,000
        features of a paid source, what is owned of those it never asked for is not looked up, and
        counts as avoided)
    max_cells_per_example : int
        the largest number of cells bought on one example
    per_feature : mapping
        cells bought, by feature name; features without a purchase are left out. Read from a store
        it holds the 10,000 features with most cells where the list of all is long
    promise : str
        what the learner promises of new examples, "" where it promises nothing
    lines : tuple of tuple
        (what, how often, amount), the most expensive first, where orders, fees or calls are paid
        for
    gaps : int
        cells that were asked for, failed again and again and count as gaps (``on_failure="gap"``);
        in none of the other counts

    See Also
    --------
    thrifty.Lifetime.bill : all receipts as a table
    thrifty.results.Quote : what a task would cost

    Examples
    --------
    >>> receipt = Receipt(30, 45.0, 5, 65, 4, 20, 5, currency="EUR")
    >>> receipt.cells, receipt.cost, receipt.avoided_cells
    (30, 45.0, 65)
    """

    cells: int
    cost: float
    reused_cells: int
    avoided_cells: int
    max_cells_per_example: int
    n_examples: int
    n_features: int
    per_feature: Mapping[str, int] = field(default_factory=dict, repr=False)
    currency: str = ""
    promise: str = ""
    lines: tuple[tuple[str, int, float], ...] = field(default=(), repr=False)
    gaps: int = 0

    def itemised(self) -> str:
        """The bill as a laboratory writes it.

        >>> print(Receipt(2, 13.9, 0, 0, 1, 1, 2, currency="USD",
        ...               lines=(("blood draw", 1, 9.09), ("Na", 1, 4.81))).itemised())
            1 x blood draw                  9.09
            1 x Na                          4.81
                                           13.90 USD
        """
        rows = [f"{n:>5} x {what:<20} {amount:>11,.2f}" for what, n, amount in self.lines]
        return "\n".join([*rows, f"{'':28} {self.cost:>11,.2f} {self.currency}".rstrip()])

    def _repr_html_(self) -> str:
        """For notebooks."""
        unit = f" ({self.currency})" if self.currency else ""
        facts = {
            "cells bought": self.cells,
            f"cost{unit}": self.cost,
            "known before": self.reused_cells,
            "not bought": self.avoided_cells,
            "most on one example": self.max_cells_per_example,
            "gaps": self.gaps or None,
            "examples": self.n_examples,
            "promise": self.promise or None,
        }
        found = facts_html("receipt", facts)
        if self.lines:
            found += table_html(["ordered", "times", f"amount{unit}"], self.lines)
        return found

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        # Not asdict: it copies every number of every feature, once per task.
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**held, "per_feature": dict(self.per_feature)}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Receipt:
        """The inverse of :meth:`to_dict`."""
        with readable("a receipt"):
            lines = tuple((str(w), int(n), float(a)) for w, n, a in data.get("lines", ()))
            return cls(**{**data, "lines": lines})


@dataclass(frozen=True, slots=True)
class PredictionReceipt(Receipt):
    """The bill of one prediction run, in all and for each row."""

    cells_per_row: Ints = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False, compare=False
    )
    cost_per_row: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    #: features that the model asks for, that were lacking or retired, and cost nothing
    lacking: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            **Receipt.to_dict(self),
            "cells_per_row": self.cells_per_row.tolist(),
            "cost_per_row": self.cost_per_row.tolist(),
            **({"lacking": list(self.lacking)} if self.lacking else {}),
        }


@dataclass(frozen=True, slots=True)
class BillLine:
    """So many of one thing, in minor units."""

    what: str
    count: int
    amount: int


def lines_of_bill(bill: PriceOfCells, tariff: Tariff, names: Sequence[str]) -> list[BillLine]:
    """Single tests, orders, and what is paid once per example; what is free is left out."""
    lines: list[BillLine] = []
    counts = np.bitwise_count(bill.fresh).sum(axis=1, dtype=np.int64)
    for f, price, n in zip(bill.features.tolist(), bill.own.tolist(), counts.tolist()):
        lines.append(BillLine(names[f], n, n * price))
    for d, (fee, rows) in bill.fees.items():
        n = int(np.bitwise_count(rows).sum())
        lines.append(BillLine(tariff.draws[d].title, n, n * fee))
    for filled in bill.orders:
        n, part, rest = len(filled.rows), filled.part, filled.choice.price
        for o in filled.choice.offers:
            price, d = part.cover.offers[o].price, part.orders[o]
            title = tariff.draws[d].title if d >= 0 else names[part.single[o]]
            lines.append(BillLine(title, n, n * price))
            rest -= price
        begun = " and ".join(tariff.draws[d].title for d in part.begun(filled.choice))
        lines.append(BillLine(begun, n if rest else 0, n * rest))
    if bill.calls is not None:
        asked = int((bill.calls > 0).sum())
        lines.append(BillLine("calls", asked, sum(bill.calls.tolist())))
    return [line for line in lines if line.amount]


def lines_of_counts(
    tariff: Tariff, names: Sequence[str], cells: Ints, draws: Mapping[int, int]
) -> list[BillLine]:
    """The same from how many cells were bought and how often each draw was paid."""
    lines = [
        BillLine(names[f], int(cells[f]), int(cells[f]) * int(tariff.own[f]))
        for f in np.flatnonzero((cells > 0) & (tariff.own > 0)).tolist()
    ]
    ordered = {f for d in draws if tariff.draws[d].kind == "order" for f in tariff.draws[d].members}
    for part in tariff.parts:  # what came without an order was bought alone
        for offer, f in zip(part.cover.offers, part.single):
            if f >= 0 and f not in ordered and cells[f]:
                lines.append(BillLine(names[f], int(cells[f]), int(cells[f]) * offer.price))
    for d, n in draws.items():
        lines.append(BillLine(tariff.draws[d].title, n, n * tariff.draws[d].fee))
    return [line for line in lines if line.amount]


class Lines:
    """Lines that come purchase by purchase, one kept for each thing.

    >>> lines = Lines([BillLine("sodium", 2, 962), BillLine("draw", 1, 909)])
    >>> lines.add([BillLine("sodium", 1, 481)])
    >>> lines.sorted()
    [BillLine(what='sodium', count=3, amount=1443), BillLine(what='draw', count=1, amount=909)]
    """

    def __init__(self, lines: Iterable[BillLine] = ()) -> None:
        self._of: dict[str, tuple[int, int]] = {}
        self.add(lines)

    def add(self, lines: Iterable[BillLine]) -> None:
        """Take in more."""
        of = self._of
        for line in lines:
            count, amount = of.get(line.what, (0, 0))
            of[line.what] = (count + line.count, amount + line.amount)

    def sorted(self) -> list[BillLine]:
        """The most expensive first."""
        summed = [BillLine(what, n, amount) for what, (n, amount) in self._of.items()]
        return sorted(summed, key=lambda line: (-line.amount, line.what))


# -- what there is to buy: every cell once, in full --------------------------------------------
#
# Four labels over one table are one table, and rows that are predicted, then learned from are the
# same rows. So the union of what tasks, updates and predictions brought is counted, not the sum.
# What was saved is this less what was paid (``Balance.saved``); nothing else computes it.

#: examples as half-open runs of numbers, (k, 2), sorted and apart
Runs = Ints


def runs_of(numbers: Ints) -> Runs:
    """Numbers as runs: those of a table are one, whatever its length.

    >>> runs_of(np.array([3, 4, 5, 9])).tolist()
    [[3, 6], [9, 10]]
    """
    known = np.unique(np.asarray(numbers, dtype=np.int64))
    if not len(known):
        return np.zeros((0, 2), dtype=np.int64)
    breaks = np.flatnonzero(np.diff(known) > 1)
    starts = known[np.concatenate([[0], breaks + 1])]
    stops = known[np.concatenate([breaks, [len(known) - 1]])] + 1
    return np.stack([starts, stops], axis=1)


def _union(one: Runs, other: Runs) -> Runs:
    both = np.concatenate([one, other])
    both = both[np.argsort(both[:, 0], kind="stable")]
    reach = np.maximum.accumulate(both[:, 1])
    first = np.concatenate([[True], both[1:, 0] > reach[:-1]])
    last = np.concatenate([np.flatnonzero(first)[1:] - 1, [len(both) - 1]])
    return np.stack([both[first, 0], reach[last]], axis=1)


@dataclass(frozen=True, eq=False)
class ToBuy:
    """Examples of one place (a source, or an array) with one set of features.

    ``examples`` are runs of numbers within the place; ``price`` is what all the features of one
    example cost, in minor units; ``which`` says of each feature of the lifetime whether it is among
    them (None: they are none of the lifetime's).
    """

    place: str
    features: str
    n_features: int
    price: int
    examples: Runs
    which: Bools | None = None

    def with_(self, other: ToBuy) -> ToBuy:
        """Both together, of the same place and features; the newer price counts."""
        return replace(other, examples=_union(self.examples, other.examples))


def all_there_is(entries: Iterable[ToBuy]) -> tuple[int, int]:
    """(cells, price in minor units) of all of it, each cell once.

    An example that comes with several sets of features has all of them. What a set adds to another
    costs its share of the set's price, where only some of its features are new.

    >>> rows, more = runs_of(np.arange(3)), runs_of(np.array([2, 3]))
    >>> one = ToBuy("clinic", "a b", 2, 4, rows, np.array([True, True]))
    >>> two = ToBuy("clinic", "b c", 2, 6, more, np.array([False, True, True]))
    >>> all_there_is([one, two])
    (9, 22)
    """
    places: defaultdict[str, list[ToBuy]] = defaultdict(list)
    for entry in entries:
        if len(entry.examples):
            places[entry.place].append(entry)
    cells = price = 0
    for some in places.values():
        some.sort(key=lambda e: (e.n_features, e.price), reverse=True)
        # between two ends of runs all examples come with the same sets
        ends = np.unique(np.concatenate([entry.examples.ravel() for entry in some]))
        member = np.stack([_within(entry.examples, ends[:-1]) for entry in some], axis=1)
        patterns, which = np.unique(member, axis=0, return_inverse=True)
        times = np.bincount(which.ravel(), np.diff(ends), len(patterns)).astype(np.int64)
        for pattern, n in zip(patterns, times.tolist(), strict=True):
            if pattern.any():
                each = _together([some[i] for i in np.flatnonzero(pattern).tolist()])
                cells, price = cells + n * each[0], price + n * each[1]
    return cells, price


def _within(runs: Runs, numbers: Ints) -> Bools:
    """Which numbers lie in a run."""
    at = np.searchsorted(runs[:, 0], numbers, side="right") - 1
    return np.asarray((at >= 0) & (numbers < runs[np.maximum(at, 0), 1]))


def _together(some: list[ToBuy]) -> tuple[int, int]:
    """(cells, price) of one example that comes with all of these, the largest first."""
    cells, price = some[0].n_features, some[0].price
    had = some[0].which
    for entry in some[1:]:
        if had is None or entry.which is None:
            continue  # of features that grow the largest set holds the others
        n = max(len(had), len(entry.which))
        had, which = (np.pad(w, (0, n - len(w))) for w in (had, entry.which))
        new = int((which & ~had).sum())
        cells, price = cells + new, price + round(entry.price * new / max(entry.n_features, 1))
        had = had | which
    return cells, price
