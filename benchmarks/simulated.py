"""Promises in probability: simulated until the share of kept runs is known to within .04.

A promise is a function of a seed that runs one trial and says whether the event happened, or of
how many cases in how many. Trials are repeated with new seeds until the exact binomial interval
(Clopper and Pearson, 95 %) of the event's probability is at most :data:`WIDTH` wide; cases of one
trial are alike, and count as many as would tell as much drawn apart (Korn and Graubard, 1998). A
promise is broken where the whole interval lies on the wrong side of what was promised.

>>> def heads(seed):
...     return bool(np.random.default_rng(seed).random() < 0.5)
>>> found = simulate(Promise("coins", "heads", heads, at_most=0.5))
>>> found.low < 0.5 < found.high and found.high - found.low <= WIDTH
True
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

__all__ = [
    "LONGEST",
    "PROMISES",
    "WIDTH",
    "Promise",
    "Simulated",
    "Timed",
    "interval_of",
    "promise",
    "simulate",
    "timed",
]

#: of an interval, at most
WIDTH = 0.04
#: of processor time that one promise may take
LONGEST = 400.0
#: trials before the width is looked at, and the first seed: what is simulated was chosen on others
_AT_ONCE, _FIRST_SEED = 20, 1_000_000
#: trials that are made in any case where they take no longer than these seconds
_CHEAP, _SECONDS = 2000, 5.0
#: seeds without a single case after which there is nothing to be wrong of
_NEVER = 200
#: seconds between lines that say how far a simulation is
_TELL = 10.0

#: of a seed: whether it happened, or of how many cases in how many; None: no trial
Event = bool | tuple[int, int] | None
Trial = Callable[[int], Event]
#: what came of a trial, and its seconds of processor time
Timed = tuple[Event, float]
#: runs a trial for each of some seeds
Over = Callable[[Trial, Sequence[int]], Iterable[Timed]]


@dataclass(frozen=True)
class Promise:
    """What is promised of the chance of an event, and one trial of it."""

    group: str
    says: str
    trial: Trial
    at_most: float | None = None
    at_least: float | None = None

    @property
    def limit(self) -> str:
        said = [] if self.at_least is None else [f"at least {self.at_least:g}"]
        said += [] if self.at_most is None else [f"at most {self.at_most:g}"]
        return " and ".join(said) or "measured"


@dataclass(frozen=True)
class Simulated:
    """How often the event happened, and the interval of its chance."""

    promise: Promise
    found: tuple[tuple[int, int], ...]
    tried: int
    seconds: float
    width: float = WIDTH

    @property
    def happened(self) -> int:
        return sum(happened for happened, _ in self.found)

    @property
    def cases(self) -> int:
        return sum(cases for _, cases in self.found)

    @property
    def low(self) -> float:
        return interval_of(self.found)[0]

    @property
    def high(self) -> float:
        return interval_of(self.found)[1]

    @property
    def kept(self) -> bool:
        """Whether the interval is not wholly on the wrong side."""
        most, least = self.promise.at_most, self.promise.at_least
        return (most is None or self.low <= most) and (least is None or self.high >= least)

    @property
    def known(self) -> bool:
        """Whether the interval is narrow enough, or there was nothing to be wrong of."""
        return not self.found or self.high - self.low <= self.width

    def __str__(self) -> str:
        said = f"{self.promise.group}: {self.promise.says}, {self.promise.limit}"
        ends = f"{self.tried} seeds, {self.seconds:.0f} s"
        if not self.found:
            return f"kept: {said}: no case ({ends})"
        state = "BROKEN" if not self.kept else "kept" if self.known else "OPEN"
        return (
            f"{state}: {said}: {self.happened} of {self.cases}, {self.happened / self.cases:.3f} "
            f"[{self.low:.3f}, {self.high:.3f}] ({ends})"
        )


PROMISES: list[Promise] = []


def promise(
    group: str, says: str, at_most: float | None = None, at_least: float | None = None
) -> Callable[[Trial], Trial]:
    """Add a promise; the function runs the trial of a seed."""

    def add(trial: Trial) -> Trial:
        PROMISES.append(Promise(group, says, trial, at_most, at_least))
        return trial

    return add


def interval(happened: float, trials: float) -> tuple[float, float]:
    """Of a probability, 95 %, exact.

    >>> tuple(round(v, 4) for v in interval(0, 100))
    (0.0, 0.0362)
    """
    low = 0.0 if happened == 0 else float(beta.ppf(0.025, happened, trials - happened + 1))
    return low, 1.0 if happened == trials else float(
        beta.ppf(0.975, happened + 1, trials - happened)
    )


def interval_of(found: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """The same where each trial says of how many cases it happened in how many.

    >>> interval_of([(0, 1)] * 100) == interval(0, 100)
    True
    >>> apart, alike = interval(50, 100), interval_of([(0, 9), (9, 9)] * 50)
    >>> np.allclose(apart, alike)  # all cases of a trial are the same
    True
    """
    if not found:
        return 0.0, 1.0
    happened, cases = np.array(found, dtype=np.float64).T
    share, n = happened.sum() / cases.sum(), len(found)
    if n < 2 or not 0 < share < 1:
        return interval(share * n, n)
    error = n / (n - 1) * ((happened - share * cases) ** 2).sum() / cases.sum() ** 2
    alike = min(share * (1 - share) / error * n / (n - 1), cases.sum())
    return interval(share * alike, alike)


def timed(trial: Trial, seed: int) -> Timed:
    """What comes of a trial, and how long it took."""
    began = time.process_time()
    event = trial(seed)
    return event, time.process_time() - began


def here(trial: Trial, seeds: Sequence[int]) -> Iterable[Timed]:
    """One after the other in this process."""
    return (timed(trial, seed) for seed in seeds)


def simulate(
    given: Promise,
    width: float = WIDTH,
    first: int = _FIRST_SEED,
    over: Over = here,
    longest: float = LONGEST,
) -> Simulated:
    """Trials until the interval is narrow enough; ``over`` runs those of some seeds."""
    seeds, told = itertools.count(first), time.monotonic()
    found: list[tuple[int, int]] = []
    tried, seconds = 0, 0.0

    def enough() -> bool:
        if not found:
            return tried >= _NEVER
        cheap = seconds < _SECONDS and len(found) < _CHEAP
        return not cheap and (seconds > longest or bool(np.diff(interval_of(found)) <= width))

    while not enough():
        for event, took in over(given.trial, list(itertools.islice(seeds, _AT_ONCE))):
            tried, seconds = tried + 1, seconds + took
            if event is not None:
                found.append(event if isinstance(event, tuple) else (int(event), 1))
            if time.monotonic() - told > _TELL:
                told = time.monotonic()
                happened, cases = map(sum, zip(*(found or [(0, 0)])))
                print(f"  {given.says}: {happened} of {cases}, {tried} seeds so far", flush=True)
    return Simulated(given, tuple(found), tried, seconds, width)
