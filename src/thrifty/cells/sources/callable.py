"""Cells from a function: a paid look-up, a laboratory, a question put to a language model.

The function is never called directly. A ledger calls it, once per cell, after writing down what it
is about to buy; see :mod:`thrifty.cells.ledger.ledger`.
"""

from __future__ import annotations

import copy
import inspect
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from thrifty.cells.prices.price_list import PriceList, PricesLike, as_price_list
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.checks import (
    Values,
    can_be_stored,
    checked_ids,
    checked_names,
    checked_source_name,
    checked_values,
)
from thrifty.cells.sources.kinds import ToldKind, read_kinds
from thrifty.checks import whole_number
from thrifty.errors import BadInput, BadParameter
from thrifty.typing import AnyArray, Bools, Ints, KindsLike, Numbers, PresentLike


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How a provider may be called."""

    max_examples: int | None = None
    max_features: int | None = None
    max_cells: int | None = 1_000_000
    concurrency: int = 1
    per_second: float | None = None
    timeout: float = 60.0
    attempts: int = 4
    on_doubt: str = "stop"
    doubt_limit: int = 10
    again: int = 0
    on_failure: str = "stop"
    tries: int = 3

    def __post_init__(self) -> None:
        if self.on_doubt not in ("stop", "ask again"):
            raise BadParameter(
                f"on_doubt must be 'stop' or 'ask again'; got {self.on_doubt!r}. 'ask again' "
                "counts a purchase without an answer as billed and goes on."
            )
        if self.on_failure not in ("stop", "gap"):
            raise BadParameter(
                f"on_failure must be 'stop' or 'gap'; got {self.on_failure!r}. 'gap' goes on "
                "without the value of an example that has failed tries= times."
            )
        for name in ("max_examples", "max_features", "max_cells"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        # what one answer may hold, so that it can be written down and read again
        object.__setattr__(self, "max_cells", min(self.max_cells or 10**7, 10**7))
        for name in ("concurrency", "attempts", "doubt_limit", "tries"):
            whole_number(name, getattr(self, name))
        whole_number("again", self.again, least=0)
        for name in ("per_second", "timeout"):
            value = getattr(self, name)
            if value is None and name == "per_second":
                continue
            if not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise BadParameter(f"{name} must be a number above 0; got {value!r}.")


#: of a store: kind, names and source to numbers, -1 where one has none
LooksUp: TypeAlias = Callable[[str, Sequence[str], str], Numbers]


class CallableSource(Source):
    """A function ``fn(example_ids, feature_names) -> rows x features``; it may be async.

    Made by :meth:`Source.from_callable`, where the parameters are explained.
    """

    free = False
    named = True

    def __init__(
        self,
        fn: Callable[..., object],
        *,
        examples: Iterable[object],
        features: Sequence[str],
        prices: PricesLike = None,
        idempotent: bool = False,
        boolean: bool | Collection[str] = True,
        kinds: KindsLike = None,
        name: str | None = None,
        not_billed: tuple[type[Exception], ...] = (),
        allow_missing: bool = False,
        present: PresentLike | None = None,
        limits: CallLimits | None = None,
        values: Values = "fixed",
    ) -> None:
        self.values = checked_values(values)
        if not callable(fn):
            raise BadInput(f"a provider must be a function; got {type(fn).__name__}.")
        ids = [_plain(e) for e in examples]
        names = checked_names(list(features), len(list(features)))
        can_be_stored(names, "feature name")
        if not ids or not names:
            raise BadInput("a source needs at least one example and one feature.")
        self.examples: tuple[str, ...] = checked_ids(ids, len(ids))
        self._given = dict(zip(self.examples, ids))
        if idempotent and not _takes(fn, "idempotency_key"):
            raise BadInput(
                "an idempotent provider is one that honours keys, so its function must take one: "
                "fn(example_ids, feature_names, idempotency_key)."
            )
        super().__init__(len(ids), names, _kinds(boolean, names))
        self._tell(read_kinds(kinds, names))
        self.fn = fn
        self.idempotent = idempotent
        self.name = checked_source_name(name, needed=True)
        self.prices: PriceList | None = None if prices is None else as_price_list(prices)
        self.not_billed, self.allow_missing = tuple(not_billed), allow_missing
        self._tell_present(present, ids)
        self.limits = limits or CallLimits()
        #: features whose answers are 0 or 1; where one may be a gap they are kept as numbers
        self.zero_or_one = self.boolean.copy()
        if self.limits.on_failure == "gap":
            self.boolean = np.zeros_like(self.boolean)
        self._tariff: tuple[PriceList, Tariff] | None = None
        self._places: dict[str, int] | None = None
        #: whether these are labels, which a task buys before its cells
        self.labels = False
        #: whether a good answer has come: until then one call is made at a time, a small one first
        self.proven = False
        #: when the last calls began, for the rate limit
        self.recent: deque[float] = deque(maxlen=10_000)

    def _tell(self, told: Mapping[str, ToldKind]) -> None:
        """What the user said of single features; a category must say which there are."""
        categories = {}
        for f, name in enumerate(self.feature_names):
            said = told.get(name)
            if said == "category":
                raise BadInput(
                    f"a paid category must say what can be answered: give kinds={{{name!r}: "
                    "['...', '...']}."
                )
            if said is not None:
                self.boolean[f] = said == "boolean"
            if isinstance(said, tuple):
                can_be_stored(said, "category")
                categories[f] = said
        self.categories = categories

    def _tell_present(self, present: PresentLike | None, ids: Sequence[object]) -> None:
        """Which cells exist; a column with gaps is none of Booleans."""
        if present is None:
            return
        from thrifty.cells.sources.gaps import read_present

        self.present = read_present(present, ids, self.feature_names, self.n_examples)
        if self.present is not None:
            self.boolean = self.boolean & self.present.all(axis=0)

    def tariff(self, prices: PriceList) -> Tariff:
        """A price list laid over these features; the last one is kept, for very wide sources."""
        if self._tariff is None or self._tariff[0] is not prices:
            self._tariff = (prices, prices.tariff(self.feature_names))
        return self._tariff[1]

    def place_of(self, name: str) -> int | None:
        """Where a feature stands that a store knows by this name; None: none of these."""
        if self._places is None:
            self._places = {self.stored_name(f): f for f in range(self.n_features)}
        return self._places.get(name)

    def stored_name(self, feature: int) -> str:
        """What a store calls a feature."""
        return self.feature_names[feature]

    def stored_source(self, feature: int) -> str:
        """And whose it is there."""
        return self.name

    def numbered(self, look: LooksUp, features: Sequence[int]) -> Numbers:
        """The numbers that a store has for features; ``look``: its ``number`` or ``numbers``."""
        return look("feature", [self.stored_name(f) for f in features], self.name)

    def formerly(self) -> tuple[str, Sequence[str]] | None:
        """Where an earlier version kept these features: a source's name, and theirs."""
        return None

    def ids_of(self, texts: Sequence[str]) -> list[object]:
        """The examples as the user wrote them."""
        return [self._given.get(text, text) for text in texts]

    def connected(self) -> AbstractAsyncContextManager[None]:
        """What stays open while calls are made, connections for instance: nothing."""
        return nullcontext()

    def of_rows(self, rows: Ints) -> CallableSource:
        some = copy.copy(self)
        some.examples = tuple(self.examples[i] for i in rows.tolist())
        some.n_examples = len(rows)
        some.present = None if self.present is None else self.present[rows]
        return some

    def note_call(self) -> None:
        self.recent.append(time.monotonic())

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        raise BadInput(
            "a source that costs is only read through a ledger, which pays for each cell once: "
            "make thrifty.protocol.Cells(source) and ask it, or learn with a Lifetime."
        )


def _plain(example: object) -> object:
    return example.item() if isinstance(example, np.generic) else example


def _kinds(boolean: bool | Collection[str], names: Sequence[str]) -> Bools:
    if isinstance(boolean, bool):
        return np.full(len(names), boolean)
    unknown = set(boolean) - set(names)
    if unknown:
        raise BadInput(f"boolean names features that are not there: {sorted(unknown)[:5]}.")
    chosen = set(boolean)
    return np.array([name in chosen for name in names])


def _takes(fn: Callable[..., object], name: str) -> bool:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)
