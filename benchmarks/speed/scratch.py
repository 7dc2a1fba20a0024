"""Learning from scratch on wide Boolean data, against scikit-learn and XGBoost.

Two tasks at each size. *planted*: labels from a hidden tree, grown until the leaves are pure; the
tree must equal scikit-learn's, split by split. *noise*: coin labels, depth 6; there are ties among
so many features and scikit-learn breaks them by a shuffle, so each of its splits must have the
highest gain of its node.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from studies.measure import Timing, best_of, peak_memory
from thrifty import kernels
from thrifty.cells.sources.checks import default_names
from thrifty.labels import read_classes
from thrifty.streams import trees
from thrifty.trees.gains import entropy
from thrifty.trees.growing import most_common
from thrifty.trees.model import TreeClassifier
from thrifty.trees.scratch import grow_from_scratch
from thrifty.trees.tree import Leaf, Node, Tree, depth, size, stump
from thrifty.typing import Json

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.tree._tree import Tree as SklearnTree

__all__ = ["DEFAULT", "LARGE", "floor", "measure", "memory"]

DEFAULT = (2_000, 10_000)
LARGE = (5_000, 50_000)
_NOISE_DEPTH = 6


@dataclass(frozen=True, eq=False)
class Problem:
    """One table and its labels; ``max_depth`` None grows until the leaves are pure."""

    name: str
    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    max_depth: int | None


def coins(n_examples: int, n_features: int, seed: int) -> NDArray[np.uint8]:
    """Fair coins as 0/1 bytes, made without a larger array beside them."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_examples, n_features), dtype=np.uint8)
    for start in range(0, n_examples, 512):
        part = X[start : start + 512]
        packed = rng.integers(0, 256, (len(part), -(-n_features // 8)), dtype=np.uint8)
        part[:] = np.unpackbits(packed, axis=1, count=n_features)
    return X


def planted(n_examples: int, n_features: int, seed: int = 1) -> Problem:
    """The first task of a seeded stream whose hidden tree has five splits, or the largest of 30.

    Streams keep only targets that greedy learning finds on the sample, so the tree is unique.
    """
    best = None
    for task in trees(30, n_features, 3, n_examples, 6, seed, max_nodes=12):
        if best is None or size(task.target) > size(best.target):
            best = task
        if size(best.target) >= 5:
            break
    assert best is not None
    return Problem("planted", best.X, best.y, None)


def noise(planted: Problem, seed: int = 0) -> Problem:
    """The same table with coin labels."""
    y = np.random.default_rng([seed, 2]).integers(0, 2, len(planted.y))
    return Problem("noise", planted.X, y, _NOISE_DEPTH)


def measure(n_examples: int, n_features: int, *, repeats: int = 5, peers: int = 1) -> list[Json]:
    """A row per task: seconds and ratios. ``peers``: how often the slow ones are repeated."""
    first = planted(n_examples, n_features)
    return [_row(problem, repeats, peers) for problem in (first, noise(first))]


def _row(problem: Problem, repeats: int, peers: int) -> Json:
    X, y = problem.X, problem.y
    prices = np.ones(X.shape[1])
    labels = read_classes(y)
    tiles = kernels.pack_tiles(X)

    def grow() -> Tree:
        stuck = None if problem.max_depth is None else most_common
        return grow_from_scratch(tiles, labels, entropy, prices, problem.max_depth, stuck)

    grow()  # compiled before it is timed
    ours = best_of(grow, repeats)
    whole = best_of(lambda: TreeClassifier(problem.max_depth).fit(X, y), repeats)
    tree: Tree = ours.result
    theirs = _scikit_learn(problem, peers)
    boosted = _xgboost(problem, depth(tree), peers)
    reading = floor(tiles, labels.codes, tree, repeats)
    row = {
        "task": problem.name,
        "size": f"{X.shape[0]:,} x {X.shape[1]:,}",
        "splits": size(tree),
        "depth": depth(tree),
        "thrifty s": ours.best,
        "noise": f"{100 * ours.noise:.0f} %",
        "scikit-learn s": theirs.best,
        "x faster": theirs.best / ours.best,
        "x from uint8": theirs.best / whole.best,
    }
    if boosted is not None:
        row["xgboost s"] = boosted.best
        row["x faster than xgboost"] = boosted.best / ours.best
    row["x reading the levels"] = ours.best / reading
    row["same tree"] = same_tree(tree, theirs.result, problem, labels.codes)
    right = TreeClassifier.around(tree, labels, default_names(X.shape[1])).predict(X) == y
    row["training accuracy"] = float(right.mean())
    row["theirs"] = float(theirs.result.score(X.astype(np.float32), y))
    return row


def _scikit_learn(problem: Problem, repeats: int) -> Timing:
    from sklearn.tree import DecisionTreeClassifier

    X = problem.X.astype(np.float32)  # the form it works on, so that no conversion is timed
    model = DecisionTreeClassifier(criterion="entropy", max_depth=problem.max_depth, random_state=0)
    return best_of(lambda: model.fit(X, problem.y, check_input=False), repeats)


def _xgboost(problem: Problem, deepest: int, repeats: int) -> Timing | None:
    """One tree of the same depth, histograms made before the clock starts."""
    try:
        import xgboost
    except ImportError:
        return None
    data = xgboost.QuantileDMatrix(problem.X, problem.y, max_bin=2, nthread=1)
    settings = {
        "tree_method": "hist", "max_bin": 2, "max_depth": deepest, "nthread": 1, "eta": 1.0,
        "min_child_weight": 0, "lambda": 0, "objective": "binary:logistic", "verbosity": 0,
    }  # fmt: skip
    return best_of(lambda: xgboost.train(settings, data, num_boost_round=1), max(repeats, 2))


def same_tree(
    ours: Tree, model: DecisionTreeClassifier, problem: Problem, codes: NDArray[np.int64]
) -> str:
    """ "identical", or "up to ties" where another feature has the very same gain."""
    if problem.max_depth is None:
        return "identical" if _equal(ours, model.tree_, 0) else "no"
    rows = np.arange(len(codes))
    return "up to ties" if _each_split_is_best(model.tree_, 0, rows, problem, codes) else "no"


def _equal(ours: Tree, theirs: SklearnTree, node: int) -> bool:
    if theirs.children_left[node] < 0:
        return isinstance(ours, Leaf)
    return (
        isinstance(ours, Node)
        and ours.split.feature == theirs.feature[node]
        and _equal(ours.false, theirs, theirs.children_left[node])
        and _equal(ours.true, theirs, theirs.children_right[node])
    )


def _each_split_is_best(
    theirs: SklearnTree,
    node: int,
    rows: NDArray[np.int64],
    problem: Problem,
    codes: NDArray[np.int64],
) -> bool:
    if theirs.children_left[node] < 0:
        return True
    X, y = problem.X[rows], codes[rows]
    totals = np.bincount(y, minlength=2)
    counts = np.stack([X[y == c].sum(axis=0, dtype=np.int64) for c in (0, 1)])
    gains = entropy(counts, totals, np.ones(X.shape[1]))
    feature = theirs.feature[node]
    answers = X[:, feature] == 1
    return bool(gains.max() - gains[feature] < 1e-7) and all(
        _each_split_is_best(theirs, child[node], rows[side], problem, codes)
        for child, side in ((theirs.children_left, ~answers), (theirs.children_right, answers))
    )


def floor(
    tiles: NDArray[np.uint64], codes: NDArray[np.int64], tree: Tree, repeats: int = 5
) -> float:
    """Seconds to read, once and in full, the packed rows that the levels must count.

    The root reads every row; of two children that are grown the smaller one is read and the other
    is the difference. Measured as the time to add up that many words of the tiles.
    """
    everyone = np.ones(tiles.shape[1], dtype=np.bool_)
    n_rows = len(codes) + _rows_counted(tiles, codes, tree, everyone)
    once = best_of(lambda: np.bitwise_xor.reduce(tiles, axis=None), repeats, inner=3).best
    return once * n_rows / len(codes)


def _rows_counted(
    tiles: NDArray[np.uint64], codes: NDArray[np.int64], tree: Tree, here: NDArray[np.bool_]
) -> int:
    if not isinstance(tree, Node):
        return 0
    f = tree.split.feature
    word = tiles[f // kernels.TILE, :, (f % kernels.TILE) // 64]
    true = ((word >> np.uint64(f % 64)) & np.uint64(1)).astype(np.bool_)
    sides = ((tree.false, here & ~true), (tree.true, here & true))
    below = sum(_rows_counted(tiles, codes, child, side) for child, side in sides)
    if all(isinstance(child, Leaf) for child, _ in sides):
        return below
    return below + min(int(side.sum()) for _, side in sides)


def memory(n_examples: int = 20_000, n_features: int = 50_000) -> Json:
    """What learning from scratch adds to the input, in a process of its own."""
    code = f"from speed.scratch import _memory; _memory({n_examples}, {n_features})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    found: Json = json.loads(done.stdout)
    return found


def _memory(n_examples: int, n_features: int) -> None:
    warm = np.eye(2, dtype=np.uint8)
    TreeClassifier().fit(warm, [0, 1])  # the compiled kernels are not the data's fault
    X = coins(n_examples, n_features, 0)
    y = np.where(X[:, 1] == 1, X[:, 3], X[:, 7])
    before = peak_memory(forget=True)
    model = TreeClassifier().fit(X, y)
    beyond = peak_memory() - before
    bits = kernels.pack_tiles(X[:64]).nbytes * 8 / (64 * n_features)
    assert (model.predict(X) == y).all() and model.tree_ != stump(0)
    print(
        json.dumps(
            {
                "size": f"{n_examples:,} x {n_features:,}",
                "input MB": X.nbytes / 1e6,
                "bits per cell": bits,
                "beyond the input MB": beyond / 1e6,
            }
        )
    )
