"""How soon a model can be asked in order: python benchmarks/ready.py [spam nhanes tmc2007_500].

The first labels of each set are learned at a bill; then the order, its prefixes and, where it pays,
the rows' own order are made. Printed are the CPU seconds of both, the best of several runs, and
their ratio. With ``--curve`` also the average precision on up to 1,500 further rows with at most 1
to 12 cells each and, where rows are asked in an order of their own, how much that is above the
fixed order, for each task and at the end on average; ``--out`` writes it down, ``--beside``
compares with what an earlier run wrote, paired by set, label and split. ``--together 10 50``: so
many labels of a made table (1,000 rows, 60 features) are learned at once, and the first joint
prediction that is limited is set beside that, and a plain one over prices. Then milliseconds of CPU
for one question of one row in memory: of an interview, its answer and its next cell included. Sets
are looked for in THRIFTY_DATA or shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty
from studies.measure import one_thread
from studies.model_tasks import model_tasks
from thrifty.models.asking.ladder import ladder_of

SETS = ("spam", "nhanes", "tmc2007_500")
CELLS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
MOST_ROWS = 1500


def learned_and_ready(task, bill, split):
    """A lifetime that knows the task, and the seconds of learning and of making prefixes."""
    life = thrifty.Lifetime(thrifty.Models(), random_state=split)
    began = time.process_time()
    life.learn("task", task.X, task.y, spend=bill)
    learning = time.process_time() - began
    began = time.process_time()
    life.predict("task", task.X_test[:1].copy(), per_row=1)
    return life, learning, time.process_time() - began


def curve_of(life, task):
    """Average precision with at most so many cells a row."""
    X, y = task.X_test[:MOST_ROWS], task.y_test[:MOST_ROWS]
    found = []
    for k in CELLS:
        got = life.predict("task", X.copy(), per_row=k)
        one = list(got.classes).index(1)
        found.append(float(average_precision_score(y, got.probabilities[:, one])))
    return found


def beyond_fixed(life, task, curve):
    """How far a curve is above the fixed order's; zeros where that is what was asked."""
    model = life["task"].model
    own = {k: one for k, one in model._ladders.items() if one.tasks[0].chooser is not None}
    if not own:
        return [0.0] * len(curve)
    model._ladders = {key: ladder_of(one.tasks[0].fixed) for key, one in own.items()}
    return (np.array(curve) - curve_of(life, task)).tolist()


def milliseconds(life, task, most=30):
    """CPU time of a question: the wanted cell, the value told, the answers."""
    row = task.X_test[0].astype(float)
    _ = life.ask("task").next  # numba and caches
    interview, n, began = life.ask("task"), 0, time.process_time()
    while n < most and (wanted := interview.next) is not None:
        value = row[int(wanted.feature[1:])]
        if np.isfinite(value):
            interview.tell(float(value))
        else:
            interview.skip()
        _ = interview.answers  # what a form would show
        n += 1
    return 1000 * (time.process_time() - began) / max(n, 1)


def measured(name, split, given):
    for task in model_tasks(name, given.labels, split):
        runs = [learned_and_ready(task, given.bill, split) for _ in range(given.repeats)]
        life = runs[-1][0]
        ms = min(milliseconds(life, task) for _ in range(3))
        curve = curve_of(life, task) if given.curve else []
        yield {
            "set": name, "label": int(task.label), "split": split, "bill": given.bill,
            "learning": min(run[1] for run in runs), "making": min(run[2] for run in runs),
            "ms": ms, "curve": curve, "own": beyond_fixed(life, task, curve),
        }  # fmt: skip


def together(n_labels):
    """CPU seconds of learning labels at once, and of their first joint predictions."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(1000, 60)), rng.normal(size=(20, 60))
    ways = rng.normal(size=(60, n_labels)) * (rng.random((60, n_labels)) < 0.15)
    Y = (X @ ways + rng.logistic(size=(1000, n_labels)) > 0.5).astype(int)
    names = [f"label {j}" for j in range(n_labels)]
    found = []
    for given in ({"per_row": 8}, {}):
        life = thrifty.Lifetime(thrifty.Models(), prices=1, random_state=0)
        began = time.process_time()
        life.learn(names, X, Y, spend="30 %")
        learning = time.process_time() - began
        life.predict(names, new.copy(), **given)
        found.append((learning, time.process_time() - began - learning))
    (learning, limited), (_, plain) = found
    print(
        f"{n_labels} labels at once: learning {learning:.1f} s, first prediction per_row=8 "
        f"{limited:.1f} s ({limited / learning:.2f}), plain {plain:.1f} s ({plain / learning:.2f})",
        flush=True,
    )


def beside(records, earlier):
    """Differences of average precision, paired; with their standard errors."""
    before = {(o["set"], o["label"], o["split"], o["bill"]): o["curve"] for o in earlier}
    pairs = [
        (o["set"], np.array(o["curve"]) - before[key])
        for o in records
        if (key := (o["set"], o["label"], o["split"], o["bill"])) in before and o["curve"]
    ]
    for name in [*dict.fromkeys(name for name, _ in pairs), "all"]:
        found = np.array([d for n, d in pairs if name in (n, "all")])
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else found[0] * 0
        print(
            f"{name}, {len(found)} tasks: "
            + "  ".join(f"{k}: {d:+.4f} ({e:.4f})" for k, d, e in zip(CELLS, found.mean(0), error))
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--labels", type=int, default=1, help="labels of a set")
    parser.add_argument("--bill", default="30 %")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--out", type=Path, help="a file for the records, a line of JSON each")
    parser.add_argument("--beside", type=Path, help="what an earlier run wrote")
    parser.add_argument("--together", nargs="*", type=int, default=[], help="labels at once")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    one_thread()
    for n_labels in given.together:
        together(n_labels)
    records = []
    for name in given.sets if not given.together else ():
        for split in range(given.splits):
            for one in measured(name, split, given):
                records.append(one)
                if given.out:
                    with given.out.open("a") as lines:
                        lines.write(json.dumps(one) + "\n")
                print(
                    f"{name} label {one['label']} split {split}, {one['bill']}: learning "
                    f"{one['learning']:.2f} s, making prefixes {one['making']:.2f} s "
                    f"({one['making'] / one['learning']:.2f}), a question {one['ms']:.2f} ms  "
                    + " ".join(f"{ap:.3f}" for ap in one["curve"])
                    + ("; own order " if any(one["own"]) else "")
                    + " ".join(f"{d:+.3f}" for d in one["own"] if any(one["own"])),
                    flush=True,
                )
    if given.curve:
        own = np.array([one["own"] for one in records])
        print(
            f"own orders in {int(own.any(axis=1).sum())} of {len(own)} tasks; AP above the fixed "
            "order, mean and least: "
            + "  ".join(f"{k}: {d.mean():+.4f} {d.min():+.3f}" for k, d in zip(CELLS, own.T))
        )
    if given.beside:
        beside(records, [json.loads(line) for line in given.beside.open()])


if __name__ == "__main__":
    main()
