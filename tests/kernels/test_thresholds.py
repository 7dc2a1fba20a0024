"""The threshold kernels against a twin that tries every cut of every feature."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.plain import entropy_gain, gini_gain
from thrifty import kernels


def plain_gain(true, totals, criterion):
    return (entropy_gain if criterion == kernels.ENTROPY else gini_gain)(true, totals)


def plain_best(values, codes, n_classes, criterion, pure=False):
    """Counts of the true side of the best cut, lowest cut of equals; zeros if there is none."""
    totals = [int((codes == c).sum()) for c in range(n_classes)]
    best, found = -math.inf, [0] * n_classes
    for low in sorted(set(values.tolist()))[:-1]:
        side = values > low
        true = [int((side & (codes == c)).sum()) for c in range(n_classes)]
        mixed = min(sum(map(bool, true)), sum(a < t for a, t in zip(true, totals))) > 1
        if pure and mixed:  # neither side is of one class
            continue
        gain = plain_gain(true, totals, criterion)
        if gain > best:
            best, found = gain, true
    return found, best


@st.composite
def nodes(draw):
    """A table whose columns have few or many values, classes related to it or not, some rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S, N = draw(st.integers(2, 90)), draw(st.integers(1, 4))
    C = draw(st.integers(2, 4))
    values = draw(st.sampled_from([2, 3, 70, 10_000]))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    table = (rng.integers(0, values, (S, N)) / 8 - 3).astype(dtype)
    y = rng.integers(0, C, S)
    if draw(st.booleans()):
        y = (table[:, 0] > np.median(table[:, 0])).astype(np.int64)
        y[rng.random(S) < 0.1] = C - 1
    rows = np.sort(rng.permutation(S)[: draw(st.integers(2, S))]).astype(np.int64)
    y[rows[0]] = 1 - min(y[rows[1]], 1)  # a node is impure, or it is not split at all
    return table, y.astype(np.int64), C, rows


def bins_of(table, n_edges, seed):
    """Any ascending edges must do: exactness does not depend on where the bins lie."""
    rng = np.random.default_rng(seed)
    edges = np.full((table.shape[1], kernels.BINS - 1), np.inf, dtype=table.dtype)
    for f in range(table.shape[1]):
        some = np.sort(rng.choice(table[:, f], min(n_edges, len(table))))
        edges[f, : len(some)] = some
    bins = np.empty(table.shape[::-1], dtype=np.uint8)
    kernels.bin_values(table, edges, bins)
    return bins, edges


@settings(deadline=None, max_examples=40)
@given(nodes(), st.sampled_from([0, 3, 63]), st.sampled_from([kernels.ENTROPY, kernels.GINI]))
def test_best_counts_is_its_plain_twin(node, n_edges, criterion):
    table, y, C, rows = node
    codes = y[rows]
    totals = np.bincount(codes, minlength=C).astype(np.int64)
    lx = kernels.xlogx_table(len(rows))
    twins = [plain_best(table[rows, f], codes, C, criterion) for f in range(table.shape[1])]
    expected = np.array([found for found, _ in twins]).T
    by_sorting = kernels.best_counts_sorted(
        np.ascontiguousarray(table[rows].T), codes, totals, lx, criterion
    )
    assert (by_sorting == expected).all()
    bins, _ = bins_of(table, n_edges, 1)
    inexact = np.zeros(table.shape[1], dtype=np.bool_)
    every = kernels.best_counts(table, bins, inexact, rows, codes, totals, lx, criterion, False)
    assert (every == expected).all()
    across = kernels.best_counts(table, bins, inexact, rows, codes, totals, lx, criterion, True)
    gains = [best for _, best in twins]
    winner = int(np.argmax(gains))
    assert (across[:, winner] == expected[:, winner]).all()
    for true in across.T.tolist():
        if 0 < sum(true) < len(rows):
            assert plain_gain(true, totals.tolist(), criterion) <= gains[winner]


@settings(deadline=None, max_examples=15)
@given(nodes(), st.integers(0, 63))
def test_bin_values_counts_the_edges_below(node, n_edges):
    table = node[0]
    bins, edges = bins_of(table, n_edges, 2)
    for f in range(table.shape[1]):
        for r in range(table.shape[0]):
            assert bins[f, r] == sum(edge <= table[r, f] for edge in edges[f])


@settings(deadline=None, max_examples=40)
@given(nodes(), st.sampled_from([kernels.ENTROPY, kernels.GINI]))
def test_settling_cuts_are_their_plain_twin(node, criterion):
    """Of all cuts that leave a side pure, the best by gain; the lowest of equals."""
    table, y, C, rows = node
    codes = y[rows]
    totals = np.bincount(codes, minlength=C).astype(np.int64)
    found = kernels.best_pure_child_counts(
        table, rows, codes, totals, kernels.xlogx_table(len(rows)), criterion
    )
    for f in range(table.shape[1]):
        expected, _ = plain_best(table[rows, f], codes, C, criterion, pure=True)
        assert found[:, f].tolist() == expected
