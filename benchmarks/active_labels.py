"""Which rows to label: as drawn by ``life.learn`` with an oracle, beside rows drawn evenly.

    python benchmarks/active_labels.py --seeds 3

Average precision on the rows of public sets (THRIFTY_DATA, or ../shared/data) that were not to be
labelled, of ``thrifty.Models`` learned from as many labels either way; words are free. The first
question is whether 60 % of the labels reach what all of them reach when drawn evenly, the second
whether the same number is ever worse by more than .01.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty

if __package__ in (None, ""):
    import sys

    sys.path.insert(0, str(Path(__file__).parent))
from answers import Label, labels

FULL, PART = 250, 150


def active(label: Label, train: np.ndarray, n: int, seed: int) -> thrifty.Lifetime:
    """Labels that are bought."""
    life = thrifty.Lifetime(prices=0, random_state=seed)
    y = label.y[train]
    life.learn("label", label.X[train], thrifty.Oracle(lambda rows: y[rows], price=1), spend=n)
    return life


def even(label: Label, train: np.ndarray, n: int, seed: int) -> thrifty.Lifetime:
    """As many labels, drawn evenly."""
    life = thrifty.Lifetime(prices=0, random_state=seed)
    rows = np.random.default_rng(seed).permutation(train)[:n]
    life.learn("label", label.X[rows], label.y[rows])
    return life


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    by_set: dict[str, list[tuple[float, float, float]]] = {}
    for label in labels(args.rows, args.only, args.labels):
        for seed in range(args.seeds):
            order = np.random.default_rng(100 + seed).permutation(len(label.y))
            train, test = order[: len(order) // 2], order[len(order) // 2 :]

            def judged(life: thrifty.Lifetime, label: Label = label, test=test) -> float:
                p = life.predict("label", label.X[test]).probabilities[:, 1]
                return float(average_precision_score(label.y[test], p))

            found = (
                judged(even(label, train, FULL, seed)),
                judged(active(label, train, FULL, seed)),
                judged(active(label, train, PART, seed)),
            )
            by_set.setdefault(label.set, []).append(found)
            print(
                f"{label.set:<15} {label.name:>4} seed {seed}: {FULL} even {found[0]:.3f}, "
                f"{FULL} bought {found[1]:.3f}, {PART} bought {found[2]:.3f}",
                flush=True,
            )
    for name, rows in by_set.items():
        table = np.array(rows)
        same, part = table[:, 1] - table[:, 0], table[:, 2] - table[:, 0]
        error = 1 / np.sqrt(len(table))
        print(
            f"{name:<15} same number {same.mean():+.3f} +- {same.std() * error:.3f}, "
            f"60 % of it {part.mean():+.3f} +- {part.std() * error:.3f}"
        )


if __name__ == "__main__":
    main()
