"""Which tests call which functions, and how long each takes: a change is tried on those alone.

One pass over a file of tests, without any change, notes for every test that passes the functions
of the source that it calls and its processor seconds. It is made when a change first needs that
file, kept beside the copy of the source as a file of JSON, and made again where the file of tests
has changed.
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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from forked_tests import ROOT, outcome

__all__ = ["Called", "Chosen", "function_at", "known_calls"]

#: processor seconds for the pass over one file of tests; the tests after that are not used
MOST = 45
#: a test is broken off, and not used, after so many seconds with its calls noted: the first of a
#: file may compile kernels
LONGEST = 16.0
#: where tests were named for a change nothing is noted but that they pass: these are their seconds
OF_NAMED = 120.0


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


@dataclass(frozen=True)
class Called:
    """A test, its processor seconds, and what it calls as ``file:function``."""

    test: str
    seconds: float
    functions: frozenset[str]


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


class _Noting:
    """Of pytest: what each test that passes has called."""

    def __init__(self, source: Path, to: Path, all_of_them: bool) -> None:
        self.source, self.to, self.all_of_them = str(source), to, all_of_them
        self.found: dict[str, tuple[float, list[str]]] = {}

    def pytest_sessionstart(self) -> None:
        self.began = time.process_time()
        signal.signal(signal.SIGPROF, _break_off)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        codes: set[Any] = set()

        def noted(frame: Any, event: str, argument: object) -> None:
            codes.add(frame.f_code)

        self.passed, began = True, time.process_time()
        if not self.all_of_them:
            threading.settrace(noted)
            sys.settrace(noted)
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            seconds = time.process_time() - began
            if self.passed:
                self.found[_known_as(item)] = round(seconds, 3), sorted(self._named(codes))
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
        made.replace(self.to)  # another worker reads it whole or not at all


def known_calls(
    file: str, work: Path, plain: bool, look: bool = True, all_of_them: bool = False
) -> list[Called]:
    """What the tests of a file call, from its notes or, to ``look``, from a pass over it.

    With ``all_of_them`` every test that passes, however long it takes, without what it calls.
    """
    written = hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:12]
    name = file.removeprefix(f"{work.name}/").replace("/", "-")
    kind = "plain-" * plain + "all-" * all_of_them
    at = work / "calls" / f"{kind}{name}-{written}.json"
    if not at.exists():
        if not look:
            return []
        at.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        most = int(2 * (OF_NAMED if all_of_them else MOST))
        outcome([file], _Noting(work / "src", at, all_of_them), work / "src", plain, most)
        if not at.exists():  # it did not end: none of its tests is used
            at.write_text(json.dumps({"functions": [], "tests": {}}))
        n = len(_read(at))
        print(f"     calls of {n} tests of {file}, {time.monotonic() - began:.0f} s", flush=True)
    return _read(at)


@cache
def _read(at: Path) -> list[Called]:
    notes = json.loads(at.read_text())
    return [
        Called(test, seconds, frozenset(notes["functions"][i] for i in numbers))
        for test, (seconds, numbers) in notes["tests"].items()
    ]


class Chosen:
    """Of pytest: these tests alone, in this order, up to the first that fails."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        some = [one for one in items if _known_as(one) in self.place]
        items[:] = sorted(some, key=lambda one: self.place[_known_as(one)])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed":
            os._exit(1)  # no fixture is taken down, no summary is written


def _known_as(item: pytest.Item) -> str:
    """Its id; of a doctest the same in every copy of the source."""
    copy, at, rest = item.nodeid.partition("src/thrifty/")
    return at + rest if at else copy
