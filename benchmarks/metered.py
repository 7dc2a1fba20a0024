"""Wrapped models on real data: python benchmarks/metered.py."""

from __future__ import annotations

from thrifty.benchmarks.measure import machine, one_thread, table

if __name__ == "__main__":
    one_thread()
    from thrifty.benchmarks import metered

    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    rows = metered.measure()
    print(table(rows))
    print(f"identical predictions: {sum(row['identical'] for row in rows)} of {len(rows)}")
