"""Real-valued trees against scikit-learn: python benchmarks/thresholds.py.

5,000 x 1,000 float32; CPU time of one thread, best of several, ratios in one run. Also
``thrifty bench --only thresholds``.
"""

from __future__ import annotations

import argparse

from thrifty.benchmarks.measure import machine, one_thread, table

if __name__ == "__main__":
    one_thread()
    from thrifty.benchmarks import thresholds

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=thresholds.DEFAULT[0])
    parser.add_argument("--features", type=int, default=thresholds.DEFAULT[1])
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    print(table(thresholds.measure(given.examples, given.features, given.repeats)))
