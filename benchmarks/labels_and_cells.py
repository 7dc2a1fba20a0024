"""Labels and cells paid from the same money: python benchmarks/labels_and_cells.py.

A label costs so many times what all cells of a row cost. Average precision, on rows that were not
to be labelled, of ``life.learn`` with an oracle, where the part of a row's cells that is paid for
follows the prices (:func:`thrifty.lifetime.labelling.part_read`), less that of a fixed fifth,
for the same money: as much as 150 labels with a fifth of their cells cost. Paired over labels and
seeds. Lines are kept, so that a run can be broken off and go on.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty
from studies.kept import begin, interval
from thrifty.lifetime import labelling

KEPT = Path(__file__).resolve().parent / "results" / "labels_and_cells.jsonl"
#: the constants were chosen on the first four
CHOSEN_ON = ("rcv1s1_500", "spam", "tox21_maccs", "yeast")
SETS = (*CHOSEN_ON, "tmc2007_500", "yahoo_arts_500", "support2", "jester_items")
#: of a label, in units of a whole row's cells
PRICES = (0.05, 1.0, 20.0)
LABELS, FIFTH = 150, 0.2


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells and one label, another for each seed: of the three most common that are no majority."""
    folder = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    z = np.load(folder / f"{name}.npz", allow_pickle=False)
    X, Y = z["X"], z["Y"].reshape(len(z["X"]), -1)
    share = (Y == 1).mean(axis=0)
    common = [j for j in np.argsort(-share, kind="stable") if share[j] < 0.5][:3]
    j = common[seed % len(common)]
    known = np.flatnonzero(Y[:, j] >= 0)
    is_boolean = X.dtype.kind != "f" or bool(np.isin(X, (0, 1)).all())
    return (X.astype(bool) if is_boolean else X)[known], Y[known, j].astype(bool)


def quality(name: str, price: float, seed: int, part: float | None) -> float:
    """Average precision on the last rows; ``part``: a fixed one of a row's cells."""
    X, y = load(name, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    test, pool = order[: min(1500, len(y) // 2)], order[min(1500, len(y) // 2) :]
    life = thrifty.Lifetime(prices=1 / X.shape[1], random_state=seed)
    oracle = thrifty.Oracle(lambda rows: y[pool][rows], price=price)
    fixed = labelling.part_read if part is None else lambda label, row: part
    with patch.object(labelling, "part_read", fixed):
        life.learn("label", X[pool], oracle, spend=LABELS * (price + FIFTH))
    found = life.predict("label", X[test]).probabilities[:, 1]
    return float(average_precision_score(y[test], found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    given, kept = begin(parser, KEPT)
    for seed in given.seeds:
        for name in given.sets:
            for price in PRICES:
                key = {"set": name, "seed": seed, "bill": price}
                if not kept.has(**key):
                    fifth = quality(name, price, seed, FIFTH)
                    kept.add({**key, "fifth": fifth, "ours": quality(name, price, seed, None)})
    for price in PRICES:
        for what, some in (("chosen on", CHOSEN_ON), ("not chosen on", SETS[len(CHOSEN_ON) :])):
            lines = [x for x in kept.lines if x["bill"] == price and x["set"] in some]
            if lines:
                lead = interval([x["ours"] - x["fifth"] for x in lines])
                print(f"a label costs {price:>5} rows, sets {what:<13}: {lead} ({len(lines)})")
    for name in SETS:
        lines = [x for x in kept.lines if x["set"] == name]
        by = [[x["ours"] - x["fifth"] for x in lines if x["bill"] == p] for p in PRICES]
        print(f"{name:<15}", "   ".join(interval(one) if one else "" for one in by))


if __name__ == "__main__":
    main()
