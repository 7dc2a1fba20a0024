"""Tasks of more than two classes: python benchmarks/classes.py [--sets ...] [--seeds ...].

Classes with ten rows and more; of each set 60 % of the rows to learn from (1,500 at most), the rest
to judge. What may be spent is a share of all cells; whole rows for the same money, as they come,
with ExtraTrees beside it. Figures are the mean over classes of one-versus-rest average precision,
leads have 90 % intervals over seeds; "fall" is how much less a bill has than the next smaller one.
Lines are kept, so that a run can be broken off and go on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import average_precision_score

import thrifty
from studies.data import data_folder
from studies.kept import begin, interval
from studies.measure import machine, table

SETS = ("digits", "soybean", "ann_thyroid", "primary_tumor")
BILLS = (0.05, 0.1, 0.2, 0.4)
KEPT = Path(__file__).resolve().parent / "results" / "classes.jsonl"
_LEAST = 10


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes that have enough of them, and their class."""
    if name == "digits":
        found = load_digits()
        X, y = found.data.astype(np.float64), found.target
    else:
        folder = data_folder()
        if folder is None:
            raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
        with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
            X, y = z["X"], z["y"] if "y" in z.files else z["Y"].argmax(axis=1)
        X = X.astype(bool) if X.dtype == np.uint8 else X.astype(np.float64)
    sizes = np.bincount(y)
    rows = np.flatnonzero(sizes[y] >= _LEAST)
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from, at least two of each class, and rows to judge; five thousand at most."""
    X, y = read(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    first = np.concatenate([order[y[order] == c][:2] for c in range(y.max() + 1)])
    order = np.concatenate([first, order[~np.isin(order, first)]])
    n = min(1500, int(0.6 * len(X)))
    train, test = rng.permutation(order[:n]), order[n:][:5000]
    return X[train], y[train], X[test], y[test]


def precision(p: np.ndarray, classes: np.ndarray, y: np.ndarray) -> float:
    """Mean over the classes that are among the rows; a class that was never seen has nothing."""
    found = []
    for c in np.unique(y):
        at = np.flatnonzero(classes == c)
        told = p[:, at[0]] if len(at) else np.zeros(len(y))
        found.append(average_precision_score(y == c, told))
    return float(np.mean(found))


def ours(name: str, bill: float, seed: int) -> float:
    X, y, X_test, y_test = split(name, seed)
    life = thrifty.Lifetime(thrifty.Models(random_state=seed), random_state=seed)
    model = life.learn("class", X, y, spend=f"{100 * bill:g} %").model
    return precision(model.predict_proba(X_test), model.classes_, y_test)


def whole_rows(name: str, bill: float, seed: int) -> float:
    X, y, X_test, y_test = split(name, seed)
    n = int(bill * len(X))
    cut, asked = (np.nan_to_num(Z.astype(np.float32), nan=-9) for Z in (X[:n], X_test))
    forest = ExtraTreesClassifier(200, random_state=0, n_jobs=1).fit(cut, y[:n])
    return precision(forest.predict_proba(asked), forest.classes_, y_test)


WAYS = {"ours": ours, "whole rows": whole_rows}


def rows_of(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """A row for each set and bill."""
    by = {(x["set"], x["seed"], x["what"], x["bill"]): float(x["ap"]) for x in lines}  # type: ignore[arg-type]
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(x["set"] for x in lines):
        before = None
        for bill in sorted({x["bill"] for x in lines if x["set"] == name}):
            seeds = [s for n, s, w, b in by if (n, w, b) == (name, "ours", bill)]
            seeds = [s for s in seeds if (name, s, "whole rows", bill) in by]
            if not seeds:
                continue
            mine = np.array([by[name, s, "ours", bill] for s in seeds])
            theirs = np.array([by[name, s, "whole rows", bill] for s in seeds])
            rows.append({
                "set": name, "bill": f"{bill:.0%}", "seeds": len(seeds),
                "ours": f"{mine.mean():.3f}", "whole rows": f"{theirs.mean():.3f}",
                "lead": interval(mine - theirs),
                "fall": "" if before is None else f"{max(before - mine.mean(), 0.0):.3f}",
            })  # fmt: skip
            before = float(mine.mean())
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS)
    given, kept = begin(parser, KEPT)
    for seed in given.seeds:
        for name in given.sets:
            for bill in given.bills:
                for what, way in WAYS.items():
                    key = {"set": name, "seed": seed, "what": what, "bill": bill}
                    if not kept.has(**key):
                        kept.add({**key, "ap": way(name, bill, seed)})
    print(machine())
    print("\n" + table(rows_of(kept.lines)))


if __name__ == "__main__":
    main()
