"""Nine numbers a town, on few cells: python benchmarks/crime_numbers.py [--seeds ...].

crime_numbers: 126 census and police figures of 2,215 towns, with gaps; nine crimes a head. 1,300
towns to learn from, 700 for the test; towns without one of the labels are left out. R squared on
the test, mean of the labels:

- apart: each label has its bill, ``life.learn(name, X, y, spend=)`` in a lifetime of its own,
  beside ridge and LightGBM on the first whole rows and the nine ways of benchmarks/regression.py
- at once: all labels share one bill, ``life.learn(names, X, Y, spend=)``, beside ridge and LightGBM
  on the first whole rows and the same nine ways, columns by the correlations summed over labels

Of the others the best in hindsight counts, by its mean over labels and seeds. Leads have 90 %
intervals over seeds. Lines are kept, so that a run can be broken off and go on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

import thrifty
from regression import PENALTIES, PILOTS
from studies.data import data_folder
from studies.kept import Kept, begin, interval
from studies.measure import machine, table

BILLS = (0.05, 0.1, 0.2, 0.4)
KEPT = Path(__file__).resolve().parent / "results" / "crime_numbers.jsonl"


class Towns:
    """One split."""

    def __init__(self, seed: int) -> None:
        folder = data_folder()
        if folder is None:
            raise FileNotFoundError("crime_numbers: no data folder; set THRIFTY_DATA to it.")
        with np.load(folder / "crime_numbers.npz", allow_pickle=False) as z:
            X, Y = z["X"].astype(np.float64), z["Y"].astype(np.float64)
            self.names = [str(name) for name in z["label_names"]]
        rows = np.flatnonzero(~np.isnan(Y).any(axis=1))
        rows = np.random.default_rng(seed).permutation(rows)
        train, test = rows[:1300], rows[1300:2000]
        self.X, self.Y, self.X_test, self.Y_test = X[train], Y[train], X[test], Y[test]

    def r2(self, told: np.ndarray) -> list[float]:
        return [float(r2_score(y, p)) for y, p in zip(self.Y_test.T, told.T)]


def apart(split: Towns, bill: float, seed: int) -> dict[str, object]:
    told = []
    for name, y in zip(split.names, split.Y.T):
        life = thrifty.Lifetime(thrifty.Models(labels="numbers"), random_state=seed)
        learned = life.learn(name, split.X, y, spend=f"{100 * bill:g} %")
        told.append(learned.model.predict(split.X_test))
    return {"r2": split.r2(np.column_stack(told))}


def at_once(split: Towns, bill: float, seed: int) -> dict[str, object]:
    life = thrifty.Lifetime(thrifty.Models(labels="numbers"), random_state=seed)
    many = life.learn(split.names, split.X, split.Y, spend=f"{100 * bill:g} %")
    told = [many[name].model.predict(split.X_test) for name in split.names]
    return {"r2": split.r2(np.column_stack(told))}


def boosted(X: np.ndarray, y: np.ndarray) -> object:
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(
        n_estimators=100,
        num_leaves=8,
        min_child_samples=8,
        learning_rate=0.06,
        n_jobs=1,
        verbose=-1,
        colsample_bytree=0.5,
    )
    return model.fit(X, y)


def ridge_of(X: np.ndarray, Y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Standardised columns, the mean where there is a gap."""
    mean = np.nan_to_num(np.nanmean(X, axis=0))
    spread = np.nanstd(X, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    cut, asked = (np.nan_to_num((Z - mean) / spread) for Z in (X, X_test))
    asked = np.clip(asked, -10, 10)
    told = [RidgeCV(PENALTIES).fit(cut, y).predict(asked) for y in Y.T]
    return np.column_stack(told)


def rows_whole(split: Towns, bill: float) -> dict[str, list[float]]:
    n = max(3, int(bill * len(split.X)))
    X, Y = split.X[:n], split.Y[:n]
    trees = np.column_stack([boosted(X, y).predict(split.X_test) for y in Y.T])  # type: ignore[attr-defined]
    return {
        "rows, ridge": split.r2(ridge_of(X, Y, split.X_test)),
        "rows, LightGBM": split.r2(trees),
    }


def others_apart(split: Towns, bill: float, seed: int) -> dict[str, object]:
    found = rows_whole(split, bill)
    for how in PILOTS:
        told = [_pilot(split, split.Y[:, [j]], bill, *how) for j in range(len(split.names))]
        found[f"pilot {how[0]} {how[1]}"] = split.r2(np.column_stack(told))
    return {"ways": found}


def others_at_once(split: Towns, bill: float, seed: int) -> dict[str, object]:
    found = rows_whole(split, bill)
    for how in PILOTS:
        found[f"pilot {how[0]} {how[1]}"] = split.r2(_pilot(split, split.Y, bill, *how))
    return {"ways": found}


def _pilot(
    split: Towns, Y: np.ndarray, bill: float, pilot: float, share_of_rows: float
) -> np.ndarray:
    """Columns by their correlations on a pilot of whole rows, then ridge on more rows of them."""
    n, width = split.X.shape
    spend = bill * split.X.size
    looked = min(max(4, int(pilot * spend / width)), n)
    few = split.X[:looked]
    Z = np.nan_to_num((few - np.nanmean(few, axis=0)) / (np.nanstd(few, axis=0) + 1e-9))
    y = (Y[:looked] - Y[:looked].mean(axis=0)) / (Y[:looked].std(axis=0) + 1e-9)
    best = np.argsort(-np.abs(Z.T @ y).sum(axis=1))
    left = spend - looked * width
    rows = max(looked, int(share_of_rows * n))
    k = width if rows == looked else int(min(width, left // (rows - looked)))
    if k < 1:
        k, rows = 1, min(n, looked + int(left))
    columns = best[:k]
    return ridge_of(split.X[:rows, columns], Y[:rows], split.X_test[:, columns])


WAYS = {
    "apart": apart,
    "at once": at_once,
    "others apart": others_apart,
    "others at once": others_at_once,
}


def run(kept: Kept, seed: int, bills: list[float], parts: list[str]) -> None:
    split = None
    for bill in bills:
        for what in parts:
            key = {"set": "crime_numbers", "seed": seed, "what": what, "bill": bill}
            if not kept.has(**key):
                split = split or Towns(seed)
                kept.add({**key, **WAYS[what](split, bill, seed)})


def shown(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """A row for each bill and kind: ours, the best of the others, and the lead over it."""
    by = {(x["what"], x["bill"], x["seed"]): x for x in lines}
    rows: list[dict[str, object]] = []
    for what in ("apart", "at once"):
        for bill in sorted({x["bill"] for x in lines}):
            seeds = sorted(
                s for w, b, s in by if (w, b) == (what, bill) and (f"others {what}", b, s) in by
            )
            if not seeds:
                continue
            ours = [float(np.mean(by[what, bill, s]["r2"])) for s in seeds]
            ways = [by[f"others {what}", bill, s]["ways"] for s in seeds]
            means = {way: [float(np.mean(w[way])) for w in ways] for way in ways[0]}  # type: ignore[index]
            best = max(means, key=lambda way: np.mean(means[way]))
            rows.append(
                {
                    "labels": what,
                    "bill": f"{bill:.0%}",
                    "seeds": len(seeds),
                    "ours": f"{np.mean(ours):.3f}",
                    "best of the others": f"{np.mean(means[best]):.3f} ({best})",
                    "rows, ridge": f"{np.mean(means['rows, ridge']):.3f}",
                    "rows, LightGBM": f"{np.mean(means['rows, LightGBM']):.3f}",
                    "lead": interval(np.subtract(ours, means[best]).tolist()),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS)
    parser.add_argument("--parts", nargs="*", choices=list(WAYS), default=list(WAYS))
    given, kept = begin(parser, KEPT)
    for seed in given.seeds:
        run(kept, seed, given.bills, given.parts)
        print(table(shown(kept.lines)), flush=True)
    print(machine())
    print("\n" + table(shown(kept.lines)))


if __name__ == "__main__":
    main()
