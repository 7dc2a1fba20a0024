"""What the kept lines say of the lead over the alternative; lines in a small file."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from studies.model_run import BILLS
from studies.model_tables import Line, Row, by_set
from thrifty.typing import Fields

__all__ = ["compact", "expand", "lead_rows"]

_KEY = ("set", "seed", "what", "bill", "memory")
_DIGITS = 4


def lead_rows(lines: list[Line]) -> list[Row]:
    """The mean over sets of ours minus the best alternative's, second half of the tasks."""
    rows = []
    for bill in BILLS:
        leads, lowest = [], []
        for name, some in by_set(lines).items():
            at = some.both(bill, True)
            pilot = some.pilot_ap(at, bill) if len(at) > 1 else None
            if pilot is None or some.positives(at) < 300:
                continue
            lead = (some.our_ap(at, bill, True) - pilot[1]) / some.full_ap(at).mean()
            late = np.array([i >= some.n_tasks // 2 for _, i in at])
            leads.append(float(lead[late].mean()))
            half = 1.645 * lead.std(ddof=1) / len(lead) ** 0.5
            lowest.append((float(lead.mean() - half), name))
        if leads:
            below = sorted(x for x in lowest if x[0] < -0.02)
            rows.append(
                {
                    "bill %": f"{100 * bill:g}",
                    "sets": len(leads),
                    "mean lead, second half": f"{np.mean(leads):+.3f}",
                    "lower end below -.02": ", ".join(f"{n} {x:+.3f}" for x, n in below) or "none",
                }
            )
    return rows


def compact(lines: list[Line]) -> list[Fields]:
    """Lines with one key side by side, a list for each of their fields, for a small file.

    >>> line = {"set": "a", "seed": 0, "what": "ours", "bill": 0.1, "memory": True, "i": 0}
    >>> compact([line | {"ap": 0.123456}, line | {"i": 1, "ap": 0.5}])[0]["tasks"]
    {'i': [0, 1], 'ap': [0.1235, 0.5]}
    """
    grouped: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        grouped[tuple(line.get(k) for k in _KEY)].append(line)
    return [
        {
            **dict(zip(_KEY, key)),
            "n": len(some),
            "tasks": _columns([_own(line) for line in some]),
            "at": some[-1].get("at"),
        }
        for key, some in grouped.items()
    ]


def _own(line: Line) -> Line:
    return {k: v for k, v in line.items() if k not in (*_KEY, "at")}


def _columns(values: list[Any]) -> Any:
    """Dictionaries as one of lists, None where one lacks a key; numbers to four digits."""
    if values and all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _columns([value.get(name) for value in values]) for name in names}
    return [_short(v) if isinstance(v, float) else v for v in values]


def _short(value: float) -> float:
    return int(value) if value.is_integer() else float(f"{value:.{_DIGITS}g}")


def expand(data: list[Fields]) -> list[Line]:
    """The inverse of :func:`compact`, to four digits."""
    return [
        {k: group.get(k) for k in (*_KEY, "at")} | _row(group["tasks"], i)
        for group in data
        for i in range(group["n"])
    ]


def _row(columns: Any, i: int) -> Any:
    if not isinstance(columns, dict):
        return columns[i]
    found = {name: _row(column, i) for name, column in columns.items()}
    return {name: value for name, value in found.items() if value is not None}
