"""Rows of earlier tasks as controls: a later task then pays for little but its rare class.

Of every task the memory keeps rows that it bought, drawn so that they are spread as all rows are: a
row of the class that stands for the most rows is kept, one of another class with the probability
of what it stands for against that. To a later task with two classes they are rows of the
population whose label is not known. As rows outside its rare class they are wrong by its share
only, and what is fitted to tell the rare class from all rows ranks as what tells it from the
others (case-base sampling: Mantel, 1973); probabilities are put right where they are made
(:mod:`thrifty.models.stack`). What of such a row was never bought is drawn from the values that the
feature has among them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.models.basket import Basket
from thrifty.models.memory import ROWS, Memory
from thrifty.outside import Json

__all__ = ["Controls", "controls_of", "remember_controls"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: tasks whose rows are kept, the latest, and rows of each at most
_TASKS, _ROWS = 24, 200


@dataclass(frozen=True, eq=False)
class Controls:
    """Rows of earlier tasks; of every feature where it is known, and its values there.

    >>> some = Controls(3, {7: (np.array([0, 2]), np.array([1.5, 4.0]))})
    >>> some.looks(np.array([7, 8])).tolist()
    [2, 0]
    """

    n_rows: int = 0
    columns: Mapping[int, tuple[Ints, Floats]] = field(default_factory=dict)

    def of(self, feature: int) -> tuple[Ints, Floats]:
        """The rows on which a feature is known, and its values."""
        none = np.zeros(0, dtype=np.int64), np.zeros(0)
        return self.columns.get(feature, none)

    def looks(self, features: Ints) -> Ints:
        """On how many rows each feature is known."""
        return np.array([len(self.of(f)[0]) for f in features.tolist()], dtype=np.int64)

    def known(self, features: Ints) -> NDArray[np.bool_]:
        """(rows, features) what is known."""
        found = np.zeros((self.n_rows, len(features)), dtype=bool)
        for j, f in enumerate(features.tolist()):
            found[self.of(f)[0], j] = True
        return found

    def filled(self, features: Ints, rows: Ints, rng: np.random.Generator) -> Floats:
        """(rows, features) values; what is not known is drawn from what is known of the feature."""
        whole = np.empty((self.n_rows, len(features)))
        for j, f in enumerate(features.tolist()):
            at, values = self.of(f)
            whole[:, j] = rng.choice(values, self.n_rows) if len(values) else np.nan
            whole[at, j] = values
        return np.asarray(whole[rows])


def controls_of(memory: Memory) -> Controls:
    """What the memory keeps."""
    parts: dict[int, list[tuple[Ints, Floats]]] = {}
    n = 0
    for note in memory.noted(ROWS):
        arrays = unpack_arrays(base64.b64decode(note, validate=True))
        ends = np.cumsum(arrays["upto"])
        for f, size, end in zip(arrays["features"].tolist(), arrays["upto"].tolist(), ends):
            part = np.arange(n, n + size), arrays["values"][end - size : end]
            parts.setdefault(f, []).append(part)
        n += int(arrays["upto"].max(initial=0))
    columns = {
        f: (np.concatenate([at for at, _ in some]), np.concatenate([x for _, x in some]))
        for f, some in parts.items()
    }
    return Controls(n, columns)


def remember_controls(
    basket: Basket, sizes: Ints, memory: Memory, rng: np.random.Generator
) -> Json:
    """A note of rows that were bought, spread as all rows are; it takes an old task's place."""
    longest = max((len(column) for column in basket.columns.values()), default=0)
    codes = basket.codes[:longest]
    stands_for = sizes / np.maximum(np.bincount(codes, minlength=len(sizes)), 1)
    kept = rng.random(longest) * stands_for.max() < stands_for[codes]
    kept &= np.cumsum(kept) <= _ROWS
    features = sorted(basket.columns)
    columns = [basket.columns[f][kept[: len(basket.columns[f])]] for f in features]
    if not longest:
        return {}
    packed = pack_arrays({
        "features": np.array(features, dtype=np.int64),
        "upto": np.array([len(column) for column in columns], dtype=np.int64),
        "values": np.concatenate(columns).astype(np.float64),
    })  # fmt: skip
    return {f"{ROWS}{memory.tasks % _TASKS}": base64.b64encode(packed).decode()}
