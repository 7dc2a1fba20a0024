"""What was bought for one task: a small table with holes, and what its rows weigh."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Table", "table_from_dict"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """Chosen rows x chosen features, some cells of which were bought.

    Attributes
    ----------
    features : (k,) which features, as indices into all N
    rows : (m,) which rows of the task
    values : (m, k) floats; NaN for a gap that was paid for, and wherever ``bought`` is False
    bought : (m, k) which cells were looked at
    weights : (m,) how many rows of the task each row stands for (inverse probability of its choice)
    labels : (m,) class codes, or the numbers themselves for regression
    centres : (k,) what stands in for a cell that was not bought: the background's mean; None where
        every cell was bought
    effects : (k, 2) belief about each feature's effect on the rare class, mean and variance, in
        logits; None where the way of buying holds none
    rare_code : the class that the effects are about

    >>> table = Table(np.array([3, 8]), np.array([0, 1, 2]), np.eye(3, 2), np.ones((3, 2), bool),
    ...               np.ones(3), np.array([0, 1, 0]))
    >>> table.prefix(1).features.tolist(), table.is_whole
    ([3], True)
    """

    features: Ints
    rows: Ints
    values: Floats
    bought: Bools
    weights: Floats
    labels: NDArray[Any]
    centres: Floats | None = None
    effects: Floats | None = None
    rare_code: int = 1

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def is_whole(self) -> bool:
        """Whether every cell of it was bought."""
        return bool(self.bought.all())

    def prefix(self, k: int) -> Table:
        """The first k features."""
        return self.of_features(np.arange(min(k, len(self.features))))

    def of_features(self, which: Ints) -> Table:
        """Some of its features, by their positions here."""
        return replace(
            self,
            features=self.features[which],
            values=self.values[:, which],
            bought=self.bought[:, which],
            centres=None if self.centres is None else self.centres[which],
            effects=None if self.effects is None else self.effects[which],
        )

    def of_rows(self, which: Ints) -> Table:
        """Some of its rows, by their positions here."""
        return replace(
            self,
            rows=self.rows[which],
            values=self.values[which],
            bought=self.bought[which],
            weights=self.weights[which],
            labels=self.labels[which],
        )

    def filled(self) -> Floats:
        """The values, with the background's mean where a cell was not bought."""
        if self.centres is None or self.is_whole:
            return self.values
        return np.where(self.bought, self.values, self.centres)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: only what was bought, column by column."""
        columns = []
        for j in range(len(self.features)):
            at = np.flatnonzero(self.bought[:, j])
            columns.append([at.tolist(), _plain(self.values[at, j])])
        return {
            "features": self.features.tolist(),
            "rows": self.rows.tolist(),
            "columns": columns,
            "weights": self.weights.tolist(),
            "labels": self.labels.tolist(),
            "centres": None if self.centres is None else self.centres.tolist(),
            "effects": None if self.effects is None else self.effects.tolist(),
            "rare_code": self.rare_code,
        }


def _plain(values: Floats) -> list[float | None]:
    """JSON has no NaN: a gap that was paid for is null."""
    return [None if value != value else value for value in values.tolist()]


def table_from_dict(data: dict[str, Any]) -> Table:
    """The inverse of :meth:`Table.to_dict`."""
    m, k = len(data["rows"]), len(data["features"])
    values, bought = np.full((m, k), np.nan), np.zeros((m, k), dtype=bool)
    for j, (at, column) in enumerate(data["columns"]):
        bought[at, j] = True
        values[at, j] = [np.nan if value is None else value for value in column]
    effects = data["effects"]
    return Table(
        np.array(data["features"], dtype=np.int64),
        np.array(data["rows"], dtype=np.int64),
        values,
        bought,
        np.array(data["weights"], dtype=np.float64),
        np.array(data["labels"]),
        None if data["centres"] is None else np.array(data["centres"], dtype=np.float64),
        None if effects is None else np.array(effects, dtype=np.float64).reshape(k, 2),
        data["rare_code"],
    )
