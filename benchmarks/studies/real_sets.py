"""Real data as tasks: each label one task at each of several sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from studies.data import data_folder
from thrifty.array_types import Ints

__all__ = ["RealTask", "SetTable", "load", "site_tasks"]

_LEAST = 20  # positives and negatives that a label must have


@dataclass(frozen=True)
class SetTable:
    """Boolean features, labels (-1: unknown), and what each feature's test costs, if it does."""

    name: str
    X: NDArray[np.uint8]
    Y: NDArray[np.int8]
    test_of_feature: Ints | None = None
    test_cost: NDArray[np.float64] | None = None

    def labels(self) -> list[int]:
        """Labels with enough rows of both kinds."""
        enough = ((self.Y == 1).sum(0) >= _LEAST) & ((self.Y == 0).sum(0) >= _LEAST)
        return np.flatnonzero(enough).tolist()


@dataclass(frozen=True)
class RealTask:
    """A label on some rows."""

    name: str
    X: NDArray[np.uint8]
    y: Ints
    X_test: NDArray[np.uint8]
    y_test: Ints


def load(name: str) -> SetTable:
    """A set by name; ``digits`` comes with scikit-learn and is always there."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return SetTable(name, (X > 7).astype(np.uint8), np.eye(10, dtype=np.int8)[y])
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        X, Y = z["X"], z["Y"].astype(np.int8)
        if X.dtype != np.uint8:
            X = (np.median(X, axis=0) < X).astype(np.uint8)
        prices = "test_cost" in z.files
        return SetTable(
            name,
            np.ascontiguousarray(X),
            Y,
            z["test_of_feature"].astype(np.int64) if prices else None,
            z["test_cost"].astype(np.float64) if prices else None,
        )


def _spread(items: Sequence[int], most: int | None) -> list[int]:
    """At most so many, evenly over the whole."""
    if most is None or len(items) <= most:
        return list(items)
    return [items[int(i)] for i in np.linspace(0, len(items) - 1, most)]


def _split(table: SetTable, label: int, pool: Ints, n_rows: int, seed: list[int]) -> RealTask:
    """Fresh training rows from the pool, the rest to test on; two rows of each class at least."""
    y = table.Y[:, label]
    known = pool[y[pool] >= 0]
    n = min(n_rows, len(known) * 2 // 3)
    for attempt in range(100):
        mixed = np.random.default_rng([*seed, attempt]).permutation(known)
        train, test = mixed[:n], mixed[n:]
        if min((y[train] == 1).sum(), (y[train] == 0).sum()) >= 2 and (y[test] == 1).any():
            break
    return RealTask(
        f"{table.name}-{label}",
        table.X[train],
        y[train].astype(np.int64),
        table.X[test],
        y[test].astype(np.int64),
    )


def site_tasks(
    table: SetTable, seed: int, *, sites: int = 4, most: int | None = None, n_rows: int = 1500
) -> Iterator[tuple[int, RealTask]]:
    """The rows split at random into sites; each label met at each of them, site after site."""
    rows = np.random.default_rng([seed, 99]).permutation(len(table.X))
    wanted = _spread(table.labels(), most)
    pools = np.array_split(rows, sites)
    y = table.Y
    wanted = [lab for lab in wanted if all((y[p, lab] == 1).sum() >= 6 for p in pools)]
    for site, pool in enumerate(pools):
        for label in wanted:
            task = _split(table, label, pool, n_rows, [seed, site, label])
            yield site, replace(task, name=f"site{site}-{task.name}")
