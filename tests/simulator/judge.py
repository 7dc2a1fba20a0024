"""What must hold, whatever happened: provider, ledger, bill, receipts, values are one account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from tests.simulator.plan import LABEL, TRIES, WINDOW, WORDS, truth
from tests.simulator.provider import Bill
from tests.simulator.worker import World
from thrifty.cells.ledger.compacted import known_gaps, read_column
from thrifty.cells.ledger.owner import me
from thrifty.cells.ledger.purchase import Purchase, unpack_values
from thrifty.cells.prices.money import minor_units
from thrifty.lifetime.bill import rows_beside
from thrifty.stores.pages import SqlPages


def at_each_call(
    world: World, ids: list[str], names: list[str], key: str | None
) -> tuple[tuple[int, str], bool]:
    """Nobody calls but for a purchase that is written down, open, its own, and not answered yet.

    Returns which that is, and whether nobody had billed beyond the list when it became the
    caller's.
    """

    def work(pages: SqlPages) -> tuple[list[Purchase], bool]:
        cells = [
            pages.numbers(kind, some, of).tolist()
            for kind, some, of in (
                ("example", ids, ""),
                ("feature", names, "doctor" if names == [LABEL] else "lab"),
            )
        ]
        mine = [
            p
            for p in pages.blocking()
            if (p.status, p.owner) == ("pending", me()) and key in (None, p.key)
            if [p.block.examples.tolist(), p.block.features.tolist()] == cells
        ]
        return mine, pages.over() == 0

    mine, believed = world.book.read(work)
    if not mine:
        world.found.append(f"called without an intent: {ids} {names}")
        return (0, ""), False
    if all(p.sequence for p in mine):
        world.found.append(f"called for what was answered before: {ids} {names}")
    believed = world.believed.setdefault((mine[0].id, mine[0].owner), believed)
    return (mine[0].id, mine[0].key), believed


class Watch:
    """Looks at what is about to be committed."""

    def __init__(self, world: World) -> None:
        self.world = world
        budget = world.plan.budget
        self.limits = None if budget is None else budget.limits("")
        #: purchases that were being made at the last look, and the last number
        self._open: dict[int, Purchase] = {}
        self._last = 0

    def after_each_write(self, pages: SqlPages) -> None:
        """No limit is passed, and who lives and buys is left alone."""
        now = {p.id: p for p in pages.blocking()}
        self._left_alone(now)
        if self.limits is not None:
            self._within_limits(pages)
            self._owed_is_not_there_to_be_spent(pages, now)
        self._open = {id: p for id, p in now.items() if p.status == "pending"}
        self._last = max(self._last, *now, 0)

    def _within_limits(self, pages: SqlPages) -> None:
        """reserved + spent never exceeds the budget, not in total, on a task or on an example."""
        limits, found = self.limits, self.world.found
        assert limits is not None
        reserved, spent = pages.balance(None)
        accounts = pages.accounts() if limits.per_task is not None else {}
        if limits.total is not None and reserved + spent > limits.total:
            found.append(f"over: {reserved} + {spent} of {limits.total}")
        if limits.per_task is not None:
            for task, (r, s) in accounts.items():
                if r + s > limits.per_task:
                    found.append(f"over: {r} + {s} on {task} of {limits.per_task}")
        if limits.per_example is not None:
            numbers = pages.numbers("example", self.world.plan.examples)
            costs = pages.example_costs(numbers[numbers >= 0])
            if len(costs) and int(costs.max()) > limits.per_example:
                found.append(f"over: {int(costs.max())} on an example of {limits.per_example}")

    def _owed_is_not_there_to_be_spent(self, pages: SqlPages, now: Mapping[int, Purchase]) -> None:
        """Nobody begins to buy with what is owed for bills beyond the list."""
        assert self.limits is not None
        begun = [p for p in now.values() if p.id > self._last and p.block.price]
        if self.limits.total is None or not any("#" not in p.key for p in begun):
            return
        needed = sum(pages.balance(None)) + pages.over()
        if needed > self.limits.total:
            self.world.found.append(f"begun with what is owed: {needed} of {self.limits.total}")

    def _left_alone(self, now: Mapping[int, Purchase]) -> None:
        """A purchase is ended and taken over by others only once its buyer is dead."""
        if self.world.plan.foreign:  # of other machines nobody can tell: there the clock decides
            return
        for id, before in self._open.items():
            buyer, after = self.world.processes.get(before.owner), now.get(id)
            if buyer is None or buyer.dead or before.owner == me():
                continue
            if after is None or (after.status, after.owner) != ("pending", before.owner):
                self.world.found.append(f"{me()} took purchase {id} from {before.owner}, who lives")


def judge(world: World) -> list[str]:
    """What is wrong in the end; nothing, where all is well."""
    found = list(world.found)
    log, plan = world.provider.log, world.plan
    if plan.room == "learners":  # who have been judged: nobody was called
        return found
    unheard: list[Bill] = []

    def work(pages: SqlPages) -> None:
        reserved, spent = pages.balance(None)
        over, accounts = pages.over(), pages.accounts()
        if reserved or pages.blocking():
            found.append(f"{reserved} reserved, {len(pages.blocking())} open at the end")
        purchases = pages.purchases()
        # a policy that asks again counts what is in doubt as billed, which it may not have been
        # in fact, or at another price
        asked_again = plan.on_doubt == "ask again" and any(p.status == "lost" for p in purchases)
        billed = sum(b.amount for b in log)
        if not asked_again:
            unheard.extend(_unheard(log, billed - spent - over))
            if spent + over != billed - sum(b.amount for b in unheard):
                found.append(f"{spent} spent and {over} over, {billed} billed")
        if plan.keyed and not asked_again:
            _by_key([b for b in log if b not in unheard], purchases, found)
        rows = rows_beside({}, [], accounts, over=pages.over_by_task())
        for column, kept in (("cost", spent), ("over", over)):
            told = sum(minor_units(float(str(row[column]))) for row in rows)
            if told != kept:
                found.append(f"the bill says {told} of {kept} {column}")
        numbers = pages.numbers("example", plan.examples)
        each = pages.example_costs(numbers[numbers >= 0])
        if int(each.sum()) != spent:
            found.append(f"examples cost {int(each.sum())} of {spent}")
        if plan.says_cost == "no" and not asked_again:
            names = [e for e, number in zip(plan.examples, numbers.tolist()) if number >= 0]
            _by_example(world, dict(zip(names, each.tolist())), found)
        if sum(p.spent for p in purchases) != spent or sum(p.over for p in purchases) != over:
            found.append("purchases do not sum to the balance")
        _values(pages, found)
        for gap in known_gaps(pages):
            failures = world.provider.failures[gap.example, gap.feature]
            if failures < TRIES:
                found.append(f"a gap after {failures} failures: {gap.example} {gap.feature}")
        left = _given_up(world, pages, purchases)
        left.update((e, n) for b in unheard for e in b.ids for n in b.names)
        # asked again, it costs nothing by the list; what was said of its end, if anything, is lost
        heard = set(map(id, world.provider.heard))
        for b in (b for b in log if b.free):
            lost = asked_again and id(b) not in heard
            nothing = [e for e, cost in zip(b.ids, b.costs) if lost or not cost]
            left.update((e, n) for e in nothing for n in b.names)
        _twice(world, left, found)
        ours.update(_accounts(world, pages))

    ours: dict[str, tuple[int, bool]] = {}
    world.book.read(work)
    _receipts(world, ours, found)
    return found


def _values(pages: SqlPages, found: list[str]) -> None:
    """What is stored is what was answered, to the last digit, and nothing of it is missing."""
    words = pages.words()
    example_of = {number: name for number, (_, name) in pages.sources_of("example").items()}
    feature_of = {number: name for number, (_, name) in pages.sources_of("feature").items()}

    def told(examples: Sequence[int], feature: int) -> list[float]:
        name = feature_of[feature]
        values = [truth(example_of[e], name) for e in examples]
        if name != "c":
            return values
        return [float(words[feature].index(WORDS[int(v)])) for v in values]

    moved: dict[tuple[int, int], float] = {}
    for column in pages.columns("feature"):
        facts = read_column(column)
        cells = ((e, column.number) for e in facts.examples.tolist())
        moved.update(zip(cells, facts.times.tolist()))
        if facts.values.tolist() != told(facts.examples.tolist(), column.number):
            found.append(f"stored: {feature_of[column.number]} is not what was answered")
    for p in pages.all_settled():
        examples, features = p.block.examples.tolist(), p.block.features.tolist()
        if p.answer is None:
            when = [moved.get((e, f), -1.0) for e in examples for f in features]
            if min(when) < 0:
                found.append(f"stored: values of purchase {p.id} are in no column")
            elif min(when) < p.settled_at:
                found.append(f"stored: values of purchase {p.id} gave way to older ones")
            continue
        values = unpack_values(p.answer, p.block).T.tolist()
        if values != [told(examples, f) for f in features]:
            found.append(f"stored: purchase {p.id} is not what was answered")


def _unheard(log: Sequence[Bill], off: int) -> list[Bill]:
    """Bills for free calls that nobody heard of and that make up what is off, if any do.

    A free call whose end is unknown is asked again, as long as nobody has billed beyond the list.
    """
    free = [b for b in log if b.free and b.amount]
    for n in range(1, len(free) + 1 if off else 1):
        for some in combinations(free, n):
            if sum(b.amount for b in some) == off:
                return list(some)
    return []


def _by_key(log: Sequence[Bill], purchases: Sequence[Purchase], found: list[str]) -> None:
    """Under each key the ledger has written down what the provider has billed."""
    billed = Counter({str(b.key): b.amount for b in log})
    for p in purchases:
        billed[p.key.split("#")[0]] -= p.spent + p.over
    found += [f"key {key}: {off} off" for key, off in billed.items() if off]


def _by_example(world: World, costs: Mapping[str, int], found: list[str]) -> None:
    """Each example has cost what the provider has billed for it."""
    billed: Counter[str] = Counter()
    for bill in world.provider.log:
        billed.update(dict(zip(bill.ids, bill.costs)))
    for example, cost in costs.items():
        if billed[example] != cost:
            found.append(f"{example} cost {cost}, {billed[example]} was billed for it")


def _given_up(
    world: World, pages: SqlPages, purchases: Sequence[Purchase]
) -> Counter[tuple[str, str]]:
    """Cells that may be billed once more: a user gave them up, or the source's policy did."""
    left: Counter[tuple[str, str]] = Counter()
    for p in purchases:
        # where failures become gaps, an answer that is none is asked for again: it was one try
        policy = world.plan.on_doubt == "ask again" or world.plan.room == "gaps"
        given_up = p.id in world.given_up or policy
        if given_up and p.status in ("lost", "late"):
            examples = pages.names("example", p.block.examples.tolist())
            features = pages.names("feature", p.block.features.tolist())
            left.update((e, f) for e in examples for f in features)
    return left


def _twice(world: World, left: Counter[tuple[str, str]], found: list[str]) -> None:
    last: dict[tuple[str, str], float] = {}
    turned = any(step.turn for steps in world.plan.workers for step in steps)
    heard = set(map(id, world.provider.heard))
    for bill in world.provider.log:
        for cell in ((e, n) for e in bill.ids for n in bill.names):
            before = last.get(cell)
            window = WINDOW if world.plan.expires and cell[1] == "w" else float("inf")
            # a value counts from when it was heard: a late bill that was given up renews nothing
            if before is None or window == float("inf") or id(bill) in heard:
                last[cell] = bill.at
            if before is None:
                continue
            if window < float("inf") and (turned or bill.at - before >= window):
                continue
            if left[cell] > 0:
                left[cell] -= 1
            else:
                found.append(f"twice: {cell[0]} {cell[1]} at {before:.1f} and {bill.at:.1f}")
        nothing = [e for e in bill.ids if bill.failed.get(e) == "billed"]
        left.update((e, n) for e in nothing for n in bill.names)


def _accounts(world: World, pages: SqlPages) -> dict[str, tuple[int, bool]]:
    """Of each task what its account has spent, and whether only its reader has ended purchases."""
    return {
        task: (pages.balance(task)[1], _by_itself(world, pages.purchases_of(task)))
        for task in world.receipts
    }


def _receipts(world: World, accounts: Mapping[str, tuple[int, bool]], found: list[str]) -> None:
    """Every receipt is its account, in all, line by line, and row by row."""
    for task, reader in world.receipts.items():
        spent, alone = accounts[task]
        cost, lines = reader.cost(), sum(line.amount for line in reader.lines())
        if not cost == lines == spent:
            found.append(f"receipt of {task}: {cost}, lines {lines}, account {spent}")
        own = sum(line.amount for line in reader._buyer.lines.sorted())
        if not int(reader.row_costs.sum()) == own == reader._buyer.spent:
            found.append(f"rows of {task} cost {int(reader.row_costs.sum())}, lines {own}")
        if alone and own != spent:
            found.append(f"the door of {task} says {own} of {spent} spent")


def _by_itself(world: World, some: Sequence[Purchase]) -> bool:
    """Whether nobody but the reader itself has ended a purchase of this task."""
    if world.plan.keyed:  # others may ask again for what is in doubt
        return False
    return all(
        not world.crashed(p.owner)
        and not p.note.startswith(("resolved", "late"))
        and p.status in ("settled", "refused", "failed", "malformed")
        for p in some
    )
