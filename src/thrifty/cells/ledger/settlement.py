"""How purchases begin and end in the ledger: functions on its pages, under the store's lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from thrifty.cells.ledger.book import Pages, reached
from thrifty.cells.ledger.compacted import purge_again
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.purchase import CellBlock, Purchase, pack_values
from thrifty.cells.prices.money import Limits, amount_text, refuse_too_large, total
from thrifty.cells.sources.answered import Answered, divided
from thrifty.errors import CostAboveReservation, MalformedAnswer
from thrifty.typing import Floats, Ints, Numbers

if TYPE_CHECKING:
    from thrifty.cells.ledger.next_calls import Call


def check_budget(
    pages: Pages, limits: Limits, task: str, block_examples: Numbers, costs: Ints, n_cells: int
) -> None:
    """Refuse what would go beyond the budget."""
    needed = total(costs)
    if needed == 0:
        if n_cells and limits.total is not None and pages.over():  # free, and may be billed too
            limits.check("total", 0, sum(pages.balance(None)) + pages.over())
        return
    used = sum(pages.balance(None))
    refuse_too_large(needed + used, "the sum of all purchases")
    whose = f" for {n_cells} cells"
    if limits.total is not None:  # what is owed is not there to be spent
        limits.check("total", needed, used + pages.over(), whose)
    if limits.per_task is not None:
        limits.check("task", needed, sum(pages.balance(task)), f"{whose} of task {task!r}")
    if limits.per_example is not None:

        def name(row: int) -> str:
            return repr(pages.names("example", [int(block_examples[row])])[0])

        limits.check_examples(costs, pages.example_costs(block_examples), name)


def intend(pages: Pages, purchase: Purchase, limits: Limits) -> Purchase:
    """Write a purchase down before it is made, and reserve its money."""
    block = purchase.block
    if not block.price and pages.over() and pages.billed_for_nothing(purchase.provider):
        raise CostAboveReservation(
            f"{purchase.provider!r} is listed as free for what is asked next, and has billed such "
            "calls: it is not called again before its price list says what they cost (prices=)."
        )
    check_budget(pages, limits, purchase.task, block.examples, block.costs, block.n_cells)
    written = pages.add(purchase.with_(reserved=block.price))
    pages.move(purchase.task, block.price, 0)
    pages.add_example_costs(block.examples, block.costs)
    reached("in-intent")
    return written


def settle(
    pages: Pages, purchase: Purchase, values: Floats, now: float, billed: Billed | None = None
) -> Purchase:
    """Values and money in the same transaction; ``billed`` where it differs from the price."""
    answer = pack_values(values, purchase.block.boolean)
    billed = Billed(purchase.block.costs) if billed is None else billed
    return _book(pages, purchase.with_(status="settled", answer=answer, settled_at=now), billed)


def close(
    pages: Pages,
    purchase: Purchase,
    status: str,
    now: float,
    *,
    share: float = 0.0,
    answer: bytes | None = None,
    note: str = "",
    billed: Billed | None = None,
) -> Purchase:
    """End a purchase without values; it costs a share of its price, the rest is free again.

    ``billed`` is what it cost, where the provider said so.
    """
    billed = Billed(_share(purchase.block.costs, share)) if billed is None else billed
    ended = purchase.with_(status=status, answer=answer, note=note or purchase.note, settled_at=now)
    return _book(pages, ended, billed)


def _book(pages: Pages, ended: Purchase, billed: Billed) -> Purchase:
    """Move the money of a purchase from where it was to where it is now."""
    before, paid_by = ended.counted, ended.lifetime  # another lifetime may end it
    spent, block = total(billed.counted), ended.block
    as_listed = block.paid is None and bool((billed.counted == block.costs).all())
    block = block if as_listed else replace(block, paid=billed.counted)
    done = pages.finish(ended.with_(reserved=0, spent=spent, over=billed.over, block=block))
    pages.move(ended.task, -ended.reserved, spent - ended.spent, paid_by, billed.over - ended.over)
    if (billed.counted != before).any():
        pages.add_example_costs(block.examples, billed.counted - before, paid_by)
    reached("in-settle")
    if done.answer is not None:
        purge_again(pages, done)
    return done


def _share(costs: Ints, share: float) -> Ints:
    """A share of each cost, rounded up; in whole numbers, since a float has too few digits."""
    if share >= 1 or not share:
        return costs if share else np.zeros_like(costs)
    top, bottom = Fraction(str(share)).as_integer_ratio()
    return np.array([-(-int(c) * top // bottom) for c in costs], dtype=np.int64)


def find_changes(
    known: Known, block: CellBlock, values: Floats
) -> list[tuple[int, int, float, float]]:
    """Every cell that is known with another value: (row, column, old, new)."""
    found: list[tuple[int, int, float, float]] = []
    at, rows = known.place(block)
    for j in np.flatnonzero(known.known_somewhere(at, rows)).tolist():
        f = int(at[j])
        had = known.is_known(f, rows) & ~known.is_gap(f, rows)
        old = known.column(f, rows[had])
        new = values[had, j]
        differs = ~((old == new) | (np.isnan(old) & np.isnan(new)))
        for i in np.flatnonzero(differs).tolist():
            found.append((int(np.flatnonzero(had)[i]), j, float(old[i]), float(new[i])))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Billed:
    """What each example counts as spent, and what is owed beside, in minor units."""

    counted: Ints
    over: int = 0


def read_cost(
    pages: Pages, purchase: Purchase, answer: object, limits: Limits
) -> tuple[object, Billed | None, str]:
    """(the answer itself, what it really cost, what is wrong with that); None: as listed."""
    if not isinstance(answer, Answered):
        return answer, None, ""
    currency = pages.currency("")
    try:
        paid = answer.in_minor_units(purchase.block.costs, currency)
    except MalformedAnswer as error:
        return error, None, ""
    if paid is None:
        return answer.values, None, ""
    billed = billed_within(pages, purchase, paid, limits)
    if not billed.over:
        return answer.values, billed, ""
    what = "" if total(paid) > purchase.block.price else " more than one example may cost"
    return (
        answer.values,
        billed,
        (
            f"the provider billed {amount_text(total(paid), currency)} for purchase {purchase.id}, "
            f"for which {amount_text(purchase.block.price, currency)} was reserved{what}. Its "
            f"values are kept and usable; {amount_text(billed.over, currency)} is owed beyond that "
            "and not counted as spent: balance().over. Raise the estimate (prices, tokens, longest "
            "answer, ChatServer(reasoning=...)) before you learn again."
        ),
    )


def billed_within(pages: Pages, purchase: Purchase, paid: Ints, limits: Limits) -> Billed:
    """As much of a bill as was reserved or there is room for; the rest is over."""
    held, price = purchase.reserved + purchase.spent, purchase.block.price
    counted = paid
    if limits.per_example is not None:
        used = pages.example_costs(purchase.block.examples) - purchase.counted
        counted = np.minimum(paid, np.maximum(limits.per_example - used, 0))
    most = price
    if held < price:
        for limit, used_now in (
            (limits.total, sum(pages.balance(None)) + pages.over() - purchase.over),
            (limits.per_task, sum(pages.balance(purchase.task))),
        ):
            if limit is not None:
                most = min(most, held + max(limit - used_now, 0))
    if total(counted) > most:
        counted = divided(most, counted if total(paid) <= price else purchase.block.costs)
    return Billed(counted, total(paid) - total(counted))


#: examples that may become gaps though nothing was answered since they first failed; set by hand
OUTAGE = 10


class Failures:
    """What failed in one task.

    >>> found = Failures(gaps=True, tries=2)
    >>> one, feature = np.array([3]), np.array([0])
    >>> len(found.count(one, feature, answers=5)), found.count(one, feature, answers=6).tolist()
    (0, [[3, 0]])
    """

    def __init__(self, gaps: bool, tries: int) -> None:
        self.gaps, self.tries = gaps, tries
        #: whether something is to be asked for again when everything else is done
        self.again = False
        #: how often a cell (row, feature) failed, and how many answers there were at first
        self._failed: dict[tuple[int, int], tuple[int, int]] = {}
        #: how many examples a call about a row may have
        self._most: dict[int, int] = {}
        #: gaps of which nothing says that the provider was at work
        self._doubtful: list[tuple[int, int]] = []
        self._doubtful_since = 0

    def copy(self) -> Failures:
        """The same, to go back to."""
        made = Failures(self.gaps, self.tries)
        made.again, made._failed, made._most = self.again, dict(self._failed), dict(self._most)
        made._doubtful, made._doubtful_since = list(self._doubtful), self._doubtful_since
        return made

    def halve(self, rows: Ints) -> None:
        """A call about these rows failed: ask for half as many at once."""
        half = -(-len(rows) // 2)
        for r in rows.tolist():
            self._most[r] = min(half, self._most.get(r, half))

    def apart(self, calls: Iterable[Call]) -> Iterator[Call]:
        """Calls with no more rows than each of their rows may share a call with."""
        for call in calls:
            if not self._most:
                yield call
                continue
            most = np.array([self._most.get(r, 0) for r in call.rows.tolist()])
            for size in np.unique(most).tolist():
                rows = call.rows[most == size]
                step = size or len(rows)
                for i in range(0, len(rows), step):
                    yield call.on(rows[i : i + step])

    def count(self, rows: Ints, features: Ints, answers: int) -> Ints:
        """Count a failure of every cell; those (row, feature) that have failed too often."""
        over = []
        for r in rows.tolist():
            for f in features.tolist():
                times, since = self._failed.get((r, f), (0, answers))
                self._failed[r, f] = times + 1, since
                if times + 1 >= self.tries:
                    over.append((r, f))
        return np.array(over, dtype=np.int64).reshape(-1, 2)

    def looks_like_an_outage(self, over: Ints, answers: int) -> bool:
        """Whether too many examples would become gaps with no answer since they first failed."""
        if answers != self._doubtful_since:  # somebody was answered: it is at work
            self._doubtful.clear()
        self._doubtful_since = answers
        self._doubtful += [(r, f) for r, f in over.tolist() if self._failed[r, f][1] == answers]
        return len({r for r, _ in self._doubtful}) > OUTAGE

    def taken_back(self) -> Ints:
        """The doubtful gaps (row, feature) that were noted before; they are none any more."""
        noted = np.array(self._doubtful, dtype=np.int64).reshape(-1, 2)
        self._doubtful.clear()
        for r, f in noted.tolist():
            self._failed.pop((r, f), None)
        return noted
