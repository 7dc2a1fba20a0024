"""How often "sure" is right: python benchmarks/sure.py [spam support2 ...] [--splits 3].

Each set is parted as in ``studies/model_tasks.py``; a label is learned at a bill, then up to 1,500
rows that chose nothing are answered with ``Sure(p)``. Counted are the rows that stopped as sure,
by the class that they were answered with: how many are of that class, and what probability was
stated. Two made sets stand beside the real ones: a line through eight of forty numbers with shares
of 50, 20 and 5 %, and 400 Boolean features of which twelve tell. ``--resplits n`` counts instead
how often ``Sure(p, certified=True)`` fails its promise over n further splits, in turn over the sets
(without any: the six of ``CERTIFIED``): an answer fails where fewer than p of the rows that were
sure of it are right, and clearly where so few had a chance below 5 % were the promise kept. With
``--out`` both go on where they were stopped. The sets are looked for in THRIFTY_DATA or shared/data
beside the repository.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import binom
from sklearn.metrics import average_precision_score

import thrifty
from studies.kept import append, measured_at
from studies.measure import one_thread
from studies.model_tasks import WIDE, ModelTask, model_tasks
from thrifty.errors import BadInput

REAL = (
    "tmc2007_500", "slashdot", "yahoo_arts_500", "medical", "tox21_maccs", "jester_items",
    "nhanes", "physionet_icu", "spam", "support2", "thyroid0387_cost", "yeast", "emotions",
    "cal500", "ckd",
)  # fmt: skip
MADE = ("made_numbers", "made_wide")
#: sets with rows enough to keep some aside
CERTIFIED = ("spam", "support2", "made_numbers", "nhanes", "thyroid0387_cost", "physionet_icu")
BILLS = ("30 %", "100 %", "10 %")
LEVELS = (0.8, 0.9, 0.95)
MOST_ROWS = 1500
#: a cell with fewer sure rows is too small to be held against its promise alone
ENOUGH = 300


def made_tasks(name, seed):
    """Labels with shares of 50, 20 and 5 %."""
    rng = np.random.default_rng([seed, name == "made_wide"])
    n = 3000
    if name == "made_numbers":
        X = rng.normal(size=(n, 40))
        score = X[:, :8] @ np.linspace(1.6, 0.3, 8) + rng.logistic(size=n)
    else:
        X = rng.random((n, 400)) < rng.uniform(0.05, 0.4, 400)
        score = (X[:, :12] - X[:, :12].mean(axis=0)) @ np.linspace(2.5, 0.8, 12)
        score = score + rng.logistic(size=n)
    for label, share in enumerate((0.5, 0.2, 0.05)):
        y = (score > np.quantile(score, 1 - share)).astype(np.int64)
        yield ModelTask(label, X[:1500], y[:1500], X[1500:], y[1500:])


def tasks_of(name, labels, seed):
    found = made_tasks(name, seed) if name in MADE else model_tasks(name, labels, seed)
    for task in found:
        n = min(MOST_ROWS, len(task.y_test))
        yield ModelTask(task.label, task.X, task.y, task.X_test[:n], task.y_test[:n])


def kind_of(name):
    return "wide" if name in WIDE or name == "made_wide" else "mixed"


def measured(name, bill, split, labels, levels):
    """Records of one set, bill and split: a row for each task, level and answered class."""
    for task in tasks_of(name, labels, split):
        life = thrifty.Lifetime(thrifty.Models(), random_state=split)
        started = time.process_time()
        life.learn("task", task.X, task.y, spend=bill)
        learning = time.process_time() - started
        for level in levels:
            started = time.process_time()
            got = life.predict("task", task.X_test.copy(), stop=thrifty.Sure(level))
            seconds = time.process_time() - started
            p, sure = got.probabilities, np.array(got.stopped) == "sure"
            one = list(got.classes).index(1)
            ap = average_precision_score(task.y_test, p[:, one])
            cells = got.receipt.cells / len(task.y_test)
            for code, answer in enumerate(got.classes.tolist()):
                here = sure & (np.asarray(got.values) == answer)
                yield {
                    "set": name, "kind": kind_of(name), "bill": bill, "split": split,
                    "label": task.label, "share": round(float(task.y.mean()), 3), "p": level,
                    "class": int(answer), "sure": int(here.sum()),
                    "right": int((task.y_test[here] == answer).sum()),
                    "stated": float(p[here, code].sum()), "rows": len(task.y_test), "ap": ap,
                    "cells": cells, "learning": learning, "seconds": seconds,
                }  # fmt: skip


def certified(name, split, level, bill):
    """One split of a set: its first label learned, and answered with a certificate or not at all.

    Seeds begin at 1,000: splits that nobody chose anything on.
    """
    found = {"set": name, "split": split, "p": level, "bill": bill, "certified": False}
    task = next(iter(tasks_of(name, 1, 1000 + split)), None)
    if task is None:
        return {**found, "why": "no label has rows enough"}
    life = thrifty.Lifetime(thrifty.Models(), random_state=split)
    life.learn("task", task.X, task.y, spend=bill)
    try:
        got = life.predict("task", task.X_test.copy(), stop=thrifty.Sure(level, certified=True))
    except BadInput as error:
        return {**found, "why": str(error)}
    sure, told = np.array(got.stopped) == "sure", []
    for answer in got.classes.tolist():
        here = sure & (np.asarray(got.values) == answer)
        n, right = int(here.sum()), int((task.y_test[here] == answer).sum())
        if n:
            clearly = bool(binom.cdf(right, n, level) < 0.05)
            told.append([int(answer), n, right, right < level * n, clearly])
    return {**found, "certified": True, "answers": told}


def report_certified(records):
    held = [one for one in records if one["certified"]]
    below = sum(any(a[3] for a in one["answers"]) for one in held)
    clear = sum(any(a[4] for a in one["answers"]) for one in held)
    n, right = (sum(a[i] for one in held for a in one["answers"]) for i in (1, 2))
    print(
        f"{len(records)} resplits, {len(held)} certified; an answer was right less often than p in "
        f"{below} ({below / max(len(held), 1):.1%}), clearly in {clear} "
        f"({clear / max(len(held), 1):.1%}); {right / max(n, 1):.3f} of {n} sure rows right"
    )
    for name in dict.fromkeys(one["set"] for one in records):
        some = [one for one in held if one["set"] == name]
        fails = [sum(any(a[i] for a in one["answers"]) for one in some) for i in (3, 4)]
        tried = sum(one["set"] == name for one in records)
        print(f"  {name}: {len(some)} of {tried} certified, {fails[0]} below p, {fails[1]} clearly")


def resplits(sets, n, levels, bills, out):
    """How often certificates fail, over n splits of the sets in turn."""
    known = [json.loads(line) for line in out.open()] if out and out.exists() else []
    done = {(one["set"], one["split"], one["p"], one["bill"]) for one in known}
    for i in range(n):
        name, split = sets[i % len(sets)], i // len(sets)
        for level in levels:
            for bill in bills:
                if (name, split, level, bill) in done:
                    continue
                known.append(append(out, certified(name, split, level, bill)))
    for level in levels:
        print(f"Sure({level}, certified=True):", end=" ")
        report_certified([one for one in known if one["p"] == level])


def pooled(records, keys):
    """Sure rows, share right and mean stated probability, pooled over what the keys leave open."""
    groups = defaultdict(lambda: np.zeros(3))
    for one in records:
        groups[tuple(one[key] for key in keys)] += one["sure"], one["right"], one["stated"]
    return {
        key: (int(n), right / max(n, 1), said / max(n, 1))
        for key, (n, right, said) in sorted(groups.items(), key=str)
    }


def report(records):
    print("pooled over a kind of set, each answered class apart: right (stated) of n")
    for (kind, p, answer), (n, right, said) in pooled(records, ("kind", "p", "class")).items():
        flag = "" if right >= p - 0.02 and abs(said - right) <= 0.03 else "   <-- short"
        print(f"  {kind:6} Sure({p}) class {answer}: {right:.3f} ({said:.3f}) of {n}{flag}")
    worst = [
        (right - key[-2], key, n, right, said)
        for key, (n, right, said) in pooled(records, ("set", "bill", "p", "class")).items()
        if n >= ENOUGH
    ]
    print(f"lowest of {len(worst)} (set, bill, p, class) with {ENOUGH} sure rows:")
    for _, key, n, right, said in sorted(worst)[:8]:
        print(f"  {key}: {right:.3f} ({said:.3f}) of {n}")
    for p in sorted({one["p"] for one in records}):
        some = [one for one in records if one["p"] == p and one["class"] == 1]
        ap, cells, sure = (np.mean([o[key] for o in some]) for key in ("ap", "cells", "sure"))
        print(
            f"Sure({p}): mean AP {ap:.4f}, mean cells a row {cells:.2f}, sure of class 1 "
            f"{sure:.0f} a task, {len(some)} tasks"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="default: all")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--labels", type=int, default=2, help="labels of a set")
    parser.add_argument("--bills", nargs="*", default=list(BILLS))
    parser.add_argument("--levels", nargs="*", type=float, default=list(LEVELS))
    parser.add_argument("--resplits", type=int, help="so many splits with a certificate instead")
    parser.add_argument("--out", type=Path, help="a file for the records, a line of JSON each")
    parser.add_argument("--show", type=Path, nargs="*", help="report what such files hold")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    one_thread()
    if given.show:
        lines = [json.loads(line) for file in given.show for line in file.open()]
        print(measured_at(lines))
        report(lines)
        return
    if given.resplits:
        sets = given.sets or list(CERTIFIED)
        resplits(sets, given.resplits, given.levels, given.bills, given.out)
        return
    records = []
    if given.out and given.out.exists():
        records = [json.loads(line) for line in given.out.open()]
    done = {(one["set"], one["bill"], one["split"]) for one in records}
    for name in given.sets or [*REAL, *MADE]:
        for bill in given.bills:
            for split in range(given.splits):
                if (name, bill, split) in done:
                    continue
                began = time.process_time()
                every = measured(name, bill, split, given.labels, given.levels)
                found = [append(given.out, one) for one in every]
                records += found
                told = "  ".join(
                    f"{p}/{answer}: {right:.2f} ({said:.2f}) of {n}"
                    for (p, answer), (n, right, said) in pooled(found, ("p", "class")).items()
                )
                print(
                    f"{name} {bill} split {split} [{time.process_time() - began:.0f} s]: {told}",
                    flush=True,
                )
    report(records)


if __name__ == "__main__":
    main()
