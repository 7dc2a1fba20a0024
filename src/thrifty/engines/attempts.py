"""UseRep on a worker, and its answer put in place of UseRep when the task's turn comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Attempt
from thrifty.cells import Cells, as_source
from thrifty.cells.cells import Looks
from thrifty.labels.partly import aligned_labels
from thrifty.protocol import AnyFamily, traits_of
from thrifty.typing import LabelsLike, TableLike

__all__ = ["LookedCells", "Tried", "TriedFamily", "try_task"]


@dataclass(frozen=True, eq=False)
class LookedCells:
    """Which cells an attempt looked at: row masks by feature, or all of them.

    ``paid``: look by look, where prices have orders, so that the same orders are paid again.
    """

    features: NDArray[np.int64]
    masks: NDArray[np.uint64]
    everything: bool
    paid: Looks = ()

    @classmethod
    def at(cls, cells: Cells) -> LookedCells:
        """What went through this door."""
        touched = cells.meter.touched
        features = np.flatnonzero(touched.any(axis=1))
        return cls(features, touched[features], cells.meter.everything, cells.paid_looks)

    def replay(self, cells: Cells) -> None:
        """Look at the same cells through another door, which counts them by what it owns."""
        cells.look_again(self.paid)
        for i in range(len(self.features)):
            cells.meter.charge(self.features[i : i + 1], self.masks[i])
        if self.everything:
            cells.meter.charge_everything()


@dataclass(frozen=True, eq=False)
class Tried:
    """The attempt that a worker made, and what it looked at."""

    attempt: Attempt[object]
    looked: LookedCells


def try_task(
    family: AnyFamily, representation: object, X: TableLike, y: LabelsLike, row_seed: int = 0
) -> Tried | None:
    """UseRep on a source that is free to read; None where it raises (its turn will raise again)."""
    try:
        cells = Cells(as_source(X, allow_missing=traits_of(family).allows_missing))
        cells.row_seed = row_seed
        labels = family.read_labels(aligned_labels(X, y))
        attempt = family.use_rep(representation, cells, labels)
    except Exception:
        return None
    return Tried(attempt, LookedCells.at(cells))


class TriedFamily:
    """A family whose UseRep is known already for one representation; otherwise the family itself.

    The protocol around it does not change: a failed attempt is followed by scratch, a rule may
    forget first, and then UseRep is run here, on what is known by then.
    """

    def __init__(self, family: AnyFamily, representation: object, tried: Tried) -> None:
        self._family, self._representation, self._tried = family, representation, tried

    def __getattr__(self, name: str) -> Any:
        return getattr(self._family, name)

    def use_rep(self, representation: object, cells: Cells, labels: object) -> Attempt[object]:
        if representation is not self._representation and representation != self._representation:
            return self._family.use_rep(representation, cells, labels)
        self._tried.looked.replay(cells)
        return self._tried.attempt
