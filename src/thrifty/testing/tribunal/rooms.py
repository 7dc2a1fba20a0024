"""One room of the tribunal: where the ledger is, how the provider is called, what cells cost."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thrifty.cells import Budget, PriceList
from thrifty.typing import Json

__all__ = ["FEATURES", "MONEY", "PROVIDERS", "Contract", "Room", "make_room", "truth"]

FEATURES = tuple(f"f{i}" for i in range(6))
PROVIDERS = ("plain", "async", "keyed")
#: flat: one price; fee: a fee once per example; derived: free once its parent is there; order: one
#: price for two features; window: a value that expires; two prices: each opener has its own list
MONEY = ("flat", "fee", "derived", "order", "window", "two prices")

#: what a value that expires lasts, in seconds
WINDOW = 0.6


def truth(example: str, feature: str) -> int:
    """The value of a cell: 0 or 1, known to everybody who judges."""
    return hashlib.blake2b(f"{example}|{feature}".encode(), digest_size=1).digest()[0] & 1


@dataclass(frozen=True, slots=True)
class Contract:
    """What the provider charges, in its own words: it knows no price list.

    ``once`` are prices that are paid once per example for any of some features.
    """

    own: Mapping[str, int]
    once: tuple[tuple[int, tuple[str, ...]], ...] = ()

    def to_dict(self) -> Json:
        return {"own": dict(self.own), "once": [list(o) for o in self.once]}


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

    @property
    def examples(self) -> list[str]:
        return [f"p{i}" for i in range(self.n_examples)]

    @property
    def limit(self) -> Budget | None:
        return None if self.budget is None else Budget(total=self.budget)


def make_room(
    store: str, log: Path, chance: random.Random, n_examples: int, **chosen: Any
) -> Room:
    """A room of a random kind, where the kind is not chosen."""
    provider = chosen.get("provider") or chance.choice(PROVIDERS)
    money = chosen.get("money") or chance.choice(MONEY)
    prices, contracts, valid = _money(money)
    cost = sum(contracts[0].own.values()) + sum(fee for fee, _ in contracts[0].once)
    # A budget that is too small for everything, in one room of three; not where values expire,
    # since there is no such thing as everything.
    tight = chosen.get("tight", chance.random() < 1 / 3) and money != "window"
    return Room(
        store=store, log=log, provider=provider, money=money, n_examples=n_examples,
        jumps=chance.random() < 0.5 and money != "window",  # a clock decides what has expired
        budget=int(cost * n_examples * chance.uniform(0.3, 0.8)) if tight else None,
        prices=prices, contracts=contracts, valid=valid,
    )  # fmt: skip


def _money(kind: str) -> tuple[tuple[PriceList, ...], tuple[Contract, ...], dict[str, float]]:
    own = dict(zip(FEATURES, (3, 2, 1, 4, 2, 5)))
    if kind == "flat":
        return (PriceList(2),), (Contract(dict.fromkeys(FEATURES, 2)),), {}
    if kind == "fee":
        prices = PriceList(own, fees={"needle": (7, ["f0", "f1", "f2"])})
        return (prices,), (Contract(own, ((7, ("f0", "f1", "f2")),)),), {}
    if kind == "derived":
        prices = PriceList({**own, "f1": 0}, derived={"f1": ["f0"]})
        return (prices,), (Contract({**own, "f0": 0, "f1": 0}, ((3, ("f0", "f1")),)),), {}
    if kind == "order":
        alone = {**own, "f0": None, "f1": None}
        prices = PriceList(alone, orders={"pair": (6, ["f0", "f1"])})
        return (prices,), (Contract({**own, "f0": 0, "f1": 0}, ((6, ("f0", "f1")),)),), {}
    if kind == "window":
        return (PriceList(own, valid_for={"f5": WINDOW}),), (Contract(own),), {"f5": WINDOW}
    other = dict.fromkeys(FEATURES, 3)
    return (PriceList(own), PriceList(other)), (Contract(own), Contract(other)), {}
