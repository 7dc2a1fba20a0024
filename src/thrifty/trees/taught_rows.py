"""The examples that a representation was fitted to: enough of them to know when they come again.

All where they are few, and one in sixteen of many, chosen by their keys: the same ones are chosen
wherever they come, so that a task which brings some of them is found out by one match. Of 4,096 and
fewer none is missed; of more, a task that shares n rows is missed with probability (15 / 16)^n.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["TaughtRows"]

Keys = NDArray[np.uint64]

_ALL = 4_096
_ONE_IN = 16


def _distinct(keys: Keys) -> Keys:
    """Sorted, each once. ``np.unique`` hashes first and sorts then: sorting alone is faster."""
    ascending = np.sort(keys)
    first = np.ones(len(ascending), dtype=np.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def _none() -> Keys:
    return np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class TaughtRows:
    """Keys of examples, sorted.

    >>> taught = TaughtRows().with_keys(np.array([5, 9], dtype=np.uint64))
    >>> taught.share_any(np.array([1, 9], dtype=np.uint64))
    True
    >>> taught.share_any(np.array([1, 8], dtype=np.uint64))
    False
    >>> TaughtRows.from_text(taught.to_text()) == taught
    True
    """

    keys: Keys = field(default_factory=_none)

    def with_keys(self, keys: Keys) -> TaughtRows:
        """These examples too."""
        new = _distinct(keys)
        often = np.searchsorted(new, np.uint64(2**64 // _ONE_IN))
        kept = new[: max(_ALL, int(often))]
        return TaughtRows(_distinct(np.concatenate([self.keys, kept])))

    def share_any(self, keys: Keys) -> bool:
        """Whether one of these examples is among them."""
        if not len(self.keys):
            return False
        asked = keys[keys <= self.keys[-1]]  # few, where only the lowest of many are kept
        return bool((self.keys[np.searchsorted(self.keys, asked)] == asked).any())

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaughtRows) and np.array_equal(self.keys, other.keys)

    def __hash__(self) -> int:
        return hash(self.keys.tobytes())

    def to_text(self) -> str:
        """For JSON."""
        return base64.b64encode(self.keys.astype("<u8").tobytes()).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> TaughtRows:
        """The inverse of :meth:`to_text`."""
        return cls(np.frombuffer(base64.b64decode(text), dtype="<u8").astype(np.uint64))
