"""Mostly gaps: python benchmarks/gaps.py [--sets ...] [--seeds ...] [--gaps ...].

physionet_icu and support2 as benchmarks/models.py takes them (1,500 rows a task, its own test set),
with further values deleted in panels: neighbouring columns, six a panel, are missing together on a
row, by chance, until 80 or 93 % of all cells are gaps. A gap costs what a value costs, unless it is
known beforehand:

- ours: ``life.learn(name, X, y, spend=)``
- ours, present: the same with ``present=``; as much money
- pilots and whole rows, as in benchmarks/models.py; the best way in hindsight, by its mean

Average precision relative to LightGBM on every cell; leads over the best of pilots and whole rows
are paired over tasks and seeds, with 90 % intervals. Lines are kept, so that a run can be broken
off and go on.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

import thrifty
from studies.kept import Kept, begin, interval
from studies.measure import machine, table
from studies.model_tasks import ModelTask, model_tasks
from studies.model_ways import full_models, pilots, scores, whole_rows

SETS = ("physionet_icu", "support2")
GAPS = (0.8, 0.93)
BILLS = (0.05, 0.1, 0.2)
PANEL = 6
KEPT = Path(__file__).resolve().parent / "results" / "gaps.jsonl"
OURS = ("ours", "ours, present")


def with_gaps(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """With panels deleted until so many cells are gaps."""
    there = ~np.isnan(X)
    keep = (1 - share) / there.mean()
    panels = -(-X.shape[1] // PANEL)
    ordered = np.repeat(rng.random((len(X), panels)) < keep, PANEL, axis=1)[:, : X.shape[1]]
    return np.where(ordered, X, np.nan).astype(X.dtype)


def tasks_of(name: str, seed: int, share: float, labels: int) -> list[ModelTask]:
    found = []
    for task in model_tasks(name, labels, seed):
        rng = np.random.default_rng([seed, task.label, int(100 * share)])
        X, X_test = (with_gaps(part, share, rng) for part in (task.X, task.X_test))
        found.append(replace(task, X=X, X_test=X_test))
    return found


def ours(task: ModelTask, bill: float, seed: int, present: bool) -> dict[str, object]:
    mask = ~np.isnan(task.X) if present else None
    source = thrifty.Source.from_array(task.X, allow_missing=True, present=mask)
    life = thrifty.Lifetime(thrifty.Models(random_state=seed))
    learned = life.learn("label", source, task.y, spend=bill * task.X.size)
    told = learned.model.predict_proba(task.X_test)[:, 1]
    return {
        **scores(told, task.y_test),
        "cells": learned.receipt.cells / task.X.size,
        "features": len(learned.model.features_),
    }


def run(kept: Kept, name: str, seed: int, share: float, given: argparse.Namespace) -> None:
    title = f"{name} {share:.0%}"
    for i, task in enumerate(tasks_of(name, seed, share, given.labels)):
        key = {"set": title, "seed": seed, "i": i}
        if "others" in given.parts and not kept.has(**key, what="full"):
            kept.add({**key, "what": "full", "ap": full_models(task)["LightGBM"]["ap"]})
        for bill in given.bills:
            for what in [part for part in OURS if part in given.parts]:
                if not kept.has(**key, what=what, bill=bill):
                    found = ours(task, bill, seed, what != "ours")
                    kept.add({**key, "what": what, "bill": bill, **found})
            if "others" in given.parts and not kept.has(**key, what="others", bill=bill):
                ways = {**pilots(task, bill), **whole_rows(task, bill)}
                kept.add({**key, "what": "others", "bill": bill, "ways": ways})


def shown(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """A row for each set, share of gaps and bill."""
    by = {(x["set"], x["what"], x.get("bill"), x["seed"], x["i"]): x for x in lines}
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(x["set"] for x in lines):
        for bill in sorted({x["bill"] for x in lines if x["set"] == name and "bill" in x}):
            keys = [k[3:] for k in by if k[:3] == (name, "others", bill)]
            keys = [k for k in keys if all((name, what, bill, *k) in by for what in OURS)]
            if not keys:
                continue
            full = np.array([by[name, "full", None, *k]["ap"] for k in keys])
            ways = [by[name, "others", bill, *k]["ways"] for k in keys]
            shared = [way for way in ways[0] if all(way in w for w in ways)]  # type: ignore[operator, attr-defined]
            means = {way: np.array([w[way] for w in ways]) for way in shared}  # type: ignore[index]
            best = max(means, key=lambda way: means[way].mean())
            row: dict[str, object] = {"set": name, "bill": f"{bill:.0%}", "runs": len(keys)}
            row["best of the others"] = f"{means[best].mean() / full.mean():.3f} ({best})"
            for what in OURS:
                ap = np.array([by[name, what, bill, *k]["ap"] for k in keys])
                row[what] = f"{ap.mean() / full.mean():.3f}"
                row[f"{what}, lead"] = interval((ap - means[best]) / full.mean())
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--gaps", type=float, nargs="*", default=GAPS)
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS)
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--parts", nargs="*", default=[*OURS, "others"])
    given, kept = begin(parser, KEPT)
    for seed in given.seeds:
        for name in given.sets:
            for share in given.gaps:
                run(kept, name, seed, share, given)
        print(table(shown(kept.lines)), flush=True)
    print(machine())
    print("\n" + table(shown(kept.lines)))


if __name__ == "__main__":
    main()
