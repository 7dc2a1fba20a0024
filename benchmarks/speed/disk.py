"""Very wide data on disk: a few columns of a packed file, and a reused task on it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from studies.measure import best_of
from thrifty.cells.sources import Source
from thrifty.cells.sources.packed_file import PackedSource
from thrifty.lifetime.lifetime import Lifetime
from thrifty.packed import pack
from thrifty.streams import trees
from thrifty.trees import Paper, Trees
from thrifty.typing import AnyArray, Json

__all__ = ["measure"]


def measure(n_examples: int = 5_000, n_features: int = 50_000) -> list[Json]:
    """A row per thing that is read, with its time and the bytes that came from disk."""
    with tempfile.TemporaryDirectory() as folder:
        return _measure(Path(folder), n_examples, n_features)


def _measure(folder: Path, n_examples: int, n_features: int) -> list[Json]:
    stream = trees(6, n_features, 1, n_examples, 3, 0, max_nodes=3)
    tasks = [stream[0], stream[1]]
    life = Lifetime(Trees(4, Paper()))
    np.save(folder / "x.npy", tasks[1].X)
    start = time.process_time()
    packed = pack(folder / "x.npy", folder / "x.cells")
    packing = time.process_time() - start
    life.learn("first", Source.from_array(tasks[0].X, feature_names=_names(n_features)), tasks[0].y)
    size = f"{n_examples:,} x {n_features:,}"
    rows = [_row("pack from .npy", size, packing, None, f"{packed.bytes / 1e6:.1f} MB written")]
    some = np.random.default_rng(0).choice(n_features, 30, replace=False)
    names = [f"x{i}" for i in some]

    def thirty() -> object:
        return PackedSource(packed.path).columns(some)

    rows.append(_row("open, and read 30 columns", size, best_of(thirty, 9).best,
                     _from_disk(packed.path, thirty), ""))  # fmt: skip
    parquet = _parquet(folder, tasks[1].X, names)
    if parquet is not None:
        rows.append(_row("the same from Parquet", size, parquet, None, ""))
    counter = iter(range(1000))
    routes = []

    def reused() -> None:
        learned = life.learn(f"task {next(counter)}", Source.from_packed(packed.path), tasks[1].y)
        routes.append(learned.route)

    best = best_of(reused, 9).best
    rows.append(_row("a reused task", size, best, _from_disk(packed.path, reused), routes[-1]))
    source = Source.from_packed(packed.path)
    rows.append(_row("every column, as tiles", size, best_of(source.tiles, 3).best, None, ""))
    return rows


def _names(n: int) -> list[str]:
    return [f"x{i}" for i in range(n)]


def _row(what: str, size: str, seconds: float, read: int | None, note: str) -> Json:
    from_disk = "" if read is None else f"{read / 1e6:.2f} MB"
    return {"what": what, "size": size, "ms": 1e3 * seconds, "from disk": from_disk, "note": note}


def _from_disk(path: Path, work: Callable[[], object]) -> int | None:
    """Bytes that the work fetches from storage when nothing of the file is cached (Linux)."""
    if not os.path.exists("/proc/self/io"):
        return None
    for file in path.iterdir():
        with open(file, "rb") as handle:
            os.fsync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = _fetched()
    work()
    return _fetched() - before


def _fetched() -> int:
    with open("/proc/self/io", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def _parquet(folder: Path, X: AnyArray, names: list[str]) -> float | None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return None
    table = pyarrow.table({f"x{i}": X[:, i] for i in range(X.shape[1])})
    pyarrow.parquet.write_table(table, folder / "x.parquet")
    read = pyarrow.parquet.read_table
    return best_of(lambda: read(folder / "x.parquet", columns=names, use_threads=False), 2).best
