"""Two answerers of every question: python benchmarks/two_answerers.py.

The words of public sets (THRIFTY_DATA, or ../shared/data) are answers to questions about texts. The
large answerer gives them as they are, at 1; the small one, at a tenth, is wrong in a fifth of its
answers, drawn independently. ``PriceList(alternatives=)`` says that both answer the same. Printed
are average precision on rows that were not learned from, all of the model asked, and what learning
and a prediction cost in units of a large answer:

- the large one alone with the whole bill, and both with half of it: is that as good?
- the better one alone, and both with 1.05 times its bill: are two ever a loss? Also with a small
  one that guesses, and with one that is never wrong.

A bill is a share of what all answers of the large one would cost. Leads are paired over labels and
seeds, with 90 % intervals. Lines are kept, so that a run can be broken off and go on.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

import thrifty
from studies.kept import begin, interval

SETS = ("rcv1s1_500", "medical")
PRICE = 0.1
#: of the small one: what it gets wrong
NOISES = (0.2, 0.5, 0.0)
#: of the bill, with both
PARTS = {"half": 0.5, "more": 1.05}
KEPT = Path(__file__).resolve().parent / "results" / "two_answerers.jsonl"


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
) -> dict[str, float]:
    """Average precision, and the price of a prediction."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    names = [f"word {j}" for j in range(X.shape[1])]
    table = thrifty.Source.from_array(X[train], feature_names=names)
    life = thrifty.Lifetime(prices=prices, random_state=seed)
    life.learn("label", table, y[train], spend=bill)
    found = life.predict("label", thrifty.Source.from_array(X[test], feature_names=names))
    ap = float(average_precision_score(y[test], found.probabilities[:, 1]))
    return {"ap": ap, "each": found.receipt.cost / len(test)}


def part(X: np.ndarray, y: np.ndarray, line: dict[str, object]) -> dict[str, float]:
    """One way to spend: the large one alone, the small one, both at half of the bill or 1.05."""
    n, width = X.shape
    bill, seed = float(line["bill"]) * width * (n // 2), int(line["seed"])
    if line["what"] == "large":
        return judged(X, y, 1, bill, seed)
    small = X ^ (np.random.default_rng(1000 + seed).random(X.shape) < line["memory"])
    if line["what"] == "small":
        return judged(small, y, PRICE, min(bill, PRICE * small[: n // 2].size), seed)
    things = {f"thing {j}": [f"word {j}", f"word {j + width}"] for j in range(width)}
    prices = thrifty.PriceList(
        {f"word {j}": PRICE if j < width else 1 for j in range(2 * width)}, alternatives=things
    )
    return judged(np.hstack([small, X]), y, prices, float(PARTS[line["what"]]) * bill, seed)


def lines_of(given: argparse.Namespace) -> Iterator[dict[str, object]]:
    """What is to be measured: of a small one, ``memory``, by how much it is wrong."""
    for seed in given.seeds:
        for name, share, i in product(given.only or SETS, given.bills, range(given.labels)):
            key = {"set": name, "seed": seed, "i": i, "bill": share}
            yield {**key, "what": "large", "memory": 0.0}
            for noise in given.noises:
                # a small one that is wrong in a fifth is never the better one
                some = ("half", "more") if noise == NOISES[0] else ("small", "more")
                yield from ({**key, "what": what, "memory": noise} for what in some)


def shown(lines: Sequence[dict[str, object]]) -> Iterator[str]:
    """Leads of both, paired over labels and seeds."""
    at = {tuple(x[k] for k in ("set", "bill", "memory", "what", "seed", "i")): x for x in lines}
    for name, share, noise in sorted({key[:3] for key in at if key[3] != "large"}):

        def of(what: str, wrong: float, group=(name, share)) -> dict[tuple[object, ...], float]:
            start = (*group, wrong, what)
            return {key[4:]: line["ap"] for key, line in at.items() if key[:4] == start}

        large, small, half, more = (
            of("large", 0.0), of("small", noise), of("half", noise), of("more", noise)
        )  # fmt: skip
        row = f"{name:<11} wrong {noise:<4} bill {share:<5}"
        if half:
            each = np.mean([at[name, share, noise, "half", *p]["each"] for p in half])
            lead = interval([half[p] - large[p] for p in half])
            row += f" half of it {lead} of large ({len(half)}), a prediction {each:.0f} |"
        leads = [more[p] - max(large[p], small.get(p, 0.0)) for p in more]
        yield f"{row} 1.05 of it {interval(leads)} of the better ({len(more)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--bills", type=float, nargs="*", default=[0.05, 0.1])
    parser.add_argument("--noises", type=float, nargs="*", default=list(NOISES))
    parser.add_argument("--only", nargs="*", default=[])
    given, kept = begin(parser, KEPT)
    for line in lines_of(given):
        if not kept.has(**line):
            X, Y = load(str(line["set"]), given.rows, given.labels)
            kept.add({**line, **part(X, Y[:, int(line["i"])], line)})
    for row in shown(kept.lines):
        print(row)


if __name__ == "__main__":
    main()
