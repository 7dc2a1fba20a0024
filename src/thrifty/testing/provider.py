"""A provider that bills nobody: it counts what it would have billed and fails on demand."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thrifty.cells.sources import Source
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadParameter, NotBilled, PurchaseFailed
from thrifty.typing import Fields, JsonLike

__all__ = ["FAULTS", "Bill", "FakeProvider"]

#: what a call can be made to do; see :class:`FakeProvider`
FAULTS = ("", "refuse", "fail", "error", "error-after", "slow", "slow-after")


@dataclass(slots=True)
class Bill:
    """What a provider has billed: how often each cell, in how many calls."""

    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: int = 0
    failed: int = 0

    @property
    def twice(self) -> list[tuple[str, str]]:
        """Cells that were billed more than once."""
        return sorted(cell for cell, times in self.cells.items() if times > 1)


class FakeProvider:
    """Answers from a rule, bills in a log, fails on demand.

    Parameters
    ----------
    value : callable or None
        ``value(example_id, feature_name)``, or None for a fixed pseudo-random 0 or 1
    idempotent : bool
        repeats the answer of a key it has seen, without billing again
    log : str, path or None
        a file to keep the bill in; it then survives a crash, and several processes share it
    faults : iterable or callable
        what to do on each call, in turn, or a function of the number of the call: ``"refuse"``
        (NotBilled), ``"fail"`` (PurchaseFailed), ``"error"`` (an exception, nothing billed),
        ``"error-after"`` (billed, then an exception), ``"slow"`` and ``"slow-after"`` (sleeps
        before, or after, billing), or any other object: billed, then answered with that
    seconds : float
        how long slow calls sleep
    delay : float
        how long every call takes

    Examples
    --------
    >>> provider = FakeProvider(lambda example, feature: len(feature) > 3)
    >>> provider(["p1", "p2"], ["tsh", "thyroid"])
    [[False, True], [False, True]]
    >>> provider.bill().calls, provider.bill().twice
    (1, [])
    """

    def __init__(
        self,
        value: Callable[[str, str], object] | None = None,
        *,
        idempotent: bool = False,
        log: str | os.PathLike[str] | None = None,
        faults: Iterable[object] | Callable[[int], object] = (),
        seconds: float = 1.0,
        delay: float = 0.0,
    ) -> None:
        self.value = value or pseudo_random
        self.idempotent, self.seconds, self.delay = idempotent, seconds, delay
        self._log = Path(log) if log is not None else None
        self._lines: list[Fields] = []
        self._faults = faults if callable(faults) else None
        self._in_turn = [] if callable(faults) else list(faults)
        self.calls = 0

    def source(
        self, examples: Iterable[object], features: Sequence[str], **options: Any
    ) -> CallableSource:
        """A source of this provider's cells."""
        options.setdefault("idempotent", self.idempotent)
        options.setdefault("name", "provider")
        fn: Callable[..., object] = self if self.idempotent else self.ask
        return Source.from_callable(fn, examples=examples, features=features, **options)

    def async_source(
        self, examples: Iterable[object], features: Sequence[str], **options: Any
    ) -> CallableSource:
        """The same through an async function."""
        options.setdefault("idempotent", self.idempotent)
        options.setdefault("name", "provider")

        async def plain(ids: Sequence[object], names: Sequence[str]) -> object:
            return self(ids, names)

        async def keyed(
            ids: Sequence[object], names: Sequence[str], idempotency_key: str
        ) -> object:
            return self(ids, names, idempotency_key)

        fn: Callable[..., object] = keyed if self.idempotent else plain
        return Source.from_callable(fn, examples=examples, features=features, **options)

    def ask(self, ids: Sequence[object], names: Sequence[str]) -> object:
        """A call without a key."""
        return self(ids, names)

    def __call__(
        self, ids: Sequence[object], names: Sequence[str], idempotency_key: str | None = None
    ) -> object:
        fault = self._next_fault()
        if self.delay:
            time.sleep(self.delay)
        if fault == "refuse":
            raise NotBilled("the fake provider refuses")
        if fault == "error":
            raise RuntimeError("the fake provider broke down")
        if fault == "slow":
            time.sleep(self.seconds)
        if fault == "fail":
            self._write({"failed": True})
            raise PurchaseFailed("the fake provider tried and failed")
        answer = [[self.value(str(i), n) for n in names] for i in ids]
        if not (self.idempotent and idempotency_key and self._seen(idempotency_key)):
            self._write({"key": idempotency_key, "ids": [str(i) for i in ids], "names": [*names]})
        if fault == "error-after":
            raise ConnectionResetError("the fake provider broke down after billing")
        if fault == "slow-after":
            time.sleep(self.seconds)
        if isinstance(fault, str):
            return answer
        return fault(answer, ids, names) if callable(fault) else fault

    def _next_fault(self) -> object:
        number, self.calls = self.calls, self.calls + 1
        if self._faults is not None:
            fault = self._faults(number)
        else:
            fault = self._in_turn[number] if number < len(self._in_turn) else ""
        if isinstance(fault, str) and fault not in FAULTS:
            raise BadParameter(f"a fault must be one of {FAULTS} or an answer; got {fault!r}.")
        return fault

    # -- the bill -----------------------------------------------------------------------------

    def _write(self, line: JsonLike) -> None:
        if self._log is None:
            self._lines.append(dict(line))
            return
        # One write in append mode: lines of several processes do not mix.
        file = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)

    def _read(self) -> list[Fields]:
        if self._log is None:
            return self._lines
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def _seen(self, key: str) -> bool:
        return any(line.get("key") == key for line in self._read())

    def bill(self) -> Bill:
        """What was billed so far, by all processes that share the log."""
        bill = Bill()
        for line in self._read():
            if line.get("failed"):
                bill.failed += 1
                continue
            bill.calls += 1
            bill.cells.update((i, n) for i in line["ids"] for n in line["names"])
        return bill


def pseudo_random(example: str, feature: str) -> int:
    """0 or 1, the same in every process.

    >>> pseudo_random("p1", "tsh") == pseudo_random("p1", "tsh")
    True
    """
    return hashlib.blake2b(f"{example}\x00{feature}".encode(), digest_size=1).digest()[0] & 1
