"""How one purchase ends, given how its call ended: under the store's lock, as things stand now."""

from __future__ import annotations

import warnings
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Ints
from thrifty.cells.ledger.answers import as_table, read_answer
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.calls import Outcome
from thrifty.cells.ledger.owner import me
from thrifty.cells.ledger.purchase import CellBlock, Purchase
from thrifty.cells.ledger.settlement import (
    Billed,
    Names,
    billed_within,
    book_late,
    close,
    find_changes,
    read_cost,
    settle,
    take_answer,
)
from thrifty.cells.prices.money import UNIT, amount_text
from thrifty.cells.sources.answered import FAILED, Answered
from thrifty.errors import (
    MalformedAnswer,
    NotBilled,
    ProviderError,
    PurchaseFailed,
    PurchaseInDoubt,
)
from thrifty.typing import AnyArray

if TYPE_CHECKING:
    from thrifty.cells.ledger.next_calls import PlannedCalls


Ends: TypeAlias = NDArray[np.int8]

#: purchases as they are now, more than one where cells of a call ended differently; what to raise
Ended = tuple[list[Purchase], Exception | None]


class LateAnswer(UserWarning):
    """An answer came after somebody had said what became of its purchase."""


def end(
    asking: PlannedCalls,
    pages: Pages,
    purchase: Purchase,
    outcome: Outcome,
    names: Names,
    *,
    repeated: bool,
    at: float | None = None,
) -> Ended:
    """Write down how a call ended; the purchases as they are then, and the error to raise, if any.

    ``repeated`` says that the purchase was in doubt before this call, under the same key. A refusal
    then says nothing of the first try: it stays in doubt. ``at`` is when the answer came, where
    that is not now: a value is as old as its answer, however late it could be written down.
    """
    now = pages.as_now(purchase)
    came = asking.ledger.now() if at is None else at
    if now.status not in ("pending", "doubt"):
        ended, problem = _after_the_fact(asking, pages, now, outcome, names, came)
        # Our own end of it may have been committed unheard: the parts of it are ours as well.
        return [*ended, *(parts_beside(pages, now) if now.owner == me() else ())], problem
    if outcome.kind == "answer":  # whoever asked: under one key it is one answer
        return _answered(asking, pages, now, outcome, names, came)
    if now.status != "pending" or now.owner != me():
        asking.stale = True  # somebody else repeats it: wait for what comes of that
        return [now], None
    if outcome.kind == "unknown" or repeated:
        return _in_doubt(asking, pages, now, outcome, repeated=repeated)
    if outcome.kind in ("refused", "withdrawn"):
        why = outcome.error or "not called"
        done = close(pages, now, "refused", came, note=why)
        if outcome.kind == "refused" and asking.goes_on(pages, done, "not-billed"):
            return [done], None
        return [done], NotBilled(
            f"the provider refused {asking.source.limits.attempts} times ({why}); nothing was "
            f"billed. {asking.what_next('Learn again later')}",
            purchases=(now.id,),
        )
    done = close(pages, now, "failed", came, share=asking.tariff.failed, note=outcome.error)
    if asking.goes_on(pages, done, "billed"):
        return [done], None
    price = amount_text(done.spent, asking.tariff.currency)
    return [done], PurchaseFailed(
        f"the provider tried and failed ({outcome.error}), which cost {price}. "
        f"{asking.what_next('Learn again to try it once more')}",
        purchases=(now.id,),
    )


def _answered(
    asking: PlannedCalls, pages: Pages, now: Purchase, outcome: Outcome, names: Names, came: float
) -> Ended:
    answer = outcome.answer
    if isinstance(answer, Answered) and answer.failed is not None:
        try:
            ends = answer.ends(len(names.examples), len(names.features))
            if ends.any():
                return _partly_answered(asking, pages, now, answer, ends, names, came)
            answer = Answered(answer.values, answer.cost)
        except MalformedAnswer as error:
            answer = Answered(error, answer.cost)
    done, problem = _settled(asking, pages, now, answer, names, came)
    return [done], problem


def _settled(
    asking: PlannedCalls, pages: Pages, now: Purchase, answer: object, names: Names, came: float
) -> tuple[Purchase, Exception | None]:
    done, problem = take_answer(
        pages,
        now,
        answer,
        names,
        asking.known,
        came,
        allow_missing=asking.source.allow_missing,
        resolve=asking.ledger.how_to_resolve,
        limits=asking.limits,
        newest=asking.source.values == "newest",
    )
    if problem is None:
        asking.source.proven = True
        asking.answers += 1
    if isinstance(problem, MalformedAnswer) and asking.may_ask_again(pages, done):
        # its price is spent already; what it would have filled is free to be bought again
        return pages.finish(done.with_(status="lost", note=f"{done.note}; asked again")), None
    return done, problem


def _partly_answered(
    asking: PlannedCalls,
    pages: Pages,
    now: Purchase,
    answer: Answered,
    ends: Ends,
    names: Names,
    came: float,
) -> Ended:
    """Each part of a call with its own end: what was answered is settled, whatever the rest did."""
    table = table_of(answer.values, ends, names.examples, names.features)
    paid = answer.in_minor_units(now.block.costs, pages.currency(""))
    at, _ = asking.known.place(now.block)
    parts = cut(pages, now, ends, asking.tariff.own[at], asking.ledger.book.id)
    done: list[Purchase] = []
    problem: Exception | None = None
    for part in parts:
        said: Ints | None = None
        if paid is not None:  # what the provider says of a row is booked once
            said = paid[part.rows] if part.main else np.zeros_like(part.costs)
        if part.end == 0:
            cost = None
            if said is not None:
                cost = np.array([Decimal(int(c)) / UNIT for c in said], dtype=object)
            values = table[np.ix_(part.rows, part.columns)]
            some = names.of(part.rows, part.columns)
            told = Answered(values, cost)
            ended, found = _settled(asking, pages, part.purchase, told, some, came)
        else:
            ended, found = _failed_part(asking, pages, part, said)
        done.append(ended)
        problem = _first(problem, found)
    return done, problem


def _failed_part(
    asking: PlannedCalls, pages: Pages, part: EndedCells, said: Ints | None
) -> tuple[Purchase, Exception | None]:
    clock, purchase, word = asking.ledger.now(), part.purchase, part.word
    if word == "unknown" and asking.costs(pages, purchase):
        why = "the provider cannot tell what became of it"
        if asking.may_give_up(pages, purchase):
            return asking.give_up(pages, purchase, why), None
        in_doubt = pages.finish(purchase.with_(status="doubt", note=why))
        return in_doubt, asking.ledger.doubt_error([in_doubt])
    billed = None if said is None else billed_within(pages, purchase, said, asking.limits)
    status = "failed" if word == "billed" else "refused"
    share = asking.tariff.failed if word == "billed" else 0.0
    note = f"the provider said {word} of these cells"
    done = close(pages, purchase, status, clock, share=share, note=note, billed=billed)
    if asking.goes_on(pages, done, word, each=True):
        return done, None
    block = purchase.block
    kind = PurchaseFailed if word == "billed" else NotBilled
    (example,) = pages.names("example", [int(block.examples[0])])
    (feature,) = pages.names("feature", [int(block.features[0])])
    next_step = asking.what_next("Learn again to ask for them")
    return done, kind(
        f"the provider failed on {block.n_cells} cells ({word}), {feature} of example {example!r} "
        f"for instance; what it answered is kept. {next_step}",
        purchases=(purchase.id,),
    )


def _first(problem: Exception | None, found: Exception | None) -> Exception | None:
    """The error to raise: what is in doubt before all else, then what came first."""
    if isinstance(found, PurchaseInDoubt) and not isinstance(problem, PurchaseInDoubt):
        return found
    return problem or found


def _in_doubt(
    asking: PlannedCalls, pages: Pages, now: Purchase, outcome: Outcome, *, repeated: bool
) -> Ended:
    source, kind = asking.source, outcome.kind
    if kind == "unknown":
        why = f"the call ended with {outcome.error}" if outcome.error else "the call was cut"
    else:
        said = "was not called again" if kind == "withdrawn" else f"was {kind} ({outcome.error})"
        why = f"its repetition {said}, which says nothing of the first try"
    if asking.may_give_up(pages, now) and not source.idempotent:
        return [asking.give_up(pages, now, why)], None
    done = pages.finish(now.with_(status="doubt", note=why))
    if asking.may_give_up(pages, done):  # with its key it is asked again as it is
        asking.given_up += 1
        asking.stale = True
        return [done], None
    return [done], asking.ledger.doubt_error([done])


def _waits_for_the_user(
    asking: PlannedCalls, pages: Pages, now: Purchase, outcome: Outcome, names: Names, came: float
) -> Ended:
    """An answer could not be used, and another came: the provider was asked twice under one key.

    It billed once. A good answer is used; after any other the cells stay closed, since nobody has
    said that they may be bought again.
    """
    said = f"purchase {now.id} is {now.status}: {now.note}"
    as_it_was = [now], ProviderError(said, purchases=(now.id,))
    if outcome.kind != "answer" or now.status != "malformed":
        return as_it_was
    answer, billed, _ = read_cost(pages, now, _whole(outcome.answer, now, names), asking.limits)
    missing, boolean = asking.source.allow_missing, now.block.boolean
    try:
        values = read_answer(
            answer,
            names.examples,
            names.features,
            boolean,
            allow_missing=missing,
            words=names.words,
        )
    except MalformedAnswer:
        return as_it_was
    if find_changes(asking.known, now.block, values):
        return as_it_was
    good = now.with_(note="answered well when it was asked for once more")
    return [settle(pages, good, values, came, billed or Billed(now.counted, now.over))], None


def _after_the_fact(
    asking: PlannedCalls, pages: Pages, now: Purchase, outcome: Outcome, names: Names, came: float
) -> Ended:
    """Somebody ended the purchase while this call was still running."""
    if now.status == "settled":
        return [now], None
    if now.status in ("malformed", "changed"):
        return _waits_for_the_user(asking, pages, now, outcome, names, came)
    if now.owner == me() and now.status in ("refused", "failed"):
        # our own end of it, committed as the connection was lost
        return [now], ProviderError(f"purchase {now.id} is {now.status}: {now.note}")
    asking.stale = True
    if outcome.kind != "answer":
        if outcome.kind in ("refused", "withdrawn") or now.status == "lost":
            return [now], None  # never called, or counted as billed already
        return [now], PurchaseInDoubt(
            f"purchase {now.id} was resolved as {now.status!r} while its call was still running, "
            f"and the call then ended without an answer ({outcome.error or 'cut'}). Check the "
            "provider's bill for it.",
            purchases=(now.id,),
        )
    done = book_late(
        pages,
        now,
        _whole(outcome.answer, now, names),
        names,
        asking.known,
        came,
        allow_missing=asking.source.allow_missing,
        free=not _taken(asking, pages, now),
        limits=asking.limits,
    )
    kept = "is used" if done.status == "settled" else "is kept, and not used"
    price = amount_text(done.spent, pages.currency(""))
    warnings.warn(
        f"purchase {now.id} was resolved as {now.status!r} while its call was still running; its "
        f"late answer {kept}, and {price} is counted as spent for it.",
        LateAnswer,
        stacklevel=2,
    )
    return [done], None


def _whole(answer: object, now: Purchase, names: Names) -> object:
    """A late answer is used whole or not at all.

    Neither where some of its cells failed, nor where the purchase was cut meanwhile, because some
    failed in an answer that came before: what is left of it is not what was asked for. Where it
    cannot tell what some cells cost, what somebody has said of them since stands.
    """
    cost = answer.cost if isinstance(answer, Answered) else None
    if isinstance(answer, Answered) and answer.failed is not None:
        if now.status == "lost" and _cannot_tell(answer, names):
            cost = None
        return Answered(MalformedAnswer("some of its cells failed, and it came late"), cost)
    if (len(now.block.examples), len(now.block.features)) != (
        len(names.examples),
        len(names.features),
    ):
        return Answered(MalformedAnswer("an earlier answer had ended a part of it"), None)
    return answer


def _cannot_tell(answer: Answered, names: Names) -> bool:
    try:
        ends = answer.ends(len(names.examples), len(names.features))
    except MalformedAnswer:
        return True
    return bool((ends == 1 + FAILED.index("unknown")).any())


def _taken(asking: PlannedCalls, pages: Pages, late: Purchase) -> bool:
    """Whether a cell of a late answer was bought again, or is being bought."""
    at, rows = asking.known.place(late.block)
    if asking.known.known_somewhere(at, rows).any():
        return True
    return any(
        np.isin(p.block.examples, late.block.examples).any()
        and np.isin(p.block.features, late.block.features).any()
        for p in pages.blocking()
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

    @property
    def word(self) -> str:
        """What became of it, as the provider said."""
        return FAILED[self.end - 1] if self.end else ""


def cut(
    pages: Pages, whole: Purchase, ends: NDArray[np.int8], own: Ints, lifetime: int
) -> list[EndedCells]:
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


def _parts(whole: Purchase, ends: NDArray[np.int8], own: Ints) -> list[EndedCells]:
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
    rows, columns = part.rows, part.columns
    draws, draw_rows = block.draws, block.draw_rows[:, rows]
    if not part.main:
        draws, draw_rows = draws[:0], draw_rows[:0]
    return CellBlock(
        block.examples[rows],
        block.features[columns],
        block.boolean[columns],
        draws,
        draw_rows,
        part.costs,
    )


def table_of(
    values: object, ends: NDArray[np.int8], examples: list[object], features: list[str]
) -> AnyArray:
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
