"""Change the code in one small place at a time, and see that a check notices.

    python tools/mutants.py                  every change of tests/mutants/drawn.json
    python tools/mutants.py --drawn FILE     those of another draw (tools/draw_mutants.py)
    python tools/mutants.py --jobs 2         two at once, each in a copy of the repository
    python tools/mutants.py --only 17        one, with what its tests printed
    python tools/mutants.py --survivors      those that nothing noticed, once more
    python tools/mutants.py --found FILE     where results go, a line of JSON each, as they come;
                                             those in it already are not tried again
    python tools/mutants.py --n 60           the first sixty of them
    python tools/mutants.py --calls          only look through the tests: half an hour, once

A change is tried on the tests that call the function it changes, those that are quick and call
little else first, up to the first that fails (tools/checks.py); what none of these notice, on the
streams of the golden record that call it, and in cells/ and stores/ on simulated histories of the
ledger. Of a constant or a class, on what calls anything of its file or class. A test that fails is
run once more without the change: one that fails there too does not count.
Exit status 1 where fewer than 95 of 100 are noticed or accepted (tests/mutants/accepted.json).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checks import GOLDEN, noted, run_histories, run_streams, run_tests
from mutated import Mutation, changed_line, found_in, function_at, with_change

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/mutants"
WORK = (ROOT / ".mutants").resolve()
#: the repository as it is: the copies of the jobs are made of it, compiled kernels too
TREE = WORK / "tree"
COPIED = (
    "src", "tests", "benchmarks", "paper_tables", "docs", "examples", "tools", ".github", ".ci",
)  # fmt: skip
#: processor seconds of tests and of streams that a change is tried on
OF_TESTS, OF_STREAMS = 10.0, 20.0
#: tests that start servers, browsers or other programs, and those of pages
DEAR = (
    "tests/browser", "tests/engines", "tests/docs", "tests/examples", "tests/test_notebooks.py",
    "tests/test_reproduce.py", "tests/test_benchmarks.py", "tests/commands/test_demo.py",
)  # fmt: skip
#: tests that are looked through with kernels uncompiled, as they are where a kernel is changed
OF_KERNELS = ("tests/kernels", "tests/trees", "tests/packed", "tests/mutants")
#: tests that look at every class, and call nothing of it
OF_CLASSES = "tests/test_value_objects.py"
WANTED = 0.95

#: of a function, as ``file:function``, the checks that call it: their seconds, how many functions
#: they call, and what a stream must give; all of them under ""
Callers = dict[str, dict[str, tuple[float, int, Any]]]


def callers(plain: bool) -> Callers:
    """What every file of tests and every stream calls, by function."""
    files = [path.relative_to(TREE).as_posix() for path in (TREE / "tests").rglob("test_*.py")]
    examples = [path for path in (TREE / "src").rglob("*.py") if ">>>" in path.read_text("utf-8")]
    if plain:
        files = [file for file in files if file.startswith(OF_KERNELS)]
        examples = [path for path in examples if _compiled(path)]
    else:
        files.append(GOLDEN)
    files += [path.relative_to(TREE).as_posix() for path in examples]
    found: Callers = defaultdict(dict)
    chosen = [file for file in files if not file.startswith(DEAR)]
    in_turn = sorted(chosen, key=lambda file: (not file.startswith("tests/kernels"), file))
    for check, (seconds, functions, must) in noted(in_turn, TREE, plain=plain).items():
        for function in ["", *functions]:
            found[function][check] = seconds, len(functions), must
    return found


def _compiled(path: Path) -> bool:
    """Kernels are looked at as plain Python: compiling each change would take most of the time."""
    return "\n@jit" in path.read_text(encoding="utf-8")


def calling(file: str, function: str, known: Callers) -> dict[str, tuple[float, int, Any]]:
    """The checks that call a function, or what stands inside it (a class).

    Where none is known to, those that call one of its name in another file, or anything in its
    file. Also those of a file of tests with its name, which may start other programs, and of a
    class those that look at every class.
    """
    at = f"{file}:{function}"
    alike = [lambda name: name.startswith(f"{file}:")]
    if function:
        alike[:0] = [
            lambda name: name == at or name.startswith(f"{at}."),
            lambda name: name.endswith(f":{function}"),
        ]
    for like in alike:
        found: dict[str, tuple[float, int, Any]] = {}
        for name in filter(like, known):
            found |= known[name]
        if found:
            break
    further = [f"/test_{Path(file).stem}"]
    if function.rpartition(".")[2].lstrip("_")[:1].isupper():
        further.append(OF_CLASSES)
    for check, what in known[""].items():
        if any(name in check for name in further):
            found[check] = what
    return found


def plan(one: Mutation, known: dict[bool, Callers]) -> None:
    """Note in it the tests and the streams it is tried on, in turn."""
    code = (TREE / one["file"]).read_text(encoding="utf-8")
    one["plain"] = _compiled(TREE / one["file"])
    one["function"] = function_at(code, changed_line(code, one))
    if one["plain"] not in known:
        known[one["plain"]] = callers(one["plain"])
    found = calling(one["file"], one["function"], known[one["plain"]])
    tests = [check for check in found if not check.startswith(GOLDEN)]
    streams = [check for check in found if check.startswith(GOLDEN)]
    in_turn = sorted(tests, key=lambda check: (0.02 + found[check][0]) * found[check][1])
    one["tests"] = {check: found[check][0] for check in _some(in_turn, found, OF_TESTS)}
    in_turn = sorted(streams, key=lambda check: found[check][0])
    some = _some(in_turn, found, OF_STREAMS)
    one["streams"] = {check: (found[check][0], found[check][2]) for check in some}
    one["calling"] = len(found)


def _some(in_turn: list[str], found: dict[str, Any], most: float) -> Iterator[str]:
    """As many as may be run in so many seconds."""
    for check in in_turn:
        most -= found[check][0]
        if most >= 0:
            yield check


def tried(one: Mutation, tree: Path, show: bool = False) -> Mutation:
    """What notices the mutation, and the processor seconds that took."""
    path, began, apart = tree / one["file"], os.times(), []
    while True:
        with _Changed(path, one):
            by = one["tests"] and run_tests(one["tests"], tree, plain=one["plain"], show=show)
            if not by and one["streams"]:
                by = run_streams(one["streams"], tree)
            if not by and one["file"].startswith(("src/thrifty/cells/", "src/thrifty/stores/")):
                by = run_histories(tree)
        test = by.removeprefix("timed out: ")
        if test not in one["tests"]:
            break
        alone = {test: one["tests"][test]}
        if not run_tests(alone, tree, plain=one["plain"]):
            break
        apart.append(test)  # it fails without the change, too
        one["tests"].pop(test)
    ended = os.times()
    spent = sum(ended[2:4]) - sum(began[2:4])
    return {
        "key": _key(one), "file": one["file"], "function": one["function"], "old": one["old"],
        "new": one["new"], "noticed": by or "", "tests": len(one["tests"]),
        "streams": len(one["streams"]), "calling": one["calling"], "not counted": apart,
        "seconds": round(spent, 1),
    }  # fmt: skip


class _Changed:
    """The change is in the file meanwhile."""

    def __init__(self, path: Path, one: Mutation) -> None:
        self.path, self.one = path, one

    def __enter__(self) -> None:
        self.before, self.times = self.path.read_text(encoding="utf-8"), self.path.stat()
        self.path.write_text(with_change(self.before, self.one) or "", encoding="utf-8")
        # another time than that of any other change: what was compiled of them is not taken for it
        other = int(self.times.st_mtime) + 10 * (1 + self.one["number"])
        os.utime(self.path, (self.times.st_atime, other))

    def __exit__(self, *_: object) -> None:
        self.path.write_text(self.before, encoding="utf-8")  # compiled kernels stay valid
        os.utime(self.path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drawn", type=Path, default=DATA / "drawn.json")
    parser.add_argument("--found", type=Path, default=WORK / "found.jsonl")
    parser.add_argument("--only", type=int)
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--n", type=int, help="so many of them")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    fresh_copy(ROOT, TREE)
    known = {False: callers(False)} if given.calls else {}
    if given.calls:
        return
    listed = json.loads(given.drawn.read_text())["drawn"][: given.n]
    for number, one in enumerate(listed):
        one |= {"number": number, "was": one["file"], "file": found_in(TREE, one)}
    chosen = [one for one in listed if one["file"] and given.only in (None, one["number"])]
    for one in listed:
        if not one["file"]:
            print(f"{one['number']:>4} is no more: {one['was']}: {one['old'].strip()[:70]!r}")
    before = found_before(given.found)
    open_ = [
        one
        for one in chosen
        if given.only is not None
        or _key(one) not in before
        or (given.survivors and not before[_key(one)]["noticed"])
    ]
    for one in open_:
        plan(one, known)
    if given.only is not None:
        print(tried(open_[0], TREE, show=True)["noticed"] or "SURVIVED")
        return
    given.found.parent.mkdir(parents=True, exist_ok=True)
    with given.found.open("a", encoding="utf-8") as lines:
        for found in at_once(open_, given.jobs):
            print(json.dumps(found), file=lines, flush=True)
            print(
                f"{found['seconds']:5.1f} s CPU {found['tests']:>4} tests  {found['file']}: "
                f"{found['new'].strip()[:60]!r} {found['noticed'] or 'SURVIVED'}",
                flush=True,
            )
    sys.exit(report(chosen, found_before(given.found)))


_tree = TREE


def at_once(items: list[Mutation], jobs: int) -> Iterator[Mutation]:
    """What comes of each, as it comes; each job has a copy of the repository of its own."""
    fork = multiprocessing.get_context("fork")
    number = fork.Value("i", 0)
    with fork.Pool(jobs, _begin, (number,)) as pool:
        yield from pool.imap_unordered(_try, items)


def _begin(number: Any) -> None:
    global _tree
    with number.get_lock():
        number.value += 1
        _tree = TREE.with_name(f"tree-{number.value}")
    fresh_copy(TREE, _tree)
    shutil.copytree(TREE / "src", _tree / "src", dirs_exist_ok=True)  # compiled kernels too


def _try(one: Mutation) -> Mutation:
    return tried(one, _tree)


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
    for folder in ("src", "tests"):
        for path in (to / folder).rglob("*.py"):
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


def report(chosen: list[Mutation], found: dict[str, Any]) -> int:
    """What survived, with its reason, and how many by folder; 0 where all is as it should be."""
    listed = json.loads((DATA / "accepted.json").read_text())
    accepted = {(one["file"], one["new"]): one["why"] for one in listed}
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for one in chosen:
        by = found[_key(one)]["noticed"]
        what = next((kind for kind in KINDS[1:4] if by.startswith(kind)), KINDS[0])
        if not by:
            why = accepted.get((one["was"], one["new"]))
            what = KINDS[4 if why else 5]
            print(f"\n{one['number']} {one['file']}\n- {one['old']}\n+ {one['new']}\n  {why}")
        folders["/".join(one["file"].split("/")[2:-1]) or "."][what] += 1
    folders["all"] = sum(folders.values(), Counter())
    print(f"\n{'':24}" + "".join(f"{kind:>11}" for kind in KINDS))
    for folder, n in sorted(folders.items()):
        print(f"{folder:24}" + "".join(f"{n[kind]:>11}" for kind in KINDS))
    minutes = sum(found[_key(one)]["seconds"] for one in chosen) / 60
    share = 1 - folders["all"]["survived"] / max(len(chosen), 1)
    print(f"\n{share:.1%} of {len(chosen)} noticed or accepted; {minutes:.0f} minutes of processor")
    return int(share < WANTED)


#: what notices a change, and what is said of those that nothing notices
KINDS = ("tests", "timed out", "golden", "simulator", "accepted", "survived")

if __name__ == "__main__":
    main()
