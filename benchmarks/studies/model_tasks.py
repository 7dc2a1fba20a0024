"""Real sets as tasks for any model: one test set held out of all tasks, each with its own rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.data import data_folder
from thrifty.typing import AnyArray

__all__ = ["MIXED", "WIDE", "ModelTask", "model_tasks"]

#: Boolean features
WIDE = (
    "tmc2007_500",
    "rcv1s1_500",
    "slashdot",
    "yahoo_arts_500",
    "bibtex",
    "medical",
    "tox21_maccs",
    "jester_items",
)
#: numbers, categories, gaps
MIXED = (
    "nhanes",
    "physionet_icu",
    "spam",
    "thyroid0387_cost",
    "yeast",
    "emotions",
    "cal500",
    "landmine",
)
#: rows a task is given at most, and of all rows at most
_ROWS, _SHARE = 1500, 0.6
#: rows of either kind that a label must have in the set, and in a task
_LEAST, _LEAST_IN_TASK = 60, 20


@dataclass(frozen=True, eq=False)
class ModelTask:
    """A label with its own training rows, and the set's test rows where the label is known."""

    label: int
    X: AnyArray
    y: NDArray[np.int64]
    X_test: AnyArray
    y_test: NDArray[np.int64]


def model_tasks(name: str, n_labels: int, seed: int) -> Iterator[ModelTask]:
    """The tasks of a set, in the order that the seed draws; raw values where a set has them."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: no data folder; set THRIFTY_DATA to it.")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:
        X, Y = z["X_raw"] if "X_raw" in z.files else z["X"], z["Y"]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    n_test = max(len(X) - 4500, int(0.35 * len(X)))
    test, pool = order[:n_test], order[n_test:]
    ones = (Y == 1).sum(axis=0)
    enough = (ones >= _LEAST) & (ones <= (Y >= 0).sum(axis=0) - _LEAST)
    labels = np.flatnonzero(enough).tolist()
    rng.shuffle(labels)
    for j in labels[:n_labels]:
        known = pool[Y[pool, j] >= 0]
        train = rng.permutation(known)[: min(_ROWS, int(_SHARE * len(X)))]
        y = (Y[train, j] == 1).astype(np.int64)
        asked = test[Y[test, j] >= 0]
        if min(y.sum(), len(y) - y.sum()) >= _LEAST_IN_TASK:
            yield ModelTask(j, X[train], y, X[asked], (Y[asked, j] == 1).astype(np.int64))
