"""Plain twins of growing: every cut of every feature, every metafeature laid on every ancestor."""

import itertools
import math

import numpy as np

from thrifty.errors import ContradictoryLabels
from thrifty.trees.gains import entropy
from thrifty.trees.thresholds import halfway
from thrifty.trees.tree import Leaf, Node, Split, build


def gain_of(side, y, n_classes, gain):
    totals = np.bincount(y, minlength=n_classes)
    counts = np.bincount(y[side], minlength=n_classes)[:, None]
    return float(gain(counts, totals, np.ones(1))[0])


def plain_cuts(values):
    known = sorted(set(values[~np.isnan(values)].tolist()))
    return [halfway(a, b) for a, b in itertools.pairwise(known)]


def plain_side(values, threshold):
    side = np.array([v >= threshold for v in values])
    n_true = sum(v >= threshold for v in values if not math.isnan(v))
    n_false = sum(v < threshold for v in values if not math.isnan(v))
    for i, v in enumerate(values):
        if math.isnan(v):
            side[i] = n_true > n_false
    return side


def plain_best(X, y, rows, features, n_classes, gain):
    """(feature, threshold) of the highest gain; ties to the lowest feature, then threshold."""
    best, found = -math.inf, None
    for f in features:
        for t in plain_cuts(X[rows, f]):
            value = gain_of(plain_side(X[rows, f], t), y[rows], n_classes, gain)
            if value > best:
                best, found = value, (f, t)
    return found


def split_of(f, t, boolean):
    return Split(f) if boolean[f] else Split(f, t)


def plain_scratch(X, y, n_classes, boolean, gain):
    def grow(rows):
        if len(set(y[rows].tolist())) <= 1:
            return Leaf(int(y[rows][0]))
        found = plain_best(X, y, rows, range(X.shape[1]), n_classes, gain)
        if found is None:
            raise ContradictoryLabels("twin")
        side = plain_side(X[rows, found[0]], found[1])
        return Node(split_of(*found, boolean), grow(rows[~side]), grow(rows[side]))

    return grow(np.arange(len(y)))


def agree(a, b, match):
    return a.feature == b.feature and (match == "feature" or a.threshold == b.threshold)


def plain_use_rep(X, y, n_classes, boolean, metafeatures, max_depth, match, max_nodes=math.inf):
    """Every metafeature laid on every ancestor anew; returns (tree, failed path, cells)."""
    splits, leaves, cells = {}, {}, set()
    todo = [((), np.arange(len(y)))]
    while todo:
        path, rows = todo.pop()
        if len(set(y[rows].tolist())) <= 1:
            leaves[path] = Leaf(int(y[rows][0]))
            continue
        if len(path) >= max_depth or len(splits) >= max_nodes:
            return build(splits, leaves), path, cells
        induced = set()
        for f in metafeatures:
            for i in range(len(path) + 1):
                at, fits = f, True
                for j in range(i, len(path)):
                    fits = isinstance(at, Node) and agree(at.split, splits[path[:j]], match)
                    if not fits:
                        break
                    at = at.child(path[j])
                if fits and isinstance(at, Node):
                    induced.add(at.split)
        features = sorted({split.feature for split in induced})
        cells |= {(int(r), f) for r in rows for f in features}
        found = plain_best(X, y, rows, features, n_classes, entropy)
        if found is None:
            return build(splits, leaves), path, cells
        splits[path] = split_of(*found, boolean)
        side = plain_side(X[rows, found[0]], found[1])
        todo.append(((*path, True), rows[side]))
        todo.append(((*path, False), rows[~side]))
    return build(splits, leaves), None, cells
