"""Real data sets, where they are: ``THRIFTY_DATA``, or ``../shared/data`` beside the repository."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thrifty.typing import AnyArray

__all__ = ["DataSet", "data_folder", "data_sets"]


@dataclass(frozen=True, eq=False)
class DataSet:
    """One set: features, and the label with the most even classes among its rows that have it."""

    name: str
    X: AnyArray
    y: NDArray[np.int64]


def data_folder() -> Path | None:
    """Where the sets are: THRIFTY_DATA, or ``shared/data`` beside the repository."""
    given = os.environ.get("THRIFTY_DATA")
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    for folder in ([Path(given)] if given else []) + [beside, Path("../shared/data")]:
        if folder.is_dir():
            return folder
    return None


def data_sets(max_rows: int | None = None) -> Iterator[DataSet]:
    """Every set of classes, smallest name first; labels that are numbers are left to others."""
    place = data_folder()
    for file in sorted(place.glob("*.npz")) if place is not None else []:
        with np.load(file, allow_pickle=False) as found:
            X = found["X"]
            Y = found["Y"] if "Y" in found.files else _one_against_the_rest(found["y"])
        if not np.isin(Y, (-1, 0, 1)).all():
            continue
        shares = [abs(np.mean(Y[Y[:, j] >= 0, j] == 1) - 0.5) for j in range(Y.shape[1])]
        label = int(np.argmin(shares))
        known = Y[:, label] >= 0
        rows = np.flatnonzero(known)
        if max_rows is not None and len(rows) > max_rows:
            rows = np.sort(np.random.default_rng(0).choice(rows, max_rows, replace=False))
        yield DataSet(file.stem, X[rows], Y[rows, label].astype(np.int64))


def _one_against_the_rest(y: AnyArray) -> NDArray[np.int8]:
    """A label of several classes as one column a class."""
    columns: NDArray[np.int8] = (y[:, None] == np.unique(y)).astype(np.int8)
    return columns
