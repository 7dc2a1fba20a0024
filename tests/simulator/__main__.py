"""``python -m tests.simulator --histories 100000``: the long run, with its figures.

``--sabotages`` breaks the ledger in twelve ways, one after another, and says after how many
histories each was found.

With ``--workers 16`` as many processes share the histories, and one line says the total.

With ``--results FILE`` every few hundred histories are a line of that file as soon as they are
done, and a run that was interrupted goes on where it was; several processes may write the same
file, each with seeds of its own (``--first``). Lines say which code they ran: after a change they
count as histories of earlier code, and their seeds are run again.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import thrifty
from tests.simulator.simulate import simulate, simulate_many

#: seeds in a line of the results
_AT_ONCE = 500


@dataclass(frozen=True)
class _Part:
    """Some histories: a line of the results."""

    code: str
    first: int
    n: int
    cpu: float
    calls: int
    crashed: int
    #: what was found, by seed
    failed: dict[str, str]


def main() -> int:
    """Run seeds until there were enough, or the time is up; print what happened and was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator")
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most")
    parser.add_argument("--workers", type=int, default=1, help="processes that run histories")
    parser.add_argument("--results", type=Path, help="a file with a line for each few hundred")
    parser.add_argument(
        "--sabotages", action="store_true", help="break the ledger in each known way until it shows"
    )
    given = parser.parse_args()
    if given.sabotages:
        return _sabotages(given.histories)
    code, until = _code(), time.monotonic() + given.seconds
    parts = _read(given.results)
    done = {part.first for part in parts if part.code == code}
    some = [seeds for seeds in _cut(given.first, given.histories) if seeds.start not in done]
    with ProcessPoolExecutor(given.workers) as pool:
        each = pool.map if given.workers > 1 else map
        for part in each(partial(_run, code, until), some):
            if part is None:
                continue
            parts.append(part)
            if given.results is not None:
                with given.results.open("a") as f:
                    f.write(json.dumps(asdict(part)) + "\n")
    print(_told(parts, code))
    return 1 if any(part.failed for part in parts if part.code == code) else 0


def _sabotages(most: int) -> int:
    """Each of the twelve, and after how many histories it was found."""
    import pytest

    twelve = importlib.import_module("tests.faults.sabotages").TWELVE  # it has no types
    missed = 0
    for name, breaks in twelve.items():
        begun = time.monotonic()
        with pytest.MonkeyPatch.context() as patch:
            breaks(patch)
            runs = (simulate(seed, shrink=False) for seed in range(most))
            failing = next((one for one in runs if not one.sound), None)
        missed += failing is None
        told = "NOT FOUND" if failing is None else f"{failing.seed + 1:6,} {failing.found[0]}"
        seconds = time.monotonic() - begun
        print(f"{name.replace('_', ' '):50} {seconds:4.0f} s  {told[:90]}", flush=True)
    return 1 if missed else 0


def _cut(first: int, n: int) -> Iterator[range]:
    for start in range(first, first + n, _AT_ONCE):
        yield range(start, min(start + _AT_ONCE, first + n))


def _run(code: str, until: float, seeds: range) -> _Part | None:
    """Some histories; None where the time is up."""
    if time.monotonic() > until:
        return None
    worked = time.process_time()
    happened, failed = simulate_many(seeds)
    cpu = round(time.process_time() - worked, 2)
    for history in failed:
        print(f"seed {history.seed}: {history.found[0]}; shortest: {history.plan}", flush=True)
    found = {str(history.seed): history.found[0] for history in failed}
    calls, crashed = happened["calls"], happened["crashed"]
    return _Part(code, seeds.start, len(seeds), cpu, calls, crashed, found)


def _read(results: Path | None) -> list[_Part]:
    if results is None or not results.exists():
        return []
    return [_Part(**json.loads(line)) for line in results.read_text().splitlines()]


def _code() -> str:
    """What runs here: everything between a reader and a store, and the simulator itself."""
    here, product = Path(__file__).parent, Path(thrifty.__file__).parent
    rooms = (here, product / "cells", product / "stores", product / "lifetime" / "bill.py")
    files = sorted(f for room in rooms for f in _python_files(room))
    told = hashlib.blake2b(digest_size=6)
    for file in files:
        told.update(file.read_bytes())
    return told.hexdigest()


def _python_files(place: Path) -> Iterable[Path]:
    return place.rglob("*.py") if place.is_dir() else [place]


def _told(parts: list[_Part], code: str) -> str:
    earlier = [part for part in parts if part.code != code]
    told = _summed([part for part in parts if part.code == code])
    return f"{told}\nof earlier code: {_summed(earlier)}" if earlier else told


def _summed(parts: list[_Part]) -> str:
    n, cpu = sum(part.n for part in parts), sum(part.cpu for part in parts)
    seeds = [seed for part in parts for seed in part.failed]
    which = f" (seeds {', '.join(seeds[:10])})" if seeds else ""
    return (
        f"{n:,} histories, {len(seeds)} breaches{which}; {sum(p.calls for p in parts):,} calls, "
        f"{sum(p.crashed for p in parts):,} crashes; {cpu:,.0f} s of one core: "
        f"{3600 * n / max(cpu, 1e-9):,.0f} histories an hour on a core"
    )


if __name__ == "__main__":
    sys.exit(main())
