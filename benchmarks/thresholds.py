"""Real-valued trees against scikit-learn: python benchmarks/thresholds.py.

5,000 x 1,000 float32, grown until the leaves are pure; CPU time of one thread, best of several,
ratios in one run. Clean labels come from a hidden tree of thresholds; noisy ones have 10 % flipped,
which makes the trees deep.
"""

from __future__ import annotations

import argparse

from thrifty.benchmarks.measure import best_of, machine, one_thread, table


def labels(X):  # type: ignore[no-untyped-def]
    """A hidden tree of depth 3 over seven features."""
    import numpy as np

    high = np.where(X[:, 17] >= -0.3, X[:, 5] >= 0.5, X[:, 99] >= 0)
    low = np.where(X[:, 40] >= 0.1, X[:, 7] < 0.3, X[:, 8] >= -0.5)
    return np.where(X[:, 3] >= 0.2, high, low).astype(int)


def measure(n_examples: int, n_features: int, repeats: int) -> list[dict[str, object]]:
    """A row per kind of labels and gain."""
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier

    import thrifty

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_examples, n_features)).astype(np.float32)
    clean = labels(X)
    noisy = clean ^ (rng.random(n_examples) < 0.1)
    thrifty.ThriftyTreeClassifier().fit(X[:200], clean[:200])  # compile
    rows = []
    for kind, y in (("clean", clean), ("noisy", noisy)):
        for gain in ("entropy", "gini"):
            peer = DecisionTreeClassifier(criterion=gain, random_state=0)
            mine = thrifty.ThriftyTreeClassifier(gain=gain)
            theirs = best_of(lambda: peer.fit(X, y), max(2, repeats // 3))  # noqa: B023
            ours = best_of(lambda: mine.fit(X, y), repeats)  # noqa: B023
            rows.append(
                {
                    "labels": kind,
                    "gain": gain,
                    "thrifty s": round(ours.best, 3),
                    "scikit-learn s": round(theirs.best, 3),
                    "ratio": round(theirs.best / ours.best, 1),
                    "noise": f"{ours.noise:.0%}",
                    "accuracy": (mine.score(X, y), peer.score(X, y)),
                    "depth": (mine.get_depth(), peer.get_depth()),
                }
            )
    return rows


if __name__ == "__main__":
    one_thread()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    print("\n".join(f"{name}: {value}" for name, value in machine().items()))
    print(table(measure(given.examples, given.features, given.repeats)))
