"""Learning from scratch, against scikit-learn and XGBoost: python benchmarks/scratch.py [--large].

CPU time of one thread, best of several, ratios in one run.
"""

from __future__ import annotations

import argparse

from thrifty.benchmarks.measure import machine, one_thread, table

if __name__ == "__main__":
    one_thread()
    from thrifty.benchmarks import scratch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 5,000 x 50,000 (minutes)")
    parser.add_argument("--no-memory", action="store_true", help="leave out 20,000 x 50,000")
    arguments = parser.parse_args()
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    rows = scratch.measure(*scratch.DEFAULT, repeats=9, peers=3)
    if arguments.large:
        rows += scratch.measure(*scratch.LARGE)
    print(table(rows))
    if not arguments.no_memory:
        print(table([scratch.memory()]))
