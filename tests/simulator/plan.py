"""What a seed decides before anything happens."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from thrifty.cells import Budget, PriceList
from thrifty.cells.prices.money import UNIT
from thrifty.cells.sources.answered import FAILED

#: a Boolean, two numbers, a category, and a Boolean that expires
FEATURES = ("b", "r", "s", "c", "w")
WORDS = ("red", "green", "blue")
#: what an oracle is asked, in rooms with bought labels
LABEL = "label"
#: failures of a cell before it may become a gap
TRIES = 3
#: what a value of ``w`` lasts, in seconds
WINDOW = 100.0

#: prices in millionths; fractions of a cent among them
_OWN = {"b": 70_000, "r": 4_030_000, "s": 1_000_001, "c": 2_500_000, "w": 30_000}
_FEE = (909_003, ("b", "r"))
_ORDER = (4_200_000, ("r", "s"))
_LABEL = 500_003
#: most histories happen in one of these; see :func:`_in_a_room`
_ROOMS = ("parts", "", "", "", "", "tables", "gaps", "slow", "failing", "labels")
#: one history in so many is of learners alone: they take longer than ten of the others
_LEARNERS = 25


@lru_cache(maxsize=4096)
def truth(example: str, feature: str) -> float:
    """The value of a cell: a bit, a place, or a number with all its digits."""
    bits = hashlib.blake2b(f"{example}|{feature}".encode(), digest_size=8).digest()
    number = int.from_bytes(bits, "little")
    if feature in ("b", "w", LABEL):
        return float(number & 1)
    return float(number % len(WORDS)) if feature == "c" else number / 2**50


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a worker does: wait, then ask for cells (or, of a user, resolve)."""

    wait: float
    rows: tuple[int, ...]
    features: tuple[int, ...]
    new_door: bool
    #: how far its clock is turned meanwhile
    turn: float = 0.0
    #: whether labels are asked for, of an oracle
    labels: bool = False
    #: whether a table tells ``r`` and ``s``, for nothing
    table: bool = False


@dataclass(frozen=True)
class Plan:
    """A history before it happens; shorter ones of the same seed are made by leaving steps out."""

    seed: int
    money: str
    keyed: bool
    n_examples: int
    budget: Budget | None
    says_cost: str
    expires: bool
    foreign: bool
    concurrency: int
    max_examples: int | None
    on_doubt: str
    workers: tuple[tuple[Step, ...], ...]
    faults: float = 1.0
    crashes: float = 1.0
    #: what answers may say of some examples that failed; nothing: all are answered
    parts: tuple[str, ...] = ()
    #: whether a task that is done with is committed: its purchases become columns
    commits: bool = False
    own: Mapping[str, int] = field(default_factory=lambda: dict(_OWN))
    room: str = ""
    #: calls in a second; None: as many as there are
    per_second: float | None = None
    #: percent of its price that a purchase costs which failed
    failed: int = 0

    @property
    def examples(self) -> list[str]:
        return [f"p{i}" for i in range(self.n_examples)]

    @property
    def n_steps(self) -> int:
        return sum(map(len, self.workers))

    def prices(self) -> PriceList:
        """The price list, read once: it is the same in many histories."""
        listed = tuple((f, self.own[f]) for f in FEATURES)
        return _prices(listed, self.money, self.expires, self.failed)

    def billed(self, example: str, names: list[str], had: set[tuple[str, str]]) -> int:
        """What the provider's own contract says that features of one example cost."""
        amount = sum(self.own[n] for n in names)
        some = {n for n in names if n in ("r", "s")}
        if self.money == "fee" and ("draw", example) not in had and set(names) & set(_FEE[1]):
            amount += _FEE[0]
        elif self.money == "order" and some:
            amount += _ORDER[0] - sum(self.own[n] for n in some)
        elif self.money == "discount" and some:
            first = not ({("r", example), ("s", example)} & had)
            less = sum(self.own[n] - self.own[n] // 2 for n in some)
            # the one at its full price is the one that loses least by it
            amount -= less - (min(self.own[n] - self.own[n] // 2 for n in some) if first else 0)
        return amount

    def without(self, worker: int, step: int) -> Plan:
        """The same with one step less."""
        steps = [list(one) for one in self.workers]
        del steps[worker][step]
        return replace(self, workers=tuple(tuple(one) for one in steps if one))


@lru_cache(maxsize=64)
def _prices(each: tuple[tuple[str, int], ...], money: str, expires: bool, failed: int) -> PriceList:
    amounts = dict(each)
    own: dict[str, object] = {f: _text(p) for f, p in each}
    valid = {"w": WINDOW} if expires else {}
    more: dict[str, object] = {}
    if money == "fee":
        more["fees"] = {"draw": (_text(_FEE[0]), list(_FEE[1]))}
    elif money == "order":
        own.update(r=None, s=None)
        more["orders"] = {"pair": (_text(_ORDER[0]), list(_ORDER[1]))}
    elif money == "discount":
        less = {"r": _text(amounts["r"] // 2), "s": _text(amounts["s"] // 2)}
        more["discounts"] = {"lipids": less}
    return PriceList(own, valid_for=valid or None, failed=failed / 100, **more)  # type: ignore[arg-type]


def make_plan(seed: int) -> Plan:
    """What a seed decides: a plan, in half of the histories with something out of the ordinary."""
    plan = first_plan(seed)
    chance = random.Random(f"the room of {seed}")
    room = chance.choice(_ROOMS)
    return _in_a_room(plan, "learners" if seed % _LEARNERS == 7 else room, chance)


def _in_a_room(plan: Plan, room: str, chance: random.Random) -> Plan:
    """The plan with what the room is about.

    tables
        a table of the same examples tells what others are buying at that moment; a provider may
        say something else of it
    gaps
        some cells always fail; after enough failures they are gaps
    parts
        a provider with keys cannot tell of some examples what became of them
    slow
        calls wait for their turn, in which others may act
    failing
        a provider tries, fails, and bills a share of the price
    learners
        whole tasks over one priced table, side by side; nobody calls
    labels
        an oracle is asked beside the laboratory: two sources, one budget
    """
    if room == "tables":
        told = [
            tuple(
                replace(s, features=tuple({*s.features, 1}), table=chance.random() < 0.4)
                for s in steps
            )
            for steps in plan.workers
        ]
        return replace(plan, room=room, workers=tuple(told), parts=())
    if room == "learners":
        most = chance.choice((100, 100, 12, 6))
        return replace(plan, room=room, workers=(), budget=Budget(total=most), crashes=2.0)
    if room == "gaps":
        return replace(plan, room=room, parts=())
    if room == "parts" and plan.own["w"]:
        says = "each" if plan.says_cost == "no" else plan.says_cost
        return replace(plan, room=room, keyed=True, says_cost=says, parts=FAILED)
    if room == "slow":
        return replace(plan, room=room, per_second=chance.choice((0.05, 0.1, 0.5)))
    if room == "failing":
        return replace(plan, room=room, failed=chance.choice((37, 50, 1)))
    if room == "labels":
        asked = [
            tuple(replace(s, labels=chance.random() < 0.5) for s in steps) for steps in plan.workers
        ]
        own = {**plan.own, LABEL: _LABEL}
        return replace(plan, room=room, workers=tuple(asked), own=own, keyed=False)
    return plan


def first_plan(seed: int) -> Plan:
    """Prices, budget, workers and what they ask for, as they were before there were rooms."""
    chance = random.Random(seed)
    money = chance.choice(("flat", "fee", "order", "discount"))
    keyed = chance.random() < 0.35
    n = chance.randint(2, 4)
    expires, turned = chance.random() < 0.25, chance.random() < 0.5
    lengths = [chance.choice((1, 1, 2, 2, 3)) for _ in range(chance.randint(2, 3))]
    workers = tuple(
        tuple(_step(chance, n, turned=turned, expires=expires) for _ in range(length))
        for length in lengths
    )
    whole = sum(_OWN.values()) + _FEE[0]
    limits: dict[str, str] = {}
    for name, share, most in (
        ("total", 0.35, whole * n),
        ("per_task", 0.15, 2 * whole),
        ("per_example", 0.15, whole),
    ):
        if chance.random() < share:
            limits[name] = _text(int(most * chance.uniform(0.2, 1.1)))
    plan = Plan(
        seed=seed,
        money=money,
        keyed=keyed,
        n_examples=n,
        budget=Budget(**limits) if limits else None,
        says_cost=chance.choice(("no", "no", "each", "all", "below", "above")),
        expires=expires,
        foreign=chance.random() < 0.3,
        concurrency=chance.choice((1, 1, 2, 3)),
        max_examples=chance.choice((None, 1, 2)),
        on_doubt="ask again" if money == "flat" and chance.random() < 0.2 else "stop",
        workers=workers,
    )
    # drawn last, or read off the seed: those found before this was there keep their histories
    some = plan.says_cost != "no" and chance.random() < 0.3
    plan = replace(plan, parts=chance.choice((FAILED[:1], FAILED)) if some else ())
    plan = replace(plan, commits=seed % 10 in (1, 5, 8))
    if (
        seed % 10 == 3 and plan.says_cost == "above"
    ):  # what is listed as free is billed all the same
        plan = replace(plan, own={**plan.own, "w": 0}, parts=())
    return plan


def _step(chance: random.Random, n: int, *, turned: bool, expires: bool) -> Step:
    rows = tuple(sorted(chance.sample(range(n), chance.randint(1, n))))
    features = tuple(sorted(chance.sample(range(len(FEATURES)), chance.randint(1, 3))))
    turn = chance.choice((0.0, 0.0, 0.0, -600.0, 600.0, 90_000.0, chance.uniform(-50, 50)))
    wait = chance.choice((0.0, 0.0, 0.5, 5.0, 120.0))
    if expires:
        wait += chance.choice((0.0, 300.0))
        features = tuple(sorted({*features, FEATURES.index("w")}))
    return Step(wait, rows, features, chance.random() < 0.4, turn if turned else 0.0)


def _text(minor: int) -> str:
    return f"{minor // UNIT}.{minor % UNIT:06d}"
