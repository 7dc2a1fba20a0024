"""Real-valued trees against scikit-learn, grown until the leaves are pure.

Clean labels come from a hidden tree of thresholds; noisy ones have 10 % flipped, which makes the
trees deep.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from studies.measure import best_of
from thrifty.trees import TreeClassifier
from thrifty.typing import AnyArray, Json

__all__ = ["DEFAULT", "measure"]

#: examples and features
DEFAULT = (5_000, 1_000)


def _labels(X: AnyArray) -> NDArray[np.int64]:
    """A hidden tree of depth 3 over seven features."""
    high = np.where(X[:, 17] >= -0.3, X[:, 5] >= 0.5, X[:, 99] >= 0)
    low = np.where(X[:, 40] >= 0.1, X[:, 7] < 0.3, X[:, 8] >= -0.5)
    return np.where(X[:, 3] >= 0.2, high, low).astype(np.int64)


def measure(
    n_examples: int = DEFAULT[0], n_features: int = DEFAULT[1], repeats: int = 7
) -> list[Json]:
    """A row per kind of labels and gain; at least 100 features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_examples, n_features)).astype(np.float32)
    clean = _labels(X)
    noisy = clean ^ (rng.random(n_examples) < 0.1)
    TreeClassifier().fit(X[:200], clean[:200])  # compile
    rows = []
    for kind, y in (("clean", clean), ("noisy", noisy)):
        for gain in ("entropy", "gini"):
            rows.append({"labels": kind, "gain": gain, **_compare(X, y, gain, repeats)})
    return rows


def _compare(X: AnyArray, y: NDArray[np.int64], gain: str, repeats: int) -> Json:
    peer = DecisionTreeClassifier(criterion=gain, random_state=0)
    mine = TreeClassifier(gain=gain)
    theirs = best_of(lambda: peer.fit(X, y), max(1, repeats // 3))
    ours = best_of(lambda: mine.fit(X, y), repeats)
    return {
        "thrifty s": ours.best,
        "scikit-learn s": theirs.best,
        "ratio": theirs.best / ours.best,
        "noise": ours.noise,
        "accuracy": float(mine.score(X, y)),
        "scikit-learn accuracy": float(peer.score(X, y)),
        "depth": mine.get_depth(),
        "scikit-learn depth": int(peer.get_depth()),
    }
