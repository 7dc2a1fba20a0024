"""Rows of earlier tasks as controls: a later task then pays for little but its rare class.

Of every task the memory keeps rows that it bought, drawn so that they are spread as all rows are: a
row of the class that stands for the most rows is kept, one of another class with the probability
of what it stands for against that. To a later task with two classes they are rows of the
population whose label is not known. As rows outside its rare class they are wrong by its share
only, and what is fitted to tell the rare class from all rows ranks as what tells it from the
others (case-base sampling: Mantel, 1973); probabilities are put right where they are made
(:mod:`thrifty.models.fits.mixture`). What of such a row was never bought is drawn from what the
feature has among them. Rows of a cohort (:mod:`thrifty.models.buying.cohort`) are known whole, and
borrowed before those of tasks.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thrifty.array_types import Bools, Floats, Ints
from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays
from thrifty.models.memory.memory import Memory, PackedRows

__all__ = ["Controls", "controls_of", "pack_cohort", "remember_controls"]

# Set beforehand, not measured (docs/models.md, *Numbers, categories, gaps, more than two classes*).
#: tasks whose rows are kept, the latest
_TASKS = 24
#: rows of each at most
_ROWS = 200
#: values that a cohort keeps at most: 40 MB
_VALUES = 5_000_000


@dataclass(frozen=True, eq=False)
class Controls:
    """Rows of earlier tasks; of every feature where it is known, and its values there.

    The last ``whole`` rows are a cohort's, bought whole.

    >>> some = Controls(3, {7: (np.array([0, 2]), np.array([1.5, 4.0]))})
    >>> some.looks(np.array([7, 8])).tolist()
    [2, 0]
    """

    n_rows: int = 0
    columns: Mapping[int, tuple[Ints, Floats]] = field(default_factory=dict)
    whole: int = 0

    def of(self, feature: int) -> tuple[Ints, Floats]:
        """The rows on which a feature is known, and its values."""
        none = np.zeros(0, dtype=np.int64), np.zeros(0)
        return self.columns.get(feature, none)

    def looks(self, features: Ints) -> Ints:
        """On how many rows each feature is known."""
        return np.array([len(self.of(f)[0]) for f in features.tolist()], dtype=np.int64)

    def known(self, features: Ints) -> Bools:
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
    sizes: list[int] = []  # rows of each task and cohort; cohorts are the last
    for packed in (*memory.controls, *memory.cohorts):
        arrays = unpack_arrays(base64.b64decode(packed, validate=True))
        ends, n = np.cumsum(arrays["upto"]), sum(sizes)
        for f, size, end in zip(arrays["features"].tolist(), arrays["upto"].tolist(), ends):
            part = np.arange(n, n + size), arrays["values"][end - size : end]
            parts.setdefault(f, []).append(part)
        sizes.append(int(arrays["upto"].max(initial=0)))
    columns = {
        f: (np.concatenate([at for at, _ in some]), np.concatenate([x for _, x in some]))
        for f, some in parts.items()
    }
    return Controls(sum(sizes), columns, sum(sizes[len(memory.controls) :]))


def remember_controls(
    columns: Mapping[int, Floats], codes: Ints, sizes: Ints, task: int, rng: np.random.Generator
) -> dict[int, PackedRows]:
    """Rows that were bought, spread as all rows are, at the place of an old task's.

    Parameters
    ----------
    columns : mapping
        what was bought of each feature, on the first rows of one order
    codes : Ints
        classes of the rows, in that order
    sizes : Ints
        rows of each class, bought or not
    task : int
        how many tasks came before
    """
    longest = max((len(column) for column in columns.values()), default=0)
    codes = codes[:longest]
    stands_for = sizes / np.maximum(np.bincount(codes, minlength=len(sizes)), 1)
    kept = rng.random(longest) * stands_for.max() < stands_for[codes]
    kept &= np.cumsum(kept) <= _ROWS
    features = sorted(columns)
    some = [columns[f][kept[: len(columns[f])]] for f in features]
    if not longest:
        return {}
    return {task % _TASKS: _packed(np.array(features, dtype=np.int64), some)}


def pack_cohort(values: Floats) -> PackedRows:
    """Rows that were bought whole; of very wide ones the first."""
    kept = values[: max(1, _VALUES // max(values.shape[1], 1))]
    return _packed(np.arange(values.shape[1], dtype=np.int64), list(kept.T))


def _packed(features: Ints, columns: Sequence[Floats]) -> PackedRows:
    packed = pack_arrays(
        {
            "features": features,
            "upto": np.array([len(column) for column in columns], dtype=np.int64),
            "values": np.concatenate(columns).astype(np.float64),
        }
    )
    return base64.b64encode(packed).decode()
