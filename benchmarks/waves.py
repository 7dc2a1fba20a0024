"""Waves of the default family: how much faster with more processes, and whether it is the same.

    python benchmarks/waves.py [--sets tmc2007_500 nhanes] [--tasks 16] [--jobs 1 2] [--cpu]

Tasks are labels of the set, each on rows of its own. For every number of processes: seconds on the
clock, the ratio to one process, and a hash of all bills and probabilities, which must not differ.
Beside it the mean average precision on rows that no task saw, in waves of 8 and one by one. On a
machine that others use the clock says little: ``--cpu`` measures what tasks take of the processor
and what all else does in between, and prints how many times as fast that makes several workers at
best (what is not a task is serial; a wave ends with its last task).
"""

from __future__ import annotations

import argparse
import hashlib
import time

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty
from studies.data import data_folder
from thrifty.lifetime import many as waves


def read_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, Boolean or numbers, and labels; -1: not known."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        X = z["X"]
        return X.astype(bool) if X.dtype == np.uint8 else X.astype(np.float64), z["Y"]


def tasks_of(name: str, n: int, n_rows: int, seed: int):
    """Labels of a set, each on rows of its own; the table, and rows that none of them has."""
    X, Y = read_set(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    test, pool = order[: len(order) // 4], order[len(order) // 4 :]
    ones, known = (Y == 1).sum(axis=0), (Y >= 0).sum(axis=0)
    labels = np.flatnonzero((ones >= 60) & (ones <= known - 60))
    tasks = []
    for t in range(n):
        label = labels[t % len(labels)]
        there = pool[Y[pool, label] >= 0]
        tasks.append((f"{label} {t}", label, rng.choice(there, min(n_rows, len(there)), False)))
    return X, Y, tasks, test


def learn(name: str, args: argparse.Namespace, wave: int, n_jobs: int) -> tuple[float, str, float]:
    """Seconds, a hash of what was learned, and its mean average precision."""
    X, Y, tasks, test = tasks_of(name, args.tasks, args.rows, args.seed)
    life = thrifty.Lifetime(random_state=args.seed)
    began = time.perf_counter()
    life.learn_many(
        [(task, X[rows], Y[rows, label]) for task, label, rows in tasks],
        n_jobs=n_jobs,
        engine="loky",
        wave=wave,
        spend=f"{100 * args.bill:g} %",
    )
    seconds = time.perf_counter() - began
    said, scores = hashlib.sha256(life.bill().to_json().encode()), []
    for task, label, _ in tasks:
        there = test[Y[test, label] >= 0]
        p = life[task].model.predict_proba(X[there])[:, 1]
        said.update(np.ascontiguousarray(p).tobytes())
        scores.append(average_precision_score(Y[there, label], p))
    return seconds, said.hexdigest()[:12], float(np.mean(scores))


def at_best(name: str, args: argparse.Namespace) -> None:
    """From CPU seconds of each task on one thread: the ratio that free cores would give."""
    X, Y, tasks, _ = tasks_of(name, args.tasks, args.rows, args.seed)
    each: list[float] = []
    learn_one = waves._learn

    def timed(*given):
        began = time.process_time()
        found = learn_one(*given)
        each.append(time.process_time() - began)
        return found

    given = [(task, X[rows], Y[rows, label]) for task, label, rows in tasks]
    for measured in (False, True):  # the first compiles
        waves._learn = timed if measured else learn_one
        life, began = thrifty.Lifetime(random_state=args.seed), time.process_time()
        life.learn_many(given, n_jobs=1, wave=8, spend=f"{100 * args.bill:g} %")
        whole = time.process_time() - began
    waves._learn = learn_one
    serial = whole - sum(each)
    for n_jobs in args.jobs:
        busy = serial
        for start in range(0, len(each), 8):
            free = [0.0] * n_jobs
            for seconds in each[start : start + 8]:
                free[free.index(min(free))] += seconds
            busy += max(free)
        print(
            f"{name}: {sum(each):.2f} s of CPU in tasks, {serial:.2f} in between: {n_jobs} workers "
            f"at best {whole / busy:.2f} times one",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["tmc2007_500", "nhanes"])
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--bill", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", action="store_true", help="CPU seconds instead of the clock")
    args = parser.parse_args()
    for name in args.sets:
        if args.cpu:
            at_best(name, args)
            continue
        _, _, alone = learn(name, args, 1, 1)
        base = None
        for n_jobs in args.jobs:
            learn(name, argparse.Namespace(**{**vars(args), "tasks": 2}), 2, n_jobs)  # warm
            seconds, said, score = learn(name, args, 8, n_jobs)
            base = base or seconds
            print(
                f"{name}: {n_jobs} processes {seconds:.1f} s, {base / seconds:.2f} times one; "
                f"hash {said}; AP {score:.3f} in waves of 8, {alone:.3f} one by one",
                flush=True,
            )


if __name__ == "__main__":
    main()
