"""Several answers about one row: python benchmarks/joint.py [digits support2 nhanes tmc2007_500].

Labels of a set are learned on the same rows with ids, at a total bill of 40 % of their cells; then
rows that nobody saw are answered: the tasks one after another (each at most ``k`` cells, what one
has bought is there for the next), and all at once with at most ``k`` cells a row. One after another
is measured twice. "Learned apart": each label is learned by itself for its share of the bill, as it
was before labels could be learned at once. "Learned at once": the very models that the joint walk
has, which share their features already. Printed are the mean average precision and the cells a row,
and what the joint walk needs for the mean AP of either; then the same of the splits' means.
``nhanes_usd`` is nhanes with its price list: USD in place of cells. With ``--out`` every split is
written down when it is done, and not made again. Sets but digits (scikit-learn's) are looked for in
THRIFTY_DATA or shared/data.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

import thrifty
from studies.data import data_folder
from studies.kept import append
from studies.measure import one_thread

LABELS = {"digits": 10, "support2": 7, "nhanes": 7, "tmc2007_500": 5, "nhanes_usd": 7}
ALONE = (2, 4, 8)
#: at most so many cells of each label that was learned apart
APART = (2, 4, 8, 16)
JOINT = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
#: the same in USD a row
ALONE_USD = (0.2, 0.5, 1.0)
JOINT_USD = (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 15, 30)


def set_of(name):
    return name.removesuffix("_usd")


def prices_of(name):
    """Names of the features and their prices; None: each cell costs 1."""
    if not name.endswith("_usd"):
        return None, None
    with np.load(data_folder() / f"{set_of(name)}.npz", allow_pickle=False) as z:
        names = [str(f) for f in z["feature_names"]]
    file = data_folder() / f"{set_of(name)}_prices.json"
    return names, thrifty.PriceList.from_json(file, features=names)


def rows_of(name, split):
    """Values, labels (rows x labels, all known) and names, shuffled."""
    if name == "digits":
        X, digit = load_digits(return_X_y=True)
        Y = (digit[:, None] == np.arange(10)).astype(int)
    else:
        with np.load(data_folder() / f"{set_of(name)}.npz", allow_pickle=False) as z:
            X, Y = z["X"], z["Y"].astype(int)
    share = (Y == 1).mean(axis=0)
    best = np.argsort(np.abs(share - 0.5), kind="stable")[: LABELS[name]]
    Y = Y[:, np.sort(best)]
    known = np.flatnonzero((Y >= 0).all(axis=1))
    order = np.random.default_rng(split).permutation(known)
    return X[order], Y[order]


def source(X, ids, rows, names=None):
    return thrifty.Source.from_array(
        X,
        examples=[f"{ids}{i}" for i in rows],
        name="rows",
        allow_missing=True,
        feature_names=names,
    )


def mean_ap(Y, p):
    return float(np.mean([average_precision_score(y, q) for y, q in zip(Y.T, p)]))


def need_of(curve, ap):
    """What a curve of (AP, cost) needs for an AP, between its points on a line; inf: never."""
    best, found = curve[0], np.inf if curve[0][0] < ap else curve[0][1]
    for point in curve[1:]:
        if best[0] < ap <= point[0]:
            share = (ap - best[0]) / (point[0] - best[0])
            found = min(found, best[1] + share * (point[1] - best[1]))
        best = max(best, point)
    return found


def one_after_another(life, tasks, some, limits, *, is_priced):
    """Mean AP and what a row costs, where each task may cost it at most so much."""
    new, truth, names = some
    found = []
    for k in limits:
        rows = source(new, f"a{k}-", range(len(new)), names)
        p, paid = [], 0.0
        for task in tasks:
            got = life.predict(task, rows, per_row=k)
            p.append(got.probabilities[:, list(got.classes).index(1)])
            paid += got.receipt.cost if is_priced else got.receipt.cells
        found.append((mean_ap(truth, p), paid / len(new)))
    return found


def measured(name, split, rows, tests, bill):
    X, Y = rows_of(name, split)
    n = min(rows, int(0.65 * len(X)))
    train, new, truth = X[:n], X[n : n + tests], Y[n : n + tests]
    tasks = [f"label {t}" for t in range(Y.shape[1])]
    names, prices = prices_of(name)
    life = thrifty.Lifetime(thrifty.Models(), random_state=split, prices=prices)
    began = time.process_time()
    spend = bill * train.size if prices is None else f"{100 * bill:g} %"
    life.learn(tasks, source(train, "t", range(n), names), Y[:n], spend=spend)
    learning = time.process_time() - began
    began = time.process_time()
    some, limits = (new, truth, names), ALONE if prices is None else ALONE_USD
    alone = one_after_another(life, tasks, some, limits, is_priced=prices is not None)
    first = time.process_time() - began
    apart = thrifty.Lifetime(thrifty.Models(), random_state=split, prices=prices)
    for t, task in enumerate(tasks):
        share = bill / len(tasks)
        spend = share * train.size if prices is None else f"{100 * share:g} %"
        apart.learn(task, source(train, "t", range(n), names), Y[:n, t], spend=spend)
    limits = APART if prices is None else ALONE_USD
    before = one_after_another(apart, tasks, some, limits, is_priced=prices is not None)
    began = time.process_time()
    joint, is_joint = [], False
    for k in JOINT if prices is None else JOINT_USD:
        if k > X.shape[1]:
            continue
        got = life.predict(tasks, source(new, f"j{k}-", range(len(new)), names), per_row=k)
        p = [part.probabilities[:, list(part.classes).index(1)] for part in got.values()]
        paid = got.receipt.cells if prices is None else got.receipt.cost
        joint.append((mean_ap(truth, p), paid / len(new)))
        is_joint = got.joint
    return {
        "set": name, "split": split, "apart": before, "alone": alone, "joint": joint,
        "one order": is_joint, "tests": len(new),
        "learning": learning, "asking alone": first, "asking": time.process_time() - began,
    }  # fmt: skip


def told(one):
    """A split in words, and the share of the cells that asking at once needs."""
    way = "one order" if one["one order"] else "in turn"
    yield (
        f"{one['set']} split {one['split']} ({way}; learning {one['learning']:.0f} s, asking alone "
        f"{one['asking alone']:.0f} s, at once {one['asking']:.0f} s)"
    )
    yield "  joint: " + "  ".join(f"{ap:.3f} ({cells:.3g})" for ap, cells in one["joint"])
    yield from needs(one.get("apart", []), one["alone"], [tuple(point) for point in one["joint"]])


def needs(apart, alone, curve):
    """What the joint walk needs for the same mean AP, and which share of the cost that is."""
    for words, points in (("learned apart", apart), ("learned at once", alone)):
        for ap, cost in points:
            need = need_of(curve, ap)
            yield f"  {words}: {ap:.3f} for {cost:.3g}; at once {need:.3g}: {need / cost:.0%}"


def mean_of(splits):
    """The same of means over splits, as far as all curves go."""
    n = min(len(one["joint"]) for one in splits)
    joint = np.mean([one["joint"][:n] for one in splits], axis=0)
    curve = [(float(ap), float(cost)) for ap, cost in joint]
    yield "  mean over splits: " + "  ".join(f"{ap:.3f} ({cost:.3g})" for ap, cost in curve)
    apart, alone = (
        np.mean([one.get(way, []) for one in splits], axis=0) for way in ("apart", "alone")
    )
    yield from needs(apart, alone, curve)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(LABELS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--tests", type=int, default=1500)
    parser.add_argument("--bill", type=float, default=0.4)
    parser.add_argument("--out", type=Path, help="a file for what was measured, a line a split")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    one_thread()
    done = {}
    if given.out and given.out.exists():
        known = [json.loads(line) for line in given.out.open()]
        done = {(one["set"], one["split"]): one for one in known}
    for name in given.sets:
        splits = []
        for split in range(given.splits):
            one = done.get((name, split))
            if one is None:
                one = append(given.out, measured(name, split, given.rows, given.tests, given.bill))
            print("\n".join(told(one)), flush=True)
            splits.append(one)
        print("\n".join(mean_of(splits)), flush=True)


if __name__ == "__main__":
    main()
