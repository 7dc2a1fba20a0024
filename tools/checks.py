"""What may notice a change: tests, streams of the golden record, and simulated histories.

One pass without any change notes of each test and each stream that passes the functions of the
source that it calls and its processor seconds; a change is tried on those that call its function.
What was noted of a file of tests is kept, and made again where that file has changed.
"""

from __future__ import annotations

import bdb
import hashlib
import inspect
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from forked import in_fork
from mutated import function_at

__all__ = ["GOLDEN", "Calls", "noted", "run_histories", "run_streams", "run_tests"]

#: stands for the streams of benchmarks/golden.py where otherwise a file of tests stands
GOLDEN = "golden"
#: processor seconds for the pass over one file of tests, and for one of its tests (which may
#: compile kernels); what takes longer is not used
MOST, LONGEST = 20, 5.0
#: files of tests in one process
AT_ONCE = 12
#: a check is broken off where a change makes it take so many seconds, and times what it took
SECONDS, TIMES = 15, 5
HISTORIES = 300

#: of each check that passes: its processor seconds, what it calls as ``file:function``, and what
#: it must give (a stream's hashes)
Calls = dict[str, tuple[float, list[str], Any]]


def noted(files: list[str], tree: Path, *, plain: bool = False) -> Calls:
    """What the checks of these files call; looked at where that is not known yet."""
    missing = [file for file in files if not _kept(file, tree, plain).exists()]
    while missing:
        some, began = missing[: 1 if missing[0] == GOLDEN else AT_ONCE], time.monotonic()
        noting = _Noting(tree, plain)
        what = noting.streams if some == [GOLDEN] else partial(_pytest, some, noting)
        status = in_fork(what, tree, 20 * MOST, plain=plain)
        broken = [file for file in some if not _kept(file, tree, plain).exists()]
        for file in broken[: 1 if status < 0 else None]:  # nothing of them is used
            noting.keep(file, {})
        missing = [file for file in missing if not _kept(file, tree, plain).exists()]
        took = time.monotonic() - began
        print(f"{took:6.0f} s for calls of {some[0]} ..., {len(missing)} files left", flush=True)
    found: Calls = {}
    for file in files:
        notes = json.loads(_kept(file, tree, plain).read_text())
        for check, (seconds, numbers, must) in notes["checks"].items():
            found[check] = seconds, [notes["functions"][i] for i in numbers], must
    return found


@cache
def _kept(file: str, tree: Path, plain: bool) -> Path:
    """Where the notes of a file are: another place for each text of it."""
    of = sorted((tree / "src").rglob("*.py")) if file == GOLDEN else [tree / file]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in of)).hexdigest()[:12]
    return tree.parent / f"calls/{'plain-' * plain}{file.replace('/', '-')}-{digest}.json"


def _pytest(tests: Iterable[str], plugin: object, folder: Path) -> int:
    return int(pytest.main([
        "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "-k", "not postgres",
        "--hypothesis-seed=0", "--basetemp", str(folder / "pytest"), *tests,
    ], plugins=[plugin]))  # fmt: skip


class _Noting:
    """What each check that passes has called; of pytest, a plugin."""

    def __init__(self, tree: Path, plain: bool) -> None:
        self.tree, self.plain, self.source = tree, plain, str(tree / "src")
        self.found: Calls = {}
        self.spent = 0.0

    def keep(self, file: str, found: Calls) -> None:
        """Write down what the checks of a file call, each function once."""
        functions = sorted({name for _, names, _ in found.values() for name in names})
        number = {name: i for i, name in enumerate(functions)}
        checks = {
            check: (seconds, [number[name] for name in names], must)
            for check, (seconds, names, must) in found.items()
        }
        kept = _kept(file, self.tree, self.plain)
        kept.parent.mkdir(parents=True, exist_ok=True)
        made = kept.with_suffix(".new")
        made.write_text(json.dumps({"functions": functions, "checks": checks}))
        made.replace(kept)

    @contextmanager
    def called(self) -> Iterator[tuple[float, set[str]]]:
        """Seconds and functions of what is done meanwhile."""
        codes: set[Any] = set()
        told: list[Any] = []
        began = time.process_time()
        threading.settrace(lambda frame, *_: codes.add(frame.f_code))
        sys.settrace(lambda frame, *_: codes.add(frame.f_code))
        try:
            yield told  # type: ignore[misc]
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            functions = (code for code in codes.copy() if code.co_flags & inspect.CO_OPTIMIZED)
            ours = [code for code in functions if code.co_filename.startswith(self.source)]
            names = {_name_of(self.source, one.co_filename, one.co_firstlineno) for one in ours}
            told += [round(time.process_time() - began, 3), sorted(names)]

    def pytest_sessionstart(self) -> None:
        signal.signal(signal.SIGPROF, _break_off)
        bdb.Bdb.set_continue = lambda self: None  # type: ignore[method-assign]  # of doctest: ends the trace

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[Any]:
        self.passed = True
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            with self.called() as told:
                return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            file = item.nodeid.partition("::")[0]
            self.spent += told[0]
            if self.passed:
                self.found[item.nodeid] = *told, None
            if nextitem is None or nextitem.nodeid.partition("::")[0] != file:
                self.keep(file, self.found)
                self.found, self.spent = {}, 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if self.spent > MOST:
            pytest.skip("long enough")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= report.outcome == "passed"

    def streams(self, _folder: Path) -> int:
        """The same of every stream of the golden record."""
        import golden

        for name in golden.streams():
            if name not in golden.ON_A_SERVER:
                with self.called() as told:
                    hashes = _hashes(name)
                self.found[f"{GOLDEN}: {name}"] = *told, hashes
        self.keep(GOLDEN, self.found)
        return 0


class _TooLongError(BaseException):
    """A test is broken off: no test and no library catches this."""


def _break_off(_signal: int, _frame: object) -> None:
    raise _TooLongError


@cache  # a test calls a thousand functions, most of them those of the test before
def _name_of(source: str, file: str, line: int) -> str:
    """``file:function`` of the code that begins there."""
    at = Path(file)
    name = function_at(at.read_text(encoding="utf-8"), line) if at.suffix == ".py" else ""
    return f"src/{at.relative_to(source).as_posix()}:{name}"


def _hashes(stream: str) -> list[str]:
    import golden

    found = golden.run_streams([stream])[stream]
    return [found[what] for what in golden.WHAT]


class _Chosen:
    """Of pytest: these tests alone, in this order, up to the first that fails."""

    def __init__(self, tests: dict[str, float], say: Callable[[str, float], None]) -> None:
        self.tests, self.say = tests, say
        self.place = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        some = [one for one in items if one.nodeid in self.place]
        items[:] = sorted(some, key=lambda one: self.place[one.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.say(item.nodeid, self.tests[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed":
            print(report.longreprtext, flush=True)
            os._exit(1)  # no fixture is taken down, no summary is written


def _first_to_notice(
    what: Callable[[Path, Callable[[str, float], None]], int],
    seconds: float, tree: Path, **how: bool,
) -> str:  # fmt: skip
    """The check that fails, or does not end, or ""; ``what`` says each before it begins."""
    now = tree / ".now"
    now.write_text("cannot be run")

    def say(check: str, usual: float) -> None:
        now.write_text(check)
        signal.setitimer(signal.ITIMER_PROF, SECONDS + TIMES * usual)  # ends the process

    status = in_fork(lambda at: what(at, say), tree, int(SECONDS + TIMES * seconds), **how)
    return "" if status in (0, 5) else "timed out: " * (status < 0) + now.read_text()


def run_tests(
    tests: dict[str, float], tree: Path, *, plain: bool = False, show: bool = False
) -> str:
    """The first of these tests that fails, or ""."""
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    return _first_to_notice(
        lambda at, say: _pytest(files, _Chosen(tests, say), at),
        sum(tests.values()), tree, plain=plain, show=show,
    )  # fmt: skip


def run_streams(wanted: dict[str, tuple[float, Any]], tree: Path) -> str:
    """The first of these streams that gives something else than without the change, or ""."""

    def all_of_them(_folder: Path, say: Callable[[str, float], None]) -> int:
        for name, (seconds, hashes) in wanted.items():
            say(name, seconds)
            if _hashes(name.removeprefix(f"{GOLDEN}: ")) != hashes:
                return 1
        return 0

    return _first_to_notice(all_of_them, sum(one[0] for one in wanted.values()), tree)


def run_histories(tree: Path) -> str:
    """The first simulated history of the ledger that is not sound, or ""."""

    def all_of_them(_folder: Path, say: Callable[[str, float], None]) -> int:
        from tests.simulator import simulate

        for seed in range(HISTORIES):
            say(f"simulator: {seed}", 1.0)
            if not simulate(seed, shrink=False).sound:
                return 1
        return 0

    return _first_to_notice(all_of_them, 60.0, tree)
