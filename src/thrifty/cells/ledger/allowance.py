"""What may be spent, and what there is to buy: every cell once, in full.

Four labels over one table are one table, and rows that are predicted, then learned from are the
same rows. So the union of what tasks, updates and predictions brought is counted, not the sum. What
was saved is this less what was paid (:attr:`thrifty.cells.ledger.ledger.Balance.saved`); nothing
else in Thrifty computes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from thrifty.cells.prices.money import Limits, read_amount, to_units
from thrifty.errors import BadInput, MixedCurrencies
from thrifty.typing import Bools, Ints

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


_SHARE = re.compile(r"^\s*([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})\s*%\s*$")


def read_spend(
    given: object, currency: str, everything: Callable[[], float], what: str = "spend"
) -> float | None:
    """An amount in the unit of the prices, from a number, text with a currency, or a share.

    ``everything`` says what all there is to buy would cost; it is asked only for a share.

    >>> read_spend("300 EUR", "EUR", lambda: 0.0), read_spend("5 %", "", lambda: 40.0)
    (300.0, 2.0)
    """
    if given is None:
        return None
    share = _SHARE.match(given) if isinstance(given, str) else None
    if share is not None:
        percent = float(share.group(1))
        if not 0 <= percent <= 100:
            raise BadInput(f"{what} must be a share of 0 % to 100 %; got {given!r}.")
        return everything() * percent / 100
    try:
        minor, label = read_amount(given, what)
    except BadInput as error:
        raise BadInput(
            f"{what} must be a number in the unit of the prices, text such as '300 EUR', or a "
            f"share such as '5 %'; got {given!r}."
        ) from error
    if label and label != currency:
        unit = f"the prices are in {currency}" if currency else "the prices have no currency"
        raise MixedCurrencies(
            f"{what} is in {label} and {unit}; they must be in one currency. Thrifty does not "
            "convert money: convert it first."
        )
    return to_units(minor)


def limits_of(limits: Limits, spend: float | None, *, is_task: bool) -> Limits:
    """The budget's limits with those of one task; a prediction has no per-task limit but its own.

    >>> limits_of(Limits(per_task=5_000_000), 3.0, is_task=True).per_task
    3000000
    """
    own = None if spend is None else read_amount(spend, "spend")[0]
    before = limits.per_task if is_task else None
    return replace(limits, per_task=smallest(own, before))


def smallest(*amounts: int | None) -> int | None:
    """The smallest amount that is one; None where there is no limit at all."""
    return min((a for a in amounts if a is not None), default=None)
