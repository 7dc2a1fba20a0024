"""Figures kept line by line, so that a run can be broken off and go on; leads with intervals.

Each line says the commit it was measured at (``at``, with a ``+`` where the code had changed since;
lines from before that was noted: the commit that brought them), and ``--show`` prints these.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from studies.measure import one_thread
from thrifty.typing import Json

__all__ = ["Kept", "append", "begin", "commit", "interval", "measured_at"]

Line = Json


class Kept:
    """Lines of JSON in a file; what is there is not measured again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[Line] = []
        if path.exists():
            self.lines = [json.loads(line) for line in path.read_text().splitlines() if line]
        self._done = {self._key(line) for line in self.lines}

    @staticmethod
    def _key(line: Line) -> tuple[object, ...]:
        return tuple(line.get(k) for k in ("set", "seed", "i", "what", "bill", "memory"))

    def has(self, **key: object) -> bool:
        return self._key(key) in self._done

    def add(self, line: Line) -> None:
        line = append(self.path, line)
        self.lines.append(line)
        self._done.add(self._key(line))

    def forget(self, which: Callable[[Line], bool]) -> None:
        """Lines that are to be measured again."""
        self.lines = [line for line in self.lines if not which(line)]
        self._done = {self._key(line) for line in self.lines}
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def append(path: Path | None, line: Line) -> Line:
    """A line as it is kept, at the end of its file where there is one."""
    line = {**line, "at": commit()}
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    return line


def begin(parser: argparse.ArgumentParser, kept: Path) -> tuple[argparse.Namespace, Kept]:
    """What was said, after ``--kept`` and ``--show`` joined it, and what is kept already.

    With ``--show`` there is nothing to run: ``seeds`` and ``splits`` are empty.
    """
    parser.add_argument("--kept", type=Path, default=kept)
    parser.add_argument("--show", action="store_true", help="only the table of what is kept")
    given = parser.parse_args()
    if given.show:
        given.seeds = given.splits = []
    warnings.filterwarnings("ignore")
    one_thread()
    stored = Kept(given.kept)
    if given.show:
        print(measured_at(stored.lines))
    return given, stored


@cache
def commit() -> str:
    """The commit of the code that runs, with a ``+`` where it is not as it was committed."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        try:
            told = subprocess.run(
                ["git", *words], cwd=here, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:  # a bare system has no git
            return ""
        return told.stdout.strip()

    head = git("rev-parse", "--short=7", "HEAD")
    return head + ("+" if git("status", "--porcelain", "../../src") else "") if head else "unknown"


def measured_at(lines: Iterable[Line]) -> str:
    """At which commits stored figures were measured.

    >>> measured_at([{"at": "6bf1111"}, {"at": "6bf1111"}, {"at": "cee2ea1"}])
    'stored lines, measured at 6bf1111 (2 lines), cee2ea1 (1 line)'
    """
    counts = Counter(str(line.get("at", "an unknown commit")) for line in lines)
    said = [f"{at} ({n} line{'s' * (n > 1)})" for at, n in counts.most_common()]
    return f"stored lines, measured at {', '.join(said)}" if said else "no stored lines"


def interval(leads: Sequence[float]) -> str:
    """The mean of paired leads and half of its 90 % interval (Student).

    >>> interval([0.01, 0.02, 0.03])
    '+0.020 ± 0.017'
    """
    if len(leads) < 2:
        return f"{sum(leads):+.3f}"
    half = student.ppf(0.95, len(leads) - 1) * np.std(leads, ddof=1) / np.sqrt(len(leads))
    return f"{np.mean(leads):+.3f} ± {half:.3f}"
