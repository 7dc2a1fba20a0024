"""The simulated provider: it bills when it bills, whoever is still alive to hear the answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from tests.simulator.plan import LABEL, WORDS, Plan, truth
from thrifty.cells import Answered
from thrifty.cells.ledger.owner import process
from thrifty.errors import NotBilled, PurchaseFailed

AtCall: TypeAlias = Callable[[list[str], list[str], str | None], tuple[tuple[int, str], bool]]


@dataclass(frozen=True, slots=True)
class Bill:
    """One line of its log, in the order of billing; ``key`` where it was given one."""

    at: float
    key: str | None
    ids: tuple[str, ...]
    names: tuple[str, ...]
    costs: tuple[int, ...]
    calm: bool
    #: examples without a value, and what is said of them; some were billed all the same
    failed: Mapping[str, str] = field(default_factory=dict)
    #: free by a list that nobody had reason to doubt: who does not hear of it asks again
    free: bool = False
    #: the purchase that it was called for, and its key then
    purchase: tuple[int, str] = (0, "")
    #: whether it tried and failed, and bills a share
    tried: bool = False

    @property
    def amount(self) -> int:
        return sum(self.costs)

    def cost_of(self, examples: Collection[str]) -> int | None:
        """What these of its examples cost; None where it is about none of them."""
        mine = [cost for i, cost in zip(self.ids, self.costs) if i in examples]
        return sum(mine) if mine else None


class SimulatedProvider:
    """Refuses, breaks off before or after billing, answers nonsense, is late, forgets to answer."""

    def __init__(self, plan: Plan, chance: random.Random, loop: asyncio.AbstractEventLoop) -> None:
        self.plan, self.chance, self.loop = plan, chance, loop
        self.calm = False
        #: who looks on when it is called (ids, names, key), and says for which purchase that is and
        #: whether the list is believed
        self.at_call: AtCall = lambda *_: ((0, ""), False)
        self.log: list[Bill] = []
        #: when a living process, or a user, last heard the value of a cell
        self.told: dict[tuple[str, str], float] = {}
        #: bills whose answer somebody heard
        self.heard: list[Bill] = []
        self.times: Counter[tuple[str, str]] = Counter()
        #: examples of which a table has told ``r``
        self.tables: set[str] = set()
        #: how often a cell has failed, in calls about its example alone
        self.failures: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[str] = Counter()
        self.happened: Counter[str] = Counter()
        #: says which of some purchases their buyers have given up; nothing came of those
        self.given_up: Callable[[Collection[int]], Collection[int]] = lambda _: ()
        #: what was paid with each purchase: cells, and what is paid once for an example
        self._had: dict[int, set[tuple[str, str]]] = {}
        #: purchases with an answer that was none, and what of them is due again, by the purchase
        #: that pays it: as it was when that one was first called
        self._nothing: set[int] = set()
        self._due: dict[int, Collection[int]] = {}
        self._keys: dict[str, Bill] = {}
        self._coming = 0

    async def plain(self, ids: Sequence[object], names: Sequence[str]) -> object:
        return await self._asked([str(i) for i in ids], list(names), None)

    async def keyed(
        self, ids: Sequence[object], names: Sequence[str], idempotency_key: str
    ) -> object:
        return await self._asked([str(i) for i in ids], list(names), idempotency_key)

    async def labels(self, ids: Sequence[object]) -> object:
        """As an oracle: a label for each."""
        answer = await self._asked([str(i) for i in ids], [LABEL], None)
        if not isinstance(answer, list):
            return answer
        return [row[0] if len(row) == 1 else row for row in answer]

    async def quiet(self) -> None:
        """Until it has billed all that it was asked for."""
        while self._coming:
            await asyncio.sleep(1.0)

    async def _asked(self, ids: list[str], names: list[str], key: str | None) -> object:
        purchase, believed = self.at_call(ids, names, key)
        if purchase[0] not in self._due:
            self._due[purchase[0]] = self.given_up(self._nothing) if self._nothing else ()
        at = 1.0 if self.calm else self.chance.random() / self.plan.faults
        kind = next((k for limit, k in _KINDS if at < limit), "answer")
        if self.plan.failed and kind == "answer" and not self.calm and self.chance.random() < 0.2:
            kind = "tried"
        if self._stubborn(ids, names):
            kind = "refused"
        self.faults[kind] += 1
        if kind != "answer" and len(ids) == 1:
            self.failures.update((ids[0], name) for name in names)
        late = 100.0 if kind in ("late", "lost") else 0.0
        first = self.chance.uniform(0.0, 2.0) + (late if self.chance.random() < 0.3 else 0.0)
        second = self.chance.uniform(0.0, 2.0) + late
        if kind == "refused":
            await asyncio.sleep(first)
            raise NotBilled("refused")
        if kind == "broken before":
            await asyncio.sleep(first)
            raise ConnectionResetError
        billed: list[Bill] = []
        failed: dict[str, str] = {}
        if self.plan.parts and kind == "answer" and len(ids) > 1 and self.chance.random() < 0.4:
            self.faults["in part"] += 1
            failed = {self.chance.choice(ids): self._word()}
        self._coming += 1
        told = (purchase, believed)
        self.loop.call_later(first, self._bill, ids, names, key, billed, failed, told, kind)
        await asyncio.sleep(first + second)
        if kind == "broken after":
            raise ConnectionResetError
        if billed[0].tried:
            raise PurchaseFailed("tried")
        fresh = len(billed) == 1  # under a key that it has seen it says what it said
        told_before = self.tables if fresh else set()
        if kind != "malformed" and not getattr(process(), "dead", False):
            self.heard.append(billed[0])
            for cell in ((i, n) for i in ids for n in names):
                # a user whose clock is ahead may have told it before: the store has that time
                self.told[cell] = max(self.told.get(cell, 0.0), self.loop.time())
        return self._answer(billed[0], ids, kind, told_before)

    def _stubborn(self, ids: list[str], names: list[str]) -> bool:
        """Where cells may become gaps, of some examples there is nothing to be had."""
        some = {("p0", "r"), ("p1", "s")}
        return self.plan.room == "gaps" and bool(some & {(i, n) for i in ids for n in names})

    def _word(self) -> str:
        """What became of an example that failed; one draw less in histories that knew one word."""
        words = self.plan.parts
        return words[0] if len(words) == 1 else self.chance.choice(words)

    def _bill(
        self,
        ids: list[str],
        names: list[str],
        key: str | None,
        billed: list[Bill],
        failed: Mapping[str, str],
        told: tuple[tuple[int, str], bool],
        kind: str,
    ) -> None:
        self._coming -= 1
        (purchase, believed), tried = told, kind == "tried"
        if kind == "malformed":
            self._nothing.add(purchase[0])
        if key is not None and key in self._keys:
            billed += [self._keys[key], self._keys[key]]
            return
        due = self._due[purchase[0]]
        had = set().union(*(cells for id, cells in self._had.items() if id not in due))
        costs, ids, price = [], [i for i in ids if self._is_billed(failed.get(i, ""))], 0
        paid = self._had.setdefault(purchase[0], set())
        for example in ids:
            listed = self.plan.billed(example, names, had)
            price += listed
            if tried:  # the share is rounded up, to the last millionth
                costs.append(-(-listed * self.plan.failed // 100))
                continue
            costs.append(self._really(listed))
            if failed.get(example) == "billed":  # nothing came of it: all is due again
                continue
            paid |= {("draw", example)} if {"b", "r"} & set(names) else set()
            paid |= {(n, example) for n in names}
        some = tuple(ids), tuple(names), tuple(costs)
        free = believed and not price
        failed = dict.fromkeys(ids, "billed") if tried else failed
        bill = Bill(self.loop.time(), key, *some, self.calm, failed, free, purchase, tried)
        billed.append(bill)
        self.log.append(bill)
        self.times.update((i, n) for i in ids for n in names)
        if key is not None:
            self._keys[key] = bill

    def _is_billed(self, word: str) -> bool:
        """Whether an example costs something; where it says that it cannot tell, one in two."""
        return word != "not-billed" and (word != "unknown" or self.chance.random() < 0.5)

    def _really(self, listed: int) -> int:
        how = self.plan.says_cost
        if how == "below" or (how in ("each", "all") and self.chance.random() < 0.5):
            return max(0, listed - self.chance.randrange(1, 70_000))
        if how == "above" and self.chance.random() < 0.5:
            return listed + self.chance.randrange(1, 3_000_000)
        return listed

    def _answer(self, bill: Bill, ids: list[str], kind: str, before: set[str]) -> object:
        rows: list[list[object]] = [[self._says(i, n, before) for n in bill.names] for i in ids]
        values: object = rows
        if kind == "malformed":
            values = self.chance.choice((None, rows[:-1], [[*r, 1] for r in rows], "sorry"))
        if self.plan.says_cost == "no":
            return values
        each = {
            i: Decimal(c) / 1_000_000
            for i, c in zip(bill.ids, bill.costs)
            if bill.failed.get(i) != "unknown"
        }
        costs = [each.get(i, Decimal(0)) for i in ids]
        failed = [bill.failed.get(i, "") for i in ids] if bill.failed else None
        if self.plan.says_cost == "all" and failed is None:
            return Answered(values, cost=sum(costs, Decimal(0)))
        return Answered(values, cost=costs, failed=failed)  # type: ignore[arg-type]

    def _says(self, example: str, name: str, before: set[str]) -> object:
        """What a table has told is told once more, and now and then otherwise."""
        if name == "r" and example in before and self.chance.random() < 0.5:
            self.happened["contradicted"] += 1
            return truth(example, name) + 1.0
        return said(example, name)


def said(example: str, feature: str) -> object:
    """A cell as the provider writes it: a category by its word."""
    value = truth(example, feature)
    return WORDS[int(value)] if feature == "c" else value


#: what becomes of a call, by where a number between 0 and 1 falls
_KINDS = (
    (0.10, "refused"),
    (0.16, "broken before"),
    (0.24, "broken after"),
    (0.29, "malformed"),
    (0.34, "late"),
    (0.37, "lost"),
)
