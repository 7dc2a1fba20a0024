"""What past tasks taught a lifetime of models: the background of the features.

Of every feature: how often it was looked at outside the rare class, and how often it was 1 there.
Kept by column; an array of all features in memory, in a store only those that were looked at.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.ledger.arrays import pack_arrays, unpack_arrays

__all__ = ["Lesson", "Memory"]

Floats = NDArray[np.float64]

#: counts of more features than this are packed in a store, in thousandths of a look
_FEW, _PARTS = 1000, 1000.0
#: notes that name the categories of a feature
_WORDS = "words of "


@dataclass(frozen=True, eq=False)
class Lesson:
    """What one task adds to the memory, whatever others have added meanwhile.

    ``features``, ``looks``, ``ones``: Boolean features that were looked at, how often, and how
    often they were 1, each class weighted by its share. ``notes``: what a way of buying keeps per
    feature, as JSON; of one feature the newest stays.
    """

    features: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    looks: Floats = field(default_factory=lambda: np.zeros(0))
    ones: Floats = field(default_factory=lambda: np.zeros(0))
    useful: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: Mapping[str, Any] = field(default_factory=dict)
    is_task: bool = True

    def with_words(self, words: Mapping[str, tuple[str, ...]]) -> Lesson:
        """The lesson, with what the numbers of each category feature stand for."""
        said = {f"{_WORDS}{name}": list(categories) for name, categories in words.items()}
        return replace(self, notes={**self.notes, **said})


@dataclass(frozen=True, eq=False)
class Memory:
    """The background of the features; immutable.

    >>> lesson = Lesson(np.array([4]), np.array([10.0]), np.array([3.0]), np.array([4]))
    >>> memory = Memory().after(lesson, n_features=6)
    >>> memory.tasks, memory.looks.tolist(), len(memory)
    (1, [0.0, 0.0, 0.0, 0.0, 10.0, 0.0], 1)
    """

    looks: Floats = field(default_factory=lambda: np.zeros(0))
    ones: Floats = field(default_factory=lambda: np.zeros(0))
    useful: Floats = field(default_factory=lambda: np.zeros(0))
    tasks: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many features were ever useful."""
        return int((self.useful > 0).sum())

    def __iter__(self) -> Iterator[int]:
        """The features that were useful, most often first."""
        order = np.argsort(-self.useful, kind="stable")
        return iter(order[: len(self)].tolist())

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of each category feature stand for, in this lifetime."""
        return {
            key.removeprefix(_WORDS): tuple(said)
            for key, said in self.notes.items()
            if key.startswith(_WORDS)
        }

    def noted(self, kind: str) -> list[Any]:
        """Notes whose key begins so, the oldest first."""
        return [note for key, note in self.notes.items() if key.startswith(kind)]

    def background(self, n_features: int) -> tuple[Floats, Floats]:
        """Looks and ones of every feature; zeros for those that are new."""
        return _grown(self.looks, n_features), _grown(self.ones, n_features)

    def usefulness(self, n_features: int) -> Floats:
        """In how many tasks each feature was useful."""
        return _grown(self.useful, n_features)

    def after(self, lesson: Lesson, n_features: int) -> Memory:
        """The memory with what one more task taught."""
        looks, ones = (array.copy() for array in self.background(n_features))
        useful = _grown(self.useful, n_features).copy()
        looks[lesson.features] += lesson.looks
        ones[lesson.features] += lesson.ones
        useful[lesson.useful] += 1
        return replace(
            self,
            looks=looks,
            ones=ones,
            useful=useful,
            tasks=self.tasks + lesson.is_task,
            notes={**self.notes, **lesson.notes},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        seen = np.flatnonzero((self.looks > 0) | (self.useful > 0))
        counts = {
            "features": seen,
            "looks": np.round(self.looks[seen], 3),
            "ones": np.round(self.ones[seen], 3),
            "useful": self.useful[seen].astype(np.int64),
        }
        return {
            "n_features": len(self.looks),
            "tasks": self.tasks,
            **(_packed(counts) if len(seen) > _FEW else {k: v.tolist() for k, v in counts.items()}),
            "notes": dict(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Memory:
        """The inverse of :meth:`to_dict`."""
        counts = _unpacked(data["packed"]) if "packed" in data else data
        arrays = []
        for name in ("looks", "ones", "useful"):
            array = np.zeros(data["n_features"])
            array[np.array(counts["features"], dtype=np.int64)] = counts[name]
            arrays.append(array)
        looks, ones, useful = arrays
        return cls(looks, ones, useful, tasks=data["tasks"], notes=data["notes"])


def _packed(counts: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Counts of many features as one compressed block: steps between features, thousandths."""
    steps = np.diff(counts["features"], prepend=0)
    small: dict[str, NDArray[Any]] = {
        "steps": steps.astype(np.int32),
        "looks": np.rint(counts["looks"] * _PARTS).astype(np.int64),
        "ones": np.rint(counts["ones"] * _PARTS).astype(np.int64),
        "useful": counts["useful"].astype(np.int32),
    }
    return {"packed": base64.b64encode(pack_arrays(small)).decode()}


def _unpacked(text: str) -> dict[str, Any]:
    """The inverse of :func:`_packed`."""
    small = unpack_arrays(base64.b64decode(text, validate=True))
    return {
        "features": np.cumsum(small["steps"].astype(np.int64)),
        "looks": small["looks"] / _PARTS,
        "ones": small["ones"] / _PARTS,
        "useful": small["useful"],
    }


def _grown(array: Floats, n: int) -> Floats:
    return array if len(array) == n else np.concatenate([array, np.zeros(n - len(array))])
