"""Time and memory of one task of thrifty.Models on wide tables: python benchmarks/wide_models.py.

1,500 rows of made Boolean features, a bill of 5 % of the cells, one core. Memory is what the
process takes at most while it learns, above what it took before with the table in it; each width
runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

import thrifty
from studies.measure import table

WIDTHS = (1_836, 10_000, 50_000)
ROWS = 1_500


def made(n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Features with rates of 1 to 10 %; the label needs one of six."""
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.01, 0.1, n_features)
    X = np.empty((ROWS, n_features), dtype=bool)
    for row in X:  # one after another: all at once would be the peak of the process
        row[:] = rng.random(n_features) < rates
    return X, (X[:, :6].sum(axis=1) + (rng.random(ROWS) < 0.02)) > 0


def _most() -> float:
    """Megabytes that the process ever took."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(n_features: int) -> dict[str, float]:
    """One width, in this process."""
    X, y = made(n_features)
    few = X[:300, :100].copy()
    thrifty.Lifetime().learn("warm", few, few[:, 0] | few[:, 1], spend="20 %")
    before, begun = _most(), time.process_time()
    learned = thrifty.Lifetime(thrifty.Models(random_state=0)).learn("t", X, y, spend="5 %")
    seconds = time.process_time() - begun
    return {
        "N": n_features,
        "cells": learned.receipt.cells,
        "seconds": seconds,
        "added_mb": _most() - before,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--width", type=int, help="measure this one here, and print JSON")
    width = arguments.parse_args().width
    if width is not None:
        print(json.dumps(measure(width)))
        return
    rows = []
    for n in WIDTHS:
        said = subprocess.run(
            [sys.executable, __file__, "--width", str(n)], check=True, capture_output=True
        )
        rows.append(json.loads(said.stdout))
    print(table(rows))


if __name__ == "__main__":
    main()
