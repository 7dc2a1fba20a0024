"""Buying the missing cells of one source: a window of open calls, one transaction per step.

A step settles the calls that came back and writes down the next ones, in the same transaction, so
that at most as many purchases are open as calls are running.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Pages, reached
from thrifty.cells.ledger.calls import Outcome, call_provider, needed_packages, rate_limiter
from thrifty.cells.ledger.categories import Places
from thrifty.cells.ledger.ending import Ending, Names
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.next_calls import PlannedCalls, lease
from thrifty.cells.ledger.owner import me, process
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.ledger.receipt import BillLine, Lines, lines_of_counts
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import ProviderError, ThriftyError
from thrifty.typing import Ints, Words

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter
    from anyio.streams.memory import MemoryObjectSendStream

    from thrifty.cells.ledger.ledger import Ledger


T = TypeVar("T")


def _is_ours(purchase: Purchase) -> bool:
    return purchase.status == "pending" and purchase.owner == me()


class Buyer:
    """Buys for one task from one source.

    ``news`` collects what has become known since it was last emptied: (mine, features, rows).
    """

    def __init__(
        self,
        ledger: Ledger,
        source: CallableSource,
        tariff: Tariff,
        known: Known,
        task: str,
        words: Mapping[int, Places] | None = None,
    ) -> None:
        self.ledger, self.source, self.tariff = ledger, source, tariff
        self.known, self.task = known, task
        #: of the features that are categories
        self.words = words or {}
        self.spent = 0
        #: what each example has cost
        self.row_costs = np.zeros(known.n_examples, dtype=np.int64)
        #: what was paid for, line by line
        self.lines = Lines()
        self.news: list[tuple[bool, Ints, Words]] = []
        #: what it asks next, within which limits
        self.asking = PlannedCalls(ledger, source, tariff, known, task)
        #: what an earlier run of this task has paid for and this one has not asked for, by rows
        self._held_on: dict[int, list[Purchase]] = {}
        self._elsewhere = 0
        self._mine: set[int] = set()
        self._repeated: set[int] = set()
        self._running: dict[int, Purchase] = {}
        #: what was asked with each of them
        self._names_of: dict[int, Names] = {}
        #: written down and not yet looked at; as they stood when they were looked at together
        self._fresh: dict[int, Purchase] = {}
        self._seen: dict[int, Purchase] = {}
        self._stopping = False
        self._leave: BaseException | None = None

    # -- what the reader asks -----------------------------------------------------------------

    def buy(self, features: Ints, mask: Words) -> None:
        """Make every cell of features x mask known, buying what is not."""
        needed_packages()
        from anyio.from_thread import start_blocking_portal

        with start_blocking_portal() as portal:
            running = portal.start_task_soon(self.bought, features, mask)
            try:
                running.result()
            except BaseException:
                if not running.done():
                    self._finish(running)
                if self._leave is not None:
                    raise self._leave from None
                raise

    async def bought(self, features: Ints, mask: Words) -> None:
        """The same inside an event loop that runs already."""
        lacking = np.bitwise_or.reduce(self.known.missing(features, mask), axis=0)
        self.replay(None, lacking)
        self.ledger.save_unsaved()
        self._stopping, self._leave = False, None
        await self._run(features, mask)
        self._check_answered(features, mask)

    @property
    def nothing(self) -> tuple[Ints, Words]:
        """No cells: what is in doubt is asked for again all the same."""
        return np.zeros(0, dtype=np.int64), np.zeros_like(self.known.known[0])

    def _finish(self, running: Future[None]) -> None:
        """Interrupted: nothing new is asked; calls in flight get their time, and are booked.

        A second interruption leaves what is still open in doubt.
        """
        self._stopping = True
        patience = self.source.limits.timeout + 5.0
        if self._running:
            logging.getLogger("thrifty").warning(
                "interrupted: %d call(s) in flight may still answer, waiting at most %g seconds; "
                "interrupt again to leave them in doubt",
                len(self._running),
                patience,
            )
        with suppress(Exception):
            running.result(patience)

    def _check_answered(self, features: Ints, mask: Words) -> None:
        """The last word: no value is read from a cell that was not answered."""
        missing = self.known.missing(features, mask)
        if len(features) and missing.any():
            n = int(np.bitwise_count(missing).sum())
            raise ProviderError(
                f"{n} of the cells asked for were not answered, and no reason was given. Nothing "
                "was made of them; learn again to buy what is missing."
            )

    def catch_up(self, pages: Pages) -> None:
        """Take in what others, or an earlier run of this task, have bought."""
        for purchase in self.known.follow(pages):
            self._note(purchase)
            self.asking.stale = True
        # What came with the columns of a finished task is not ours: we are not finished.
        for feature, mask in self.known.gained:
            self.news.append((False, np.array([feature]), mask))
            self.asking.stale = True
        self.known.gained.clear()

    # -- an earlier run of the same task ------------------------------------------------------

    def hold(self, purchases: Sequence[Purchase]) -> None:
        """What an earlier, unfinished run of this task has paid for is shown as not yet bought.

        The run that asks for it again has it for nothing, and it counts as its own: so a call that
        is made again sees the prices, and what is left, that it saw the first time, and ends alike.
        """
        for purchase in purchases:
            ended = (purchase.spent or purchase.status == "settled") and not purchase.compacted
            if ended and purchase.provider == self.source.name:
                self.known.held[purchase.id] = purchase
                for row in self.known.place(purchase.block)[1].tolist():
                    self._held_on.setdefault(row, []).append(purchase)
            elif self.source.labels:  # they come first: what was paid elsewhere comes after them
                self._elsewhere += purchase.spent

    def hold_no_more_where_others_bought(self) -> None:
        """Others have bought on these rows since: the run cannot be as it was, and owns its own."""
        held = self.known.held.values()
        if held and self.known.newest > min(p.created_at for p in held):
            self.hold_no_more()

    def hold_no_more(self) -> None:
        """What an earlier run has paid for is known from now on, and was paid for by this task."""
        self._replay(list(self.known.held.values()))
        self._elsewhere = 0

    @property
    def held(self) -> tuple[int, int]:
        """What earlier runs spent on what was not asked for again yet; and were billed over."""
        held = self.known.held.values()
        spent = sum(purchase.spent for purchase in held)
        return spent + self._elsewhere, sum(purchase.over for purchase in held)

    def replay(self, features: Ints | None, mask: Words) -> None:
        """Cells are asked for: what an earlier run has paid for among them is known from now on.

        Without features: everything of these rows, before something is really bought for them; a
        fee that was paid is not paid again.
        """
        held, wanted = self.known.held, None if features is None else set(features.tolist())
        rows = kernels.rows_of_mask(mask).tolist() if held else []
        near = {p.id: p for row in rows for p in self._held_on.get(row, ()) if p.id in held}
        self._replay(
            [
                purchase
                for purchase in near.values()
                if wanted is None
                or not wanted.isdisjoint(self.known.place(purchase.block)[0].tolist())
            ]
        )

    def _replay(self, purchases: list[Purchase]) -> None:
        for purchase in purchases:
            del self.known.held[purchase.id]
            if purchase.status == "settled":
                self.known.take_in(purchase)
                self._note(purchase)
            self._book(purchase)
            self.asking.stale = True

    def _is_mine(self, purchase: Purchase) -> bool:
        """Whether this task pays for it; what we only repeat is on the bill of who began it."""
        return purchase.id in self._mine or (
            self.task != ""
            and purchase.task == self.task
            and purchase.lifetime == self.ledger.book.id
        )

    def _book(self, purchase: Purchase) -> None:
        """What has ended is on our bill: in all, for each example, and line by line."""
        if not purchase.spent or not self._is_mine(purchase):
            return
        self.spent += purchase.spent
        block = purchase.block
        at, rows = self.known.place(block)
        np.add.at(self.row_costs, rows[rows >= 0], purchase.counted[rows >= 0])
        if purchase.status != "settled":
            n = len(block.examples)
            self.lines.add([BillLine("paid for without values", n, purchase.spent)])
            return
        cells = np.bincount(at[at >= 0], minlength=len(self.tariff.own)) * len(block.examples)
        place = self.known.draw_of
        draws = {
            place[n]: int(paid.sum())
            for n, paid in zip(block.draws.tolist(), block.draw_rows)
            if n in place
        }
        lines = lines_of_counts(self.tariff, self.source.feature_names, cells, draws)
        rest = block.price - sum(line.amount for line in lines)
        if rest:  # calls, the first of a group
            lines.append(BillLine("calls and first tests", len(block.examples), rest))
        if purchase.spent != block.price:
            less = purchase.spent - block.price
            lines.append(BillLine("billed otherwise than listed", len(block.examples), less))
        self.lines.add(lines)

    def _note(self, purchase: Purchase) -> None:
        at, rows = self.known.place(purchase.block)
        mine = self._is_mine(purchase)
        mask = kernels.mask_of_rows(rows[rows >= 0], self.known.n_examples)
        self.news.append((mine, at[at >= 0], mask))

    # -- the window ---------------------------------------------------------------------------

    async def _run(self, features: Ints, mask: Words) -> None:
        import anyio

        self.asking.begin()
        problem: Exception | None = None
        send, receive = anyio.create_memory_object_stream[tuple[Purchase, Outcome]](math.inf)
        limiter = await rate_limiter(self.source)
        done: list[tuple[Purchase, Outcome]] = []
        try:
            async with self.source.connected(), anyio.create_task_group() as group:
                while True:
                    start = problem is None and not self._stopping
                    try:
                        started, found = self._step(done, features, mask, start=start)
                    except Exception as error:
                        started, found = [], error
                        self._unsaved(done)
                    problem = problem or found
                    done = []
                    self._fresh = {purchase.id: purchase for purchase in started}
                    for purchase in started:
                        group.start_soon(self._call, purchase, send, limiter)
                    if self._running:
                        done.append(await receive.receive())
                        while receive.statistics().current_buffer_used:
                            done.append(receive.receive_nowait())
                    elif problem is not None or self._stopping or not self.asking.queue:
                        break
                    else:  # another process is buying what we need, or we could not write it down
                        try:
                            self.ledger.save_unsaved()
                        except ThriftyError as error:
                            problem = error
                        await anyio.sleep(self.ledger.poll)
        finally:
            send.close()
            receive.close()
            self._abandon()
        if problem is not None:
            raise problem

    async def _call(
        self,
        purchase: Purchase,
        send: MemoryObjectSendStream[tuple[Purchase, Outcome]],
        limiter: AsyncLimiter | None,
    ) -> None:
        outcome = Outcome("unknown")
        try:
            examples, features = self._names(purchase)[:2]
            reached("before-call")
            outcome = await call_provider(
                self.source,
                examples,
                features,
                purchase.key,
                limiter,
                lambda: self._may_call(purchase),
                costs=purchase.key not in self.asking.free,
            )
            self._leave = self._leave or outcome.leave
            reached("after-call")
        finally:  # however it ends, the window hears of it
            send.send_nowait((purchase, outcome))

    def _may_call(self, purchase: Purchase) -> bool:
        """The last look before a call: the intent still stands, and has time enough left."""
        if self._stopping:
            return False
        limits = self.source.limits
        until = self.ledger.now() + limits.timeout + 5.0

        def renew(pages: Pages) -> bool:
            if not _is_ours(pages.as_now(purchase)):
                return False
            pages.claim(purchase.id, me(), self.ledger.now() + lease(limits))
            return True

        try:
            now = self._look(purchase)
            return _is_ours(now) and (now.give_up_at >= until or self.ledger.book.write(renew))
        except ThriftyError:
            return False  # what cannot be looked up is not called

    def _look(self, purchase: Purchase) -> Purchase:
        """A purchase as it stands; those that begin at the same moment are looked at together.

        A look is used once, and before anything else happens in the loop: what was written down in
        one step goes out in one turn of it, and 50 transactions would say no more than one.
        """
        if purchase.id not in self._seen:
            import asyncio  # takes long to load, and who prints a bill buys nothing

            some = {**self._fresh, purchase.id: purchase}
            self._fresh = {}
            asyncio.get_running_loop().call_soon(self._seen.clear)
            self._seen.update(
                self.ledger.book.read(lambda pages: {i: pages.as_now(p) for i, p in some.items()})
            )
        return self._seen.pop(purchase.id)

    def _names(self, purchase: Purchase) -> Names:
        found = self._names_of.get(purchase.id)
        if found is not None:
            return found
        at, rows = self.known.place(purchase.block)
        ids = self.source.ids_of([self.source.examples[r] for r in rows.tolist()])
        features = [self.source.feature_names[f] for f in at.tolist()]
        words = {j: self.words[f].words for j, f in enumerate(at.tolist()) if f in self.words}
        named = Names(ids, features, words, self.source.zero_or_one[at])
        return self._names_of.setdefault(purchase.id, named)

    def _step(
        self, done: list[tuple[Purchase, Outcome]], features: Ints, mask: Words, *, start: bool
    ) -> tuple[list[Purchase], Exception | None]:
        """One transaction: settle what came back, write down what is asked next."""
        keys = [self.ledger.new_key() for _ in range(self.source.limits.concurrency)]
        reached("before-settle" if done else "before-intent")
        back, again = self.asking.memory(), False

        def work(pages: Pages) -> tuple[list[Purchase], Exception | None, list[Purchase]]:
            nonlocal again
            back()
            written = pages.with_keys(keys) if again else []  # nobody else has these keys
            again = True
            problem, ended = None, []
            self.asking.look_at_the_budget(pages)
            for purchase, outcome in done:
                finished, found = self._end(pages, purchase, outcome)
                ended += finished
                problem = problem or found
            if written:  # the store had committed this step when its connection was lost
                return written, problem, ended
            if not start or problem is not None:
                return [], problem, ended
            over = {p.id for p, _ in done}
            mine = [p for p in self._running.values() if p.id not in over]
            try:
                with pages.savepoint():  # should this fail, what came back is settled all the same
                    started = self.asking.next(pages, keys, features, mask, mine)
            except ThriftyError as error:
                return [], error, ended
            return started, None, ended

        # Before anybody can see them: a purchase of ours that is not in flight counts as dead.
        process().in_flight.update(keys)
        started: list[Purchase] = []
        try:
            started, problem, ended = self._write(work)
        except BaseException:
            back()  # nothing of it was written: a failure is counted when it is
            raise
        finally:
            open_now = {p.key for p in (*started, *self._running.values())}
            process().in_flight.difference_update((set(keys) | self.asking.claimed) - open_now)
            self.asking.claimed.clear()
        self._ended(ended)
        for purchase in started:
            if purchase.key in keys:
                self._mine.add(purchase.id)
            else:
                self._repeated.add(purchase.id)
            self._running[purchase.id] = purchase
            process().in_flight.add(purchase.key)
        if started:
            reached("after-intent")
        return started, problem

    def _ended(self, ended: list[Purchase]) -> None:
        for purchase in ended:
            self._running.pop(purchase.id, None)
            self._names_of.pop(purchase.id, None)
            process().in_flight.discard(purchase.key)
            self._book(purchase)
            if self.ledger.on_purchase is not None:
                self.ledger.on_purchase(purchase)
        if ended:
            reached("after-settle")

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
            with pages.together():
                return work(pages)

        try:
            return self.ledger.book.write(once)
        except BaseException:
            self._forget(heard)
            raise

    def _forget(self, heard: int) -> None:
        self.known.forget()
        del self.news[heard:]

    # -- endings ------------------------------------------------------------------------------

    def _end(
        self, pages: Pages, purchase: Purchase, outcome: Outcome, at: float | None = None
    ) -> tuple[list[Purchase], Exception | None]:
        if self.known.held:
            _, rows = self.known.place(purchase.block)
            self.replay(None, kernels.mask_of_rows(rows[rows >= 0], self.known.n_examples))
        names, repeated = self._names(purchase), purchase.id in self._repeated
        came = self.ledger.now() if at is None else at
        ending = Ending(self.asking, pages, outcome, names, came, repeated)
        done, problem = ending.end(purchase)
        if purchase.id in self._mine:
            self._mine.update(one.id for one in done)
        for one in done:
            if one.status == "settled" and (problem is None or len(done) > 1):
                self.known.apply(one)
                self._note(one)
        return done, problem

    def _unsaved(self, done: list[tuple[Purchase, Outcome]]) -> None:
        """The store failed: keep the answers, to be written when it works again."""
        for purchase, outcome in done:
            if self._running.pop(purchase.id, None) is not None:
                self.ledger.keep_unsaved(self, purchase, outcome)

    def save(self, purchase: Purchase, outcome: Outcome, at: float) -> None:
        """Write an answer that could not be written when it came."""
        back = self.asking.memory()

        def work(pages: Pages) -> tuple[list[Purchase], Exception | None]:
            back()  # run again, it is still one end
            return self._end(pages, purchase, outcome, at)

        try:
            done, problem = self._write(work)
        except BaseException:
            back()
            raise
        for one in done:
            process().in_flight.discard(one.key)
            self._book(one)
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
            process().in_flight.difference_update(p.key for p in left)
