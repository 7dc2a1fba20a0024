"""What the kept lines say of memory and of the lead over the alternative; lines in a small file."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np

from studies.model_run import BILLS, Kind
from studies.model_tables import Line, Row, SetLines, by_set
from thrifty.typing import Fields

__all__ = ["compact", "expand", "half_bill_rows", "lead_rows", "other_rows", "window_rows"]

#: tasks of a lifetime, from and up to
_WINDOWS = ((0, 4), (4, 8), (8, 12), (12, 24))
_REACHED = 0.9
_KEY = ("set", "seed", "what", "bill", "memory")
_DIGITS = 4
_OTHERS = ("set", "CEGB, every cell", "its features", "EBM, every cell")


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


def _ratio(
    some: SetLines,
    bill: float,
    memory: Kind,
    first: int,
    last: int,
    only: set[tuple[int, int]] | None = None,
) -> float | None:
    at = [x for x in some.both(bill, memory) if first <= x[1] < last]
    at = at if only is None else [x for x in at if x in only]
    if not at:
        return None
    return float(some.our_ap(at, bill, memory).mean() / some.full_ap(at).mean())


def half_bill_rows(lines: list[Line]) -> list[Row]:
    """Second half of the tasks: with memory at a bill, without at twice that bill."""
    rows = []
    for name, some in by_set(lines).items():
        row: Row = {"set": name}
        late = (some.n_tasks // 2, some.n_tasks)
        known_without = [set(some.both(b, False)) for b in BILLS if some.both(b, False)]
        paired = set.intersection(*known_without) if known_without else set()
        for bill in (0.03, 0.05, 0.1):
            ours = _ratio(some, bill, True, *late, paired)
            theirs = _at_bill(some, 2 * bill, (*late, paired))
            if ours is not None and theirs:
                row[f"{100 * bill:g} % / {200 * bill:g} %"] = f"{ours:.3f} / {theirs}"
        if len(row) > 1:
            rows.append(row)
    return rows


def cohort_rows(lines: list[Line]) -> list[Row]:
    """A cohort bought beforehand: quality over all tasks and the second half, and all that is paid.

    Bills are parts of what every cell of one task costs.
    """
    rows = []
    for name, some in by_set(lines).items():
        for bill in BILLS:
            at = some.both(bill, "cohort")
            if not at:
                continue
            row: Row = {"set": name, "bill %": 100 * bill}
            for when, first in (("", 0), (", second half", some.n_tasks // 2)):
                span = (first, some.n_tasks, set(at))
                for kind, word in (("cohort", "cohort"), (True, "memory"), (False, "without")):
                    found = _ratio(some, bill, kind, *span)
                    row[f"{word}{when}"] = "" if found is None else f"{found:.3f}"
                row[f"without, twice{when}"] = _at_bill(some, 2 * bill, span)
            tasks = 1 + max(i for _, i in at)
            cohort = max(some.ours[bill, "cohort"][x]["cohort"] for x in at)
            paid = (100 * (tasks * bill + cohort), 100 * tasks * bill, 200 * tasks * bill)
            row["paid in all: cohort, without it, twice %"] = " ".join(f"{x:.0f}" for x in paid)
            rows.append(row)
    return rows


def _at_bill(some: SetLines, bill: float, span: tuple[int, int, set[tuple[int, int]]]) -> str:
    """Without memory at a bill, on a straight line between those measured; nothing beyond them."""
    curve = [(b, _ratio(some, b, False, *span)) for b in BILLS]
    known = [(float(np.log(b)), r) for b, r in curve if r is not None]
    if len(known) < 2 or known[-1][0] < np.log(bill) - 1e-9:
        return ""
    return f"{np.interp(np.log(bill), [x for x, _ in known], [r for _, r in known]):.3f}"


def window_rows(lines: list[Line]) -> list[Row]:
    """The bill at which the mean over tasks is .9 of the full model, as a lifetime goes on."""
    rows = []
    for name, some in by_set(lines).items():
        for memory in (True, False):
            row: Row = {"set": name, "memory": "with" if memory else "without"}
            for first, last in _WINDOWS:
                curve = [(b, _ratio(some, b, memory, first, last)) for b in BILLS]
                known = [(b, r) for b, r in curve if r is not None]
                if known:
                    row[f"tasks {first + 1}-{last}"] = _reaches(known)
            if len(row) > 2:
                rows.append(row)
    return rows


def _reaches(curve: list[tuple[float, float]]) -> str:
    """Where the curve crosses .9, straight lines between the bills' logarithms.

    >>> _reaches([(0.02, 0.8), (0.05, 0.9), (0.1, 0.95)])
    '5.0 %'
    """
    if curve[0][1] >= _REACHED:
        return f"<= {100 * curve[0][0]:g} %"
    for (low, below), (high, above) in pairwise(curve):
        if above >= _REACHED:
            part = (_REACHED - below) / (above - below)
            return f"{100 * low * (high / low) ** part:.1f} %"
    return f"> {100 * curve[-1][0]:g} %"


def other_rows(lines: list[Line]) -> list[Row]:
    """CEGB (LightGBM charged for features) and EBM on every cell."""
    rows = []
    for name, some in by_set(lines).items():
        here = [x for x in lines if x["set"] == name]
        row: Row = dict.fromkeys(_OTHERS, "") | {"set": name}
        cegb = [x for x in here if x["what"] == "cegb" and (x["seed"], x["i"]) in some.full]
        if cegb:
            full = some.full_ap([(x["seed"], x["i"]) for x in cegb]).mean()
            found = [x["models"]["CEGB"] for x in cegb]
            row["CEGB, every cell"] = f"{np.mean([x['ap'] for x in found]) / full:.3f}"
            row["its features"] = f"{np.mean([x['features'] for x in found]):.0f}"
        ebm = [x for x in here if x["what"] == "ebm" and x["models"]]
        ebm = [x for x in ebm if (x["seed"], x["i"]) in some.full]
        if ebm:
            full = some.full_ap([(x["seed"], x["i"]) for x in ebm]).mean()
            reached = np.mean([x["models"]["EBM"]["ap"] for x in ebm]) / full
            row["EBM, every cell"] = f"{reached:.3f} ({len(ebm)} tasks)"
        if any(row[k] for k in _OTHERS[1:]):
            rows.append(row)
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
