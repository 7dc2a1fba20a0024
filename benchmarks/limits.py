"""Values below a limit of detection: python benchmarks/limits.py [--sets ...] [--seeds ...].

Of every number the lowest 30 % of values are written as "<limit"; "mixed" with another limit at
60 % on half of the rows, as of a second laboratory. Average precision on a third of the rows, less
that of the default, which reads the limit itself, where each is read

- just: a millionth beyond the limit
- flag: as the limit, beside a column that says so and is free with the value
- gap: as a gap

for 10 and 50 % of all cells. Standard errors are of runs.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

import thrifty
from studies.data import data_sets

SETS = ("ann_thyroid", "ckd", "nhanes", "physionet_icu", "spam", "support2")
BILLS = (0.1, 0.5)


def tables(X: np.ndarray, mixed: bool, seed: int) -> dict[str, pd.DataFrame]:
    """The table as it is read in each way; columns of few different values stay as they are."""
    rng = np.random.default_rng(seed)
    rng.permutation(len(X))  # which rows are for training
    names = [f"x{j}" for j in range(X.shape[1])]
    limit, flags = X.copy(), {}
    for j, name in enumerate(names):
        if len(np.unique(X[~np.isnan(X[:, j]), j])) <= 20:
            continue
        at = np.full(len(X), np.nanquantile(X[:, j], 0.3))
        if mixed:
            at = np.where(rng.random(len(X)) < 0.5, at, np.nanquantile(X[:, j], 0.6))
        below = X[:, j] < at
        limit[below, j] = at[below]
        flags[name] = np.where(np.isnan(X[:, j]), np.nan, below)
    below = np.column_stack([flags.get(name, np.zeros(len(X))) == 1 for name in names])
    read = pd.DataFrame(limit, columns=names)
    beside = pd.DataFrame({f"{name} below": flag for name, flag in flags.items()})
    return {
        "limit": read,
        "just": read.where(~below, limit - np.abs(limit) * 2.0**-22 - 1e-12),
        "flag": pd.concat([read, beside], axis=1),
        "gap": read.where(~below),
    }


def quality(table: pd.DataFrame, y: np.ndarray, bill: float, seed: int) -> float:
    """Average precision where so much of all cells is bought; a flag is free with its value."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 2 // 3][:1200], order[len(y) * 2 // 3 :]
    flags = {name: [name.removesuffix(" below")] for name in table if name.endswith(" below")}
    names = [name for name in table if name not in flags]
    prices = thrifty.PriceList(dict.fromkeys(names, 1), derived=flags)
    life = thrifty.Lifetime(prices=prices, random_state=seed)
    life.learn("label", table.iloc[train], y[train], spend=int(bill * len(train) * len(names)))
    found = life.predict("label", table.iloc[test]).probabilities
    return float(average_precision_score(y[test], found[:, 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    less = defaultdict(list)
    for data in (one for one in data_sets(2500) if one.name in given.sets):
        for mixed in (False, True):
            for seed in given.seeds:
                ways = tables(data.X.astype(float), mixed, seed)
                for bill in BILLS:
                    ap = {way: quality(t, data.y, bill, seed) for way, t in ways.items()}
                    print(data.name, "mixed" if mixed else "one", seed, bill, ap, flush=True)
                    for way in ("just", "flag", "gap"):
                        less[mixed, bill, way].append(ap[way] - ap["limit"])
    for (mixed, bill, way), found in less.items():
        error = np.std(found, ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.nan
        limits = "two limits" if mixed else "one limit"
        print(f"{limits}, {bill:.0%}, {way}: {np.mean(found):+.4f} ({error:.4f}) of {len(found)}")


if __name__ == "__main__":
    main()
