"""Which tests call which functions, and how long each takes: a change is tried on those alone.

One pass over a file of tests, without any change, notes for every test that passes the functions
of the source that it calls and its processor seconds. It is kept as a file of JSON beside the
copies of the repository, and made again where the file of tests has changed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from forked_tests import ROOT, outcome

__all__ = ["Calls", "Chosen", "Pass", "calls_of", "function_at", "is_noted", "look_through"]

#: processor seconds for the pass over one file of tests; the tests after that are not used
MOST = 45
#: a test is broken off, and not used, after so many seconds with its calls noted: the first of a
#: file may compile kernels
LONGEST = 16.0
#: where tests were named for a change nothing is noted but that they pass: these are their seconds
OF_NAMED = 120.0

#: a file of tests; whether kernels stay uncompiled; whether every test is to be there, however long
#: it takes, without what it calls
Pass = tuple[str, bool, bool]
#: of each test that passes: its processor seconds, and what it calls as ``file:function``
Calls = dict[str, tuple[float, list[str]]]


@cache
def _functions(code: str) -> list[tuple[int, int, str]]:
    """(first line, last line, qualified name) of every function, decorators included."""
    found: list[tuple[int, int, str]] = []

    def walk(node: ast.AST, before: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            name = f"{before}.{child.name}".lstrip(".") if named else before
            if named and not isinstance(child, ast.ClassDef):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                found.append((first, child.end_lineno or child.lineno, name))
            walk(child, name)

    walk(ast.parse(code), "")
    return found


def function_at(code: str, line: int) -> str:
    """The innermost function around a line; empty outside of any, as for a constant.

    >>> function_at("A = 1\\nclass B:\\n    def c(self):\\n        return 1\\n", 4)
    'B.c'
    >>> function_at("A = 1\\n", 1)
    ''
    """
    around = [one for one in _functions(code) if one[0] <= line <= one[1]]
    return max(around, default=(0, 0, ""))[2]


@cache  # a test calls a thousand functions, most of them those of the test before
def _name_of(source: str, file: str, line: int) -> str:
    """``file:function`` of the code that begins there."""
    at = Path(file)
    name = function_at(at.read_text(encoding="utf-8"), line)
    return f"src/{at.relative_to(source).as_posix()}:{name}"


class _TooLongError(BaseException):
    """A test is broken off: no test and no library catches this."""


def _break_off(_signal: int, _frame: object) -> None:
    raise _TooLongError


def _trace(note: Callable[[Any], None]) -> Callable[[], None]:
    """Tell ``note`` the code of whatever is called from now on; gives back what ends that."""
    if sys.version_info >= (
        3,
        12,
    ):  # each function says once that it is called: costs next to nothing
        watch = sys.monitoring
        if watch.get_tool(watch.PROFILER_ID) is None:
            watch.use_tool_id(watch.PROFILER_ID, "calls")
            watch.set_events(watch.PROFILER_ID, watch.events.PY_START)

        def once(code: Any, _offset: int) -> object:
            note(code)
            return watch.DISABLE

        started = watch.PROFILER_ID, watch.events.PY_START
        watch.register_callback(*started, once)
        watch.restart_events()
        return lambda: watch.register_callback(*started, None) and None

    def noted(frame: Any, event: str, argument: object) -> None:
        note(frame.f_code)

    def end() -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    threading.settrace(noted)
    sys.settrace(noted)
    return end


class _Noting:
    """Of pytest: what each test that passes has called."""

    def __init__(self, source: Path, to: Path, all_of_them: bool) -> None:
        self.source, self.to, self.all_of_them = str(source), to, all_of_them
        self.found: Calls = {}

    def pytest_sessionstart(self) -> None:
        self.began = time.process_time()
        signal.signal(signal.SIGPROF, _break_off)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        codes: set[Any] = set()
        self.passed, began, end = True, time.process_time(), None
        if not self.all_of_them:
            end = _trace(codes.add)
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            if end:
                end()
            seconds = time.process_time() - began
            if self.passed:
                self.found[item.nodeid] = round(seconds, 3), sorted(self._named(codes.copy()))
            if time.process_time() - self.began > (OF_NAMED if self.all_of_them else MOST):
                item.session.shouldstop = "long enough"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= report.outcome == "passed"

    def _named(self, codes: set[Any]) -> set[str]:
        ours = (code for code in codes if code.co_filename.startswith(self.source))
        ours = (code for code in ours if code.co_filename.endswith(".py"))  # no page's template
        return {_name_of(self.source, code.co_filename, code.co_firstlineno) for code in ours}

    def pytest_sessionfinish(self) -> None:
        functions = sorted({name for _, names in self.found.values() for name in names})
        number = {name: i for i, name in enumerate(functions)}
        tests = {
            test: [seconds, [number[name] for name in names]]
            for test, (seconds, names) in self.found.items()
        }
        made = self.to.with_suffix(f".{os.getpid()}")
        made.write_text(json.dumps({"functions": functions, "tests": tests}))
        made.replace(self.to)  # whoever reads it reads it whole or not at all


def look_through(one: Pass, tree: Path) -> str:
    """Note what the tests of a file call, where that is not known: the line to print, or ""."""
    (file, plain, all_of_them), at = one, _noted_at(one, tree.parent)
    if at.exists():
        return ""
    at.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    most = int(2 * (OF_NAMED if all_of_them else MOST))
    outcome([file], _Noting(tree / "src", at, all_of_them), tree, plain, most)
    if not at.exists():  # it did not end: none of its tests is used
        at.write_text(json.dumps({"functions": [], "tests": {}}))
    n = len(calls_of(one, tree.parent))
    return f"     calls of {n} tests of {file}, {time.monotonic() - began:.0f} s"


def is_noted(one: Pass, work: Path) -> bool:
    """Whether a pass over a file was made."""
    return _noted_at(one, work).exists()


def calls_of(one: Pass, work: Path) -> Calls:
    """What was noted of a file."""
    notes = json.loads(_noted_at(one, work).read_text())
    return {
        test: (seconds, [notes["functions"][i] for i in numbers])
        for test, (seconds, numbers) in notes["tests"].items()
    }


def _noted_at(one: Pass, work: Path) -> Path:
    file, plain, all_of_them = one
    written = hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:12]
    kind = "plain-" * plain + "all-" * all_of_them
    return work / "calls" / f"{kind}{file.replace('/', '-')}-{written}.json"


class Chosen:
    """Of pytest: these tests alone, in this order, up to the first that fails."""

    def __init__(self, tests: list[str], failed: Path) -> None:
        self.place, self.failed = {test: i for i, test in enumerate(tests)}, failed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        some = [one for one in items if one.nodeid in self.place]
        items[:] = sorted(some, key=lambda one: self.place[one.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed":
            self.failed.write_text(report.nodeid)
            print(report.longreprtext, flush=True)
            os._exit(1)  # no fixture is taken down, no summary is written
