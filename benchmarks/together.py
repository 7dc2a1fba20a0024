"""All labels of a set on the same rows: python benchmarks/together.py [--sets ...] [--seeds ...].

Of each set up to 12 labels, 1,500 rows (60 % at most) and a test set; rows without one of the
labels are left out. What may be spent is a share of all cells, for all labels together:

- at once: ``life.learn(names, X, Y, spend=)``
- in turn: one after another with ids, each told its share of the bill; then after ``life.refit()``;
  before it every task is also compared with whole rows for the money spent until then ("on the
  way", the least lead of a task)
- whole rows once: the first rows of the bill, whole, for all labels: ExtraTrees, LightGBM and, on
  Boolean features, logistic regression; the best in hindsight
- whole rows drawn: the same with rows drawn at random in place of the first, six times: what single
  rows of a small set bring by luck is taken out of the comparison
- pilots once: half of the bill for a pilot of whole rows, then the best columns by the summed
  evidence of all labels, divided in nine ways as benchmarks/models.py does; the best in hindsight

Figures are mean average precision relative to the best model on every cell; leads with 90 %
intervals over seeds. Lines are kept, so that a run can be broken off and go on. Constants were
chosen on digits, yeast, support2 and tmc2007_500.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import average_precision_score

import thrifty
from studies.data import data_folder
from studies.kept import Kept, begin, interval
from studies.measure import machine, table
from studies.model_ways import boosted, logistic, usefulness

SETS = ("digits", "yeast", "support2", "bibtex", "emotions", "nhanes", "tmc2007_500")
BILLS = (0.02, 0.05, 0.1, 0.2, 0.4)
PARTS = ("at once", "in turn", "whole rows once", "pilots once", "whole rows drawn")
DRAWN = PARTS[-1]
KEPT = Path(__file__).resolve().parent / "results" / "together.jsonl"
#: draws of whole rows
_DRAWS = 6
_SHARES, _OTHERS = (0.3, 0.5, 0.7), (0.25, 0.5, 0.75)


class Shared:
    """One split of a set: the same rows for all labels."""

    def __init__(self, name: str, seed: int, n_labels: int) -> None:
        X, Y = _read(name)
        rng = np.random.default_rng(seed)
        ones, known = (Y == 1).sum(axis=0), (Y >= 0).sum(axis=0)
        labels = np.flatnonzero((ones >= 60) & (ones <= known - 60)).tolist()
        rng.shuffle(labels)
        labels = sorted(labels[:n_labels])
        rows = rng.permutation(np.flatnonzero((Y[:, labels] >= 0).all(axis=1)))
        n_test = max(len(rows) - 4500, int(0.35 * len(rows)))
        train = rows[n_test:][: min(1500, int(0.6 * len(rows)))]
        both = [min((Y[train, j] == k).sum() for k in (0, 1)) >= 20 for j in labels]
        labels = [j for j, enough in zip(labels, both) if enough]
        self.X, self.Y = X[train], (Y[np.ix_(train, labels)] == 1).astype(np.int64)
        test = rows[:n_test][:5000]
        self.X_test, self.Y_test = X[test], (Y[np.ix_(test, labels)] == 1).astype(np.int64)
        self.names = [f"label {j}" for j in labels]

    def precision(self, told: list[np.ndarray]) -> list[float]:
        return [float(average_precision_score(y, p)) for y, p in zip(self.Y_test.T, told)]

    def values(self, X: np.ndarray) -> np.ndarray:
        return X.astype(bool) if X.dtype == np.uint8 else X.astype(np.float64)


def _read(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        found = load_digits()
        return found.data.astype(np.float32), np.eye(10, dtype=np.int64)[found.target]
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        return z["X"], z["Y"]


def every_cell(split: Shared) -> dict[str, list[float]]:
    """The models that bought everything."""
    fits = {"LightGBM": boosted, **({"logistic": logistic} if split.X.dtype == np.uint8 else {})}
    return {
        name: split.precision([_told(fit(split.X, y), split.X_test) for y in split.Y.T])
        for name, fit in fits.items()
    }


def _told(model: object, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_proba(X.astype(np.float32))[:, 1])  # type: ignore[attr-defined]


def at_once(split: Shared, bill: float, seed: int) -> dict[str, object]:
    life = thrifty.Lifetime(thrifty.Models(random_state=seed), random_state=seed)
    many = life.learn(split.names, split.values(split.X), split.Y, spend=f"{100 * bill:g} %")
    X = split.values(split.X_test)
    found = split.precision([one.model.predict_proba(X)[:, 1] for one in many.values()])
    return {"ap": found, "cells": life.balance().spent / split.X.size}


def in_turn(split: Shared, bill: float, seed: int) -> dict[str, object]:
    ids = [f"row {i}" for i in range(len(split.X))]
    source = thrifty.Source.from_array(
        split.values(split.X), examples=ids, name="set", allow_missing=True
    )
    life = thrifty.Lifetime(thrifty.Models(random_state=seed), random_state=seed)
    X, each = split.values(split.X_test), bill * split.X.size / len(split.names)
    before, rows = [], []
    for j, (name, y) in enumerate(zip(split.names, split.Y.T)):
        learned = life.learn(name, source, y, spend=each)
        told = learned.model.predict_proba(X)[:, 1]
        before.append(float(average_precision_score(split.Y_test[:, j], told)))
        n = int(life.balance().spent / split.X.shape[1])
        rows.append(_forest(split, n)[j] if n >= 2 else 0.0)
    life.refit()
    after = split.precision([life[name].model.predict_proba(X)[:, 1] for name in split.names])
    return {"ap": after, "before": before, "rows on the way": rows}


def _forest(split: Shared, n: int) -> list[float]:
    cut = np.nan_to_num(split.X[:n].astype(np.float32), nan=-9)
    asked = np.nan_to_num(split.X_test.astype(np.float32), nan=-9)
    forest = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=0, n_jobs=1)
    votes = forest.fit(cut, split.Y[:n]).predict_proba(asked)
    votes = votes if isinstance(votes, list) else [votes]
    return split.precision([v[:, 1] if v.shape[1] > 1 else np.zeros(len(asked)) for v in votes])


def whole_rows_once(split: Shared, bill: float, seed: int) -> dict[str, object]:
    n = int(bill * len(split.X))
    found = {"extra trees": _forest(split, n)}
    fits = {"LightGBM": boosted, **({"logistic": logistic} if split.X.dtype == np.uint8 else {})}
    for name, fit in fits.items():
        told = [
            _told(fit(split.X[:n], y[:n]), split.X_test)
            if min(y[:n].sum(), n - y[:n].sum()) >= 2
            else np.zeros(len(split.X_test))
            for y in split.Y.T
        ]
        found[name] = split.precision(told)
    return {"models": found}


def whole_rows_drawn(split: Shared, bill: float, seed: int) -> dict[str, object]:
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(_DRAWS):
        other, order = copy.copy(split), rng.permutation(len(split.X))
        other.X, other.Y = split.X[order], split.Y[order]
        drawn.append(whole_rows_once(other, bill, seed)["models"])
    return {
        "models": {name: np.mean([d[name] for d in drawn], axis=0).tolist() for name in drawn[0]}
    }


def pilots_once(split: Shared, bill: float, seed: int) -> dict[str, object]:
    S, N = split.X.shape
    fit = logistic if split.X.dtype == np.uint8 else boosted
    found = {}
    for share in _SHARES:
        n = int(share * bill * S)
        if n < 4:
            continue
        told = sum(usefulness(split.X[:n], y[:n]) for y in split.Y.T if 0 < y[:n].sum() < n)
        best = np.argsort(-np.asarray(told))
        for part in _OTHERS:
            k = max(1, int(part * N))
            m = min(S, n + int((bill * S - n) * N / k))
            some = best[:k]
            told_rows = [
                _told(fit(split.X[:m][:, some], y[:m]), split.X_test[:, some])
                if min(y[:m].sum(), m - y[:m].sum()) >= 2
                else np.zeros(len(split.X_test))
                for y in split.Y.T
            ]
            found[f"{share}/{part}"] = split.precision(told_rows)
    return {"models": found}


WAYS: dict[str, Callable[[Shared, float, int], dict[str, object]]] = {
    "at once": at_once,
    "in turn": in_turn,
    "whole rows once": whole_rows_once,
    "pilots once": pilots_once,
    "whole rows drawn": whole_rows_drawn,
}


def run(
    kept: Kept, name: str, seed: int, bills: list[float], parts: list[str], labels: int
) -> None:
    split = None
    for what, bill in [("full", None), *((part, bill) for part in parts for bill in bills)]:
        key = {"set": name, "seed": seed, "what": what, "bill": bill}
        if kept.has(**key):
            continue
        split = split or Shared(name, seed, labels)
        found = {"models": every_cell(split)} if bill is None else WAYS[what](split, bill, seed)
        kept.add({**key, **found})


def _mean(line: dict[str, object]) -> float:
    """Over the labels; of several models the best in hindsight."""
    models = line.get("models")
    if isinstance(models, dict):
        return max((float(np.mean(ap)) for ap in models.values()), default=0.0)
    return float(np.mean(line["ap"]))  # type: ignore[arg-type]


def rows_of(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """A row for each set and bill: every way, relative to every cell, and its lead."""
    by = {(x["set"], x["seed"], x["what"], x["bill"]): x for x in lines}
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(x["set"] for x in lines):
        for bill in sorted({x["bill"] for x in lines if x["set"] == name and x["bill"]}):
            seeds = sorted(
                {
                    x["seed"]
                    for x in lines
                    if x["set"] == name and x["bill"] == bill and x["what"] == "whole rows once"
                }
            )
            row: dict[str, object] = {"set": name, "bill": f"{bill:.0%}", "seeds": len(seeds)}
            for what in PARTS:
                both = [
                    (
                        _mean(by[name, s, what, bill]),
                        _mean(by[name, s, "whole rows once", bill]),
                        _mean(by[name, s, "full", None]),
                    )
                    for s in seeds
                    if (name, s, what, bill) in by
                ]
                if not both:
                    continue
                row[what] = f"{np.mean([a / f for a, _, f in both]):.3f}"
                if what in ("at once", "in turn"):
                    row[f"{what}, lead"] = interval([(a - b) / f for a, b, f in both])
                    drawn = [
                        (_mean(by[name, s, what, bill]) - _mean(by[name, s, DRAWN, bill]))
                        / _mean(by[name, s, "full", None])
                        for s in seeds
                        if (name, s, what, bill) in by and (name, s, DRAWN, bill) in by
                    ]
                    if drawn:
                        row[f"{what}, over drawn"] = interval(drawn)
            keys = [(name, s, "in turn", bill) for s in seeds]
            turns = [by[key] for key in keys if key in by]
            if turns:
                gaps = [np.subtract(x["before"], x["rows on the way"]) for x in turns]
                n = min(map(len, gaps))  # a split may have a label less
                least = np.mean([gap[:n] for gap in gaps], axis=0).min()
                row["on the way, least"] = f"{least:+.3f}"
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS[:-1])
    parser.add_argument("--labels", type=int, default=12)
    given, kept = begin(parser, KEPT)
    for seed in given.seeds:
        for name in given.sets:
            run(kept, name, seed, given.bills, given.parts, given.labels)
            print(table(rows_of([x for x in kept.lines if x["set"] == name])), flush=True)
    print(machine())
    print("\n" + table(rows_of(kept.lines)))


if __name__ == "__main__":
    main()
