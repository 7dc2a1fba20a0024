"""Active feature acquisition, as others measure it: python benchmarks/afa.py [indicator cube ...].

Made sets, by generators of our own from the descriptions in the papers:
indicator: eight random bits and a number that says which of them is the label (SEFA's pointer);
cube: twenty numbers, eight classes; class c lies at the corner c of a cube in the features c, c + 1
  and c + 2, with a spread of .1, all else is noise around .5 with .3 (Ruckstiess et al.; Zannone et
  al., ODIN; AFABench); the setting of 1,000 rows is ``cube cube-nm --rows 600 --spread 0.3``;
cube-nm: cube behind a context of five features that says in which of five blocks it stands.
Real ones: digits (scikit-learn), spam on the split that GDFS published, physionet_icu, ckd.
Printed: accuracy (AUROC for spam, F1 of the rare class for physionet_icu and ckd) with at most k
cells a row, the share of the training cells that was bought, and published figures beside it. For
F1 those rows count as answered with the rare class for which the F1 expected under the stated
probabilities is largest: no label is looked at. With ``--out`` every split is written down when it
is done, and not made again; ``python benchmarks/pictures.py asking`` draws such a file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, roc_auc_score

import thrifty
from studies.data import data_folder
from studies.kept import append
from studies.measure import one_thread

#: GDFS: Covert et al., ICML 2023, Table of spam AUROC; AFABench's GDFS on PhysioNet, F1
PUBLISHED = {
    "spam": "GDFS at 3 4 5 6 8 10: 92.6 95.3 95.8 96.3 96.6 96.9 (every training cell)",
    "physionet_icu": "AFABench's GDFS at 5 and 16: .43 .47 (every training cell)",
    "indicator": "two cells are enough: 1.0 at 2",
}
CELLS = {
    "indicator": (1, 2, 3, 5, 9),
    "cube": (3, 4, 5, 8, 10),
    "cube-nm": (3, 5, 7, 10, 14),
    "digits": (4, 6, 8, 10),
    "spam": (3, 4, 5, 6, 8, 10),
    "physionet_icu": (5, 16),
    "ckd": (1, 2, 4),
}


def indicator(n, rng, spread):
    bits = rng.integers(0, 2, (n, 8))
    which = rng.integers(0, 8, n)
    X = np.column_stack([bits, which]).astype(float)
    return X, bits[np.arange(n), which]


def cube(n, rng, spread=0.1, features=20):
    y = rng.integers(0, 8, n)
    X = rng.normal(0.5, 0.3, (n, features))
    for bit in range(3):
        corner = (y >> bit) & 1
        X[np.arange(n), y + bit] = corner + spread * rng.normal(size=n)
    return X, y


def cube_nm(n, rng, spread=0.1, blocks=5, each=10):
    context = rng.integers(0, blocks, n)
    shown, y = cube(n, rng, spread, each)
    X = rng.normal(0.5, 0.3, (n, blocks + blocks * each))
    X[:, :blocks] = context[:, None] == np.arange(blocks)
    for b in range(blocks):
        here = context == b
        X[here, blocks + b * each : blocks + (b + 1) * each] = shown[here]
    return X, y


def rows_of(name, split, rows, spread):
    """Training and test rows."""
    rng = np.random.default_rng(split)
    made = {"indicator": indicator, "cube": cube, "cube-nm": cube_nm}
    if name in made:
        X, y = made[name](rows + 2000, rng, spread)
        return X[:rows], y[:rows], X[rows:], y[rows:]
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as z:
            X, y = z["X"].astype(float), z["Y"][:, 0].astype(int)
        X, y = X[y >= 0], y[y >= 0]
    order = np.arange(len(y))
    rng.shuffle(order)
    fifth = len(y) // 5  # GDFS: a fifth to test, a fifth to validate, which is not used here
    test, train = order[:fifth], order[2 * fifth :]
    return X[train][:rows], y[train][:rows], X[test], y[test]


def likely_rows(p):
    """Which rows to answer with the rare class for the largest F1 that is to be expected.

    >>> likely_rows(np.array([0.9, 0.1, 0.4])).tolist()
    [True, False, True]
    """
    order = np.argsort(-p, kind="stable")
    expected = 2 * np.cumsum(p[order]) / (np.arange(1, len(p) + 1) + p.sum())
    found = np.zeros(len(p), dtype=bool)
    found[order[: int(expected.argmax()) + 1]] = True
    return found


def score(name, y, got):
    if name == "spam":
        return 100 * roc_auc_score(y, got.probabilities[:, 1])
    if name in ("physionet_icu", "ckd"):
        return f1_score(y, likely_rows(got.probabilities[:, 1]))
    return float((got.values == y).mean())


def measured(name, split, rows, spend, spread):
    """A split of a set: its curve, the training cells it bought, what ``Sure(.95)`` asks."""
    X, y, new, truth = rows_of(name, split, rows, spread)
    life = thrifty.Lifetime(thrifty.Models(), random_state=split)
    began = time.process_time()
    learned = life.learn("task", X, y, spend=spend)
    curve = []
    for k in CELLS[name]:
        limit = {"spend": float(k * len(new))} if name == "spam" else {"per_row": k}
        got = life.predict("task", new.copy(), **limit)
        curve.append((k, float(score(name, truth, got))))
    got = life.predict("task", new.copy(), stop=thrifty.Sure(0.95))
    return {
        "set": name, "split": split, "bought": learned.receipt.cells / X.size, "curve": curve,
        "sure": got.receipt.cells / len(new), "seconds": time.process_time() - began,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(CELLS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--spend", default="100 %")
    parser.add_argument("--spread", type=float, default=0.1, help="of what tells, in the cubes")
    parser.add_argument("--out", type=Path, help="a file for what was measured, a line a split")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    one_thread()
    known = []
    if given.out and given.out.exists():
        known = [json.loads(line) for line in given.out.open()]
    done = {(one["set"], one["split"]): one for one in known}
    for name in given.sets:
        for split in range(given.splits):
            one = done.get((name, split))
            if one is None:
                made = measured(name, split, given.rows, given.spend, given.spread)
                one = append(given.out, made)
            line = "  ".join(f"{k}: {value:.3f}" for k, value in one["curve"])
            print(
                f"{name} split {split}, {one['bought']:.0%} of the cells: {line}; Sure(.95) "
                f"asks {one['sure']:.1f} [{one['seconds']:.0f} s]",
                flush=True,
            )
        if name in PUBLISHED:
            print(f"  published: {PUBLISHED[name]}")


if __name__ == "__main__":
    main()
