"""A model that lives on: updates beside one task on all rows, and predictions without a column.

    python benchmarks/lives_on.py update      # nhanes, support2, thyroid0387_cost
    python benchmarks/lives_on.py columns     # nhanes, physionet_icu
    python benchmarks/lives_on.py messy       # thyroid0387_cost, nhanes, support2

update: 1,000 rows at a budget, then 500 more at a third of it, against one task on all 1,500 rows
at both budgets together; AUROC on the other rows, paired over labels and seeds.
columns: each of the ten most used features left out in turn, against learning without it; of nine
models, whether a set has three labels or one.
messy: numbers written as text with "-" for a gap, in half of them with a decimal comma, against the
same table as numbers with NaN; AUROC and average precision on rows that were not learned from.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score

import thrifty
from studies.data import data_folder

SETS = {
    "update": ("nhanes", "support2", "thyroid0387_cost"),
    "columns": ("nhanes", "physionet_icu"),
    "messy": ("thyroid0387_cost", "nhanes", "support2"),
}
#: the share of all cells of the first 1,000 rows that learning may spend
SHARE = 0.1
SEEDS = 3
LABELS = 3
#: of the messy table: columns that are written as text, and the share of their cells that are gaps
WRITTEN, GAPS = 6, 0.08


def read(name):
    """Values, the labels with the most even classes, and the names of the features."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as found:
        X = found["X_raw" if "X_raw" in found.files else "X"].astype(float)
        Y = found["Y"].astype(int)
    shares = [abs(np.mean(Y[Y[:, j] >= 0, j] == 1) - 0.5) for j in range(Y.shape[1])]
    return X, Y[:, np.argsort(shares)[:LABELS]]


def auroc(model, X, y):
    return roc_auc_score(y, model.predict_proba(X)[:, 1])


def update(name):
    """Differences of AUROC: updated less whole, on rows that neither has seen."""
    X, Y = read(name)
    found = []
    for label in range(Y.shape[1]):
        for seed in range(SEEDS):
            rows = np.random.default_rng(seed).permutation(np.flatnonzero(Y[:, label] >= 0))
            first, more, test = rows[:1000], rows[1000:1500], rows[1500:]
            y = Y[:, label]
            budget = SHARE * 1000 * X.shape[1]
            life = thrifty.Lifetime(random_state=seed)
            life.learn("t", X[first], y[first], spend=budget)
            one = auroc(life["t"].model, X[test], y[test])
            made = life["t"].update(X[more], y[more], spend=budget / 3)
            both = auroc(life["t"].model, X[test], y[test])
            whole = thrifty.Lifetime(random_state=seed)
            whole.learn("t", X[rows[:1500]], y[rows[:1500]], spend=budget * 4 / 3)
            at_once = auroc(whole["t"], X[test], y[test])
            found.append((one, both, at_once))
            print(
                f"{name} label {label} seed {seed}: first {one:.3f}, updated {both:.3f} "
                f"({made.state}), at once {at_once:.3f}",
                flush=True,
            )
    told(name, np.array(found)[:, 1] - np.array(found)[:, 2], "updated less at once")


def columns(name):
    """Differences of AUROC: going on without a feature, less learning without it.

    Two models learned from the same rows differ by themselves, so that models are what is counted:
    a standard error is over labels and seeds, of the mean over ten features each. Three models of
    physionet_icu, which has one label, gave -.0110 with a standard error of .0078; nine give -.0051
    with .0030.
    """
    X, Y = read(name)
    found = []
    for label in range(Y.shape[1]):
        y = Y[:, label]
        for seed in range(SEEDS * LABELS // Y.shape[1]):
            rows = np.random.default_rng(seed).permutation(np.flatnonzero(y >= 0))
            train, test = rows[:1000], rows[1000:]
            budget = SHARE * 1000 * X.shape[1]
            life = thrifty.Lifetime(random_state=seed)
            model = life.learn("t", X[train], y[train], spend=budget).model
            whole, here = auroc(model, X[test], y[test]), []
            for f in model.features_[:10].tolist():
                gone = auroc(model.without([f"x{f}"]), X[test], y[test])
                rest = np.delete(np.arange(X.shape[1]), f)
                other = thrifty.Lifetime(random_state=seed)
                fresh = other.learn("t", X[train][:, rest], y[train], spend=budget).model
                here.append(gone - auroc(fresh, X[test][:, rest], y[test]))
            found.append(np.mean(here))
            print(
                f"{name} label {label} seed {seed}: whole {whole:.4f}, going on less learning "
                f"without {found[-1]:+.4f}, worst feature {min(here):+.4f}",
                flush=True,
            )
    told(name, np.array(found), "going on less learning without")


def written(column, comma):
    """Numbers as a clinic writes them down."""
    texts = ["-" if np.isnan(v) else f"{v:.6g}" for v in column.tolist()]
    return [t.replace(".", ",") for t in texts] if comma else texts


def messy(name):
    """Differences of AUROC and of average precision: as text with "-", less as numbers with NaN."""
    X, Y = read(name)
    wide = np.argsort([-len(np.unique(X[~np.isnan(X[:, f]), f])) for f in range(X.shape[1])])
    some = wide[:WRITTEN].tolist()
    names = [f"x{f}" for f in range(X.shape[1])]
    found = []
    for label in range(Y.shape[1]):
        y = Y[:, label]
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            clean = X.copy()
            clean[np.ix_(np.arange(len(X)), some)] = np.where(
                rng.random((len(X), len(some))) < GAPS, np.nan, X[:, some]
            )
            clean = pd.DataFrame(clean, columns=names)
            dirty = clean.copy()
            for i, f in enumerate(some):
                dirty[f"x{f}"] = written(clean[f"x{f}"], comma=i % 2 == 1)
            rows = rng.permutation(np.flatnonzero(y >= 0))
            train, test = rows[:1000], rows[1000:]
            quality = []
            for table in (clean, dirty):
                kinds = {f"x{f}": "number" for f in some[1::2]} if table is dirty else None
                life = thrifty.Lifetime(random_state=seed)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    spend = SHARE * 1000 * X.shape[1]
                    life.learn("t", table.iloc[train], y[train], spend=spend, kinds=kinds)
                    p = life.predict("t", table.iloc[test]).probabilities[:, 1]
                scores = (roc_auc_score, average_precision_score)
                quality.append([score(y[test], p) for score in scores])
            found.append(np.subtract(quality[1], quality[0]))
            print(
                f"{name} label {label} seed {seed}: as numbers {quality[0][0]:.4f} "
                f"{quality[0][1]:.4f}, as written {quality[1][0]:.4f} {quality[1][1]:.4f}",
                flush=True,
            )
    told(name, np.array(found)[:, 0], "AUROC as written less as numbers")
    told(name, np.array(found)[:, 1], "average precision as written less as numbers")


def told(name, gains, what):
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    print(
        f"{name}: {what} {gains.mean():+.4f} (standard error {error:.4f}, worst "
        f"{gains.min():+.4f}, {len(gains)} runs)",
        flush=True,
    )


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "update"
    for each in sys.argv[2:] or SETS[which]:
        {"update": update, "columns": columns, "messy": messy}[which](each)
