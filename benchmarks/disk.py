"""Very wide data on disk: python benchmarks/disk.py [--small]."""

from __future__ import annotations

import argparse

from thrifty.benchmarks.measure import machine, one_thread, table

if __name__ == "__main__":
    one_thread()
    from thrifty.benchmarks import disk

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="500 x 5,000 only")
    arguments = parser.parse_args()
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    print(table(disk.measure(500, 5_000) if arguments.small else disk.measure()))
