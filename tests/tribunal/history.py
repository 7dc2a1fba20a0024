"""The judge: a provider's log and a ledger's last word, compared from outside.

Like Jepsen's checkers it looks at a history that was written down elsewhere and never at the
system's own account of what it did; like SQLite's sweeps it asks after every fault the same
questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields

from thrifty.typing import JsonLike


@dataclass
class Judgement:
    """What was injected, and what was found; all of the second part must be 0."""

    rooms: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    kills_when: Counter[str] = field(default_factory=Counter)
    kills_too_early: int = 0
    pauses: int = 0
    restarts: int = 0
    jumping_rooms: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    cells: int = 0
    billed: int = 0
    resolved: Counter[str] = field(default_factory=Counter)
    twice: int = 0
    unknown: int = 0
    over: int = 0
    wrong: int = 0
    money: int = 0
    bills: int = 0
    tasks: int = 0
    predictions: int = 0
    open_at_the_end: int = 0
    strangers: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        found = self.twice + self.unknown + self.over + self.wrong + self.money + self.bills
        return not (found + self.open_at_the_end or self.strangers)

    def __add__(self, other: Judgement) -> Judgement:
        """What two runs have found together."""
        both = {}
        for one in fields(self):
            mine, yours = getattr(self, one.name), getattr(other, one.name)
            both[one.name] = mine + (Counter(yours) if isinstance(mine, Counter) else yours)
        return Judgement(**both)

    def __str__(self) -> str:
        def counted(counter: Counter[str]) -> str:
            return ", ".join(f"{n:,} {kind}" for kind, n in sorted(counter.items())) or "none"

        share = {k: f"{n / max(self.calls, 1):.1%} {k}" for k, n in sorted(self.faults.items())}
        return "\n".join(
            [
                f"rooms          {counted(self.rooms)}; {self.jumping_rooms} with clocks that jump",
                f"kills          {self.kills:,} of processes that had called the provider "
                f"({counted(self.kills_when)}); {self.kills_too_early:,} earlier, not counted",
                f"pauses         {self.pauses:,}; {self.restarts} crashes of the database server",
                f"calls          {self.calls:,}: {', '.join(share.values())}",
                f"billed         {self.cells:,} cells, {self.billed / 1e6:,.6f} units of money",
                f"learned        {self.tasks} tasks to their end, {self.predictions} predictions",
                f"resolved       {counted(self.resolved)}",
                f"paid twice     {self.twice}",
                f"unknown        {self.unknown}   (billed, neither settled nor in doubt)",
                f"over budget    {self.over}",
                f"wrong values   {self.wrong}",
                f"money off      {self.money}   (rooms whose ledger and bill differ at the end)",
                f"bills off      {self.bills}   (rooms whose bill(), balance() or receipts differ)",
                f"left open      {self.open_at_the_end}",
                f"other errors   {len(self.strangers)}",
                *self.findings[:20],
                *(text.strip().splitlines()[-1] for text in self.strangers[:5]),
            ]
        )


def again_too_early(
    bills: Iterable[JsonLike],
    valid: Mapping[str, float],
    allowed: Mapping[tuple[str, str], int],
    derived: Collection[str] = (),
) -> tuple[list[str], list[str]]:
    """Cells that were billed again while their value was still good: (before the end, at the end).

    A cell that is bought once more when everything is bought at the end was billed and then not
    known: neither settled nor in doubt. ``allowed`` are cells that a user gave up; what was billed
    and had no answer may be billed again. What is free is asked again where nobody knows how its
    call ended: it was not paid twice; nor was what is ``derived`` from a feature that was paid for,
    whatever else of the example the call asked for.

    >>> bill = {"ids": ["p"], "names": ["a"], "calm": False}
    >>> again_too_early([{**bill, "t": 1.0}, {**bill, "t": 2.0}], {}, {})
    (['p a at 2.000, before at 1.000'], [])
    >>> again_too_early([{**bill, "t": 1.0}, {**bill, "t": 2.0}], {"a": 0.5}, {})
    ([], [])
    >>> again_too_early([{**bill, "t": 1.0}, {**bill, "t": 2.0, "free": ["p"]}], {}, {})
    ([], [])
    >>> again_too_early([{**bill, "t": 1.0}, {**bill, "t": 2.0}], {}, {}, derived={"a"})
    ([], [])
    """
    last: dict[tuple[str, str], float] = {}
    left = Counter(allowed)
    twice: list[str] = []
    unknown: list[str] = []
    for bill in bills:
        for example in bill["ids"]:
            for name in bill["names"]:
                cell, at = (example, name), float(bill["t"])
                before = last.get(cell)
                last[cell] = at
                if before is None or at - before >= valid.get(name, float("inf")):
                    continue
                if name in derived or example in bill.get("free", ()):
                    continue
                if left[cell] > 0:
                    left[cell] -= 1
                    continue
                text = f"{example} {name} at {at:.3f}, before at {before:.3f}"
                (unknown if bill["calm"] else twice).append(text)
        nothing = [e for e, word in bill.get("failed", {}).items() if word == "billed"]
        left.update((e, name) for e in nothing for name in bill["names"])
    return twice, unknown


def not_asked_again(
    lines: Iterable[JsonLike],
    valid: Mapping[str, float],
    examples: Iterable[str],
    waiting: Collection[str] = (),
) -> dict[str, set[str]]:
    """Of each feature that had expired before the end, examples that nobody asked for at the end.

    A provider that was asked again under a key it had seen says what it said before, and bills
    nothing. A value counts from when it was told: that is what a buyer knows, and what a user knows
    who tells a value that came late. So a repeated key tells a value where its purchase was
    ``waiting`` for an answer before the end; under a key that was answered before it is an old one.

    >>> bill = {"ids": ["p"], "names": ["a"], "amount": 1, "calm": True}
    >>> again = {"ids": ["q"], "names": ["a"], "repeated": "key", "calm": True}
    >>> not_asked_again([bill, again], {"a": 0.5}, "pqr", {"key"})
    {'a': {'r'}}
    >>> sorted(not_asked_again([bill, again], {"a": 0.5}, "pqr")["a"])
    ['q', 'r']
    """
    told: dict[str, set[str]] = {name: set() for name in valid}
    for line in lines:
        if not line.get("calm") or line.get("repeated", "") not in ("", *waiting):
            continue
        for name in valid:
            if name in line["names"]:
                told[name] |= set(line["ids"])
    return {name: set(examples) - some for name, some in told.items() if set(examples) - some}


def most_billed(bills: Iterable[JsonLike]) -> int:
    """What was billed in all before the end: the budget must have covered it."""
    return sum(int(bill["amount"]) for bill in bills if not bill["calm"])
