"""What several labels at once take beside one: python benchmarks/labels_time.py [--repeats 2].

CPU time of ``life.learn(names, X, Y)`` over that of one label of the same table, the mean of three
labels; the best of so many runs, one thread. Up to twelve labels of yeast, nhanes and tmc2007_500,
nine numbers of crime_numbers; 5 and 20 % of the cells.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

import thrifty
from crime_numbers import Towns
from studies.measure import machine, one_thread, table
from together import Shared

SETS = ("yeast", "nhanes", "tmc2007_500", "crime_numbers")
BILLS = ("5 %", "20 %")


def seconds(names: str | Sequence[str], X: np.ndarray, Y: np.ndarray, bill: str, n: int) -> float:
    kind: Literal["numbers", "classes"] = "numbers" if Y.dtype.kind == "f" else "classes"
    found = []
    for _ in range(n):
        life = thrifty.Lifetime(thrifty.Models(labels=kind), random_state=0)
        start = time.process_time()
        life.learn(names, X, Y, spend=bill)
        found.append(time.process_time() - start)
    return min(found)


def rows_of(name: str, repeats: int) -> list[dict[str, object]]:
    split = Towns(0) if name == "crime_numbers" else Shared(name, 0, 12)
    X = split.X if isinstance(split, Towns) else split.values(split.X)
    seconds(split.names, X, split.Y, BILLS[0], 1)  # kernels are compiled, files are read
    rows: list[dict[str, object]] = []
    for bill in BILLS:
        one = np.mean([seconds("one", X, split.Y[:, j], bill, repeats) for j in range(3)])
        many = seconds(split.names, X, split.Y, bill, repeats)
        told = {"one": f"{one:.2f}", "all": f"{many:.2f}", "all / one": f"{many / one:.2f}"}
        rows.append({"set": name, "labels": len(split.names), "bill": bill, **told})
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    one_thread()
    print(machine())
    print(table([row for name in given.sets for row in rows_of(name, given.repeats)]))
