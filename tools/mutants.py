"""Change the code in one small place at a time, and see that a named test fails.

    python tools/mutants.py                  every mutation of tests/mutants
    python tools/mutants.py --area powers    one area, or: named, drawn
    python tools/mutants.py --only 17        one mutation, with what its tests printed
    python tools/mutants.py --survivors      those that no test noticed, once more
    python tools/mutants.py --trust          the tests have just passed: do not try them first
    python tools/mutants.py --again          forget what an interrupted run found
    python tools/mutants.py --area drawn --n 60 --first 0
                                             sixty of them, a fair draw; the next with --first 60

The list is data: tests/mutants/named.json (written by hand, each with the tests that must fail) and
drawn.json (by tools/draw_mutants.py, from a seed). Drawn ones are run against the tests nearest to
their file, tests/mutants/nearest.json. A mutation no test notices must be in accepted.json with a
reason. The source is copied once and changed there, so an interrupted run leaves nothing behind.
Where a mutation is tells tools/mutated.py, by its lines: they may move, also to another file.
Before a mutation counts as noticed, its tests must have passed without it.
Exit status 1 where fewer than 95 of 100 are noticed, or one is neither noticed nor accepted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mutated import Mutation, found_in, with_change

for name in (  # before the forks: what does not change is imported once
    "numba", "scipy.optimize", "scipy.stats", "sklearn.ensemble", "sklearn.utils.estimator_checks",
    "hypothesis.strategies", "hypothesis.extra.numpy", "pandas", "sqlalchemy", "pyarrow.parquet",
    "matplotlib.pyplot", "typer.testing", "anyio", "httpx",
):  # fmt: skip
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/mutants"
WORK = ROOT / ".mutants"
SECONDS = 30
#: of processor time for tests without any change; a change has half more than they took
MOST = 120
#: seconds without any work: it waits for something that does not come
ASLEEP = 25
WANTED = 0.95


def every_mutation() -> list[Mutation]:
    """Named ones first, then the drawn, numbered."""
    nearest = json.loads((DATA / "nearest.json").read_text())
    listed = [{**one, "area": "named"} for one in json.loads((DATA / "named.json").read_text())]
    for area, drawn in json.loads((DATA / "drawn.json").read_text()).items():
        listed += [{**one, "area": area} for one in drawn]
    for number, one in enumerate(listed):
        file = found_in(WORK, one)
        one |= {"number": number, "applies": file is not None, "was": one["file"]}
        one["file"] = file or one["file"]
        one.setdefault("tests", _near(one["file"], nearest))
    return listed


def _near(file: str, nearest: dict[str, list[str]]) -> list[str]:
    """The tests of the longest prefix that the file has."""
    return nearest[max((known for known in nearest if file.startswith(known)), key=len)]


def _outcome(one: Mutation, plain: dict[str, str], show: bool, seconds: int) -> int:
    """Run the tests in a fork: what does not change (numpy, numba, pytest) is imported once.

    The status pytest ends with, or the signal that ended it.
    """
    child = os.fork()
    if child == 0:
        # Seconds of the processor, not of the clock: a busy machine must not decide.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.environ.update(plain, OMP_NUM_THREADS="1", PYTHONPATH=str(WORK / "src"))
        if plain:
            import numba

            numba.config.DISABLE_JIT = True
        sys.path.insert(0, str(WORK / "src"))
        sys.dont_write_bytecode = True
        os.chdir(ROOT)
        if not show:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
        code = 3
        try:
            code = int(pytest.main([
                "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow",
                "-k", "not postgres", "--hypothesis-seed=0", str(WORK / one["file"]),
                *one["tests"],
            ]))  # fmt: skip
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(_end_of(child))


def _end_of(child: int) -> int:
    """The status of a child that ends, or that sleeps for so long that it waits for ever."""
    asleep, before = 0, 0
    for look in itertools.count(1):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.25)
        with contextlib.suppress(OSError):  # a busy machine makes it wait too, but not asleep
            state, *numbers = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            asleep += state == "S"
            if look % (4 * ASLEEP) == 0:
                ticks = int(numbers[10]) + int(numbers[11])
                if asleep > 3.6 * ASLEEP and ticks - before < 5 * ASLEEP:
                    os.kill(child, signal.SIGKILL)
                asleep, before = 0, ticks
    raise AssertionError


def noticed(one: Mutation, show: bool = False, seconds: int = SECONDS) -> tuple[bool, float]:
    """Whether a test fails once the mutation is in, and the CPU seconds that took."""
    path = WORK / one["file"]
    before, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(with_change(before, one) or before, encoding="utf-8")
    began = os.times()
    try:
        # Stopped by the limit of its processor time: it does not end, which is noticed too.
        found = _outcome(one, _plain(one), show, seconds) != 0
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled kernels stay valid
    ended = os.times()
    spent = ended.children_user + ended.children_system
    return found, spent - began.children_user - began.children_system


def _plain(one: Mutation) -> dict[str, str]:
    """Kernels are looked at as plain Python: compiling each change would take most of the time."""
    compiled = "/kernels/" in one["file"] and not one["file"].endswith("progress.py")
    return {"NUMBA_DISABLE_JIT": "1"} if compiled else {}


def passes_without(one: Mutation, known: dict[str, list[Any]]) -> tuple[bool, float]:
    """Whether its tests pass without it, and their seconds; else their failing says nothing."""
    key = f"{one['tests']}{_plain(one)}"
    if key not in known:
        began = os.times()
        passed = _outcome(one, _plain(one), show=False, seconds=MOST) == 0
        ended = os.times()
        spent = ended.children_user + ended.children_system
        known[key] = [passed, spent - began.children_user - began.children_system]
    return bool(known[key][0]), float(known[key][1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area")
    parser.add_argument("--only", type=int)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--n", type=int, help="so many of them, in an order drawn once")
    parser.add_argument("--first", type=int, default=0, help="from this one on, with --n")
    arguments = parser.parse_args()
    if arguments.again or not (WORK / "src").exists():
        shutil.rmtree(WORK, ignore_errors=True)
    fresh_copy()
    log = WORK / "found.json"
    known: dict[str, list[Any]] = json.loads(log.read_text()) if log.exists() else {}
    chosen = [one for one in every_mutation() if _chosen(one, arguments)]
    if arguments.n is not None:
        random.Random(0).shuffle(chosen)
        chosen = chosen[arguments.first : arguments.first + arguments.n]
    stale = [one for one in chosen if not one["applies"]]
    for one in stale:
        print(f"{one['number']:>4} no longer applies: {one['file']}: {one['old'].strip()[:70]!r}")
    if stale:
        print("Run tools/draw_mutants.py --redraw, or mend named.json.")
    chosen = [one for one in chosen if one["applies"]]
    for one in chosen:
        key = f"{one['was']}\n{one['old']}\n{one['new']}"
        again = arguments.only is not None or (arguments.survivors and not known.get(key, [0])[0])
        if key not in known or again:
            passes, seconds = (True, 0.0) if arguments.trust else passes_without(one, known)
            if not passes:
                print(f"these fail, or do not end, without any change: {one['tests']}")
            most = max(SECONDS, int(1.5 * seconds) + 5)
            found, spent = tell(one, show=arguments.only is not None, seconds=most)
            known[key] = [found and passes, spent]
            log.write_text(json.dumps(known))
        one["noticed"], one["seconds"] = known[key]
    sys.exit(report(chosen) or int(bool(stale)))


def tell(one: Mutation, show: bool, seconds: int) -> tuple[bool, float]:
    """Run one mutation and say what came: whether it was noticed, and its processor seconds."""
    began = time.monotonic()
    found, spent = noticed(one, show, seconds)
    print(
        f"{one['number']:>4} {'noticed ' if found else 'SURVIVED'} {spent:5.1f} s CPU "
        f"{time.monotonic() - began:5.0f} s  {one['file']}: {one['new'].strip()[:70]!r}",
        flush=True,
    )
    return found, round(spent, 1)


def _chosen(one: Mutation, arguments: argparse.Namespace) -> bool:
    if arguments.only is not None:
        return bool(one["number"] == arguments.only)
    area = arguments.area
    return area is None or area == one["area"] or (area == "drawn" and one["area"] != "named")


def fresh_copy() -> None:
    """The source as it is now; files that did not change keep their times, and their kernels."""
    for path in (ROOT / "src").rglob("*"):
        to = WORK / path.relative_to(ROOT)
        if path.is_file() and path.suffix != ".pyc" and not path.name.endswith((".nbi", ".nbc")):
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists() or to.read_bytes() != path.read_bytes():
                shutil.copy2(path, to)
    for path in (WORK / "src").rglob("*.py"):
        if not (ROOT / path.relative_to(WORK)).exists():
            path.unlink()


def report(chosen: list[Mutation]) -> int:
    """What survived, with its reason; 0 where all is as it should be."""
    accepted = {
        (one["file"], one["new"]): one["why"]
        for one in json.loads((DATA / "accepted.json").read_text())
    }
    survived = [one for one in chosen if not one["noticed"]]
    unexplained = [one for one in survived if (one["was"], one["new"]) not in accepted]
    for one in survived:
        why = accepted.get((one["was"], one["new"]), "NOT EXPLAINED")
        print(f"\n{one['number']} {one['file']}\n- {one['old']}\n+ {one['new']}\n  {why}")
    share = 1 - len(survived) / max(len(chosen), 1)
    minutes = sum(one["seconds"] for one in chosen) / 60
    print(
        f"\n{len(chosen) - len(survived)} of {len(chosen)} noticed ({share:.1%}), "
        f"{minutes:.1f} minutes of processor time"
    )
    return int(bool(unexplained) or share < WANTED)


if __name__ == "__main__":
    main()
