"""A wide table of numbers: python benchmarks/wide_numbers.py [--rows 500] [--columns 20000].

CPU seconds and cells of one task of ``Models`` with the default bill. Run it with PYTHONPATH of
another version for the numbers before.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import thrifty


def main() -> None:
    """Make a table in which three columns matter, learn, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--columns", type=int, default=20_000)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(given.rows, given.columns))
    signal = X[:, 7] + X[:, 99] - X[:, 234]
    y = (signal + rng.normal(size=given.rows) > 0).astype(int)
    warm = rng.normal(size=(200, 20))  # kernels are compiled, modules imported
    told = (warm[:, 0] + signal[:200] > 0).astype(int)
    thrifty.Lifetime(random_state=0).learn("warm", warm, told)
    began = time.process_time()
    learned = thrifty.Lifetime(random_state=0).learn("wide", X, y)
    print(
        f"{given.rows:,} x {given.columns:,}: {time.process_time() - began:.1f} s of CPU, "
        f"{learned.receipt.cells:,} cells"
    )


if __name__ == "__main__":
    main()
