"""Two answerers of every question: python benchmarks/two_answerers.py --seeds 3.

The words of public sets (THRIFTY_DATA, or ../shared/data) are answers to questions about texts. The
large answerer gives them as they are, at 1; the small one, at a tenth, is wrong in a fifth of its
answers, drawn independently. ``PriceList(alternatives=)`` says that both answer the same. Printed
are average precision on rows that were not learned from, all of the model asked, and what learning
and a prediction cost in units of a large answer:

- the large one alone with the whole bill, and both with half of it: is that as good?
- the better one alone, and both with 1.05 times its bill: are two ever a loss? Also with a small
  one that guesses, and with one that is never wrong.

A bill is a share of what all answers of the large one would cost.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty

SETS = ("rcv1s1_500", "medical")
PRICE = 0.1
#: of the small one: what it gets wrong
NOISES = (0.2, 0.5, 0.0)


def load(name: str, rows: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Words, and the most common labels that are no majority."""
    folder = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    z = np.load(folder / f"{name}.npz", allow_pickle=False)
    some = np.random.default_rng(0).permutation(len(z["X"]))[:rows]
    X, Y = z["X"][some].astype(bool), z["Y"][some].astype(bool)
    labels = [j for j in np.argsort(-Y.mean(0), kind="stable") if Y[:, j].mean() < 0.5][:most]
    return X, Y[:, labels]


def judged(
    X: np.ndarray, y: np.ndarray, prices: object, bill: float, seed: int
) -> tuple[float, float]:
    """(average precision, price of a prediction)"""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    names = [f"word {j}" for j in range(X.shape[1])]
    table = thrifty.Source.from_array(X[train], feature_names=names)
    life = thrifty.Lifetime(prices=prices, random_state=seed)
    life.learn("label", table, y[train], spend=bill)
    found = life.predict("label", thrifty.Source.from_array(X[test], feature_names=names))
    ap = float(average_precision_score(y[test], found.probabilities[:, 1]))
    return ap, found.receipt.cost / len(test)


def compared(X: np.ndarray, y: np.ndarray, noise: float, share: float, seed: int) -> list[float]:
    """Of large at the bill, small at it, both at half, both at 1.05 of it; two prices."""
    n, width = X.shape
    bill = share * width * (n // 2)
    small = X ^ (np.random.default_rng(1000 + seed).random(X.shape) < noise)
    both = np.hstack([small, X])
    things = {f"thing {j}": [f"word {j}", f"word {j + width}"] for j in range(width)}
    alternatives = thrifty.PriceList(
        {f"word {j}": PRICE if j < width else 1 for j in range(2 * width)}, alternatives=things
    )
    large, each = judged(X, y, 1, bill, seed)
    alone, _ = judged(small, y, PRICE, min(bill, PRICE * small[: n // 2].size), seed)
    half, less = judged(both, y, alternatives, bill / 2, seed)
    more, _ = judged(both, y, alternatives, 1.05 * bill, seed)
    return [large, alone, half, more, each, less]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--bills", type=float, nargs="*", default=[0.05, 0.1])
    parser.add_argument("--noises", type=float, nargs="*", default=list(NOISES))
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in args.only or SETS:
        X, Y = load(name, args.rows, args.labels)
        for noise in args.noises:
            for share in args.bills:
                found = []
                for seed in range(args.seeds):
                    for j in range(Y.shape[1]):
                        found.append(compared(X, Y[:, j], noise, share, seed))
                table = np.array(found)
                mean = table.mean(axis=0)
                lead = table[:, 2] - table[:, 0]
                loss = table[:, 3] - table[:, :2].max(axis=1)
                error = 1 / np.sqrt(len(table))
                print(
                    f"{name:<11} wrong {noise:<4} bill {share:<5} large {mean[0]:.3f} small "
                    f"{mean[1]:.3f} | both, half the bill {mean[2]:.3f} ({lead.mean():+.3f} +- "
                    f"{lead.std() * error:.3f} of large) | both, 1.05 of it {mean[3]:.3f} "
                    f"({loss.mean():+.3f} +- {loss.std() * error:.3f} of the better) | a "
                    f"prediction {mean[4]:.1f}, {mean[5]:.1f} with both",
                    flush=True,
                )


if __name__ == "__main__":
    main()
