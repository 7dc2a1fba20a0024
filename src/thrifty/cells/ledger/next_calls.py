"""What to ask next: calls that are planned, held against what others are buying, written down."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.compacted import note_gaps, take_back_gaps
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.owner import me, process
from thrifty.cells.ledger.purchase import CellBlock, Purchase, is_live
from thrifty.cells.ledger.settlement import OUTAGE, Failures, check_budget, close, intend
from thrifty.cells.prices.cover import OrderChoice
from thrifty.cells.prices.money import LARGEST, Limits, refuse_too_large, total
from thrifty.cells.prices.tariff import Filled, PriceOfCells, Tariff, TiedFeatures
from thrifty.cells.sources.callable import CallableSource, CallLimits
from thrifty.errors import BadInput, PurchaseInDoubt
from thrifty.typing import Bools, Ints, Numbers, Words

if TYPE_CHECKING:
    from thrifty.cells.ledger.ledger import Ledger


_GRACE = 60.0


def lease(limits: CallLimits) -> float:
    """How long the calls of one purchase may take, in seconds."""
    return limits.attempts * (limits.timeout + 5.0) + _GRACE


def _meet(some: Numbers, others: Numbers) -> bool:
    """Whether two lists of numbers share one."""
    if len(some) + len(others) > 200:
        return bool(np.isin(some, others).any())
    return not set(some.tolist()).isdisjoint(others.tolist())  # short ones: a tenth of the time


class PlannedCalls:
    """The calls one buyer still has to make, in order.

    ``stale`` says that something has become known, or free again, since they were planned.
    """

    def __init__(
        self, ledger: Ledger, source: CallableSource, tariff: Tariff, known: Known, task: str
    ) -> None:
        self.ledger, self.source, self.tariff = ledger, source, tariff
        self.known, self.task = known, task
        self.limits = ledger.limits(tariff.currency)
        #: what one task, or one prediction, makes of the budget
        self.own: Callable[[Limits], Limits] = lambda limits: limits
        self.queue: deque[Call] = deque()
        self.stale = False
        #: purchases without an answer that were counted as billed and asked for again
        self.given_up = 0
        #: keys of purchases that were made ours in the last transaction, committed or not
        self.claimed: set[str] = set()
        #: keys of purchases that nobody bills
        self.free: set[str] = set()
        self._planned = False
        #: how often cells were asked for anew because an answer was malformed
        self._malformed: dict[tuple[bytes, bytes], int] = {}
        self._failures = Failures(source.limits.on_failure == "gap", source.limits.tries)
        #: good answers so far
        self.answers = 0
        #: since when we wait for a purchase of somebody else, by a clock that nobody turns
        self._waiting: dict[tuple[int, float], float] = {}

    def begin(self) -> None:
        """A new request: nothing is planned yet."""
        self.queue.clear()
        self._planned = self.stale = False

    def look_at_the_budget(self, pages: Pages) -> None:
        """Before anything is booked or begun: it may have been changed since the last step."""
        self.limits = self.own(self.ledger.limits_now(pages, self.tariff.currency))

    def memory(self) -> Callable[[], None]:
        """What takes this back to where it is now, should the transaction be run again."""
        queue, planned, stale, given_up = list(self.queue), self._planned, self.stale, self.given_up
        answers, failures = self.answers, self._failures.copy()

        def back() -> None:
            self.queue, self._planned = deque(queue), planned
            self.stale, self.given_up = self.stale or stale, given_up
            self.answers, self._failures = answers, failures.copy()

        return back

    def next(
        self, pages: Pages, keys: list[str], features: Ints, mask: Words, mine: list[Purchase]
    ) -> list[Purchase]:
        """Write down as many purchases as may run beside those that are running (mine)."""
        ids = {p.id for p in mine}
        others = [p for p in pages.blocking() if p.id not in ids]
        room = max(self.source.limits.concurrency - len(mine), 0)
        claims = [p for p in others if self.can_claim(p)]
        started = [self._claim(pages, p) for p in claims[:room]]
        # A claim that has to wait for room keeps its cells: nobody may ask for them anew.
        claimed = {p.id for p in claims}
        others = [p for p in others if p.id not in claimed]
        mine = mine + started + claims[room:]
        if not self._planned:
            self._plan(features, mask)
            self._check_whole(pages, mine + others)
        elif self.stale:
            if mine:
                return started  # plan again when nothing is open
            self._plan(features, mask)
        elif self._failures.again and not self.queue and not mine:
            self._plan(features, mask)
        waiting: deque[Call] = deque()
        while self.queue and len(mine) < self.source.limits.concurrency:
            if mine and self._on_trial():
                break
            call = self.queue.popleft()
            if not still_missing(call, self.known):
                # a purchase that we claimed has brought some of it
                if mine:
                    self.stale = True
                    continue
                waiting.clear()
                self._plan(features, mask)
                continue
            if self._blocked(pages, call, others, mine):
                waiting.append(call)
                continue
            purchase = intend(pages, self._purchase(call, keys[len(started)]), self.limits)
            self._note_free(pages, purchase)
            started.append(purchase)
            mine.append(purchase)
        self.queue.extendleft(reversed(waiting))
        return started

    # -- planning -----------------------------------------------------------------------------

    def _plan(self, features: Ints, mask: Words) -> None:
        calls = plan_calls(features, mask, self.known, self.tariff, self.source.limits)
        # a large request begins with one example, to see whether answers are well formed
        if self._on_trial() and sum(len(c.rows) * len(c.features) for c in calls) > 1000:
            first = calls[0]
            if len(first.rows) > 1:
                calls[:1] = [first.on(first.rows[:1]), first.on(first.rows[1:])]
        self.queue = deque(self._failures.apart(calls))
        self._planned = True
        self.stale = self._failures.again = False

    def _on_trial(self) -> bool:
        """Before a first good answer one call is made at a time."""
        return not self.source.proven

    def _check_whole(self, pages: Pages, open_ones: list[Purchase]) -> None:
        """The whole request must fit, so that a task does not stop half way for a known reason.

        What somebody is buying already costs nothing here.
        """
        limits, tariff = self.limits, self.tariff
        if limits.total is limits.per_task is limits.per_example is None:
            most_expensive = int(tariff.own.max(initial=0)) + sum(draw.fee for draw in tariff.draws)
            if most_expensive * sum(len(c.rows) * len(c.features) for c in self.queue) < LARGEST:
                return
        n, costs = 0, np.zeros(self.known.n_examples, dtype=np.int64)
        drawn = self.known.known[self.known.n_features :].copy()
        for call in self.queue:
            if any(self._overlap(call, p) for p in open_ones):
                continue
            # two calls may share a draw: it is paid once
            draws, who, price = price_call(call, self.known, self.tariff, drawn)
            costs[call.rows] += price
            refuse_too_large(int(costs[call.rows].max()), "the price of one example")
            n += len(call.rows) * len(call.features)
            for d, rows in zip(draws.tolist(), who):
                drawn[d] |= kernels.mask_of_rows(call.rows[rows], self.known.n_examples)
        some = np.flatnonzero(costs)
        check_budget(pages, self.limits, self.task, self.known.examples[some], costs[some], n)

    # -- what others are buying ---------------------------------------------------------------

    def can_claim(self, purchase: Purchase) -> bool:
        """A provider that honours keys may be asked again for what it was asked before."""
        source = self.source
        if not source.idempotent or purchase.provider != source.name:
            return False
        if purchase.status not in ("pending", "doubt") or is_live(purchase, self.ledger.now()):
            return False
        if "#" in purchase.key:  # a part of a call: its key has answered
            return False
        at, rows = self.known.place(purchase.block)
        return bool((at >= 0).all() and (rows >= 0).all())

    def _claim(self, pages: Pages, purchase: Purchase) -> Purchase:
        # Before anybody can see it: a purchase of ours that is not in flight counts as dead.
        self.claimed.add(purchase.key)
        self._note_free(pages, purchase)
        process().in_flight.add(purchase.key)
        return pages.claim(purchase.id, me(), self.ledger.now() + lease(self.source.limits))

    def _blocked(
        self, pages: Pages, call: Call, others: list[Purchase], mine: list[Purchase]
    ) -> bool:
        """Whether to wait: a cell or a draw of this call is being bought at this moment."""
        if self._being_bought(call, mine) or waits_for(call, self.known, self.tariff):
            return True
        hit = [p for p in others if self._overlap(call, p)]
        stuck = [p for p in hit if not is_live(p, self.ledger.now())]
        if stuck and not self._ask_again(pages, stuck):
            raise self.ledger.doubt_error(stuck)
        others[:] = [p for p in others if p not in stuck]
        hit = [p for p in hit if p not in stuck]
        self._wait_for(hit)
        return bool(hit)

    def _ask_again(self, pages: Pages, stuck: list[Purchase]) -> bool:
        """The source's policy may count what is in doubt as billed, and go on."""
        if not all(self.may_give_up(pages, p) for p in stuck):
            return False
        costly = sum(1 for p in stuck if self.costs(pages, p))
        if costly and self.given_up + costly > self.source.limits.doubt_limit:
            return False
        for purchase in stuck:
            self.give_up(pages, purchase, purchase.note or "its process ended")
        return True

    def costs(self, pages: Pages, purchase: Purchase) -> bool:
        """Whether it may be billed: it has a price, or the list is not to be believed.

        Where somebody has billed more than was listed, what is free by the list may be billed too.
        """
        return bool(purchase.block.price) or pages.over() > 0

    def _note_free(self, pages: Pages, purchase: Purchase) -> None:
        if not self.costs(pages, purchase):
            self.free.add(purchase.key)

    def may_give_up(self, pages: Pages, purchase: Purchase) -> bool:
        """Whether the policy of its source lets this purchase be counted as billed.

        What costs nothing is in nobody's doubt: it is asked for again.
        """
        if purchase.status not in ("pending", "doubt") or purchase.provider != self.source.name:
            return False
        limits = self.source.limits
        return not self.costs(pages, purchase) or (
            limits.on_doubt == "ask again" and self.given_up < limits.doubt_limit
        )

    def may_ask_again(self, pages: Pages, purchase: Purchase) -> bool:
        """Whether a malformed answer is asked for once more; its price is spent.

        Where failures become gaps, those about one example count as such. One about many is no
        fault of an example: it stops.
        """
        if self.source.limits.on_failure == "gap":
            return len(purchase.block.examples) == 1 and self.goes_on(pages, purchase, "billed")
        key = (purchase.block.examples.tobytes(), purchase.block.features.tobytes())
        if self._malformed.get(key, 0) >= self.source.limits.again:
            return False
        self._malformed[key] = self._malformed.get(key, 0) + 1
        self.stale = True
        return True

    def give_up(self, pages: Pages, purchase: Purchase, why: str) -> Purchase:
        """Count a purchase without an answer as billed; its cells are asked for again."""
        if self.costs(pages, purchase):
            self.given_up += 1
        self.stale = True
        note = f"{why}; counted as billed and asked again"
        lost = close(pages, purchase, "lost", self.ledger.now(), share=1.0, note=note)
        if len(purchase.block.examples) == 1:
            self.goes_on(pages, lost, "billed")  # one try; too many make a gap
        return lost

    def goes_on(self, pages: Pages, purchase: Purchase, word: str, *, each: bool = False) -> bool:
        """Whether the task goes on after cells have failed: asked for again, or taken for gaps.

        ``each``: the provider said it of each cell; else the call failed as a whole, and where it
        was about several examples they are asked for in smaller calls, to find out which it was.
        """
        at, rows = self.known.place(purchase.block)
        failures = self._failures
        if not (failures.gaps or (each and word == "not-billed")):
            return False
        if (at < 0).any() or (rows < 0).any():  # not of this request
            return False
        failures.again = True
        if len(rows) > 1 and not each:
            failures.halve(rows)
            return True
        over = failures.count(rows, at, self.answers)
        if not len(over):
            return True
        return failures.gaps and self._gaps(pages, over)

    def _gaps(self, pages: Pages, over: Ints) -> bool:
        """Cells (row, feature) that failed too often are gaps, unless everything fails."""
        known, failures = self.known, self._failures
        examples, features = known.examples[over[:, 0]], known.features[over[:, 1]]
        if failures.looks_like_an_outage(over, self.answers):
            doubtful = failures.taken_back()
            for f in np.unique(doubtful[:, 1]).tolist():
                known.drop_gaps(f, doubtful[doubtful[:, 1] == f, 0])
            take_back_gaps(pages, known.examples[doubtful[:, 0]], known.features[doubtful[:, 1]])
            return False
        note_gaps(pages, examples, features, self.source.limits.tries, self.ledger.now())
        for f in np.unique(over[:, 1]).tolist():
            known.set_gaps(f, over[over[:, 1] == f, 0])
        return True

    def what_next(self, retry: str) -> str:
        """The end of an error about failures: what the user can do."""
        if not self._failures.gaps:
            return (
                f"{retry}: what was bought is kept. Where an example may stay without its value, "
                "on_failure='gap' goes on."
            )
        return (
            f"More than {OUTAGE} examples in turn failed and nothing was answered in between, "
            f"which looks like an outage: they are not taken for gaps. {retry}: what was bought "
            "is kept."
        )

    def _wait_for(self, others: list[Purchase]) -> None:
        """A living process may be stuck: say so once its calls should long be over."""
        now, patience = self.ledger.steady(), lease(self.source.limits) + _GRACE
        since = {(p.id, p.give_up_at): self._waiting.get((p.id, p.give_up_at), now) for p in others}
        self._waiting = {**self._waiting, **since} if since else self._waiting
        for p in others:
            if now - since[p.id, p.give_up_at] > patience:
                process = [*p.owner.split("/"), p.owner][1]  # host/process/..., or a name
                raise PurchaseInDoubt(
                    f"purchase {p.id} has been open for more than {patience:g} seconds, and "
                    f"process {process}, which is making it, still runs. Wait for it, or end that "
                    "process and say what became of the purchase.",
                    purchases=(p.id,),
                )

    def _being_bought(self, call: Call, mine: list[Purchase]) -> bool:
        if len(call.rows) == 1:  # of many such calls at once, none is about the same text
            number = self.known.examples[call.rows[0]]
            mine = [p for p in mine if len(p.block.examples) > 1 or p.block.examples[0] == number]
        return any(self._overlap(call, p) for p in mine)

    def _overlap(self, call: Call, purchase: Purchase) -> bool:
        block = purchase.block
        examples = self.known.examples[call.rows]
        # of the calls about one example each of which many run at once, nearly all end here
        if len(examples) == len(block.examples) == 1 and examples[0] != block.examples[0]:
            return False
        if not _meet(block.examples, examples):
            return False
        if _meet(block.features, self.known.features[call.features]):
            return True
        shared = np.isin(block.examples, examples)
        hit = np.isin(block.draws, self.known.draws[draws_of(call, self.tariff)])
        return bool((block.draw_rows[hit] & shared).any())

    def _purchase(self, call: Call, key: str) -> Purchase:
        draws, draw_rows, costs = price_call(call, self.known, self.tariff)
        refuse_too_large(total(costs), "the price of one call")
        known, now = self.known, self.ledger.now()
        block = CellBlock(
            known.examples[call.rows],
            known.features[call.features],
            self.source.boolean[call.features],
            known.draws[draws],
            draw_rows,
            costs,
        )
        until = now + lease(self.source.limits)
        return Purchase(key, self.task, self.source.name, "pending", me(), now, until, block)


# -- from cells that are missing to calls: rectangles that a provider is asked for -------------


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Rows x features of a source, to be asked for at once; with the orders that fill them."""

    rows: Ints
    features: Ints
    orders: tuple[tuple[TiedFeatures, OrderChoice], ...] = ()

    def on(self, rows: Ints) -> Call:
        """The same, on some of its rows."""
        return Call(rows, self.features, self.orders)


def plan_calls(
    features: Ints, mask: Words, known: Known, tariff: Tariff, limits: CallLimits
) -> list[Call]:
    """Calls that fill every missing cell of features x mask, each cell once."""
    if not tariff.parts and tariff.per_call is None:
        return _alone(tariff.wanted(features), mask, known, limits)
    bill = tariff.bill(features, mask, known)
    if tariff.per_call is not None:
        return [one for call in _row_by_row(bill, known, limits) for one in _to_each(call, tariff)]
    calls: list[Call] = []
    for filled in bill.orders:
        calls += _ordered(filled, known, limits)
    # What follows from an order is asked for after it.
    return calls + _alone(bill.features, mask, known, limits)


def _row_by_row(bill: PriceOfCells, known: Known, limits: CallLimits) -> list[Call]:
    """Each example in one call with all that it lacks, since a call costs by itself."""
    asked: dict[int, list[int]] = {}
    for f, words in zip(bill.features.tolist(), bill.fresh):
        for r in kernels.rows_of_mask(words).tolist():
            asked.setdefault(r, []).append(f)
    orders: dict[int, list[tuple[TiedFeatures, OrderChoice]]] = {}
    for filled in bill.orders:
        lacking = kernels.unpack_columns(known.known[filled.features], filled.rows) == 0
        for r, lacks in zip(filled.rows.tolist(), lacking):
            orders.setdefault(r, []).append((filled.part, filled.choice))
            asked.setdefault(r, []).extend(filled.features[lacks].tolist())
    alike: dict[tuple[object, ...], list[int]] = {}
    for r in sorted(asked):
        mine = tuple((id(part), choice.offers) for part, choice in orders.get(r, ()))
        alike.setdefault((tuple(sorted(set(asked[r]))), mine), []).append(r)
    calls: list[Call] = []
    for rows in alike.values():
        first = rows[0]
        features = np.array(sorted(set(asked[first])), dtype=np.int64)
        whole = Call(np.array(rows, dtype=np.int64), features, tuple(orders.get(first, ())))
        calls += _cut(whole, limits)
    return calls


def _to_each(call: Call, tariff: Tariff) -> list[Call]:
    """A call to each of those who answer its features."""
    if tariff.asker is None:
        return [call]
    who = tariff.asker[call.features]
    return [Call(call.rows, call.features[who == one], call.orders) for one in np.unique(who)]


def _alone(wanted: Ints, mask: Words, known: Known, limits: CallLimits) -> list[Call]:
    missing = known.missing(wanted, mask)
    some = missing.any(axis=1)
    alike: dict[bytes, list[int]] = {}
    for f, bits in zip(wanted[some].tolist(), missing[some]):
        alike.setdefault(bits.tobytes(), []).append(f)
    calls: list[Call] = []
    for bits, members in alike.items():
        rows = kernels.rows_of_mask(np.frombuffer(bits, dtype=np.uint64))
        calls += _cut(Call(rows, np.array(members, dtype=np.int64)), limits)
    return calls


def _ordered(filled: Filled, known: Known, limits: CallLimits) -> list[Call]:
    """One call for all the orders of rows that are alike; what is known is not asked for again."""
    most = min(limits.max_features or 10**9, limits.max_cells or 10**9)
    part, choice = filled.part, filled.choice
    had = kernels.unpack_columns(known.known[filled.features], filled.rows).astype(np.bool_)
    if known.absent is not None:
        had |= kernels.unpack_columns(known.absent[filled.features], filled.rows).astype(np.bool_)
    kinds, which = np.unique(had, axis=0, return_inverse=True)
    calls: list[Call] = []
    for i, kind in enumerate(kinds):
        rows, features = filled.rows[which.ravel() == i], filled.features[~kind]
        ordered = _asked_for(part, choice, features)
        if len(features) <= most:
            calls += _cut(Call(rows, features, ((part, ordered),)), limits)
            continue
        # Too many at once: an order each. The first of a group is the one with the least surplus.
        offers = part.cover.offers
        left = set(features.tolist())
        for o in sorted(ordered.offers, key=lambda o: sum(offers[o].begins.values())):
            one = OrderChoice((o,), offers[o].price)
            mine = np.array([f for f in part.filled(one).tolist() if f in left], dtype=np.int64)
            left -= set(mine.tolist())
            if len(mine) > most:
                raise BadInput(
                    f"a call that fills {len(mine)} features cannot be made: the provider takes "
                    f"{most} at once. Raise max_features or max_cells."
                )
            calls += _cut(Call(rows, mine, ((part, one),)), limits)
    return calls


def _asked_for(part: TiedFeatures, choice: OrderChoice, features: Ints) -> OrderChoice:
    """The orders that fill something which is asked for.

    A test that was to open a discount opens none where it is a gap, or unavailable: nobody is
    asked for it, and the others cost what they cost without it.
    """
    asked = set(features.tolist())

    def fills(o: int) -> bool:
        one = OrderChoice((o,), part.cover.offers[o].price)
        return not asked.isdisjoint(part.filled(one).tolist())

    kept = tuple(o for o in choice.offers if fills(o))
    return choice if kept == choice.offers else OrderChoice(kept, part.cover.price(kept))


def _cut(call: Call, limits: CallLimits) -> Iterator[Call]:
    """A call in pieces that the provider takes; what orders fill stays together."""
    most = limits.max_cells or 10**9
    n_rows, n = len(call.rows), max(len(call.features), 1)
    wide = n if call.orders else min(n, limits.max_features or n, most)
    high = max(1, min(n_rows, limits.max_examples or n_rows, most // wide))
    for r in range(0, n_rows, high):
        for f in range(0, n, wide):
            yield Call(call.rows[r : r + high], call.features[f : f + wide], call.orders)


def draws_of(call: Call, tariff: Tariff) -> list[int]:
    """What a call may have to pay once per example."""
    needed = {d for f in call.features.tolist() for d in tariff.needs[f]}
    for part, choice in call.orders:
        needed |= {d for f in part.filled(choice).tolist() for d in tariff.needs[f]}
        needed.update(part.begun(choice))
    return sorted(needed)


def price_call(
    call: Call, known: Known, tariff: Tariff, paid: Words | None = None
) -> tuple[Ints, Bools, Ints]:
    """(draws, which rows pay each of them, what each row costs) as things stand now.

    ``paid`` says where each draw is paid, for calls that are to come after others.
    """
    paid = known.known[known.n_features :] if paid is None else paid
    amounts = {d: tariff.draws[d].fee for d in draws_of(call, tariff)}
    own = total(tariff.own[call.features])
    draws, who = [], []
    for part, choice in call.orders:
        offers = [part.cover.offers[o] for o in choice.offers]
        for k, d in enumerate(part.begins):
            begin = [offer.begins[k] for offer in offers if k in offer.begins]
            if begin:
                amounts[d] = min(begin)
        own += sum(offer.price for offer in offers)
        for o in choice.offers:
            if part.orders[o] >= 0:  # noted for the bill
                draws.append(part.orders[o])
                who.append(np.ones(len(call.rows), dtype=np.bool_))
    refuse_too_large(own + sum(amounts.values()), "the price of one example")
    costs = np.full(len(call.rows), own, dtype=np.int64)
    if tariff.per_call is not None and tariff.pays_call(call.features).any():
        costs += tariff.per_call[call.rows]
    for d, amount in amounts.items():
        column = paid[d][None, :]
        if tariff.draws[d].root >= 0:
            column = column | known.known[tariff.draws[d].root][None, :]
        drawn = kernels.unpack_columns(column, call.rows)[:, 0].astype(np.bool_)
        if drawn.all():
            continue
        draws.append(d)
        who.append(~drawn)
        costs[~drawn] += amount
    rows = np.array(who, dtype=np.bool_).reshape(len(draws), len(call.rows))
    return np.array(draws, dtype=np.int64), rows, costs


def still_missing(call: Call, known: Known) -> bool:
    """Whether a call is still worth its price: the last look before money is reserved."""
    mask = kernels.mask_of_rows(call.rows, known.n_examples)
    missing = known.missing(call.features, mask)
    return bool((missing == mask).all())


def waits_for(call: Call, known: Known, tariff: Tariff) -> bool:
    """Whether something that the call's features follow from is not there yet."""
    roots = {r for f in call.features.tolist() for r in tariff.roots.get(f, ())}
    if not roots:
        return False
    mask = kernels.mask_of_rows(call.rows, known.n_examples)
    return bool(known.missing(np.array(sorted(roots), dtype=np.int64), mask).any())
