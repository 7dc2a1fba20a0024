"""Predictions that ask in order: python benchmarks/predictions.py [spam physionet nhanes ...].

spam: AUROC at a mean number of features a mail, learned on at most 30 % of the training cells. The
first split is the one of Covert et al., *Greedy dynamic feature selection* (ICML 2023), published
with their code: numpy's ``default_rng(0)`` shuffles the rows, the first fifth is the test set, the
second fifth their validation set (not used here), the rest is learned from. Five others: seeds 1
to 5 in place of 0.
physionet, nhanes: average precision against USD a row, at the rates of a price list with
overlapping panels; the models were learned from every cell of their training rows.
elsewhere: labels below 20 %, what a third of the model's features keep of its average precision,
and cells a row against scikit-learn's trees of depth 2 to 8 on every cell.
peer: log loss and average precision with at most 2, 4, 8 and 16 cells a row beside a static peer
(``studies/static_peer.py``), which has every cell of as many whole rows as ``--bill`` buys; with
``--out`` a line for each task is kept, with ``--against`` the same lines of another version are
subtracted, pairs of one set, split and label.
sure: cells a row of ``Sure(.9)``, the share of rows that became sure and, by class, how often they
are right; all cells learned. ``--out`` and ``--against`` as above.
auto: a plain prediction (``stop="auto"``) less one that reads everything (``stop=None``), log loss
and average precision of the same test rows, and cells of both; bills of 10 and 100 %, and a made
set where 3 of 30 features tell.
The sets are looked for in THRIFTY_DATA or shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import thrifty
from studies.data import data_folder
from studies.measure import one_thread
from thrifty.cells import Cells

GDFS = {3: 92.6, 4: 95.3, 5: 95.8, 6: 96.3, 8: 96.6, 10: 96.9}
OTHERS = {5: 96.0, 8: 97.0}
TREE_DEPTHS = range(2, 9)


def load(name):
    folder = data_folder()
    if folder is None:
        raise SystemExit("no data folder; set THRIFTY_DATA to it")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        return {key: z[key] for key in z.files}


def spam(given):
    """AUROC at mean features a mail, through a lifetime."""
    z = load("spam")
    X, y = z["X"].astype(float), z["Y"][:, 0].astype(int)
    found = {}
    for seed in range(given.splits + 1):
        order = np.arange(len(y))
        np.random.default_rng(seed).shuffle(order)
        fifth = int(0.2 * len(y))
        test, train = order[:fifth], order[2 * fifth :]
        started = time.process_time()
        life = thrifty.Lifetime(thrifty.Models(predictions=len(test)))
        learned = life.learn("spam", X[train], y[train], spend="30 %")
        share = learned.receipt.cells / X[train].size
        line = []
        for mean in GDFS:
            got = life.predict("spam", X[test].copy(), spend=float(mean * len(test)))
            area = 100 * roc_auc_score(y[test], got.probabilities[:, 1])
            found.setdefault(mean, []).append(area)
            ratio = got.probabilities[:, 1].mean() / y[test].mean()
            line.append(f"{mean}: {area:.2f} ({got.receipt.cells / len(test):.1f}, {ratio:.2f})")
        print(
            f"spam split {seed}, {share:.1%} of the cells: "
            + "  ".join(line)
            + f"  [{time.process_time() - started:.0f} s]",
            flush=True,
        )
    print(
        "  the published split, ours / GDFS:",
        "  ".join(f"{m}: {found[m][0]:.1f} / {g}" for m, g in GDFS.items()),
    )
    if given.splits:
        means = (f"{m}: {np.mean(found[m][1:]):.1f} / {g}" for m, g in OTHERS.items())
        print("  mean of the others, ours / wanted:", "  ".join(means))


def lightgbm(X, y):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(
        n_estimators=100,
        num_leaves=8,
        min_child_samples=8,
        learning_rate=0.06,
        n_jobs=1,
        verbose=-1,
        colsample_bytree=0.5 if X.shape[1] > 60 else 1.0,
        random_state=0,
    )
    return model.fit(X.astype(np.float32), y)


def prefixes_on(X, y, cells, features, kinds=None):
    """Order and prefixes from every training cell of some features."""
    from studies.asking import prefixes_of
    from thrifty.models.asking.order import find_order
    from thrifty.models.table import Table

    categories = () if kinds is None else tuple(kinds[f] for f in features)
    table = Table(
        np.asarray(features),
        np.arange(len(y)),
        X[:, features],
        np.ones((len(y), len(features)), dtype=bool),
        np.ones(len(y)),
        y,
        categories=categories,
    )
    order = find_order(table, cells.price_between, cells.orders)
    return order, prefixes_of(table, order, cells.price_between)


def money(name, prices, labels, sums, folds_seed, n_test):
    """AP at mean USD a row, for some labels; yields (label, full AP, price of all, lines)."""
    from studies.asking import ask_in_order

    z = load(name)
    X, names = z["X"].astype(float), [str(f) for f in z["feature_names"]]
    kinds = None
    if "kinds" in z:
        kinds = [
            len(str(k)[9:].split("|")) if str(k).startswith("category:") else 0 for k in z["kinds"]
        ]
    listed = thrifty.PriceList.from_json(data_folder() / prices, features=names)
    cells = Cells(thrifty.Source.from_array(X, feature_names=names, allow_missing=True), listed)
    whole = cells.price_between([], range(len(names)))
    affordable = [f for f in range(len(names)) if cells.price_between([], [f]) <= 2.5 * max(sums)]
    for label in labels:
        y = z["Y"][:, label]
        rows = np.random.default_rng(folds_seed).permutation(np.flatnonzero(y >= 0))
        cut = int(n_test * len(rows))
        test, train = rows[:cut], rows[cut:]
        full = lightgbm(X[train], y[train]).predict_proba(X[test].astype(np.float32))[:, 1]
        started = time.process_time()
        order, prefixes = prefixes_on(X[train], y[train], cells, affordable, kinds)
        lines = []
        for mean in sums:
            got = ask_in_order(
                prefixes, lambda r, f, X=X[test]: X[np.ix_(r, f)], len(test), spend=mean * len(test)
            )
            p = got.probabilities[:, 1]
            ap = average_precision_score(y[test], p)
            lines.append((mean, got.cost.mean(), ap, p.mean() / y[test].mean()))
        title = str(z["label_names"][label])
        yield (
            title,
            average_precision_score(y[test], full),
            whole,
            lines,
            ([names[f] for f in order.features()[:8]], time.process_time() - started),
        )


def physionet(given):
    runs = money("physionet_icu", "physionet_icu_prices.json", [0], (5, 10, 20, 30), 0, 0.35)
    for title, full, whole, lines, (_first, seconds) in runs:
        print(f"physionet_icu {title}: everything {full:.4f} at {whole:.2f} USD [{seconds:.0f} s]")
        for mean, cost, ap, ratio in lines:
            print(
                f"  at most {mean} USD a patient: {cost:.2f} USD, AP {ap:.4f}, {ap / full:.3f} "
                f"of everything, predicted / true {ratio:.2f}",
                flush=True,
            )


def nhanes(given):
    names = [str(name) for name in load("nhanes")["label_names"]]
    labels = range(len(names)) if given.labels is None else range(given.labels)
    for title, full, _, lines, (_first, seconds) in money(
        "nhanes", "nhanes_prices.json", labels, (0.5, 1.0), 0, 0.35
    ):
        told = "  ".join(
            f"{m} USD: {ap:.3f} ({cost:.2f}, {ratio:.2f})" for m, cost, ap, ratio in lines
        )
        print(
            f"nhanes {title}: LightGBM on everything {full:.3f}; {told} [{seconds:.0f} s]",
            flush=True,
        )


def tree_cells(tree, X):
    """Mean number of distinct features on the paths of the rows."""
    inner, path = tree.tree_, tree.decision_path(X)
    counts = np.zeros(len(X))
    for f in np.unique(inner.feature[inner.feature >= 0]):
        counts += path[:, np.flatnonzero(inner.feature == f)].sum(axis=1).A1 > 0
    return counts.mean()


def precision(life, task, spend=None):
    """AP, and cells a row; on a copy, so that nothing is owned from the time before."""
    got = life.predict("task", task.X_test.copy(), spend=spend)
    ap = average_precision_score(task.y_test, got.probabilities[:, 1])
    return ap, got.receipt.cells / len(task.y_test)


def elsewhere(given):
    """A third of the features; cells a row against trees."""
    from studies.model_tasks import model_tasks

    for name in given.sets:
        kept, worse, points = [], [], 0
        for task in model_tasks(name, given.labels or 4, 0):
            if not task.y.mean() < 0.2:
                continue
            if len(task.y_test) > 3000:
                task = type(task)(
                    task.label, task.X, task.y, task.X_test[:3000], task.y_test[:3000]
                )
            if task.y_test.sum() < 20:
                continue
            life = thrifty.Lifetime(thrifty.Models())
            life.learn("task", task.X, task.y, spend="20 %")
            k = len(life["task"].model.features_)
            n = len(task.y_test)

            whole, _ = precision(life, task)
            third, cells = precision(life, task, n * k / 3)
            kept.append((third / whole, cells / k, k))
            ours = [(third, cells)]
            ours += [precision(life, task, float(n * m)) for m in (1, 2, 4, 6)]
            gaps = np.where(np.isnan(task.X), -1e9, task.X) if task.X.dtype.kind == "f" else task.X
            new = task.X_test
            new = np.where(np.isnan(new), -1e9, new) if new.dtype.kind == "f" else new
            rivals = []
            for depth in TREE_DEPTHS:
                tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(gaps, task.y)
                ap = average_precision_score(task.y_test, tree.predict_proba(new)[:, 1])
                rivals.append((ap, tree_cells(tree, new)))
            for ap, asked in ours:
                points += 1
                cheapest = min((c for a, c in rivals if a >= ap), default=np.inf)
                if cheapest < asked - 1e-9:
                    worse.append((task.label, round(ap, 3), round(asked, 2), round(cheapest, 2)))
        if kept:
            ratio, share, k = np.mean(kept, axis=0)
            print(
                f"{name}: {len(kept)} labels below 20 %, {k:.0f} features: {ratio:.3f} of the "
                f"model's own AP for {share:.2f} of its features; a tree is cheaper at "
                f"{len(worse)} of {points} points {worse}",
                flush=True,
            )


PEER_SETS = ("spam", "nhanes", "support2", "tmc2007_500", "yeast", "digits")
PEER_CELLS = (2, 4, 8, 16)
#: rows that are answered, at most
PEER_ROWS = 1500


def peer_tasks(name, labels, seed):
    """(label, X, y, X_test, y_test), classes as 0, 1, ..."""
    from studies.model_tasks import model_tasks

    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(y) // 3], order[len(y) // 3 :]
        yield 0, X[train], y[train], X[test], y[test]
        return
    for task in model_tasks(name, labels, seed):
        yield task.label, task.X, task.y, task.X_test[:PEER_ROWS], task.y_test[:PEER_ROWS]


def peer_scores(p, y):
    """Log loss, and AP of the class of interest or, of several, their mean."""
    from studies.static_peer import row_losses

    hot = np.eye(p.shape[1])[y]
    classes = [1] if p.shape[1] == 2 else range(p.shape[1])
    ap = np.mean([average_precision_score(hot[:, c], p[:, c]) for c in classes])
    return [float(row_losses(p, y).mean()), float(ap)]


def peer_measured(name, seed, label, X, y, X_test, y_test, bill):
    from studies.static_peer import StaticPeer

    life = thrifty.Lifetime(thrifty.Models(), random_state=seed)
    share = float(bill.removesuffix("%")) / 100
    began = time.process_time()
    life.learn("task", X, y, spend=bill)
    learning = time.process_time() - began
    ours = []
    for k in PEER_CELLS:
        got = life.predict("task", np.array(X_test), per_row=k)
        ours.append(peer_scores(got.probabilities, y_test))
    asking = time.process_time() - began - learning
    whole = np.arange(max(int(share * len(y)), 30))
    theirs = StaticPeer(X[whole], y[whole], seed)
    static = [peer_scores(theirs.at(X_test, k), y_test) for k in PEER_CELLS]
    return {
        "set": name, "seed": seed, "label": int(label), "bill": bill, "ours": ours,
        "static": static, "learning": learning, "asking": asking,
    }  # fmt: skip


def _differences(words, pairs):
    """Means of ours less others, with their standard errors."""
    off = np.array([np.subtract(ours, others) for ours, others in pairs])
    error = off.std(axis=0, ddof=1) / np.sqrt(len(off)) if len(off) > 1 else 0 * off[0]
    told = "  ".join(
        f"{k}: {m[0]:+.3f} ({e[0]:.3f}) {m[1]:+.3f} ({e[1]:.3f})"
        for k, m, e in zip(PEER_CELLS, off.mean(axis=0), error)
    )
    print(f"  {words}, loss and AP: {told}", flush=True)


def peer(given):
    """Ours beside the static peer at 2, 4, 8, 16 cells a row, paired by task."""

    def key(one):
        return one["set"], one["seed"], one["label"], one["bill"]

    def kept(path):
        there = path is not None and path.exists()
        return {key(one): one for one in map(json.loads, path.open())} if there else {}

    done, before, every = kept(given.out), kept(given.against), []
    for name in given.sets if given.sets != SETS else PEER_SETS:
        lines = []
        for seed in range(given.splits if given.splits < 5 else 3):
            for task in peer_tasks(name, given.labels or 1, seed):
                one = done.get((name, seed, int(task[0]), given.bill))
                if one is None:
                    one = peer_measured(name, seed, *task, given.bill)
                    if given.out is not None:
                        with given.out.open("a") as out:
                            out.write(json.dumps(one) + "\n")
                lines.append(one)
        every += lines
        mean = np.mean([one["ours"] for one in lines], axis=0)
        print(
            f"{name}, {len(lines)} tasks at {given.bill}: "
            + "  ".join(f"{k}: {m[0]:.3f} {m[1]:.3f}" for k, m in zip(PEER_CELLS, mean))
            + f" [learning {np.mean([one['learning'] for one in lines]):.1f} s, asking "
            f"{np.mean([one['asking'] for one in lines]):.1f} s]"
        )
        _compared(lines, before, key)
    print("all sets")
    _compared(every, before, key)


def sure(given):
    """Cells of Sure(.9), rows that become sure, and how often they are right by class."""
    lines, before = [], {}
    if given.against is not None:
        before = {(o["set"], o["seed"]): o for o in map(json.loads, given.against.open())}
    for name in given.sets if given.sets != SETS else ("nhanes", "support2", "yeast"):
        for seed in range(given.splits if given.splits < 5 else 3):
            for _, X, y, X_test, y_test in peer_tasks(name, 1, seed):
                life = thrifty.Lifetime(thrifty.Models(), random_state=seed)
                life.learn("task", X, y, spend="100 %")
                got = life.predict("task", np.array(X_test), stop=thrifty.Sure(0.9))
                is_sure, said = np.array(got.stopped) == "sure", np.asarray(got.values)
                each = [(is_sure & (said == c)) for c in (0, 1)]
                one = {
                    "set": name, "seed": seed, "of": X.shape[1],
                    "cells": float(got.receipt.cells_per_row.mean()), "sure": float(is_sure.mean()),
                    "n": [int(s.sum()) for s in each],
                    "right": [int((y_test[s] == c).sum()) for c, s in enumerate(each)],
                }  # fmt: skip
                if given.out is not None:
                    with given.out.open("a") as out:
                        out.write(json.dumps(one) + "\n")
                other = before.get((name, seed))
                beside = (
                    f"; the other version {other['cells']:.1f}, {other['sure']:.3f}"
                    if other
                    else ""
                )
                print(
                    f"{name} split {seed}: {one['cells']:.1f} of {one['of']} cells, sure "
                    f"{one['sure']:.3f}, right by class {one['right']} of {one['n']}{beside}",
                    flush=True,
                )
                lines.append((one, other))
    pairs = [(one, other) for one, other in lines if other]
    for name in dict.fromkeys(one["set"] for one, _ in pairs):
        some = [(one, other) for one, other in pairs if one["set"] == name]
        cells, rows = (sum(o[key] for o, _ in some) / sum(o[key] for _, o in some)
                       for key in ("cells", "sure"))  # fmt: skip
        print(f"{name}: {cells:.2f} of the other version's cells, {rows:.2f} of its sure rows")


AUTO_SETS = ("spam", "nhanes", "support2", "tmc2007_500", "yeast", "emotions", "made")


def made_tasks(seed):
    """3 of 30 features tell; as ``peer_tasks`` gives a set."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2100, 30))
    y = (2 * X[:, 3] + 1.5 * X[:, 7] - X[:, 11] + rng.logistic(size=len(X)) > 0).astype(int)
    yield 0, X[:600], y[:600], X[600:], y[600:]


def auto(given):
    """What a plain prediction asks and loses, beside one that reads everything."""
    every = []
    for name in given.sets if given.sets != SETS else AUTO_SETS:
        for bill in ("10 %", "100 %"):
            lines = []
            for seed in range(given.splits if given.splits < 5 else 3):
                tasks = made_tasks(seed) if name == "made" else peer_tasks(name, 1, seed)
                for _, X, y, X_test, y_test in tasks:
                    life = thrifty.Lifetime(thrifty.Models(), prices=1, random_state=seed)
                    began = time.process_time()
                    life.learn("task", X, y, spend=bill)
                    learning = time.process_time() - began
                    got = [life.predict("task", np.array(X_test))]
                    found = time.process_time() - began - learning
                    got.append(life.predict("task", np.array(X_test), stop=None))
                    scores = [peer_scores(one.probabilities, y_test) for one in got]
                    cells = [one.receipt.cells / len(y_test) for one in got]
                    lines.append([*np.subtract(*scores), *cells, learning, found])
            told, error = np.mean(lines, axis=0), _standard_errors(lines)
            print(
                f"{name} at {bill}: loss {told[0]:+.4f} ({error[0]:.4f}), AP {told[1]:+.4f} "
                f"({error[1]:.4f}), {told[2]:.1f} of {told[3]:.1f} cells a row "
                f"[learning {told[4]:.1f} s, how far {told[5]:.1f} s]",
                flush=True,
            )
            every += lines if name != "made" else []
    if every:
        told, error = np.mean(every, axis=0), _standard_errors(every)
        print(
            f"public sets: loss {told[0]:+.4f} ({error[0]:.4f}), AP {told[1]:+.4f} "
            f"({error[1]:.4f}), {told[2]:.1f} of {told[3]:.1f} cells a row"
        )


def _standard_errors(lines):
    return np.std(lines, axis=0, ddof=1) / np.sqrt(len(lines)) if len(lines) > 1 else np.zeros(9)


def _compared(lines, before, key):
    _differences("less the static peer", [(one["ours"], one["static"]) for one in lines])
    more = [(one["ours"][b], one["ours"][a]) for one in lines for a, b in ((0, 1), (1, 2), (2, 3))]
    rises = sum(ours[0] > fewer[0] + 1e-3 for ours, fewer in more)
    print(f"  more cells had a higher loss {rises} of {len(more)} times")
    pairs = [(one["ours"], before[key(one)]["ours"]) for one in lines if key(one) in before]
    if pairs:
        _differences("less the other version", pairs)


SETS = [
    "tmc2007_500", "rcv1s1_500", "slashdot", "yahoo_arts_500", "bibtex", "medical", "tox21_maccs",
    "thyroid0387_cost", "nhanes", "landmine",
]  # fmt: skip


def main():
    parts = {
        "spam": spam, "physionet": physionet, "nhanes": nhanes, "elsewhere": elsewhere,
        "peer": peer, "sure": sure, "auto": auto,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(parts), choices=[*parts, []])
    parser.add_argument("--splits", type=int, default=5, help="splits of spam beside the first")
    parser.add_argument("--labels", type=int, default=None, help="labels of a set")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--bill", default="100 %", help="of peer: what is learned")
    parser.add_argument("--out", type=Path, help="of peer: a file for what was measured")
    parser.add_argument("--against", type=Path, help="of peer: such a file of another version")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    one_thread()
    for part in given.parts:
        parts[part](given)


if __name__ == "__main__":
    main()
