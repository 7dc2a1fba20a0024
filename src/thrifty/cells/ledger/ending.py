"""How one purchase ends, given how its call ended: under the store's lock, as things stand now."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.calls import Outcome
from thrifty.cells.ledger.owner import me
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.ledger.settlement import Names, book_late, close, take_answer
from thrifty.cells.prices.money import amount_text
from thrifty.errors import (
    MalformedAnswer,
    NotBilled,
    ProviderError,
    PurchaseFailed,
    PurchaseInDoubt,
)

if TYPE_CHECKING:
    from thrifty.cells.ledger.next_calls import Asking

__all__ = ["LateAnswer", "end"]

Ended = tuple[Purchase, Exception | None]


class LateAnswer(UserWarning):
    """An answer came after somebody had said what became of its purchase."""


def end(
    asking: Asking,
    pages: Pages,
    purchase: Purchase,
    outcome: Outcome,
    names: Names,
    *,
    repeated: bool,
) -> Ended:
    """Write down how a call ended; the purchase as it is then, and the error to raise, if any.

    ``repeated`` says that the purchase was in doubt before this call, under the same key. A refusal
    then says nothing of the first try: it stays in doubt.
    """
    now = pages.purchase(purchase.id)
    assert now is not None, "purchases are never deleted"
    if now.status not in ("pending", "doubt"):
        return _after_the_fact(asking, pages, now, outcome, names)
    if outcome.kind == "answer":  # whoever asked: under one key it is one answer
        return _answered(asking, pages, now, outcome, names)
    if now.status != "pending" or now.owner != me():
        asking.stale = True  # somebody else repeats it: wait for what comes of that
        return now, None
    if outcome.kind == "unknown" or repeated:
        return _in_doubt(asking, pages, now, outcome, repeated=repeated)
    clock = asking.ledger.now()
    if outcome.kind in ("refused", "withdrawn"):
        why = outcome.error or "not called"
        done = close(pages, now, "refused", clock, note=why)
        return done, NotBilled(
            f"the provider refused {asking.source.limits.attempts} times ({why}); nothing was "
            "billed. Learn again later: what was bought is kept.",
            purchases=(now.id,),
        )
    done = close(pages, now, "failed", clock, share=asking.tariff.failed, note=outcome.error)
    price = amount_text(done.spent, asking.tariff.currency)
    return done, PurchaseFailed(
        f"the provider tried and failed ({outcome.error}), which cost {price}. Learn again to try "
        "it once more.",
        purchases=(now.id,),
    )


def _answered(asking: Asking, pages: Pages, now: Purchase, outcome: Outcome, names: Names) -> Ended:
    done, problem = take_answer(
        pages,
        now,
        outcome.answer,
        names,
        asking.known,
        asking.ledger.now(),
        allow_missing=asking.source.allow_missing,
        resolve=asking.ledger.how_to_resolve,
        limits=asking.limits,
    )
    if problem is None:
        asking.source.proven = True
    if isinstance(problem, MalformedAnswer) and asking.may_ask_again(done):
        # its price is spent already; what it would have filled is free to be bought again
        return pages.finish(done.with_(status="lost", note=f"{done.note}; asked again")), None
    return done, problem


def _in_doubt(
    asking: Asking, pages: Pages, now: Purchase, outcome: Outcome, *, repeated: bool
) -> Ended:
    source, kind = asking.source, outcome.kind
    if kind == "unknown":
        why = f"the call ended with {outcome.error}" if outcome.error else "the call was cut"
    else:
        said = "was not called again" if kind == "withdrawn" else f"was {kind} ({outcome.error})"
        why = f"its repetition {said}, which says nothing of the first try"
    if asking.may_give_up(now) and not source.idempotent:
        return asking.give_up(pages, now, why), None
    done = pages.finish(now.with_(status="doubt", note=why))
    if asking.may_give_up(done):  # with its key it is asked again as it is
        asking.given_up += 1
        asking.stale = True
        return done, None
    return done, asking.ledger.doubt_error([done])


def _after_the_fact(
    asking: Asking, pages: Pages, now: Purchase, outcome: Outcome, names: Names
) -> Ended:
    """Somebody resolved the purchase while this call was still running."""
    if now.status == "settled":
        return now, None
    if now.owner == me() and now.status in ("refused", "failed", "malformed", "changed"):
        # our own end of it, committed as the connection was lost
        return now, ProviderError(f"purchase {now.id} is {now.status}: {now.note}")
    asking.stale = True
    if outcome.kind != "answer":
        if outcome.kind in ("refused", "withdrawn") or now.status == "lost":
            return now, None  # never called, or counted as billed already
        return now, PurchaseInDoubt(
            f"purchase {now.id} was resolved as {now.status!r} while its call was still running, "
            f"and the call then ended without an answer ({outcome.error or 'cut'}). Check the "
            "provider's bill for it.",
            purchases=(now.id,),
        )
    done = book_late(
        pages,
        now,
        outcome.answer,
        names,
        asking.known,
        asking.ledger.now(),
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
    return done, None


def _taken(asking: Asking, pages: Pages, late: Purchase) -> bool:
    """Whether a cell of a late answer was bought again, or is being bought."""
    at, rows = asking.known.place(late.block)
    if asking.known.known_somewhere(at, rows).any():
        return True
    return any(
        np.isin(p.block.examples, late.block.examples).any()
        and np.isin(p.block.features, late.block.features).any()
        for p in pages.blocking()
    )
