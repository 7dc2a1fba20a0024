"""Change the code in one small place at a time, and see that a named test fails.

    python tools/mutants.py                  every mutation of tests/mutants
    python tools/mutants.py --area powers    one area or several, or: named, drawn
    python tools/mutants.py --only 17        one mutation, with what its tests printed
    python tools/mutants.py --survivors      those that no test noticed, once more
    python tools/mutants.py --again          forget what an interrupted run found
    python tools/mutants.py --area drawn --n 60 --first 0
                                             sixty of them, a fair draw; the next with --first 60
    python tools/mutants.py --drawn FILE     those of another draw alone (tools/draw_mutants.py)

The list is data: tests/mutants/named.json (written by hand, each with the tests that must fail) and
drawn.json (by tools/draw_mutants.py, from a seed). A pass over a file of tests notes which
functions each of them calls, how long it takes, and that it passes without any change
(tools/calls_of_tests.py). A drawn change is tried on the tests that call the function it changes,
the quickest first, up to the first that fails; the files that nearest.json names for it are looked
at one after another, where those known have not noticed it. A mutation no test notices must be in
accepted.json with a reason. The source is copied for each worker and changed there, so an
interrupted run leaves nothing behind. Where a mutation is tells tools/mutated.py, by its lines:
they may move, also to another file.
Exit status 1 where fewer than 95 of 100 are noticed, or one is neither noticed nor accepted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from calls_of_tests import Called, Chosen, function_at, known_calls
from forked_tests import ROOT, outcome
from mutated import Mutation, found_in, with_change

DATA = ROOT / "tests/mutants"
WORK = ROOT / ".mutants"
#: of processor time that a change has at least, and how many times what its tests take without it
SECONDS, TIMES = 15, 3
#: tests that a change is tried on: so many seconds of them, the quickest first
ENOUGH = 20.0
#: so many seconds of them before a file is looked at that no change has needed yet
FIRST = 5.0
#: tests of the nearest files are tried before others that take this share of their time
NEARER = 0.3
WANTED = 0.95


def every_mutation(other: Path | None = None) -> list[Mutation]:
    """Named ones first, then the drawn, numbered; or those of another draw."""
    nearest = json.loads((DATA / "nearest.json").read_text())
    by_hand = [] if other else json.loads((DATA / "named.json").read_text())
    listed = [{**one, "area": "named"} for one in by_hand]
    for area, drawn in json.loads((other or DATA / "drawn.json").read_text()).items():
        listed += [{**one, "area": area} for one in drawn]
    for number, one in enumerate(listed):
        file = found_in(WORK, one)
        one |= {"number": number, "applies": file is not None, "was": one["file"]}
        one["file"] = file or one["file"]
        one["function"] = _function(one) if file else ""
        one.setdefault("tests", _near(one["file"], nearest))
    return listed


def _function(one: Mutation) -> str:
    """The function that it changes: of the first line that differs."""
    before = (WORK / one["file"]).read_text(encoding="utf-8")
    lines = zip(before.split("\n"), (with_change(before, one) or "").split("\n"), strict=False)
    first = next((i for i, (old, new) in enumerate(lines, 1) if old != new), 1)
    return function_at(before, first)


def _near(file: str, nearest: dict[str, list[str]]) -> list[str]:
    """The tests of the longest prefix that the file has."""
    return nearest[max((known for known in nearest if file.startswith(known)), key=len)]


def in_turn(one: Mutation, files: list[str]) -> Iterator[list[Called]]:
    """The tests that call the function it changes: a few seconds of those known, then others.

    ``files`` of tests whose calls are noted already come first; a file near to the change is
    looked at only where these have not noticed it. A named change must be noticed by its own tests.
    """
    plain, near = _plain(one), _files(one)
    if one["area"] == "named":
        own = [test for file in near for test in known_calls(file, WORK, plain, all_of_them=True)]
        own = [test for test in own if test.test.startswith(tuple(one["tests"]))]
        yield sorted(own, key=lambda test: test.seconds)
        return
    known = [test for file in files for test in known_calls(file, WORK, plain, look=False)]
    calling = _calling(one, known)
    first = _within(calling, FIRST)
    yield first
    for file in near:
        if file not in files or not known_calls(file, WORK, plain, look=False):
            yield _within(_calling(one, known_calls(file, WORK, plain)), ENOUGH)
    yield _within(calling, ENOUGH)[len(first) :]


def _calling(one: Mutation, tests: list[Called]) -> list[Called]:
    """Those that call the function, the quickest first; and those written for such changes.

    Of a constant or a class, what calls anything in its file, and all tests nearest to it, which
    may read it without a call.
    """
    at, near = f"{one['file']}:{one['function']}", tuple(one["tests"])
    written = near if not one["function"] else tuple(t for t in near if "/mutants/" in t)
    calling = [
        test
        for test in tests
        if at in test.functions
        or test.test.startswith(written)
        or (not one["function"] and any(f.startswith(at) for f in test.functions))
    ]
    return sorted(
        calling, key=lambda test: test.seconds * (NEARER if test.test.startswith(near) else 1)
    )


def _within(tests: list[Called], seconds: float) -> list[Called]:
    """The first of them that take so many seconds together."""
    spent = itertools.accumulate(test.seconds for test in tests)
    return [test for test, so_far in zip(tests, spent, strict=True) if so_far < seconds]


def _files(one: Mutation) -> list[str]:
    """The files of tests near to a change: the examples in its own, then those listed for it."""
    found = [] if one["area"] == "named" else [f"{WORK.name}/{one['file']}"]
    for test in one["tests"]:
        at = ROOT / test.split("::")[0]
        paths = sorted(at.rglob("test_*.py")) if at.is_dir() else [at]
        found += [path.relative_to(ROOT).as_posix() for path in paths]
    return list(dict.fromkeys(found))


def noticed(one: Mutation, files: list[str], work: Path, show: bool) -> tuple[bool, int, float]:
    """Whether a test fails once the mutation is in, of how many, and the CPU seconds that took."""
    path = work / one["file"]
    before, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(with_change(before, one) or before, encoding="utf-8")
    # another time than that of any other change: what was compiled of them is not taken for this
    os.utime(path, (times.st_atime, int(times.st_mtime) + 10 * (1 + one["number"])))
    began, tried, found = os.times(), 0, False
    try:
        for tests in in_turn(one, files):
            tried += len(tests)
            found = bool(tests) and _fails(one, tests, work, show)
            if found:
                break
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled kernels stay valid
    ended = os.times()
    spent = ended.children_user + ended.children_system
    return found, tried, spent - began.children_user - began.children_system


def _fails(one: Mutation, tests: list[Called], work: Path, show: bool) -> bool:
    """Whether one of these tests fails, or does not end in the processor time it is given."""
    files = dict.fromkeys(test.test.split("::")[0] for test in tests)
    copied = [str(work / file) if file.startswith("src/") else file for file in files]
    most = max(SECONDS, int(TIMES * sum(test.seconds for test in tests)))
    chosen = Chosen([test.test for test in tests])
    return outcome(copied, chosen, work / "src", _plain(one), most, show) not in (0, 5)


def _plain(one: Mutation) -> bool:
    """Kernels are looked at as plain Python: compiling each change would take most of the time."""
    return "\n@jit" in (WORK / one["file"]).read_text(encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area", nargs="+")
    parser.add_argument("--only", type=int)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--drawn", type=Path, help="another file of drawn ones")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--n", type=int, help="so many of them, in an order drawn once")
    parser.add_argument("--first", type=int, default=0, help="from this one on, with --n")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.again:
        shutil.rmtree(WORK, ignore_errors=True)
    fresh_copy(WORK)
    listed = every_mutation(arguments.drawn)
    chosen = [one for one in listed if _chosen(one, arguments)]
    if arguments.n is not None:
        random.Random(0).shuffle(chosen)
        chosen = chosen[arguments.first : arguments.first + arguments.n]
    stale = [one for one in chosen if not one["applies"]]
    for one in stale:
        print(f"{one['number']:>4} no longer applies: {one['file']}: {one['old'].strip()[:70]!r}")
    if stale:
        print("Run tools/draw_mutants.py --redraw, or mend named.json.")
    chosen = [one for one in chosen if one["applies"]]
    known = found_before()
    again = arguments.only is not None
    open_ = [
        one
        for one in chosen
        if _key(one) not in known or again or (arguments.survivors and not known[_key(one)][0])
    ]
    open_.sort(key=lambda one: _why(one) is not None)  # these take longest: no test is to fail
    for log in WORK.glob("found-*.json"):  # in one file: a worker's old word is not its latest
        log.unlink()
    tried = {_key(one) for one in open_}
    (WORK / "found-before.json").write_text(
        json.dumps({key: found for key, found in known.items() if key not in tried})
    )
    files = sorted({file for one in listed for file in _files(one)})
    workers = 1 if again else arguments.workers
    children = [one for k in range(workers) if (one := _worker(k, open_[k::workers], files, again))]
    for child in children:
        os.waitpid(child, 0)
    known = found_before()
    for one in chosen:
        one["noticed"], one["seconds"] = known[_key(one)]
    sys.exit(report(chosen) or int(bool(stale)))


def _worker(k: int, chosen: list[Mutation], files: list[str], show: bool) -> int:
    """The process that tries these, in a copy of the source of its own, and notes what it found."""
    child = os.fork()
    if child:
        return child
    work = WORK / f"worker-{k}"
    shutil.copytree(WORK / "src", work / "src", dirs_exist_ok=True)  # compiled kernels too
    log = WORK / f"found-{k}.json"
    found: dict[str, tuple[bool, float]] = {}
    for one in chosen:
        found[_key(one)] = tell(one, files, work, show)
        log.write_text(json.dumps(found))
    os._exit(0)


def _key(one: Mutation) -> str:
    return f"{one['was']}\n{one['old']}\n{one['new']}"


def found_before() -> dict[str, list[Any]]:
    """What earlier runs and every worker found: each mutation is in one file."""
    found: dict[str, list[Any]] = {}
    for log in WORK.glob("found-*.json"):
        found |= json.loads(log.read_text())
    return found


def tell(one: Mutation, files: list[str], work: Path, show: bool) -> tuple[bool, float]:
    """Run one mutation and say what came: whether it was noticed, and its processor seconds."""
    began = time.monotonic()
    found, tried, spent = noticed(one, files, work, show)
    print(
        f"{one['number']:>4} {'noticed ' if found else 'SURVIVED'} {spent:5.1f} s CPU "
        f"{time.monotonic() - began:5.0f} s {tried:>4} tests  "
        f"{one['file']}: {one['new'].strip()[:70]!r}",
        flush=True,
    )
    return found, round(spent, 1)


def _chosen(one: Mutation, arguments: argparse.Namespace) -> bool:
    if arguments.only is not None:
        return bool(one["number"] == arguments.only)
    areas = arguments.area or [one["area"]]
    return one["area"] in areas or ("drawn" in areas and one["area"] != "named")


def fresh_copy(work: Path) -> None:
    """The source as it is now; files that did not change keep their times, and their kernels."""
    for path in (ROOT / "src").rglob("*"):
        to = work / path.relative_to(ROOT)
        if path.is_file() and path.suffix != ".pyc" and not path.name.endswith((".nbi", ".nbc")):
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists() or to.read_bytes() != path.read_bytes():
                shutil.copy2(path, to)
    for path in (work / "src").rglob("*.py"):
        if not (ROOT / path.relative_to(work)).exists():
            path.unlink()


@cache
def _accepted() -> dict[tuple[str, str], str]:
    listed = json.loads((DATA / "accepted.json").read_text())
    return {(one["file"], one["new"]): one["why"] for one in listed}


def _why(one: Mutation) -> str | None:
    """Why it is accepted that no test notices this, where it is."""
    return _accepted().get((one["was"], one["new"]))


def report(chosen: list[Mutation]) -> int:
    """What survived, with its reason; 0 where all is as it should be."""
    survived = [one for one in chosen if not one["noticed"]]
    unexplained = [one for one in survived if _why(one) is None]
    for one in survived:
        why = _why(one) or "NOT EXPLAINED"
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
