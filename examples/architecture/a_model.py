"""A model of a library that Thrifty does not know: say what its trees ask, and it is metered."""

from __future__ import annotations

import numpy as np

import thrifty
from thrifty.lazy import Forest
from thrifty.wrapped import Readable


class Rules:
    """Somebody's fitted model: a list of (feature, at most, answer), the first that holds."""

    def __init__(self, rules: list[tuple[int, float, int]], otherwise: int) -> None:
        self.rules, self.otherwise = rules, otherwise

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The answer of the first rule that holds on each row."""
        holds = [X[:, feature] <= most for feature, most, _ in self.rules]
        return np.select(holds, [answer for *_, answer in self.rules], self.otherwise)


def read(model: Rules, n_features: int) -> Readable:
    """A list is a tree whose every question has a leaf: question i is node 2i, its leaf 2i + 1."""
    k = len(model.rules)
    leaf = np.arange(2 * k + 1)
    feature, threshold = np.full(2 * k + 1, -1), np.zeros(2 * k + 1)
    first, second = leaf.copy(), leaf.copy()  # a leaf goes nowhere
    for i, (f, most, _) in enumerate(model.rules):
        feature[2 * i], threshold[2 * i] = f, most
        first[2 * i], second[2 * i] = 2 * i + 1, 2 * i + 2
    forest = Forest(feature, threshold, first, second, missing=second, roots=np.zeros(1, dtype=int))
    return Readable(forest, n_features, None, model.predict, name="Rules")


def main() -> tuple[thrifty.wrapped.Metered, Rules, np.ndarray]:
    """Its own answers, for the cells that its questions ask for."""
    X = np.random.default_rng(0).normal(size=(200, 20))
    model = Rules([(3, 0.0, 1), (7, -0.5, 2)], otherwise=0)
    lazy = thrifty.Lifetime().metered(read(model, 20), X)
    print(lazy.predict()[:10], lazy.receipt.cells, "of", X.size, "cells")
    return lazy, model, X


if __name__ == "__main__":
    main()
