"""The ledger: every cell ever bought, and the only one who buys.

Intent (cells, price, key) is committed before a provider is called; values and settlement are
committed together after. So whatever crashes, the ledger holds either the values, or the intent
whose money stays reserved until somebody says what became of it. A cell that is known, or whose
purchase is open anywhere, is not bought again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from thrifty.cells.ledger import compacted
from thrifty.cells.ledger.answers import read_answer
from thrifty.cells.ledger.book import Book, Pages
from thrifty.cells.ledger.buying import Buyer
from thrifty.cells.ledger.calls import Outcome
from thrifty.cells.ledger.categories import agree_on_categories
from thrifty.cells.ledger.compacted import Gap, forget_gaps, known_gaps, renamed
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.owner import process
from thrifty.cells.ledger.purchase import Purchase, is_live
from thrifty.cells.ledger.settlement import Billed, billed_within, close, find_changes, settle
from thrifty.cells.prices.money import Budget, Limits, minor_units, to_units
from thrifty.cells.prices.price_list import PricesLike, as_price_list
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources.answered import Answered
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import (
    BadInput,
    ChangedValue,
    ClockWentBack,
    MixedCurrencies,
    ProviderError,
    PurchaseInDoubt,
)
from thrifty.typing import Ints, Json, Numbers
from thrifty.untrusted import readable

#: features of a source that are all looked up at once; of more, only those that are asked for
_FEW = 2000


@dataclass(frozen=True, slots=True)
class Balance:
    """What a lifetime has spent, and what there is.

    Attributes
    ----------
    spent : float
        in all
    reserved : float
        for purchases whose end is open (in doubt, or being made)
    left : float or None
        of the budget, None where it has no total
    learning, predictions : float
        what was spent on each
    everything_cells, everything : int and float
        the distinct cells that could be bought of all rows that were learned from or predicted
        (and of labels that cost), and their price in full
    over : float
        what providers have billed beyond their own prices: owed, and not in ``spent``, which never
        exceeds a budget; ``left`` is without it
    saved : float
        everything in full, each cell once, less what was paid; below 0 where single orders came
        more expensive than the whole
    """

    spent: float
    reserved: float
    currency: str = ""
    left: float | None = None
    learning: float = 0.0
    predictions: float = 0.0
    everything_cells: int = 0
    everything: float = 0.0
    over: float = 0.0

    @property
    def saved(self) -> float:
        if not self.everything_cells:
            return 0.0
        minor = minor_units(self.everything) - minor_units(self.spent) - minor_units(self.over)
        return to_units(minor)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {**asdict(self), "saved": self.saved}


@dataclass(frozen=True, slots=True)
class OpenPurchase:
    """A purchase that waits for the user: nobody knows, or the answer could not be used."""

    id: int
    status: str
    task: str
    provider: str
    price: float
    currency: str
    examples: tuple[str, ...]
    features: tuple[str, ...]
    created_at: float
    key: str
    note: str

    def __str__(self) -> str:
        cells = f"{len(self.examples)} x {len(self.features)} cells"
        price = f"{self.price:g} {self.currency}".rstrip()
        note = f"; {self.note}" if self.note else ""
        return f"purchase {self.id} ({self.status}): {cells} from {self.provider}, {price}{note}"

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return asdict(self)


class Ledger:
    """The ledger of one lifetime.

    Parameters
    ----------
    book : Book
        where it is kept; a store gives one
    budget : Budget or None
        what may be spent
    clock : callable
        the time in seconds; tests turn it
    steady : callable
        seconds by a clock that nobody turns, for as long as this process lives
    """

    def __init__(
        self,
        book: Book,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.book, self.budget, self.clock, self.steady = book, budget, clock, steady
        #: seconds between two reads of what another process is buying
        self.poll = 0.02
        #: makes the key of a purchase
        self.new_key: Callable[[], str] = lambda: uuid.uuid4().hex
        #: (the time, the steady clock) when somebody last asked
        self._last = (float("-inf"), 0.0)
        #: told of every purchase that ends, for progress on a screen
        self.on_purchase: Callable[[Purchase], None] | None = None
        #: takes out an example: models hold rows too, so their lifetime does it
        self.purging: Callable[[str], Any] | None = None
        #: the budget as the store has it at this moment: another process may have changed it
        self.budget_now: Callable[[Any], Budget | None] | None = None
        #: the label of the last price list
        self.currency = ""

    def now(self) -> float:
        """The time, which never goes back here: where the clock is turned back, the steady one
        says how much later it is. What is bought now would else have expired before it came."""
        wall, steady = self.clock(), self.steady()
        before, then = self._last
        at = wall if wall >= before else before + max(steady - then, 0.0)
        self._last = (at, steady)
        return at

    def _refuse_a_clock_that_went_back(self, pages: Pages, tariff: Tariff) -> None:
        """Values that expire cannot be bought by a clock that is behind the store's."""
        if not (np.isfinite(tariff.valid).any() or np.isfinite(tariff.draw_valid).any()):
            return
        last, now = pages.last_settled(), self.now()
        if last > now + 60.0:  # seconds by which the clocks of two machines may differ
            raise ClockWentBack(
                f"the clock of this machine is {last - now:.0f} seconds behind the last purchase "
                "in the store, and values of this source expire: what is bought now would count "
                "as older than it is. Set the clock right, or wait."
            )

    def limits(self, currency: str) -> Limits:
        """The budget in minor units."""
        return (self.budget or Budget()).limits(currency)

    def limits_now(self, pages: Pages, currency: str) -> Limits:
        """The same as of this transaction: what was lowered meanwhile holds from now on."""
        if self.budget_now is not None:
            self.budget = self.budget_now(pages)
        return self.limits(currency)

    def balance(self) -> Balance:
        """Spent and reserved, over all tasks."""

        def work(pages: Pages) -> Balance:
            reserved, spent = pages.balance(None)
            over, currency = to_units(pages.over()), pages.currency("")
            return Balance(to_units(spent), to_units(reserved), currency, over=over)

        return self.book.read(work)

    def open(
        self, source: CallableSource, prices: PricesLike = None, task: str = "", to_buy: bool = True
    ) -> Buyer:
        """A buyer as of :meth:`opened`, after asking again for what may be asked for by its key."""
        buyer, claims = self.opened(source, prices, task, to_buy=to_buy)
        if claims:  # with a provider that honours keys, what is in doubt resolves itself
            buyer.buy(*buyer.nothing)
            buyer, _ = self.opened(source, prices, task, to_buy=to_buy)
        return buyer

    def opened(
        self,
        source: CallableSource,
        prices: PricesLike = None,
        task: str = "",
        *,
        to_buy: bool = True,
    ) -> tuple[Buyer, bool]:
        """A buyer for one task, and whether it may ask again for something by its key.

        It knows all that the store knows of the source's cells. Without ``to_buy`` nothing is
        written: it can be asked what is known, and no more.
        """
        listed = source.prices if source.prices is not None else as_price_list(prices)
        tariff = source.tariff(listed)

        def work(pages: Pages) -> tuple[Buyer, bool]:
            self.pay_in(pages, tariff.currency, write=to_buy)
            self._refuse_a_clock_that_went_back(pages, tariff)
            if to_buy:
                _take_over(pages, source)
            known = self._known(pages, source, tariff, pages.number if to_buy else pages.numbers)
            words = agree_on_categories(pages, source, write=to_buy)
            buyer = Buyer(self, source, tariff, known, task, words)
            at_once = np.union1d(self._at_once(pages, source, task), tariff.tied)
            if to_buy and source.n_features <= _FEW:
                known.number(pages, at_once)
            if to_buy and task:
                buyer.hold(pages.purchases_of(task))
            known.load(pages, at_once)
            buyer.catch_up(pages)
            buyer.hold_no_more_where_others_bought()
            if source.idempotent and to_buy:
                open_now = [p for p in pages.blocking() if p.provider == source.name]
                old = {n for p in open_now for n in p.block.examples.tolist()} if open_now else ()
                known.also(renamed(pages, old, source.examples))
            claims = source.idempotent and any(map(buyer.asking.can_claim, pages.blocking()))
            return buyer, claims

        return self.book.write(work) if to_buy else (self.book.read(work)[0], False)

    def _known(
        self, pages: Pages, source: CallableSource, tariff: Tariff, look: Callable[..., Numbers]
    ) -> Known:
        return Known(
            look("example", source.examples),
            np.full(source.n_features, -1, dtype=np.int32),
            look("draw", [draw.name for draw in tariff.draws], source.name),
            source.boolean,
            np.append(tariff.valid, tariff.draw_valid),
            self.now(),
            source.numbered,
            with_gaps=source.limits.on_failure == "gap",
        )

    def _at_once(self, pages: Pages, source: CallableSource, task: str) -> Ints:
        """Features to look up now: all where there are few, else what this task bought before."""
        if source.n_features <= _FEW:
            return np.arange(source.n_features)
        mine = [p for p in pages.settled_of(task) if task and p.provider == source.name]
        mine += [p for p in pages.blocking() if p.provider == source.name]
        numbers = sorted({f for p in mine for f in p.block.features.tolist()})
        places = (source.place_of(name) for name in pages.names("feature", numbers))
        return np.array([f for f in places if f is not None], dtype=np.int64)

    def pay_in(self, pages: Pages, currency: str, *, write: bool = True) -> None:
        """A lifetime has one currency, that of its first price list."""
        kept = self.currency = pages.currency(currency if write else "")
        if kept and currency and kept != currency:
            raise MixedCurrencies(
                f"this lifetime pays in {kept} and the price list is in {currency}. Thrifty does "
                "not convert money: convert the prices, or start another lifetime."
            )

    # -- purges, changes and gaps -------------------------------------------------------------

    def purge(self, example: str) -> Any:
        """Take out every value of an example and its id, of the whole store; its bill stays.

        Cells and bought labels, answers, outcomes, interviews, and its rows in the tables of models
        of every version and lifetime: those models are fitted again without it. Copies that were
        made before still hold it. For the ledger of a lifetime, ``life.ledger``.

        >>> import numpy as np
        >>> import thrifty
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> source = thrifty.Source.from_array(X, examples=[f"p{i}" for i in range(60)], name="lab")
        >>> life = thrifty.Lifetime(store=thrifty.stores.MemoryStore(), random_state=0)
        >>> _ = life.learn("ill", source, X[:, 0] + X[:, 1] > 0, spend="100 %")
        >>> life.ledger.purge("p7").fitted_again
        ('ill',)
        """
        if self.purging is None:
            raise BadInput("only the ledger of a lifetime can purge an example: life.ledger.")
        return self.purging(str(example))

    def changes(self) -> list[tuple[float, str, object, object]]:
        """What the lifetime was given anew on purpose: (when, what, before, after)."""
        return self.book.read(lambda pages: pages.changes())

    def gaps(self, source: str | None = None) -> list[Gap]:
        """Cells that count as gaps, since they failed again and again (``on_failure="gap"``)."""
        with readable("the ledger in the store"):
            return self.book.read(lambda pages: known_gaps(pages, source))

    def forget_gaps(
        self,
        source: str | None = None,
        features: Sequence[str] | None = None,
        examples: Sequence[object] | None = None,
    ) -> int:
        """Let gaps be asked for again, all or some of them; returns how many there were."""
        ids = None if examples is None else [str(e) for e in examples]
        return self.book.write(lambda pages: forget_gaps(pages, source, features, ids))

    # -- what waits for the user --------------------------------------------------------------

    def open_purchases(self) -> list[OpenPurchase]:
        """Purchases that are in doubt, malformed or contradict the ledger."""
        with readable("the ledger in the store"):
            return self.book.read(self.waiting)

    def waiting(self, pages: Pages) -> list[OpenPurchase]:
        """The same, inside a transaction."""
        now = self.now()
        return [_described(pages, p) for p in pages.blocking() if not is_live(p, now)]

    def resolve(self, id: int, outcome: str, values: object = None, cost: object = None) -> None:
        """Say what became of a purchase that is in doubt.

        Parameters
        ----------
        outcome : str
            ``"not-billed"`` frees its money and its cells; ``"billed"`` counts the money as spent,
            with ``values`` (examples x features, as listed) stored like any answer, and without
            them given up: the cells may then be bought again
        values : array or None
            examples x features; categories by their words
        cost : None, number, str or sequence
            what was billed, in all or for each example; None: what the provider had said, else the
            price that was reserved
        """
        if outcome not in ("billed", "not-billed"):
            raise BadInput(f"outcome must be 'billed' or 'not-billed'; got {outcome!r}.")
        if outcome == "not-billed" and values is not None:
            raise BadInput("values come with 'billed'; what was not billed has none.")
        if outcome == "not-billed" and cost is not None:
            raise BadInput("what was not billed has no cost: leave cost= out.")
        self.book.write(lambda pages: self._resolve(pages, id, outcome, values, cost))

    def _resolve(self, pages: Pages, id: int, outcome: str, values: object, cost: object) -> None:
        purchase = pages.purchase(id)
        waiting = [p.id for p in pages.blocking() if not is_live(p, self.now())]
        if purchase is None or purchase.id not in waiting:
            state = "does not exist" if purchase is None else f"is {purchase.status}"
            if purchase is not None and purchase.status == "pending":
                state = "is being made at this moment"
            raise BadInput(
                f"purchase {id} {state}; those that wait for you are {waiting or 'none'}."
            )
        now = self.now()
        if outcome == "not-billed":
            close(pages, purchase, "void", now, note="resolved: not billed")
            return
        billed = self._billed(pages, purchase, cost)
        if values is None:
            note = "resolved: billed, no values"
            close(pages, purchase, "lost", now, note=note, billed=billed)
        else:
            self._resolve_with(pages, purchase, values, now, billed)

    def _billed(self, pages: Pages, purchase: Purchase, cost: object) -> Billed:
        """What a purchase cost: as the user says, as the provider had said, as listed."""
        if cost is None:
            return Billed(purchase.counted, purchase.over)
        currency = pages.currency("")
        said = Answered(None, cost)  # type: ignore[arg-type]
        paid = said.in_minor_units(purchase.block.costs, currency)
        assert paid is not None
        return billed_within(pages, purchase, paid, self.limits_now(pages, currency))

    def _resolve_with(
        self, pages: Pages, purchase: Purchase, values: object, now: float, billed: Billed
    ) -> None:
        block = purchase.block
        examples = pages.names("example", block.examples)
        features = pages.names("feature", block.features)
        kept = pages.words()
        words = {j: kept[f] for j, f in enumerate(block.features.tolist()) if f in kept}
        checked = read_answer(values, examples, features, block.boolean, words=words)
        # What was known when the purchase was begun had expired, or it would not have been bought;
        # only a value that came later can contradict this one.
        at_once = np.zeros(len(features))
        none = np.zeros(0, dtype=np.int32)
        begun = purchase.created_at
        known = Known(block.examples, block.features, none, block.boolean, at_once, begun)
        known.follow(pages)
        changed = find_changes(known, block, checked)
        if changed:
            cells = tuple((examples[i], features[j], old, new) for i, j, old, new in changed)
            example, feature, old, new = cells[0]
            raise ChangedValue(
                f"{feature} of example {example!r} is {old:g} in the ledger; you gave {new:g}"
                f"{ChangedValue.also(cells)}. Nothing was changed.",
                purchases=(purchase.id,),
                cells=cells,
            )
        told = purchase.with_(note="resolved: billed, with values")
        settle(pages, told, checked, now, billed)

    def how_to_resolve(self, id: int) -> str:
        """What to type, or to run where the ledger is in memory; it can be pasted as it is."""
        place = self.book.place
        if not place:
            return f"life.ledger.resolve({id}, 'billed' or 'not-billed')"
        return f"thrifty resolve {place} {id} --billed or --not-billed"

    def doubt_error(self, purchases: Sequence[Purchase]) -> PurchaseInDoubt:
        """Cells are needed that an open purchase may have paid for."""
        ids = tuple(p.id for p in purchases)
        shown = ", ".join(map(str, ids[:5]))
        kinds = sorted({"doubt" if p.status == "pending" else p.status for p in purchases})
        why = next((f" ({p.note})" for p in purchases if p.status == "doubt" and p.note), "")
        return PurchaseInDoubt(
            f"cells of this task belong to {len(ids)} open purchase(s) "
            f"({', '.join(kinds)}): {shown}{why}. Their money stays reserved or spent; they are "
            f"not bought again until you say what happened: {self.how_to_resolve(ids[0])}.",
            purchases=ids,
        )

    # -- answers that could not be written ----------------------------------------------------

    def keep_unsaved(self, buyer: Buyer, purchase: Purchase, outcome: Outcome) -> None:
        """Remember an answer, and when it came, until the store can be written again."""
        process().unsaved.append((buyer, purchase, outcome, self.now()))

    def save_unsaved(self) -> None:
        """Write the answers that came while a store could not be written."""
        unsaved = process().unsaved  # by any ledger of this process
        for entry in list(unsaved):
            try:
                unsaved.remove(entry)
            except ValueError:
                continue  # another thread has taken it
            buyer, purchase, outcome, at = cast(tuple[Buyer, Purchase, Outcome, float], entry)
            try:
                buyer.save(purchase, outcome, at)
            except ProviderError:
                raise  # it is written: what came was no good
            except BaseException as error:
                unsaved.append(entry)
                if buyer.ledger is self or not isinstance(error, Exception):
                    raise
                # another ledger: its trouble is not ours

    #: move a finished task's purchases into columns
    compact = staticmethod(compacted.compact)
    #: and what ended predictions bought; the last of them so many cells
    compact_predictions = staticmethod(compacted.compact_predictions)


def _take_over(pages: Pages, source: CallableSource) -> None:
    """What an earlier version bought under another name is known by today's."""
    formerly = source.formerly()
    if formerly is None or not pages.knows_source("feature", formerly[0]):
        return
    before, names = formerly
    old = pages.numbers("feature", names, before)
    new = source.numbered(pages.numbers, range(source.n_features))
    for f in np.flatnonzero((old >= 0) & (new < 0)).tolist():
        kept = source.stored_source(f)
        pages.rename("feature", int(old[f]), source.stored_name(f), kept)


def _described(pages: Pages, p: Purchase) -> OpenPurchase:
    return OpenPurchase(
        id=p.id,
        status="doubt" if p.status == "pending" else p.status,
        task=p.task,
        provider=p.provider,
        price=to_units(p.spent or p.block.price),
        currency=pages.currency(""),
        examples=tuple(pages.names("example", p.block.examples)),
        features=tuple(pages.names("feature", p.block.features)),
        created_at=p.created_at,
        key=p.key,
        note=p.note or ("its process ended before it was settled" if p.status == "pending" else ""),
    )
