"""Random small trees and tables for the tests of trees."""

import numpy as np
from hypothesis import strategies as st

from thrifty.trees.tree import EMPTY, Leaf, Node, Split

LABELS = st.sampled_from([None, 0, 1])


def trees(n_features=4, depth=3, labels=LABELS):
    """Incomplete trees; a feature may repeat on a path, as it may in what a user hands over."""
    tree = labels.map(lambda y: EMPTY if y is None else Leaf(y))
    for _ in range(depth):
        node = st.builds(
            lambda f, a, b: Node(Split(f), a, b), st.integers(0, n_features - 1), tree, tree
        )
        tree = st.one_of(tree, node)
    return tree


def skeletons(n_features=4, depth=3):
    return trees(n_features, depth, st.none()).filter(lambda t: isinstance(t, Node))


@st.composite
def tables(draw, n_features=6, max_rows=40, n_classes=2):
    """X (0/1) and y, contradictions allowed or not by the label rule that is drawn."""
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, n_features), dtype=np.uint8)
    weights = rng.integers(0, 3, n_features)
    y = (X @ weights + X[:, 0] * X[:, 1]) % n_classes
    return X, y.astype(np.int64)
