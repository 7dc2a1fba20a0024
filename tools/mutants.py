"""Change the code in one small place at a time, and see that a named test fails.

    python tools/mutants.py                  every mutation of tests/mutants
    python tools/mutants.py --area powers    one area, or: named, drawn
    python tools/mutants.py --only 17        one mutation, with what its tests printed
    python tools/mutants.py --again          forget what an interrupted run found

The list is data: tests/mutants/named.json (written by hand, each with the tests that must fail) and
drawn.json (by tools/draw_mutants.py, from a seed). Drawn ones are run against the tests nearest to
their file, tests/mutants/nearest.json. A mutation no test notices must be in accepted.json with a
reason. The source is copied once and changed there, so an interrupted run leaves nothing behind.
Exit status 1 where fewer than 95 of 100 are noticed, or one is neither noticed nor accepted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numba  # noqa: F401  imported before the forks, as are the next
import numpy  # noqa: F401
import pytest
import scipy.optimize
import scipy.stats  # noqa: F401
import sklearn.ensemble  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/mutants"
WORK = ROOT / ".mutants"
SECONDS = 60
WANTED = 0.95
Mutation = dict[str, Any]


def every_mutation() -> list[Mutation]:
    """Named ones first, then the drawn, numbered."""
    nearest = json.loads((DATA / "nearest.json").read_text())
    listed = [{**one, "area": "named"} for one in json.loads((DATA / "named.json").read_text())]
    for area, drawn in json.loads((DATA / "drawn.json").read_text()).items():
        listed += [{**one, "area": area, "tests": _near(one["file"], nearest)} for one in drawn]
    return [{**one, "number": number} for number, one in enumerate(listed)]


def _near(file: str, nearest: dict[str, list[str]]) -> list[str]:
    """The tests of the longest prefix that the file has."""
    return nearest[max((known for known in nearest if file.startswith(known)), key=len)]


def _tests_fail(one: Mutation, plain: dict[str, str], show: bool) -> bool:
    """Run the tests in a fork: what does not change (numpy, numba, pytest) is imported once."""
    child = os.fork()
    if child == 0:
        # Seconds of the processor, not of the clock: a busy machine must not decide.
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
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
    _ended, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) != 0  # stopped by its limit: it never ends, noticed


def applies(one: Mutation) -> bool:
    """Whether its lines are still there, once."""
    path = WORK / one["file"]
    return path.exists() and path.read_text(encoding="utf-8").count(one["old"]) == 1


def noticed(one: Mutation, show: bool = False) -> tuple[bool, float]:
    """Whether a test fails once the mutation is in, and the CPU seconds that took."""
    path = WORK / one["file"]
    before, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(before.replace(one["old"], one["new"]), encoding="utf-8")
    # Kernels are looked at as plain Python: compiling each change would take most of the time.
    compiled = "/kernels/" in one["file"] and not one["file"].endswith("progress.py")
    plain = {"NUMBA_DISABLE_JIT": "1"} if compiled else {}
    began = os.times()
    try:
        found = _tests_fail(one, plain, show)
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled kernels stay valid
    ended = os.times()
    spent = ended.children_user + ended.children_system
    return found, spent - began.children_user - began.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area")
    parser.add_argument("--only", type=int)
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    if arguments.again or not (WORK / "src").exists():
        shutil.rmtree(WORK, ignore_errors=True)
    fresh_copy()
    log = WORK / "found.json"
    found: dict[str, bool] = json.loads(log.read_text()) if log.exists() else {}
    chosen = [one for one in every_mutation() if _chosen(one, arguments)]
    stale = [one for one in chosen if not applies(one)]
    for one in stale:
        print(f"{one['number']:>4} no longer applies: {one['file']}: {one['old'].strip()[:70]!r}")
    if stale:
        print("Run tools/draw_mutants.py --redraw, or mend named.json.")
    chosen = [one for one in chosen if one not in stale]
    for one in chosen:
        key = f"{one['file']}\n{one['old']}\n{one['new']}\n{one['tests']}"
        if key not in found or arguments.only is not None:
            began = time.monotonic()
            found[key], spent = noticed(one, show=arguments.only is not None)
            log.write_text(json.dumps(found))
            print(
                f"{one['number']:>4} {'noticed ' if found[key] else 'SURVIVED'} {spent:5.1f} s CPU "
                f"{time.monotonic() - began:5.0f} s  {one['file']}: {one['new'].strip()[:70]!r}",
                flush=True,
            )
        one["noticed"] = found[key]
    sys.exit(report(chosen) or int(bool(stale)))


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


def report(chosen: list[Mutation]) -> int:
    """What survived, with its reason; 0 where all is as it should be."""
    accepted = {
        (one["file"], one["new"]): one["why"]
        for one in json.loads((DATA / "accepted.json").read_text())
    }
    survived = [one for one in chosen if not one["noticed"]]
    unexplained = [one for one in survived if (one["file"], one["new"]) not in accepted]
    for one in survived:
        why = accepted.get((one["file"], one["new"]), "NOT EXPLAINED")
        print(f"\n{one['number']} {one['file']}\n- {one['old']}\n+ {one['new']}\n  {why}")
    share = 1 - len(survived) / max(len(chosen), 1)
    print(f"\n{len(chosen) - len(survived)} of {len(chosen)} noticed ({share:.1%})")
    return int(bool(unexplained) or share < WANTED)


if __name__ == "__main__":
    main()
