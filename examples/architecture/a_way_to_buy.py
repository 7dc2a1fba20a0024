"""A way to buy of one's own: the first rows whole, as many as the money pays for."""

from __future__ import annotations

import numpy as np

import thrifty
from thrifty.models import Bought, Lesson, Table


class FirstRows:
    """What a way to buy must have: ``buy``, which asks the door and gives a table."""

    def __repr__(self) -> str:
        return "FirstRows()"

    def buy(self, cells, labels, memory, allowance, rng):
        rows, features = rng.permutation(cells.n_examples), np.arange(cells.n_features)
        bill = np.cumsum(cells.row_costs(rows, features))
        rows = rows[: int(np.searchsorted(bill, allowance + 1e-9, side="right"))]
        values = np.asarray(cells.get(rows, features), dtype=float)
        table = Table(
            features,
            rows,
            values,
            np.ones(values.shape, dtype=bool),
            np.ones(len(rows)),
            labels.codes[rows],
        )
        return Bought(table, Lesson(useful=features[:5]))


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    life = thrifty.Lifetime(thrifty.Models(buying=FirstRows()))
    learned = life.learn("sum of two", X, y, spend="25 %")
    print(learned.receipt.cells, "cells,", f"{(learned.model.predict(X) == y).mean():.2f} right")


if __name__ == "__main__":
    main()
