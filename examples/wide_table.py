"""A wide genomic-like table on disk: the same traits in one cohort after another, few columns read.

    python examples/wide_table.py [folder] [markers]

Each cohort is a made-up table of genetic markers, written to disk in the packed column format, a
bit per cell. A trait is told by three markers of its pathway. In the first cohort the whole table
is read to find them; in the next ones a trait is learned from a handful of columns.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse

import thrifty
from thrifty.packed import pack
from thrifty.report import save_report

COHORTS = ["lisbon", "oslo", "kyoto"]
TRAITS = ["lactase", "taster", "night vision", "cold hands"]


def write_cohort(path: Path, people: int, markers: int, seed: int) -> np.ndarray:
    """A packed table of 0/1 markers; returns who carries which trait."""
    rng = np.random.default_rng(seed)
    table = rng.random((people, markers)) < 0.4
    shutil.rmtree(path, ignore_errors=True)
    names = [f"chr{1 + i * 22 // markers}:{i}" for i in range(markers)]
    packed = pack(sparse.csc_matrix(table, dtype=np.uint8), path, names=names)
    print(f"{path.stem}: {people:,} people x {markers:,} markers, {packed.bytes / 1e6:.1f} MB")
    return np.column_stack([carries(table, trait) for trait in range(len(TRAITS))])


def carries(table: np.ndarray, trait: int) -> np.ndarray:
    """A trait shows where the first marker and the second do, or else where the third does."""
    chosen = np.random.default_rng(100 + trait).choice(table.shape[1], 3, replace=False)
    first, second, third = table[:, chosen].T
    return np.where(first, second, third).astype(int)


def main(folder: Path, markers: int = 20_000, people: int = 1_500) -> thrifty.Lifetime:
    folder.mkdir(parents=True, exist_ok=True)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=5))
    for seed, cohort in enumerate(COHORTS):
        path = folder / f"{cohort}.cells"
        carriers = write_cohort(path, people, markers, seed)
        for trait, name in enumerate(TRAITS):
            began = perf_counter()
            table = thrifty.Source.from_packed(path)
            learned = life.learn(f"{name}, {cohort}", table, carriers[:, trait])
            took = 1000 * (perf_counter() - began)
            columns = learned.receipt.max_cells_per_example
            print(f"  {name:14} {learned.route:8} {columns:6,} columns read  {took:7.1f} ms")
    page = save_report(life, folder / "traits.html", title="traits")
    print(f"The report: {page.resolve()}")
    return life


if __name__ == "__main__":
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else "traits"),
        int(sys.argv[2]) if len(sys.argv) > 2 else 20_000,
    )
