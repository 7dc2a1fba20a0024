"""The golden record: some forty streams, each as hashes of its cells, bills and answers.

    python benchmarks/golden.py                       compare with results/golden.json
    python benchmarks/golden.py --only lists sure     some of them
    python benchmarks/golden.py --record lists sure   write these down; all: every one
    python benchmarks/golden.py --seeds 2000          simulated histories beside, all sound

A change that means to keep what Thrifty does leaves every hash as it is. One that means to change
it records the streams it means to change, and its commit says which and why. The command ends with
1 where a stream differs, and names it with what differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

HERE = Path(__file__).resolve().parent
RECORD = HERE / "results" / "golden.json"
WHAT = ("cells", "bills", "answers")
#: those that take a server
ON_A_SERVER = {"orders in postgres"}


def streams() -> dict[str, Callable[[Any], None]]:
    """Every stream, by its name."""
    from studies import golden_families, golden_models

    every = (*golden_models.STREAMS, *golden_families.STREAMS)
    return {one.__name__.replace("_", " "): one for one in every}


def run_streams(names: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """Each stream by its name: seconds of every step, and the three hashes."""
    from studies.golden_diary import Diary

    known, found = streams(), {}
    for name in names or [name for name in known if name not in ON_A_SERVER]:
        with tempfile.TemporaryDirectory() as folder, _database(name) as new, _quiet():
            diary = Diary(Path(folder), new)
            known[name](diary)
        found[name] = diary.to_dict()
    return found


@contextmanager
def _database(name: str) -> Iterator[Callable[[], str] | None]:
    if name not in ON_A_SERVER:
        yield None
        return
    sys.path.insert(0, str(HERE.parent))
    from tests.postgres import postgres_server

    with postgres_server() as server:
        yield server.new_database


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def unsound(n_seeds: int) -> list[int]:
    """Of so many simulated histories of the ledger, the seeds of those that break a promise."""
    sys.path.insert(0, str(HERE.parent))
    from tests.simulator import simulate_many

    _, failed = simulate_many(range(n_seeds))
    return [history.seed for history in failed]


def main() -> int:
    """Run, compare, say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="STREAM", help="these alone")
    parser.add_argument("--record", nargs="+", metavar="STREAM", help="write these down")
    parser.add_argument("--seeds", type=int, default=0, help="simulated histories")
    given = parser.parse_args()
    kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    known = list(streams())
    chosen = given.record or given.only or known
    chosen = known if chosen == ["all"] else chosen
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"no such stream: {unknown[0]!r}; there are {', '.join(known)}")
    differ, begun = [], time.process_time()
    for name in chosen:
        try:
            found = {what: run_streams([name])[name][what] for what in WHAT}
        except Exception as error:
            print(f"{name:26} FAILED  {type(error).__name__}: {error}", flush=True)
            differ.append(name)
            continue
        changed = [what for what in WHAT if kept.get(name, {}).get(what) != found[what]]
        kept[name] = found if given.record else kept.get(name, {})
        if changed and not given.record:
            differ.append(name)
        said = f"{'recorded' if given.record else 'DIFFERS'}: {', '.join(changed)}"
        print(f"{name:26} {said if changed else 'same'}", flush=True)
    if given.record:
        kept = {name: kept[name] for name in known if name in kept}
        RECORD.write_text(json.dumps(kept, indent=1) + "\n")
    broken = unsound(given.seeds) if given.seeds else []
    print(
        f"{len(chosen) - len(differ)} of {len(chosen)} streams as recorded, "
        f"{time.process_time() - begun:.0f} s of CPU"
        + (f"; {given.seeds:,} histories, unsound: {broken or 'none'}" if given.seeds else "")
    )
    return 1 if differ or broken else 0


if __name__ == "__main__":
    sys.exit(main())
