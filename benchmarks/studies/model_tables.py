"""Tables out of the kept lines: ratios with paired intervals, memory, calibration."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from studies.model_run import BILLS
from thrifty.typing import Fields, Floats

__all__ = ["Line", "Row", "SetLines", "by_set", "calibration_rows", "memory_rows", "ratio_rows"]

Line = Fields
Row = Fields


class SetLines:
    """The lines of one set, by (seed, place in the lifetime)."""

    def __init__(self, lines: list[Line]) -> None:
        self.full = {_at(x): dict(x["models"]) for x in lines if x["what"] == "full"}
        names = set.intersection(*(set(m) for m in self.full.values())) if self.full else set()
        means = {n: np.mean([m[n]["ap"] for m in self.full.values()]) for n in sorted(names)}
        self.best = max(means, key=means.__getitem__, default="")
        self.ours: dict[tuple[float, bool], dict[tuple[int, int], Line]] = defaultdict(dict)
        self.pilots: dict[float, dict[tuple[int, int], dict[str, float]]] = defaultdict(dict)
        for line in lines:
            if line["what"] == "ours":
                self.ours[line["bill"], line["memory"]][_at(line)] = line
            elif line["what"] in ("pilots", "rows"):  # whole rows are a way like the nine
                ways = self.pilots[line["bill"]].setdefault(_at(line), {})
                ways.update(line["ap"])
        self.n_tasks = 1 + max((i for _, i in self.full), default=-1)

    def both(self, bill: float, memory: bool) -> list[tuple[int, int]]:
        """Tasks that ours and the full models have."""
        return sorted(set(self.ours[bill, memory]) & set(self.full))

    def positives(self, at: list[tuple[int, int]]) -> int:
        """Rows of the label in the test sets of these tasks."""
        return int(sum(self.full[x][self.best]["positives"] for x in at))

    def full_ap(self, at: list[tuple[int, int]]) -> Floats:
        return np.array([self.full[x][self.best]["ap"] for x in at])

    def our_ap(self, at: list[tuple[int, int]], bill: float, memory: bool) -> Floats:
        return np.array([self.ours[bill, memory][x]["ap"] for x in at])

    def pilot_ap(self, at: list[tuple[int, int]], bill: float) -> tuple[str, Floats] | None:
        """The one way with the best mean, in hindsight."""
        found = self.pilots[bill]
        if any(x not in found for x in at):
            return None
        ways = [w for w in (found[at[0]] if at else {}) if all(w in found[x] for x in at)]
        means = {w: np.mean([found[x][w] for x in at]) for w in ways}
        if not means:
            return None
        best = max(means, key=means.__getitem__)
        return best, np.array([found[x][best] for x in at])


def _at(line: Line) -> tuple[int, int]:
    return line["seed"], line["i"]


def by_set(lines: list[Line]) -> dict[str, SetLines]:
    grouped: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        grouped[line["set"]].append(line)
    return {name: SetLines(some) for name, some in grouped.items()}


def _late(at: list[tuple[int, int]], n_tasks: int) -> NDArray[np.bool_]:
    """The second half of the tasks."""
    return np.array([i >= n_tasks // 2 for _, i in at], dtype=bool)


def ratio_rows(lines: list[Line]) -> list[Row]:
    """Mean AP over the best full model's, ours and the best pilot's; the paired 90 % interval."""
    rows = []
    for name, some in by_set(lines).items():
        for bill in BILLS:
            at = some.both(bill, True)
            if not at:
                continue
            full, ours = some.full_ap(at), some.our_ap(at, bill, True)
            late = _late(at, some.n_tasks)
            row: Row = {
                "set": name,
                "bill %": f"{100 * bill:g}",
                "tasks": len(at),
                "best full": some.best,
                "ours": f"{ours.mean() / full.mean():.3f}",
                "second half": f"{ours[late].mean() / full[late].mean():.3f}",
            }
            pilot = some.pilot_ap(at, bill)
            if pilot is not None:
                way, theirs = pilot
                lead = (ours - theirs) / full.mean()
                several = len(lead) > 1
                half = 1.645 * lead.std(ddof=1) / len(lead) ** 0.5 if several else np.inf
                row |= {
                    "best pilot": f"{theirs.mean() / full.mean():.3f} ({way})",
                    "pilot, second half": f"{theirs[late].mean() / full[late].mean():.3f}",
                    "lead, 90 %": f"{lead.mean() - half:+.3f} .. {lead.mean() + half:+.3f}"
                    if several
                    else f"{lead.mean():+.3f}, one task",
                }
            row["test positives"] = some.positives(at)
            rows.append(row)
    return rows


def memory_rows(lines: list[Line]) -> list[Row]:
    """The second half of the tasks, with memory and without, on the tasks that have both."""
    rows = []
    for name, some in by_set(lines).items():
        row: Row = {"set": name}
        for bill in BILLS:
            kept, fresh = some.both(bill, True), some.both(bill, False)
            both = sorted(set(kept) & set(fresh)) if fresh else kept
            late = [x for x in both if x[1] >= some.n_tasks // 2]
            if late:
                full = some.full_ap(late).mean()
                found = [some.our_ap(late, bill, True).mean()]
                found += [some.our_ap(late, bill, False).mean()] if fresh else []
                row[f"{100 * bill:g} %"] = " / ".join(f"{ap / full:.3f}" for ap in found)
        rows.append(row)
    return rows


def calibration_rows(lines: list[Line], bill: float = 0.1) -> list[Row]:
    """Mean prediction over true share, and the log-loss's fall against the full model's.

    What no model of the task's rows can know is beside it: their share of the label over that of
    the test set; and what the full model predicts. Where the full model's loss does not fall below
    the base rate's a ratio says nothing, and both falls are given, per row.
    """
    rows = []
    for name, some in by_set(lines).items():
        at = some.both(bill, True)
        if at:
            ours = [some.ours[bill, True][x] for x in at]
            true = sum(x["true"] for x in ours)
            share = sum(x["predicted"] for x in ours) / true
            whole = sum(some.full[x][some.best]["fall"] for x in at)
            fall = sum(x["fall"] for x in ours)
            known = [x["share"] for x in ours if "share" in x]
            theirs = sum(some.full[x][some.best]["predicted"] for x in at) / true
            ratio = f"{fall / whole:.3f}"
            if whole <= 0:
                ratio = f"{fall / len(at):+.4f} / {whole / len(at):+.4f}"
            seconds = float(np.mean([x["seconds"] for x in ours]))
            rows.append(
                {
                    "set": name,
                    "predicted / true": f"{share:.3f}",
                    "share in the tasks / true": f"{sum(known) / true:.3f}"
                    if len(known) == len(ours)
                    else "",
                    "full model / true": f"{theirs:.3f}",
                    "fall of log-loss / full": ratio,
                    "seconds": f"{seconds:.2f}",
                    "features": round(float(np.mean([x["features"] for x in ours]))),
                }
            )
    return rows
