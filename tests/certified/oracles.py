"""Rows, their labels, and an oracle's function that counts what it is asked."""

import numpy as np


def made(n: int = 1500, seed: int = 0, above: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5))
    return X, (X[:, 0] + 0.3 * X[:, 1] + 0.05 * rng.normal(size=n)) > above


class Counting:
    """An oracle's function that counts what it is asked."""

    def __init__(self, y: np.ndarray) -> None:
        self.y, self.asked = y, []

    def __call__(self, rows: list) -> list:
        self.asked += list(rows)
        return [self.y[int(row)] for row in rows]
