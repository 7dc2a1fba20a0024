"""Engines with two workers: python benchmarks/engines.py."""

from __future__ import annotations

from thrifty.benchmarks.measure import machine, one_thread, table

if __name__ == "__main__":
    one_thread()
    from thrifty.benchmarks import engines

    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    print(table(engines.measure()))
