"""Large and wide: python benchmarks/large_and_wide.py [parquet | duckdb | numbers | booleans ...].

    parquet    10^7 rows x 100 columns of float32 in one Parquet file, learned at 30,000 cells
    duckdb     the same table in a DuckDB file
    numbers    500 rows x 20,000 numbers, at the default bill
    booleans   2,000 rows x 10^6 Boolean columns in a packed file, at a bill of 0.1 %

Each is learned in a process of its own, with its kernels compiled before: CPU seconds of the task
and of opening its table, and the most memory that the process ever took. Tables are made in chunks
in a temporary folder (4 GB; ``--folder`` keeps them for the next time).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import thrifty

ROWS, COLUMNS, CHUNK = 10_000_000, 100, 500_000
WIDE_ROWS, WIDE = 2_000, 1_000_000
#: what is wanted: seconds of CPU and GB
WANTED = {"parquet": (60, 1.5), "duckdb": (60, 1.5), "numbers": (6, 1.5), "booleans": (60, 1.5)}


def make_parquet(path: Path, rows: int) -> None:
    """Normal columns; the label needs three of them, and is a file beside it."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(COLUMNS)]
    labels = np.zeros(rows, dtype=np.int8)
    schema = pyarrow.schema([(name, pyarrow.float32()) for name in names])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            n = min(CHUNK, rows - start)
            X = rng.standard_normal((COLUMNS, n), dtype=np.float32)
            signal = X[3] + X[41] - X[77] + rng.standard_normal(n)
            labels[start : start + n] = signal > 0
            writer.write_table(
                pyarrow.Table.from_arrays(list(map(pyarrow.array, X)), schema=schema)
            )
    np.save(path.with_suffix(".npy"), labels)


def make_duckdb(path: Path, rows: int) -> None:
    """The same table, from the Parquet file beside it."""
    import duckdb

    whole = path.with_suffix(".parquet")
    if not whole.exists():
        make_parquet(whole, rows)
    with duckdb.connect(str(path), config={"memory_limit": "2GB"}) as connection:
        connection.execute("CREATE TABLE cells AS SELECT * FROM read_parquet(?)", [str(whole)])


def make_booleans(path: Path, columns: int) -> None:
    """Features with rates of 1 to 10 %; the label needs one of six."""
    from thrifty.packed import Writer

    rng = np.random.default_rng(0)
    rates = rng.uniform(0.01, 0.1, columns).astype(np.float32)
    names = [f"b{i}" for i in range(columns)]
    writer = Writer(path, WIDE_ROWS, names, np.ones(columns, dtype=bool))
    labels = np.zeros(WIDE_ROWS, dtype=np.int8)
    for start in range(0, WIDE_ROWS, 64):
        n = min(64, WIDE_ROWS - start)
        X = rng.random((n, columns), dtype=np.float32) < rates
        labels[start : start + n] = (X[:, :6].sum(axis=1) + (rng.random(n) < 0.02)) > 0
        writer.add(X)
    writer.close()
    np.save(path.with_suffix(".npy"), labels)


def warm() -> None:
    """Kernels are compiled, modules imported."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 20))
    thrifty.Lifetime(random_state=0).learn("numbers", X, (X[:, 0] > 0).astype(int))
    B = rng.random((300, 200)) < 0.1
    thrifty.Lifetime(random_state=0).learn("bits", B, B[:, 0] | B[:, 1], spend="20 %")


def most_memory() -> float:
    """GB that this process ever took; the kernel's maximum counts whoever started it, too."""
    told = Path("/proc/self/status")
    if told.exists():
        lines = dict(line.split(":", 1) for line in told.read_text().splitlines())
        return float(lines["VmHWM"].split()[0]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def learn(which: str, folder: Path) -> dict[str, float]:
    """One of the three, in this process."""
    warm()
    y: np.ndarray
    if which == "numbers":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 20_000))
        y = (X[:, 7] + X[:, 99] - X[:, 234] + rng.normal(size=500) > 0).astype(int)
    elif which in ("parquet", "duckdb"):
        y = np.load(folder / "large.npy")
    else:
        y = np.load(folder / "wide.npy")
    began, clock = time.process_time(), time.perf_counter()
    if which == "parquet":
        source = thrifty.Source.from_parquet(folder / "large.parquet")
    elif which == "duckdb":
        source = thrifty.Source.from_sql(f"duckdb:///{folder / 'large.duckdb'}", "cells")
    elif which == "booleans":
        source = thrifty.Source.from_packed(folder / "wide.cells")
    else:
        source = X
    opened = time.process_time() - began
    spend = {"parquet": 30_000, "duckdb": 30_000, "numbers": None, "booleans": "0.1 %"}[which]
    learned = thrifty.Lifetime(random_state=0).learn("task", source, y, spend=spend)
    return {
        "cpu": time.process_time() - began,
        "clock": time.perf_counter() - clock,
        "opening": opened,
        "gb": most_memory(),
        "cells": learned.receipt.cells,
        "features": [learned.model.feature_names_[f] for f in learned.model.features_[:8]],
    }


def main() -> None:
    """Make the tables that lack, and learn each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", default=list(WANTED))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--columns", type=int, default=WIDE)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        print(json.dumps(learn(given.which[0], given.folder)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for which in given.which:
            if which == "parquet" and not (folder / "large.npy").exists():
                make_parquet(folder / "large.parquet", given.rows)
            if which == "duckdb" and not (folder / "large.duckdb").exists():
                make_duckdb(folder / "large.duckdb", given.rows)
            if which == "booleans" and not (folder / "wide.npy").exists():
                make_booleans(folder / "wide.cells", given.columns)
            command = [sys.executable, __file__, which, "--here", "--folder", str(folder)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                print(f"{which}: failed ({ended.returncode})\n{ended.stderr[-2000:]}", flush=True)
                continue
            found = json.loads(ended.stdout.splitlines()[-1])
            seconds, gb = WANTED[which]
            print(
                f"{which}: {found['cpu']:.1f} s of CPU (at most {seconds}; opening "
                f"{found['opening']:.1f}), {found['clock']:.1f} s on clocks, {found['gb']:.2f} GB "
                f"(at most {gb}), {found['cells']:,} cells, model asks {found['features']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
