"""How one purchase ends, given how its call ended: under the store's lock, as things stand now."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.answers import as_table, keep_answer, read_answer
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.calls import Outcome
from thrifty.cells.ledger.owner import me
from thrifty.cells.ledger.purchase import CellBlock, Purchase, pack_values
from thrifty.cells.ledger.settlement import (
    Billed,
    billed_within,
    close,
    find_changes,
    read_cost,
    settle,
)
from thrifty.cells.prices.money import UNIT, amount_text
from thrifty.cells.sources.answered import FAILED, Answered
from thrifty.errors import (
    ChangedValue,
    CostAboveReservation,
    MalformedAnswer,
    NotBilled,
    ProviderError,
    PurchaseFailed,
    PurchaseInDoubt,
)
from thrifty.typing import AnyArray, Bools, Floats, Ints

if TYPE_CHECKING:
    from thrifty.cells.ledger.next_calls import PlannedCalls

#: what became of each cell: 0: answered, else 1 and its place in FAILED
Ends: TypeAlias = NDArray[np.int8]
#: a purchase as it is now, and what to raise; several where cells of a call ended differently
EndedOne = tuple[Purchase, Exception | None]
Ended = tuple[list[Purchase], Exception | None]


class LateAnswer(UserWarning):
    """An answer came after somebody had said what became of its purchase."""


class Names(NamedTuple):
    """What the provider is asked for: ids, features, and the words of columns that have some."""

    examples: list[object]
    features: list[str]
    words: Mapping[int, Sequence[str]]
    #: columns whose answers must be 0 or 1
    zero_or_one: Bools

    def of(self, rows: Ints, columns: Ints) -> Names:
        """The same, of some of its cells."""
        words = {i: self.words[j] for i, j in enumerate(columns.tolist()) if j in self.words}
        examples = [self.examples[i] for i in rows.tolist()]
        features = [self.features[j] for j in columns.tolist()]
        return Names(examples, features, words, self.zero_or_one[columns])


@dataclass(frozen=True, eq=False)
class Ending:
    """One call that has ended, and the buyer whose it was.

    ``repeated`` says that the purchase was in doubt before this call, under the same key. A refusal
    then says nothing of the first try: it stays in doubt. ``came`` is when the answer came: a value
    is as old as its answer, however late it could be written down.
    """

    asking: PlannedCalls
    pages: Pages
    outcome: Outcome
    names: Names
    came: float
    repeated: bool = False

    def end(self, purchase: Purchase) -> Ended:
        """Write it down; the purchases as they are then, and the error to raise, if any."""
        pages, outcome = self.pages, self.outcome
        now = pages.as_now(purchase)
        if now.status not in ("pending", "doubt"):
            ended, problem = self._after_the_fact(now)
            # Our own end of it may have been committed unheard: the parts of it are ours as well.
            return [ended, *(parts_beside(pages, now) if now.owner == me() else ())], problem
        if outcome.kind == "answer":  # whoever asked: under one key it is one answer
            return self._answered(now)
        done, problem = self._without_answer(now)
        return [done], problem

    def _without_answer(self, now: Purchase) -> EndedOne:
        asking, pages, outcome = self.asking, self.pages, self.outcome
        if now.status != "pending" or now.owner != me():
            asking.stale = True  # somebody else repeats it: wait for what comes of that
            return now, None
        if outcome.kind == "unknown" or self.repeated:
            return self._in_doubt(now)
        if outcome.kind in ("refused", "withdrawn"):
            why = outcome.error or "not called"
            done = close(pages, now, "refused", self.came, note=why)
            if outcome.kind == "refused" and asking.goes_on(pages, done, "not-billed"):
                return done, None
            return done, NotBilled(
                f"the provider refused {asking.source.limits.attempts} times ({why}); nothing was "
                f"billed. {asking.what_next('Learn again later')}",
                purchases=(now.id,),
            )
        share = asking.tariff.failed
        done = close(pages, now, "failed", self.came, share=share, note=outcome.error)
        if asking.goes_on(pages, done, "billed"):
            return done, None
        price = amount_text(done.spent, asking.tariff.currency)
        return done, PurchaseFailed(
            f"the provider tried and failed ({outcome.error}), which cost {price}. "
            f"{asking.what_next('Learn again to try it once more')}",
            purchases=(now.id,),
        )

    def _in_doubt(self, now: Purchase) -> EndedOne:
        asking, kind, error = self.asking, self.outcome.kind, self.outcome.error
        if kind == "unknown":
            why = f"the call ended with {error}" if error else "the call was cut"
        else:
            said = "was not called again" if kind == "withdrawn" else f"was {kind} ({error})"
            why = f"its repetition {said}, which says nothing of the first try"
        if asking.may_give_up(self.pages, now) and not asking.source.idempotent:
            return asking.give_up(self.pages, now, why), None
        done = self.pages.finish(now.with_(status="doubt", note=why))
        if asking.may_give_up(self.pages, done):  # with its key it is asked again as it is
            asking.given_up += 1
            asking.stale = True
            return done, None
        return done, asking.ledger.doubt_error([done])

    # -- answers ------------------------------------------------------------------------------

    def _values(self, answer: object, names: Names) -> Floats:
        return read_answer(
            answer,
            names.examples,
            names.features,
            names.zero_or_one,
            allow_missing=self.asking.source.allow_missing,
            words=names.words,
        )

    def _answered(self, now: Purchase) -> Ended:
        answer = self.outcome.answer
        if isinstance(answer, Answered) and answer.failed is not None:
            try:
                ends = answer.ends(len(self.names.examples), len(self.names.features))
                if ends.any():
                    return self._partly_answered(now, answer, ends)
                answer = Answered(answer.values, answer.cost)
            except MalformedAnswer as error:
                answer = Answered(error, answer.cost)
        done, problem = self._settled(now, answer, self.names)
        return [done], problem

    def _settled(self, now: Purchase, answer: object, names: Names) -> EndedOne:
        """Settle an answer, or keep it as malformed or changed, with the error to raise."""
        asking, pages = self.asking, self.pages
        answer, billed, too_much = read_cost(pages, now, answer, asking.limits)
        try:
            values = self._values(answer, names)
        except MalformedAnswer as error:
            done = self._kept(now, "malformed", keep_answer(answer), str(error), billed)
            if asking.may_ask_again(pages, done):
                # its price is spent already; what it would have filled is free to be bought again
                note = f"{done.note}; asked again"
                return pages.finish(done.with_(status="lost", note=note)), None
            return done, MalformedAnswer(f"{error}{self._what_next(now)}", purchases=(now.id,))
        newest = asking.source.values == "newest"  # another value counts from now on
        changed = [] if newest else find_changes(asking.known, now.block, values)
        if changed:
            examples, features = names.examples, names.features
            cells = tuple((str(examples[i]), features[j], old, new) for i, j, old, new in changed)
            example, feature, old, new = cells[0]
            note = (
                f"{feature} of example {example!r} is {old:g} in the ledger and still valid; the "
                f"provider now gave {new:g}{ChangedValue.also(cells)}."
            )
            done = self._kept(now, "changed", pack_values(values, now.block.boolean), note, billed)
            said = note + self._what_next(now)
            return done, ChangedValue(said, purchases=(now.id,), cells=cells)
        if too_much:
            done = settle(pages, now.with_(note=too_much), values, self.came, billed)
            return done, CostAboveReservation(too_much, purchases=(now.id,))
        done = settle(pages, now, values, self.came, billed)
        asking.source.proven = True
        asking.answers += 1
        return done, None

    def _kept(
        self, now: Purchase, status: str, answer: bytes, note: str, billed: Billed | None
    ) -> Purchase:
        """Billed, and not used."""
        return close(
            self.pages, now, status, self.came, share=1.0, answer=answer, note=note, billed=billed
        )

    def _what_next(self, purchase: Purchase) -> str:
        price = amount_text(purchase.block.price, self.pages.currency(""))
        return (
            f" Purchase {purchase.id} ({price}) is kept, counted as spent and never used; its "
            "cells are not bought again until you say so: "
            f"{self.asking.ledger.how_to_resolve(purchase.id)}."
        )

    # -- answers of which a part failed -------------------------------------------------------

    def _partly_answered(self, now: Purchase, answer: Answered, ends: Ends) -> Ended:
        """Each part of a call with its own end: what was answered is settled, whatever the rest."""
        asking, pages, names = self.asking, self.pages, self.names
        table = table_of(answer.values, ends, names.examples, names.features)
        paid = answer.in_minor_units(now.block.costs, pages.currency(""))
        at, _ = asking.known.place(now.block)
        done: list[Purchase] = []
        problem: Exception | None = None
        for part in cut(pages, now, ends, asking.tariff.own[at], asking.ledger.book.id):
            said: Ints | None = None
            if paid is not None:  # what the provider says of a row is booked once
                said = paid[part.rows] if part.main else np.zeros_like(part.costs)
            if part.end == 0:
                cost = None
                if said is not None:
                    cost = np.array([Decimal(int(c)) / UNIT for c in said], dtype=object)
                told = Answered(table[np.ix_(part.rows, part.columns)], cost)
                some = names.of(part.rows, part.columns)
                ended, found = self._settled(part.purchase, told, some)
            else:
                ended, found = self._failed_part(part, said)
            done.append(ended)
            # what is in doubt is raised before all else, then what came first
            if isinstance(found, PurchaseInDoubt) and not isinstance(problem, PurchaseInDoubt):
                problem = found
            problem = problem or found
        return done, problem

    def _failed_part(self, part: EndedCells, said: Ints | None) -> EndedOne:
        asking, pages, purchase, word = self.asking, self.pages, part.purchase, FAILED[part.end - 1]
        if word == "unknown" and asking.costs(pages, purchase):
            why = "the provider cannot tell what became of it"
            if asking.may_give_up(pages, purchase):
                return asking.give_up(pages, purchase, why), None
            in_doubt = pages.finish(purchase.with_(status="doubt", note=why))
            return in_doubt, asking.ledger.doubt_error([in_doubt])
        billed = None if said is None else billed_within(pages, purchase, said, asking.limits)
        failed = word == "billed"
        done = close(
            pages,
            purchase,
            "failed" if failed else "refused",
            asking.ledger.now(),
            share=asking.tariff.failed if failed else 0.0,
            note=f"the provider said {word} of these cells",
            billed=billed,
        )
        if asking.goes_on(pages, done, word, each=True):
            return done, None
        block = purchase.block
        (example,) = pages.names("example", [int(block.examples[0])])
        (feature,) = pages.names("feature", [int(block.features[0])])
        return done, (PurchaseFailed if failed else NotBilled)(
            f"the provider failed on {block.n_cells} cells ({word}), {feature} of example "
            f"{example!r} for instance; what it answered is kept. "
            f"{asking.what_next('Learn again to ask for them')}",
            purchases=(purchase.id,),
        )

    # -- answers that come when somebody has said what became of their purchase ---------------

    def _after_the_fact(self, now: Purchase) -> EndedOne:
        """Somebody ended the purchase while this call was still running."""
        outcome = self.outcome
        if now.status == "settled":
            return now, None
        if now.status in ("malformed", "changed"):
            return self._waits_for_the_user(now)
        if now.owner == me() and now.status in ("refused", "failed"):
            # our own end of it, committed as the connection was lost
            return now, ProviderError(f"purchase {now.id} is {now.status}: {now.note}")
        self.asking.stale = True
        if outcome.kind != "answer":
            if outcome.kind in ("refused", "withdrawn") or now.status == "lost":
                return now, None  # never called, or counted as billed already
            return now, PurchaseInDoubt(
                f"purchase {now.id} was resolved as {now.status!r} while its call was still "
                f"running, and the call then ended without an answer ({outcome.error or 'cut'}). "
                "Check the provider's bill for it.",
                purchases=(now.id,),
            )
        done = self._late(now)
        kept = "is used" if done.status == "settled" else "is kept, and not used"
        price = amount_text(done.spent, self.pages.currency(""))
        warnings.warn(
            f"purchase {now.id} was resolved as {now.status!r} while its call was still running; "
            f"its late answer {kept}, and {price} is counted as spent for it.",
            LateAnswer,
            stacklevel=2,
        )
        return done, None

    def _late(self, now: Purchase) -> Purchase:
        """An answer that came after its purchase was resolved: it was billed, whatever was said.

        Where its cells are still free it settles them; otherwise it is kept, and counted.
        """
        pages, limits = self.pages, self.asking.limits
        answer, billed, _ = read_cost(pages, now, self._whole(now), limits)
        if billed is None and now.status == "lost":
            billed = Billed(now.counted, now.over)  # counted already, as somebody said
        elif billed is None:
            billed = billed_within(pages, now, now.block.costs, limits)
        try:
            values = self._values(answer, self.names)
        except MalformedAnswer as error:
            kept, note = keep_answer(answer), f"late, and malformed: {error}"
            return close(pages, now, "late", self.came, answer=kept, note=note, billed=billed)
        if not self._taken(now) and not find_changes(self.asking.known, now.block, values):
            late = now.with_(note=f"late: was {now.status}")
            return settle(pages, late, values, self.came, billed)
        kept = pack_values(values, now.block.boolean)
        note = "late: its cells were bought again meanwhile"
        return close(pages, now, "late", self.came, answer=kept, note=note, billed=billed)

    def _waits_for_the_user(self, now: Purchase) -> EndedOne:
        """An answer could not be used, and another came: it was asked for twice under one key.

        The provider billed once. A good answer is used; after any other the cells stay closed,
        since nobody has said that they may be bought again.
        """
        said = f"purchase {now.id} is {now.status}: {now.note}"
        as_it_was = now, ProviderError(said, purchases=(now.id,))
        if self.outcome.kind != "answer" or now.status != "malformed":
            return as_it_was
        answer, billed, _ = read_cost(self.pages, now, self._whole(now), self.asking.limits)
        try:
            values = self._values(answer, self.names)
        except MalformedAnswer:
            return as_it_was
        if find_changes(self.asking.known, now.block, values):
            return as_it_was
        good = now.with_(note="answered well when it was asked for once more")
        billed = billed or Billed(now.counted, now.over)
        return settle(self.pages, good, values, self.came, billed), None

    def _whole(self, now: Purchase) -> object:
        """A late answer is used whole or not at all.

        Neither where some of its cells failed, nor where the purchase was cut meanwhile, because
        some failed in an answer that came before: what is left of it is not what was asked for.
        Where it cannot tell what some cells cost, what somebody has said of them since stands.
        """
        answer, shape = self.outcome.answer, (len(self.names.examples), len(self.names.features))
        if isinstance(answer, Answered) and answer.failed is not None:
            try:
                cannot_tell = bool((answer.ends(*shape) == _UNKNOWN).any())
            except MalformedAnswer:
                cannot_tell = True
            cost = None if now.status == "lost" and cannot_tell else answer.cost
            return Answered(MalformedAnswer("some of its cells failed, and it came late"), cost)
        if (len(now.block.examples), len(now.block.features)) != shape:
            return Answered(MalformedAnswer("an earlier answer had ended a part of it"), None)
        return answer

    def _taken(self, late: Purchase) -> bool:
        """Whether a cell of a late answer was bought again, or is being bought."""
        at, rows = self.asking.known.place(late.block)
        if self.asking.known.known_somewhere(at, rows).any():
            return True
        return any(
            np.isin(p.block.examples, late.block.examples).any()
            and np.isin(p.block.features, late.block.features).any()
            for p in self.pages.blocking()
        )


_NOT_BILLED, _BILLED, _UNKNOWN = (FAILED.index(w) + 1 for w in ("not-billed", "billed", "unknown"))
#: who of a row's parts pays what the row pays once (fees, orders): the first of these; 0: answered
_MAIN = (0, _BILLED, _UNKNOWN, _NOT_BILLED)
#: the purchase itself becomes the first of these; what is unknown keeps its key only if it is all
_ORDER = (0, _BILLED, _NOT_BILLED, _UNKNOWN)


class EndedCells(NamedTuple):
    """Cells of a call that ended alike."""

    #: 0: answered, else 1 and its place in FAILED
    end: int
    rows: Ints
    columns: Ints
    #: what each row costs by the list
    costs: Ints
    #: whether it pays what its rows pay once
    main: bool
    purchase: Purchase


def cut(pages: Pages, whole: Purchase, ends: Ends, own: Ints, lifetime: int) -> list[EndedCells]:
    """The parts of a purchase, written down; ``own`` is what a cell of each column costs by itself.

    The purchase itself becomes the first part, the others are written beside it.
    """
    parts = sorted(_parts(whole, ends, own), key=lambda part: _ORDER.index(part.end))
    written = []
    for i, part in enumerate(parts):
        block = _block(whole.block, part)
        if i == 0:
            # ``paid`` makes the store write the block anew
            smaller = block if len(parts) == 1 else replace(block, paid=block.costs)
            mine = whole.with_(block=smaller, reserved=block.price)
        else:
            mine = pages.add(
                whole.with_(key=f"{whole.key}#{i}", block=block, reserved=block.price, id=0)
            )
            if whole.lifetime != lifetime:  # another lifetime began it: what we add is ours
                pages.move(whole.task, -block.price, 0, whole.lifetime)
                pages.move(whole.task, block.price, 0)
                pages.add_example_costs(block.examples, -block.costs, whole.lifetime)
                pages.add_example_costs(block.examples, block.costs)
        written.append(part._replace(purchase=mine))
    return written


def parts_beside(pages: Pages, whole: Purchase) -> list[Purchase]:
    """What :func:`cut` wrote beside a purchase, where its commit was not heard of."""
    found: list[Purchase] = []
    while True:
        first = len(found) + 1
        more = pages.with_keys([f"{whole.key}#{i}" for i in range(first, first + 8)])
        found += more
        if len(more) < 8:
            return found


def _parts(whole: Purchase, ends: Ends, own: Ints) -> list[EndedCells]:
    found: list[EndedCells] = []
    kinds, which = np.unique(ends, axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        rows = np.flatnonzero(which.ravel() == k)
        left = whole.block.costs[rows].copy()
        main, *others = [end for end in _MAIN if (kind == end).any()]
        for end in others:
            columns = np.flatnonzero(kind == end)
            mine = np.minimum(left, int(own[columns].sum()))
            left = left - mine
            found.append(EndedCells(end, rows, columns, mine, False, whole))
        found.append(EndedCells(main, rows, np.flatnonzero(kind == main), left, True, whole))
    return found


def _block(block: CellBlock, part: EndedCells) -> CellBlock:
    n_draws = len(block.draws) if part.main else 0
    return CellBlock(
        block.examples[part.rows],
        block.features[part.columns],
        block.boolean[part.columns],
        block.draws[:n_draws],
        block.draw_rows[:n_draws, part.rows],
        part.costs,
    )


def table_of(values: object, ends: Ends, examples: list[object], features: list[str]) -> AnyArray:
    """The answer as a table whose failed cells are None; a row that failed may be anything."""
    if ends.all():
        return np.full(ends.shape, None, dtype=object)
    if isinstance(values, list | tuple) and len(values) == len(examples):
        nothing = [None] * len(features)
        values = [nothing if e.all() else v for v, e in zip(values, ends)]
    table = as_table(values, examples, features).copy()
    if table.shape != ends.shape:
        raise MalformedAnswer(
            f"the provider was asked for {ends.shape[0]} examples x {ends.shape[1]} features and "
            f"answered with shape {table.shape}; where a cell failed, leave None in its place."
        )
    table[ends != 0] = None
    return table
