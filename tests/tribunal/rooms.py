"""One room of the tribunal: where the ledger is, how the provider is called, what cells cost."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from thrifty.cells import Budget, PriceList
from thrifty.cells.prices.money import UNIT
from thrifty.cells.sources.prompts import content_key

FEATURES = tuple(f"f{i}" for i in range(6))
PROVIDERS = ("plain", "async", "keyed")
#: a language model, asked one text at a time, or many in a batch
MODELS = ("questions", "batches")
#: flat: one price; fee: a fee once per example; derived: free once its parent is there; order: one
#: price for two features; discount: cheaper once another of its group is there; window: a value
#: that expires; two prices: each opener has its own list
MONEY = ("flat", "fee", "derived", "order", "discount", "window", "two prices")

#: features of a table that all learners share, and what a cell of it costs; what a label costs
WARD = tuple(f"g{i}" for i in range(4))
WARD_CELL, LABEL = 370_000, 110_003

#: millionths for a token that a model reads, and writes; half of it in a batch
READ, WRITTEN = 150, 600

#: what a value that expires lasts, in seconds
WINDOW = 0.6


#: of the category in rooms with mixed features, and how real costs differ from the list
WORDS = ("red", "green", "blue")
SAYS = ("no", "no", "below", "above")


def truth(example: str, feature: str) -> int:
    """The value of a cell: 0 or 1, known to everybody who judges."""
    return hashlib.blake2b(f"{example}|{feature}".encode(), digest_size=1).digest()[0] & 1


def source_named(feature: str) -> str:
    """Who is asked for a cell: a label has the name of its task, and is a doctor's."""
    return "lab" if feature in FEATURES else "doctor"


def text_of(example: str) -> str:
    """What a language model is asked about."""
    return f"Case {example}."


def said(room: Room, example: str, feature: str) -> float | str:
    """A cell as the provider writes it: in mixed rooms f3 is a number, f4 a category."""
    if not room.mixed or feature not in ("f3", "f4"):
        return truth(example, feature)
    bits = hashlib.blake2b(f"{example}|{feature}|".encode(), digest_size=8).digest()
    number = int.from_bytes(bits, "little")
    return number / 2**50 if feature == "f3" else WORDS[number % len(WORDS)]


@dataclass(frozen=True, slots=True)
class Contract:
    """What the provider charges, in its own words and in millionths: it knows no price list.

    ``once`` are prices that are paid once per example for any of some features; ``less`` what each
    feature of a group costs once another of the group is there, or comes with it.
    """

    own: Mapping[str, int]
    once: tuple[tuple[int, tuple[str, ...]], ...] = ()
    less: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Room:
    """All that a worker, the provider and the judge have to know."""

    store: str
    log: Path
    provider: str
    money: str
    n_examples: int
    jumps: bool
    budget: int | None
    prices: tuple[PriceList, ...] = ()
    contracts: tuple[Contract, ...] = ()
    port: int = 0
    valid: Mapping[str, float] = field(default_factory=dict)
    #: numbers and categories among the features, for the default family
    mixed: bool = False
    #: whether answers are frames
    frames: bool = False
    #: whether answers say what they cost: "no", or often "below" or "above" the list
    says: str = "no"
    #: whether some examples of a call may fail, with their costs told and their end, or without
    parts: bool = False
    #: fewer faults and kills, so that tasks come to their end
    gentle: bool = False
    #: whether tasks over one priced table, bought labels, answers and updates happen beside
    wards: bool = False
    #: in millionths
    per_task: int | None = None
    per_example: int | None = None

    @property
    def examples(self) -> list[str]:
        return [f"p{i}" for i in range(self.n_examples)]

    @property
    def asks(self) -> bool:
        """Whether a language model is asked about texts."""
        return self.provider in MODELS

    @property
    def keys(self) -> list[str]:
        """The examples as the ledger knows them: a text by its content."""
        return [content_key(text_of(e), e) if self.asks else e for e in self.examples]

    def feature_of(self, name: str) -> str:
        """A feature by what the ledger calls it: a question as it is worded, "Is f3 so? ..."."""
        return name.split()[1] if self.asks else name

    @property
    def timeout(self) -> float:
        """A call that takes longer has an unknown end."""
        short = {"questions": 0.6, "batches": 1.5}.get(self.provider, 0.15)
        return 10 * short if self.gentle else short

    @property
    def limit(self) -> Budget | None:
        given = {"total": self.budget, "per_task": self.per_task, "per_example": self.per_example}
        some = {name: amount(minor) for name, minor in given.items() if minor is not None}
        return Budget(**some) if some else None

    @property
    def label(self) -> str:
        """What it is, for findings."""
        some = {"mixed": self.mixed, "frames": self.frames, "in parts": self.parts}
        some["wards"] = self.wards
        kinds = (*(kind for kind, so in some.items() if so), self.says)
        return ", ".join(k for k in (self.provider, self.money, *kinds) if k not in ("", "no"))


def make_room(store: str, log: Path, chance: random.Random, n_examples: int, **chosen: Any) -> Room:
    """A room of a random kind, where the kind is not chosen."""
    provider = chosen.get("provider") or chance.choice((*PROVIDERS, *PROVIDERS, *MODELS))
    asks = provider in MODELS
    money = "tokens" if asks else chosen.get("money") or chance.choice(MONEY)
    prices, contracts, valid = _money(money)
    cost = sum(contracts[0].own.values()) + sum(fee for fee, _ in contracts[0].once)
    comparable = not (provider == "keyed" and money == "two prices")
    says = chosen.get("says", chance.choice(SAYS) if comparable else "no")
    says = "tokens" if asks else says
    limited = chosen.get("limited", chance.random() < 1 / 4) and money != "window"
    # A budget that is too small for everything, in one room of three; not where values expire,
    # since there is no such thing as everything.
    tight = chosen.get("tight", chance.random() < 1 / 3) and money != "window"
    wards = chosen.get("wards")
    room = Room(
        store=store, log=log, provider=provider, money=money, n_examples=n_examples,
        jumps=chosen.get("jumps", chance.random() < 0.5),
        budget=int(cost * n_examples * chance.uniform(0.3, 0.8)) if tight else None,
        prices=prices, contracts=contracts, valid=valid, says=says,
        mixed=chosen.get("mixed", chance.random() < 0.4) and not asks,
        frames=chosen.get("frames", chance.random() < 0.3) and not asks,
        gentle=chosen.get("gentle", chance.random() < 0.5),
        parts=chosen.get("parts", chance.random() < 0.4) and says in ("below", "above"),
        per_task=int(cost * chance.uniform(2, 6)) if limited else None,
        per_example=int(cost * chance.uniform(0.5, 1.2)) if limited else None,
    )  # fmt: skip
    wards = room.gentle and chance.random() < 0.5 if wards is None else wards  # drawn last
    if not wards or provider not in ("plain", "async") or money == "window":
        return room
    return replace(room, wards=True, frames=False, per_task=None, per_example=None)


def amount(minor: int) -> str:
    """Millionths as exact text.

    >>> amount(3_070_001)
    '3.070001'
    """
    return f"{minor // UNIT}.{minor % UNIT:06d}"


def _money(kind: str) -> tuple[tuple[PriceList, ...], tuple[Contract, ...], dict[str, float]]:
    own = dict(zip(FEATURES, (3_070_001, 2_000_000, 1_009_999, 4_030_000, 2, 5_500_000)))
    listed: dict[str, object] = {name: amount(minor) for name, minor in own.items()}
    if kind == "flat":
        return (PriceList("2.01"),), (Contract(dict.fromkeys(FEATURES, 2_010_000)),), {}
    if kind == "fee":
        prices = PriceList(listed, fees={"needle": ("7.000003", ["f0", "f1", "f2"])})
        return (prices,), (Contract(own, ((7_000_003, ("f0", "f1", "f2")),)),), {}
    if kind == "derived":
        prices = PriceList({**listed, "f1": 0}, derived={"f1": ["f0"]})
        once = ((own["f0"], ("f0", "f1")),)
        return (prices,), (Contract({**own, "f0": 0, "f1": 0}, once),), {}
    if kind == "order":
        alone = {**listed, "f0": None, "f1": None}
        prices = PriceList(alone, orders={"pair": ("6.005", ["f0", "f1"])})
        once = ((6_005_000, ("f0", "f1")),)
        return (prices,), (Contract({**own, "f0": 0, "f1": 0}, once),), {}
    if kind == "discount":
        less = {"f0": 1_500_000, "f1": 700_001, "f5": 5_000_000}
        cheaper = {name: amount(minor) for name, minor in less.items()}
        prices = PriceList(listed, discounts={"tube": cheaper})
        return (prices,), (Contract(own, less=less),), {}
    if kind == "tokens":  # about what all questions on a text cost
        return (PriceList(0),), (Contract(dict.fromkeys(FEATURES, 15_000)),), {}
    if kind == "window":
        return (PriceList(listed, valid_for={"f5": WINDOW}),), (Contract(own),), {"f5": WINDOW}
    other = dict.fromkeys(FEATURES, 3_000_000)
    return (PriceList(listed), PriceList(3)), (Contract(own), Contract(other)), {}
