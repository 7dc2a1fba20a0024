"""Buying the missing cells of one source: a window of open calls, one transaction per step.

A step settles the calls that came back and writes down the next ones, in the same transaction, so
that at most as many purchases are open as calls are running.
"""

from __future__ import annotations

import math
import uuid
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.calls import Outcome, call_provider, needed_packages, rate_limiter
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.owner import IN_FLIGHT, me
from thrifty.cells.ledger.plan import Call, plan_calls, price_call
from thrifty.cells.ledger.points import reached
from thrifty.cells.ledger.purchase import Block, Purchase, is_live
from thrifty.cells.ledger.settlement import check_budget, close, intend, take_answer
from thrifty.cells.prices.money import amount_text
from thrifty.cells.prices.price_list import Tariff
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import (
    NotBilled,
    ProviderError,
    PurchaseFailed,
    PurchaseInDoubt,
    ThriftyError,
)

if TYPE_CHECKING:
    from thrifty.cells.ledger.ledger import Ledger

__all__ = ["Buyer"]

T = TypeVar("T")

_POLL = 0.02
_GRACE = 60.0


class Buyer:
    """Buys for one task from one source.

    ``news`` collects what has become known since it was last emptied: (mine, features, rows).
    """

    def __init__(
        self, ledger: Ledger, source: CallableSource, tariff: Tariff, known: Known, task: str
    ) -> None:
        self.ledger, self.source, self.tariff = ledger, source, tariff
        self.known, self.task = known, task
        self.limits = ledger.limits(tariff.currency)
        self.spent = 0
        self.news: list[tuple[bool, NDArray[np.int64], NDArray[np.uint64]]] = []
        self._mine: set[int] = set()
        self._queue: deque[Call] = deque()
        self._running: dict[int, Purchase] = {}
        self._planned = self._stale = False

    # -- what the door asks -------------------------------------------------------------------

    def buy(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        """Make every cell of features x mask known, buying what is not."""
        needed_packages()
        from anyio.from_thread import start_blocking_portal

        self.ledger.save_unsaved()
        with start_blocking_portal() as portal:
            portal.call(self._run, features, mask)

    def catch_up(self, pages: Pages) -> None:
        """Take in what others, or an earlier run of this task, have bought."""
        for purchase in self.known.follow(pages):
            self._note(purchase)
            self._stale = True

    def can_claim(self, purchase: Purchase) -> bool:
        """A provider that honours keys may be asked again for what it was asked before."""
        source = self.source
        if not source.idempotent or purchase.provider != source.name:
            return False
        if purchase.status not in ("pending", "doubt") or is_live(purchase, self.ledger.clock()):
            return False
        at, rows = self.known.place(purchase.block)
        return bool((at >= 0).all() and (rows >= 0).all())

    def _note(self, purchase: Purchase) -> None:
        at, rows = self.known.place(purchase.block)
        mine = purchase.id in self._mine or (self.task != "" and purchase.task == self.task)
        mask = kernels.mask_of_rows(rows[rows >= 0], self.known.n_examples)
        self.news.append((mine, at[at >= 0], mask))

    # -- the window ---------------------------------------------------------------------------

    async def _run(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        import anyio

        self._queue.clear()
        self._planned = self._stale = False
        problem: Exception | None = None
        send, receive = anyio.create_memory_object_stream[tuple[Purchase, Outcome]](math.inf)
        limiter = await rate_limiter(self.source)
        done: list[tuple[Purchase, Outcome]] = []
        try:
            async with anyio.create_task_group() as group:
                while True:
                    try:
                        started, found = self._step(done, features, mask, start=problem is None)
                    except Exception as error:
                        started, found = [], error
                        self._unsaved(done)
                    problem = problem or found
                    done = []
                    for purchase in started:
                        group.start_soon(self._call, purchase, send, limiter)
                    if self._running:
                        done.append(await receive.receive())
                        while receive.statistics().current_buffer_used:
                            done.append(receive.receive_nowait())
                    elif problem is not None or not self._queue:
                        break
                    else:  # another process is buying what we need, or we could not write it down
                        try:
                            self.ledger.save_unsaved()
                        except ThriftyError as error:
                            problem = error
                        await anyio.sleep(_POLL)
        finally:
            send.close()
            receive.close()
            self._abandon()
        if problem is not None:
            raise problem

    async def _call(self, purchase: Purchase, send: Any, limiter: Any) -> None:
        examples, features = self._names(purchase.block)
        reached("before-call")
        outcome = await call_provider(self.source, examples, features, purchase.key, limiter)
        reached("after-call")
        send.send_nowait((purchase, outcome))

    def _names(self, block: Block) -> tuple[list[Any], list[str]]:
        at, rows = self.known.place(block)
        ids = self.source.ids_of([self.source.examples[r] for r in rows.tolist()])
        return ids, [self.source.feature_names[f] for f in at.tolist()]

    def _step(
        self, done: list[tuple[Purchase, Outcome]], features: NDArray[np.int64],
        mask: NDArray[np.uint64], *, start: bool,
    ) -> tuple[list[Purchase], Exception | None]:  # fmt: skip
        """One transaction: settle what came back, write down what is asked next."""
        keys = [uuid.uuid4().hex for _ in range(self.source.limits.concurrency)]
        reached("before-settle" if done else "before-intent")
        before = (list(self._queue), self._planned)

        def work(pages: Pages) -> tuple[list[Purchase], Exception | None, list[Purchase]]:
            self._queue, self._planned = deque(before[0]), before[1]
            written = pages.with_keys(keys)
            problem, ended = None, []
            for purchase, outcome in done:
                finished, found = self._end(pages, purchase, outcome)
                ended.append(finished)
                problem = problem or found
            if written:  # the store had committed this step when its connection was lost
                return written, problem, ended
            if not start or problem is not None:
                return [], problem, ended
            try:
                with pages.savepoint():  # should this fail, what came back is settled all the same
                    started = self._next(pages, keys, features, mask, {p.id for p, _ in done})
            except ThriftyError as error:
                return [], error, ended
            return started, None, ended

        # Before anybody can see them: a purchase of ours that is not in flight counts as dead.
        IN_FLIGHT.update(keys)
        started: list[Purchase] = []
        try:
            started, problem, ended = self._write(work)
        finally:
            IN_FLIGHT.difference_update(set(keys) - {purchase.key for purchase in started})
        for purchase in ended:
            self._running.pop(purchase.id, None)
            IN_FLIGHT.discard(purchase.key)
            self.spent += purchase.spent
            if self.ledger.on_purchase is not None:
                self.ledger.on_purchase(purchase)
        if ended:
            reached("after-settle")
        for purchase in started:
            if purchase.key in keys:  # not one that we claimed
                self._mine.add(purchase.id)
            self._running[purchase.id] = purchase
            IN_FLIGHT.add(purchase.key)
        if started:
            reached("after-intent")
        return started, problem

    def _write(self, work: Callable[[Pages], T]) -> T:
        """One transaction, on all that others have settled.

        A store may run it again after the connection was lost. What the first run settled is then
        rolled back, and another process may have settled something else under its number: memory
        is ahead of the store, and is read anew. The same where it fails for good.
        """
        heard, ahead = len(self.news), False

        def once(pages: Pages) -> T:
            nonlocal ahead
            if ahead:
                self._forget(heard)
            ahead = True
            self.catch_up(pages)
            return work(pages)

        try:
            return self.ledger.book.write(once)
        except BaseException:
            self._forget(heard)
            raise

    def _forget(self, heard: int) -> None:
        self.known.forget()
        del self.news[heard:]

    # -- beginnings ---------------------------------------------------------------------------

    def _next(
        self, pages: Pages, keys: list[str], features: NDArray[np.int64],
        mask: NDArray[np.uint64], ended: set[int],
    ) -> list[Purchase]:  # fmt: skip
        mine = [p for p in self._running.values() if p.id not in ended]
        ids = {p.id for p in mine}
        others = [p for p in pages.blocking() if p.id not in ids]
        started = [self._claim(pages, p) for p in others if self.can_claim(p)]
        claimed = {p.id for p in started}
        others = [p for p in others if p.id not in claimed]
        mine += started
        if not self._planned:
            self._plan(features, mask)
            self._check_whole(pages, mine + others)
        elif self._stale:
            if mine:
                return started  # plan again when nothing is open
            self._plan(features, mask)
        waiting: deque[Call] = deque()
        while self._queue and len(mine) < self.source.limits.concurrency:
            call = self._queue.popleft()
            if not self._all_missing(call):
                self._stale = True  # a purchase that we claimed has brought some of it
                continue
            if self._blocked(call, others, mine):
                waiting.append(call)
                continue
            purchase = intend(pages, self._purchase(call, keys[len(started)]), self.limits)
            started.append(purchase)
            mine.append(purchase)
        self._queue.extendleft(reversed(waiting))
        return started

    def _plan(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        calls = plan_calls(features, mask, self.known, self.tariff, self.source.limits)
        self._queue = deque(calls)
        self._planned, self._stale = True, False

    def _check_whole(self, pages: Pages, open_ones: list[Purchase]) -> None:
        """The whole request must fit, so that a task does not stop half way for a known reason.

        What somebody is buying already costs nothing here.
        """
        limits = self.limits
        if limits.total is limits.per_task is limits.per_example is None:
            return
        n, costs = 0, np.zeros(self.known.n_examples, dtype=np.int64)
        drawn = self.known.known[self.known.n_features :].copy()
        for call in self._queue:
            if any(self._overlap(call, p) for p in open_ones):
                continue
            draws, who, price = price_call(call, self.known, self.tariff)
            costs[call.rows] += price
            n += len(call.rows) * len(call.features)
            for d, rows in zip(draws.tolist(), who):
                # two calls may share a draw: it is paid once
                paid = kernels.mask_of_rows(call.rows[rows], self.known.n_examples)
                again = kernels.rows_of_mask(
                    paid & drawn[d] & ~self.known.known[self.known.n_features + d]
                )
                costs[again] -= self.tariff.draws[d].fee
                drawn[d] |= paid
        some = np.flatnonzero(costs)
        check_budget(
            pages, self.limits, self.task, self.known.examples[some], costs[some], n
        )

    def _all_missing(self, call: Call) -> bool:
        """Whether every cell of a call is still unknown; the last look before money is reserved."""
        mask = kernels.mask_of_rows(call.rows, self.known.n_examples)
        missing = self.known.missing(call.features, mask)
        if any(self.tariff.draws[d].together for d in self.tariff.needs[int(call.features[0])]):
            return bool((np.bitwise_or.reduce(missing, axis=0) == mask).all())
        return bool((missing == mask).all())

    def _blocked(
        self, call: Call, others: list[Purchase], mine: list[Purchase]
    ) -> bool:
        """Whether to wait: a cell or a draw of this call is being bought at this moment."""
        if any(self._overlap(call, p) for p in mine):
            return True
        hit = [p for p in others if self._overlap(call, p)]
        stuck = [p for p in hit if not is_live(p, self.ledger.clock())]
        if stuck:
            raise self.ledger.doubt_error(stuck)
        return bool(hit)

    def _overlap(self, call: Call, purchase: Purchase) -> bool:
        block = purchase.block
        examples = self.known.examples[call.rows]
        shared = np.isin(block.examples, examples)
        if not shared.any():
            return False
        if np.isin(block.features, self.known.features[call.features]).any():
            return True
        needed = sorted({d for f in call.features.tolist() for d in self.tariff.needs[f]})
        hit = np.isin(block.draws, self.known.draws[needed])
        return bool((block.draw_rows[hit] & shared).any())

    def _purchase(self, call: Call, key: str) -> Purchase:
        draws, draw_rows, costs = price_call(call, self.known, self.tariff)
        known, limits, now = self.known, self.source.limits, self.ledger.clock()
        block = Block(
            known.examples[call.rows], known.features[call.features],
            self.source.boolean[call.features], known.draws[draws], draw_rows, costs,
        )  # fmt: skip
        patience = limits.attempts * (limits.timeout + 5.0) + _GRACE
        return Purchase(
            key, self.task, self.source.name, "pending", me(), now, now + patience, block
        )

    def _claim(self, pages: Pages, purchase: Purchase) -> Purchase:
        limits = self.source.limits
        give_up_at = self.ledger.clock() + limits.attempts * (limits.timeout + 5.0) + _GRACE
        return pages.claim(purchase.id, me(), give_up_at)

    # -- endings ------------------------------------------------------------------------------

    def _end(
        self, pages: Pages, purchase: Purchase, outcome: Outcome
    ) -> tuple[Purchase, Exception | None]:
        now = pages.purchase(purchase.id)
        assert now is not None, "purchases are never deleted"
        if now.status != "pending" or now.owner != me():
            return now, self._too_late(now)
        if outcome.kind == "unknown":
            why = f"the call ended with {outcome.error}" if outcome.error else "the call was cut"
            done = pages.finish(now.with_(status="doubt", note=why))
            return done, self.ledger.doubt_error([done])
        if outcome.kind == "refused":
            done = close(pages, now, "refused", self.ledger.clock(), note=outcome.error)
            return done, NotBilled(
                f"the provider refused {self.source.limits.attempts} times ({outcome.error}); "
                "nothing was billed. Learn again later: what was bought is kept.",
                purchases=(now.id,),
            )
        if outcome.kind == "failed":
            done = close(
                pages, now, "failed", self.ledger.clock(), share=self.tariff.failed,
                note=outcome.error,
            )  # fmt: skip
            price = amount_text(done.spent, self.tariff.currency)
            return done, PurchaseFailed(
                f"the provider tried and failed ({outcome.error}), which cost {price}. Learn "
                "again to try it once more.",
                purchases=(now.id,),
            )
        done, problem = take_answer(
            pages, now, outcome.answer, self._names(now.block), self.known, self.ledger.clock(),
            allow_missing=self.source.allow_missing,
        )  # fmt: skip
        if problem is None:
            self.known.apply(done)
            self._note(done)
        return done, problem

    def _too_late(self, now: Purchase) -> Exception | None:
        """Somebody resolved or repeated the purchase while this call was still running."""
        if now.status == "settled":
            return None
        if now.owner == me():  # our own end of it, committed as the connection was lost
            return ProviderError(f"purchase {now.id} is {now.status}: {now.note}")
        return PurchaseInDoubt(
            f"purchase {now.id} was resolved as {now.status!r} while its call was still running; "
            "its late answer was not used. Check the provider's bill for it.",
            purchases=(now.id,),
        )

    def _unsaved(self, done: list[tuple[Purchase, Outcome]]) -> None:
        """The store failed: keep the answers, to be written when it works again."""
        for purchase, outcome in done:
            if self._running.pop(purchase.id, None) is not None:
                self.ledger.keep_unsaved(self, purchase, outcome)

    def save(self, purchase: Purchase, outcome: Outcome) -> None:
        """Write an answer that could not be written when it came."""

        done, problem = self._write(lambda pages: self._end(pages, purchase, outcome))
        IN_FLIGHT.discard(done.key)
        self.spent += done.spent
        if problem is not None:
            raise problem

    def _abandon(self) -> None:
        """Interrupted: what was being bought is in doubt; say so in the store if it still works."""
        left = list(self._running.values())
        self._running.clear()
        if not left:
            return

        def work(pages: Pages) -> None:
            for purchase in left:
                now = pages.purchase(purchase.id)
                if now is not None and now.status == "pending" and now.owner == me():
                    pages.finish(now.with_(status="doubt", note="the call was interrupted"))

        try:
            self.ledger.book.write(work)
        except ThriftyError:
            pass  # the intent is in the store: a dead buyer's purchase is in doubt by itself
        finally:
            IN_FLIGHT.difference_update(p.key for p in left)
