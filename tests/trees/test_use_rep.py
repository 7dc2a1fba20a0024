"""Scratch, UseRep and ImproveRep against plain twins: the same trees, the same cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.definitions import is_grown_from_prefixes
from tests.trees.plain import plain_scratch, plain_use_rep
from tests.trees.strategies import skeletons, tables
from thrifty.attempt import Failed, Found
from thrifty.cells import Cells
from thrifty.errors import ContradictoryLabels
from thrifty.labels import read_classes
from thrifty.trees.gains import entropy, gini
from thrifty.trees.improve_rep import by_anchors, by_features, by_paths
from thrifty.trees.representation import Metafeatures
from thrifty.trees.scratch import grow_from_scratch
from thrifty.trees.tree import EMPTY, Node, Split, features_of, is_prefix, size, subtree
from thrifty.trees.use_rep import Grown, use_rep

BITS = np.ones(6, dtype=bool)


@settings(deadline=None, max_examples=80)
@given(st.integers(2, 4).flatmap(lambda C: st.tuples(st.just(C), tables(n_classes=C))))
def test_scratch_is_its_plain_twin(case):
    _, (X, y) = case
    labels = read_classes(y)
    codes, C = labels.codes, labels.n_classes
    cells = Cells(X)
    try:
        expected = plain_scratch(X, codes, C, BITS, entropy)
    except ContradictoryLabels:
        with pytest.raises(ContradictoryLabels):
            grow_from_scratch(cells.everything(), labels, entropy, cells.prices)
        return
    grown = grow_from_scratch(cells.everything(), labels, entropy, cells.prices)
    assert grown == expected
    assert cells.receipt().cells == X.size


@settings(deadline=None, max_examples=120)
@given(
    tables(n_classes=3),
    st.lists(skeletons(n_features=6, depth=3), max_size=5),
    st.integers(1, 4),
    st.integers(1, 6),
)
def test_use_rep_is_its_plain_twin(table, metafeatures, max_depth, max_nodes):
    X, y = table
    labels = read_classes(y)
    cells = Cells(X)
    known = Metafeatures(tuple(metafeatures))
    attempt = use_rep(known, cells, labels, entropy, max_depth=max_depth, max_nodes=max_nodes)
    tree, failed, bought = plain_use_rep(
        X, labels.codes, labels.n_classes, BITS, metafeatures, max_depth, "feature", max_nodes
    )
    assert cells.receipt().cells == len(bought)
    if failed is None:
        assert attempt.model == tree and attempt.route == "reused"
    else:
        at_a_bound = len(failed) >= max_depth or size(tree) >= max_nodes
        assert isinstance(attempt, Failed) and attempt.grown == Grown(tree, failed, at_a_bound)
    per_row = [sum(r == row for r, _ in bought) for row in range(len(y))]
    assert cells.receipt().max_cells_per_example == max(per_row, default=0)


@settings(deadline=None, max_examples=80)
@given(tables(n_classes=2), st.lists(skeletons(n_features=6, depth=3), max_size=5))
def test_lemma_1_and_2(table, metafeatures):
    """The scratch tree comes out whenever it lies in DT(Pref(F~)); cells stay in their bound."""
    X, y = table
    labels = read_classes(y)
    try:
        scratch = plain_scratch(X, labels.codes, labels.n_classes, BITS, entropy)
    except ContradictoryLabels:
        return
    known = Metafeatures().with_trees(metafeatures)
    for representation in (known, known.with_trees([scratch])):
        cells = Cells(X)
        attempt = use_rep(representation, cells, labels, entropy, max_depth=6, max_nodes=None)
        if is_grown_from_prefixes(scratch, representation):
            assert attempt.model == scratch
        assert cells.receipt().max_cells_per_example <= 2 * (len(representation) + 6)


@settings(deadline=None, max_examples=80)
@given(tables(n_classes=2), st.lists(skeletons(n_features=6, depth=2), max_size=3))
def test_improving_makes_the_task_reusable(table, metafeatures):
    X, y = table
    labels = read_classes(y)
    try:
        scratch = plain_scratch(X, labels.codes, labels.n_classes, BITS, entropy)
    except ContradictoryLabels:
        return
    known = Metafeatures().with_trees(metafeatures)
    attempt = use_rep(known, Cells(X), labels, entropy, max_depth=6, max_nodes=None)
    if isinstance(attempt, Found):
        return
    v = attempt.grown.failed_at
    added = by_paths(known, scratch, attempt.grown)
    assert added[0] == scratch and all(
        is_prefix(a, subtree(scratch, ())) or isinstance(a, Node) for a in added
    )
    assert len(added) <= len(v) + 1
    assert by_anchors(known, scratch, attempt.grown) == [added[-1]]
    assert {t.split.feature for t in by_features(known, scratch, attempt.grown)} == features_of(
        scratch
    )
    better = known.with_trees(added)
    again = use_rep(better, Cells(X), labels, entropy, max_depth=6, max_nodes=None)
    assert again.model == scratch


@given(st.lists(skeletons(n_features=3, depth=3), max_size=6))
def test_metafeatures_stay_few_and_lose_nothing(metafeatures):
    known = Metafeatures().with_trees(metafeatures)
    for f in metafeatures:
        assert any(is_prefix(f, kept) for kept in known)
    kept = list(known)
    for i, f in enumerate(kept):
        assert not any(is_prefix(f, other) for j, other in enumerate(kept) if i != j)
    assert Metafeatures.from_dict(known.to_dict()) == known
    assert known.with_trees(metafeatures) == known


def test_an_empty_representation_fails_at_the_root_for_nothing():
    X = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    cells = Cells(X)
    attempt = use_rep(
        Metafeatures(), cells, read_classes([0, 1]), entropy, max_depth=3, max_nodes=None
    )
    assert attempt.grown == Grown(EMPTY, ()) and attempt.failure.reason == "no-candidate"
    assert cells.receipt().cells == 0


def test_ties_go_to_the_lowest_feature_and_xor_is_found():
    X = np.array([[a, b, a] for a in (0, 1) for b in (0, 1)], dtype=np.uint8)
    y = X[:, 0] ^ X[:, 1]
    cells = Cells(X)
    tree = grow_from_scratch(cells.everything(), read_classes(y), gini, cells.prices)
    assert tree.split == Split(0) and size(tree) == 3
