"""Change the code in one small place at a time, and see that a named test fails.

    python tools/mutants.py                  every mutation of tests/mutants
    python tools/mutants.py --jobs 16        sixteen at once; one without it
    python tools/mutants.py --area powers    one area or several, or: named, drawn
    python tools/mutants.py --only 17        one mutation, with what its tests printed
    python tools/mutants.py --survivors      those that no test noticed, once more
    python tools/mutants.py --again          forget what an interrupted run found
    python tools/mutants.py --area drawn --n 60 --first 0
                                             sixty of them, a fair draw; the next with --first 60
    python tools/mutants.py --all            every file of tests is looked through for each
    python tools/mutants.py --drawn FILE     those of another draw alone (tools/draw_mutants.py)
    python tools/mutants.py --found FILE     where results go, a line of JSON each, as they come;
                                             those in it already are not tried again

The list is data: tests/mutants/named.json (written by hand, each with the tests that must fail) and
drawn.json (by tools/draw_mutants.py, from a seed). A pass over a file of tests notes which
functions each of them calls, how long it takes, and that it passes without any change
(tools/calls_of_tests.py): what does not pass here is not used. Looked through for a drawn change
are the files of tests that share most words with the function it changes (tools/near_tests.py),
those that nearest.json names, and whatever was looked through before; with --all every file, once,
which takes half an hour. The change is tried on those tests that call its function, those of
nearest.json and the quickest first, up to the first that fails. Each job has a copy of the whole
repository and changes it there, so jobs are not in each other's way and an interrupted run leaves
nothing behind. Where a mutation is tells tools/mutated.py, by its lines: they may move, also to
another file.
Exit status 1 where fewer than 95 of 100 are noticed, or one is neither noticed nor accepted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from calls_of_tests import Chosen, Pass, calls_of, function_at, is_noted, look_through
from forked_tests import ROOT, outcome
from mutated import Mutation, found_in, with_change
from near_tests import near_tests

DATA = ROOT / "tests/mutants"
WORK = ROOT / ".mutants"
#: the repository as it is: the copies of the jobs are made of it, compiled kernels too
TREE = WORK / "tree"
COPIED = (
    "src", "tests", "benchmarks", "paper_tables", "docs", "examples", "tools", ".github", ".ci",
)  # fmt: skip
#: of processor time that a change has at least, and how many times what its tests take without it
SECONDS, TIMES = 15, 2
#: tests that a change is tried on: so many seconds of them, in so many files
ENOUGH, FILES = 16.0, 16
#: files of tests that are looked through for a change, by the words they share with its function
NEAR = 12
#: tests of the nearest files are tried before others that take this share of their time
NEARER = 0.3
WANTED = 0.95

#: of a function, as ``file:function``, the tests that call it and their seconds
Callers = dict[str, dict[str, float]]


def every_mutation(other: Path | None = None) -> list[Mutation]:
    """Named ones first, then the drawn, numbered; or those of another draw."""
    nearest = json.loads((DATA / "nearest.json").read_text())
    by_hand = [] if other else json.loads((DATA / "named.json").read_text())
    listed = [{**one, "area": "named"} for one in by_hand]
    for area, drawn in json.loads((other or DATA / "drawn.json").read_text()).items():
        listed += [{**one, "area": area} for one in drawn]
    for number, one in enumerate(listed):
        file = found_in(TREE, one)
        one |= {"number": number, "applies": file is not None, "was": one["file"]}
        one["file"] = file or one["file"]
        one["function"] = _function(one) if file else ""
        one.setdefault("tests", _near(one["file"], nearest))
    return listed


def _function(one: Mutation) -> str:
    """The function that it changes: of the first line that differs."""
    before = (TREE / one["file"]).read_text(encoding="utf-8")
    lines = zip(before.split("\n"), (with_change(before, one) or "").split("\n"), strict=False)
    first = next((i for i, (old, new) in enumerate(lines, 1) if old != new), 1)
    return function_at(before, first)


def _near(file: str, nearest: dict[str, list[str]]) -> list[str]:
    """The tests of the longest prefix that the file has."""
    return nearest[max((known for known in nearest if file.startswith(known)), key=len)]


def passes(one: Mutation) -> list[Pass]:
    """The passes over files of tests that must have been made before it is tried."""
    plain, named = _plain(one), one["area"] == "named"
    near = [] if named else [one["file"]]  # the examples in it
    for test in one["tests"]:
        at = ROOT / test.split("::")[0]
        paths = sorted(at.rglob("test_*.py")) if at.is_dir() else [at]
        near += [path.relative_to(ROOT).as_posix() for path in paths]
    wanted = [(file, plain, named) for file in near]
    if not named:
        in_turn = near_tests(ROOT, one["file"], one["function"])
        every = [(file, plain, False) for file in in_turn]
        far = [other for other in every[NEAR:] if one["all"] or is_noted(other, WORK)]
        wanted += [*every[:NEAR], *far]
    return list(dict.fromkeys(wanted))


@cache
def _callers(made: tuple[Pass, ...]) -> tuple[Callers, dict[str, float]]:
    """What these passes noted, by function; and the seconds of every test."""
    by_function: Callers = defaultdict(dict)
    every: dict[str, float] = {}
    for one in made:
        for test, (seconds, functions) in calls_of(one, WORK).items():
            every[test] = seconds
            for function in functions:
                by_function[function][test] = seconds
    return by_function, every


def tests_of(one: Mutation) -> dict[str, float]:
    """The tests it is tried on, in turn, with their seconds: those that call what it changes.

    Of a constant or a class, what calls anything in its file, and all tests nearest to it, which
    may read it without a call; tests written for such changes whether they call it or not. A named
    change must be noticed by its own tests.
    """
    near = tuple(one["tests"])
    if one["area"] == "named":
        _, every = _callers(tuple(passes(one)))
        own = {test: seconds for test, seconds in every.items() if test.startswith(near)}
        return dict(sorted(own.items(), key=lambda of: of[1]))
    by_function, every = _callers(tuple(passes(one)))
    at = f"{one['file']}:{one['function']}"
    calling = dict(by_function.get(at, {}))
    if not one["function"]:
        for function, tests in by_function.items():
            calling |= tests if function.startswith(at) else {}
    written = tuple(test for test in near if "/mutants/" in test or not one["function"])
    calling |= {test: seconds for test, seconds in every.items() if test.startswith(written)}
    in_turn = sorted(
        calling, key=lambda test: calling[test] * (NEARER if test.startswith(near) else 1)
    )
    chosen: dict[str, float] = {}
    files: set[str] = set()
    for test in in_turn:
        file = test.partition("::")[0]
        if sum(chosen.values()) + calling[test] <= ENOUGH and (file in files or len(files) < FILES):
            chosen[test] = calling[test]
            files.add(file)
    return chosen


def tried(one: Mutation, tree: Path, show: bool = False) -> Mutation:
    """What comes of its tests once the mutation is in, and the processor seconds that took."""
    tests, path, failed = one["tried"], tree / one["file"], tree / ".failed"
    before, times = path.read_text(encoding="utf-8"), path.stat()
    failed.unlink(missing_ok=True)
    path.write_text(with_change(before, one) or before, encoding="utf-8")
    # another time than that of any other change: what was compiled of them is not taken for this
    os.utime(path, (times.st_atime, int(times.st_mtime) + 10 * (1 + one["number"])))
    began = os.times()
    most = max(SECONDS, int(TIMES * sum(tests.values())))
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    try:
        chosen = Chosen(list(tests), failed)
        status = outcome(files, chosen, tree, _plain(one), most, show) if tests else 5
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled kernels stay valid
    ended = os.times()
    spent = ended.children_user + ended.children_system
    by = failed.read_text() if failed.exists() else "timed out" if status < 0 else "cannot be run"
    return {
        "key": _key(one), "area": one["area"], "file": one["file"], "old": one["old"],
        "new": one["new"], "noticed": by if status not in (0, 5) else "", "tests": len(tests),
        "seconds": round(spent - began.children_user - began.children_system, 1),
    }  # fmt: skip


def _plain(one: Mutation) -> bool:
    """Kernels are looked at as plain Python: compiling each change would take most of the time."""
    return "\n@jit" in (TREE / one["file"]).read_text(encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area", nargs="+")
    parser.add_argument("--only", type=int)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--drawn", type=Path, help="another file of drawn ones")
    parser.add_argument("--found", type=Path, default=WORK / "found.jsonl")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--n", type=int, help="so many of them, in an order drawn once")
    parser.add_argument("--first", type=int, default=0, help="from this one on, with --n")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.again:
        shutil.rmtree(WORK, ignore_errors=True)
        arguments.found.unlink(missing_ok=True)
    fresh_copy(ROOT, TREE)
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
    known = found_before(arguments.found)
    open_ = [one | {"all": arguments.all} for one in chosen if _is_open(one, known, arguments)]
    look(open_, arguments.jobs)
    for one in open_:
        one["tried"] = tests_of(one)
    open_.sort(key=lambda one: -sum(one["tried"].values()))  # the longest first
    if arguments.only is not None:
        print(tried(open_[0], TREE, show=True)["noticed"] or "SURVIVED")
        return
    arguments.found.parent.mkdir(parents=True, exist_ok=True)
    with arguments.found.open("a", encoding="utf-8") as lines:
        for found in at_once(tried, open_, arguments.jobs):
            print(json.dumps(found), file=lines, flush=True)
            print(
                f"{found['seconds']:5.1f} s CPU {found['tests']:>4} tests  {found['file']}: "
                f"{found['new'].strip()[:60]!r} {found['noticed'] or 'SURVIVED'}",
                flush=True,
            )
    known = found_before(arguments.found)
    sys.exit(report(chosen, known) or int(bool(stale)))


def _chosen(one: Mutation, arguments: argparse.Namespace) -> bool:
    if arguments.only is not None:
        return bool(one["number"] == arguments.only)
    areas = arguments.area or [one["area"]]
    return one["area"] in areas or ("drawn" in areas and one["area"] != "named")


def _is_open(one: Mutation, known: dict[str, Any], arguments: argparse.Namespace) -> bool:
    found = known.get(_key(one))
    survived = found is not None and not found["noticed"]
    return found is None or arguments.only is not None or (arguments.survivors and survived)


def look(chosen: list[Mutation], jobs: int) -> None:
    """Every pass over tests that these need and that has not been made."""
    wanted = dict.fromkeys(one for mutation in chosen for one in passes(mutation))
    # those that compile the kernels first, each once: the others find them compiled
    in_turn = sorted(wanted, key=lambda one: (not one[0].startswith("tests/kernels"), not one[1]))
    for line in at_once(look_through, in_turn, jobs, apart=False):
        print(line, end="\n" * bool(line), flush=True)


_tree = TREE


def at_once(
    what: Callable[[Any, Path], Any], items: Sequence[Any], jobs: int, apart: bool = True
) -> Iterator[Any]:
    """What comes of each item, as it comes; jobs that change the repository do so ``apart``."""
    fork = multiprocessing.get_context("fork")
    number = fork.Value("i", 0)
    with fork.Pool(min(jobs, len(items)) or 1, _begin, (number, apart)) as pool:
        yield from pool.imap_unordered(_In(what), items)


def _begin(number: Any, apart: bool) -> None:
    """Of a job: a copy of the repository of its own, numbered."""
    global _tree
    with number.get_lock():
        number.value += 1
        own = TREE.with_name(f"tree-{number.value}")
    if apart:
        fresh_copy(TREE, own)
        shutil.copytree(TREE / "src", own / "src", dirs_exist_ok=True)  # compiled kernels too
        _tree = own


class _In:
    """Does it in the copy that is this job's."""

    def __init__(self, what: Callable[[Any, Path], Any]) -> None:
        self.what = what

    def __call__(self, item: Any) -> Any:
        return self.what(item, _tree)


def fresh_copy(of: Path, to: Path) -> None:
    """The repository as it is now; files that did not change keep their times, and their kernels.

    It says which version it is, as an installed one would.
    """
    paths = [path for folder in COPIED for path in (of / folder).rglob("*") if path.is_file()]
    paths += [path for path in of.glob("*") if path.is_file()]
    wanted = {path.relative_to(of) for path in paths if "__pycache__" not in path.parts}
    for path in wanted:
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        if not (to / path).exists() or (to / path).read_bytes() != (of / path).read_bytes():
            shutil.copy2(of / path, to / path)
    for path in (to / "src").rglob("*.py"):
        if path.relative_to(to) not in wanted:
            path.unlink()
    version = tomllib.loads((of / "pyproject.toml").read_text())["project"]["version"]
    about = to / f"src/thrifty-{version}.dist-info/METADATA"
    about.parent.mkdir(exist_ok=True)
    about.write_text(f"Metadata-Version: 2.1\nName: thrifty\nVersion: {version}\n")


def _key(one: Mutation) -> str:
    return f"{one['was']}\n{one['old']}\n{one['new']}"


def found_before(lines: Path) -> dict[str, Any]:
    """What was found of each mutation, the latest."""
    if not lines.exists():
        return {}
    every = map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    return {found["key"]: found for found in every}


@cache
def _accepted() -> dict[tuple[str, str], str]:
    listed = json.loads((DATA / "accepted.json").read_text())
    return {(one["file"], one["new"]): one["why"] for one in listed}


def _why(one: Mutation) -> str | None:
    """Why it is accepted that no test notices this, where it is."""
    return _accepted().get((one["was"], one["new"]))


def report(chosen: list[Mutation], known: dict[str, Any]) -> int:
    """What survived, with its reason, and how many by folder; 0 where all is as it should be."""
    survived = [one for one in chosen if not known[_key(one)]["noticed"]]
    unexplained = [one for one in survived if _why(one) is None]
    for one in survived:
        why = _why(one) or "NOT EXPLAINED"
        print(f"\n{one['number']} {one['file']}\n- {one['old']}\n+ {one['new']}\n  {why}")
    print(f"\n{'':28}noticed survived timed out")
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for one in chosen:
        noticed = known[_key(one)]["noticed"]
        what = "survived" if not noticed else "timed out" if noticed == "timed out" else "noticed"
        folders["/".join(one["file"].split("/")[2:-1]) or "."][what] += 1
    for folder, n in sorted(folders.items()):
        print(f"{folder:28}{n['noticed']:>7}{n['survived']:>9}{n['timed out']:>10}")
    share = 1 - len(survived) / max(len(chosen), 1)
    minutes = sum(known[_key(one)]["seconds"] for one in chosen) / 60
    print(
        f"\n{len(chosen) - len(survived)} of {len(chosen)} noticed ({share:.1%}), "
        f"{minutes:.1f} minutes of processor time"
    )
    return int(bool(unexplained) or share < WANTED)


if __name__ == "__main__":
    main()
