"""The paper's problem setups, on the streams that are said to satisfy them."""

import numpy as np
import pytest
from scipy.stats import kstest

from tests.trees.definitions import is_grown_from
from thrifty import streams
from thrifty.errors import BadParameter
from thrifty.powers.representation import rank
from thrifty.trees.tree import Node, depth, features_of, internal_nodes

SEEDS = range(3)


def splits(tree):
    return {path: node.split.feature for path, node in internal_nodes(tree)}


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_are_grown_from_k_metafeatures_within_the_depth(seed):
    stream = streams.trees(12, 120, 4, 500, 4, random_state=seed)
    assert len(stream.metafeatures) == 4
    for task in stream:
        assert is_grown_from(task.target, stream.metafeatures) and depth(task.target) <= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_an_anchor_is_the_root_of_one_metafeature_and_occurs_nowhere_else(seed):
    stream = streams.anchors(2, 80, 4, 400, 4, random_state=seed)
    roots = [splits(tree)[()] for tree in stream.metafeatures]
    assert len(set(roots)) == 4
    below = [f for tree in stream.metafeatures for path, f in splits(tree).items() if path]
    assert not set(roots) & set(below)


@pytest.mark.parametrize("seed", SEEDS)
def test_families_share_shape_and_anchor_and_few_lie_on_a_path(seed):
    stream = streams.anchored_families(20, 90, 3, 3, 500, 5, random_state=seed)
    on_top = set()
    for anchor, members in stream.families.items():
        assert len({tuple(splits(tree)) for tree in members}) == 1
        assert {splits(tree)[()] for tree in members} == {anchor}
        others = set().union(*(features_of(tree) for tree in stream.metafeatures))
        assert anchor in others and 1 <= len(members) <= 3
        assert not any(
            f == anchor for tree in stream.metafeatures for path, f in splits(tree).items() if path
        )
    for task in stream:
        chosen = splits(task.target)
        on_top.add(chosen[()])
        for path in chosen:
            met = sum(chosen[path[:i]] in stream.families for i in range(len(path) + 1))
            assert met <= 2
    assert on_top <= set(stream.families)


def columns(targets, n_features):
    return [[target.get(i, 0) for target in targets] for i in range(n_features)]


@pytest.mark.parametrize("seed", SEEDS)
def test_monomials_lie_in_a_column_space_of_rank_k(seed):
    tasks = list(streams.monomials(40, 30, 4, 300, 6, random_state=seed))
    targets = [task.target for task in tasks]
    assert rank(np.array(columns(targets, 30))) <= 4
    assert all(1 <= sum(t.values()) <= 6 and min(t.values()) > 0 for t in targets)
    single = streams.monomials(3, 10, 2, 50, 1, random_state=seed)
    assert all(list(task.target.values()) == [1] for task in single)


@pytest.mark.parametrize("seed", SEEDS)
def test_features_of_monomials_are_independent_and_spread_over_1_to_2(seed):
    """Minimum variance, bounded density, bounded support, and a product law."""
    X = next(streams.monomials(1, 12, 3, 2000, 4, random_state=seed)).X
    assert X.min() >= 1 and X.max() <= 2
    assert all(kstest(X[:, i] - 1, "uniform").pvalue > 1e-4 for i in range(12))
    assert np.log(X).var(axis=0).min() > 0.03
    assert np.abs(np.corrcoef(np.log(X).T) - np.eye(12)).max() < 5 / np.sqrt(2000)


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_of_polynomials_lie_in_a_column_space_of_rank_k(seed):
    tasks = list(streams.polynomials(30, 25, 4, 200, 4, 3, random_state=seed))
    terms = [dict(term) for task in tasks for term in task.target]
    assert rank(np.array(columns(terms, 25))) <= 4
    assert all(1 <= sum(term.values()) <= 4 for term in terms)
    assert all(1 <= len(task.target) <= 3 for task in tasks)
    assert kstest((tasks[0].X[:, 0] + 1) / 2, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("strategy", ["realizable", "against-expansion", "against-restart"])
def test_good_targets_are_k_features_and_bad_ones_are_others(strategy):
    stream = streams.adversary(strategy, 40, 30, 3, 40, 10, random_state=1)
    good = [task.target for task in stream if task.good]
    bad = [task.target for task in stream if not task.good]
    assert len(good) == 40 == stream.count_good() and len(bad) == 10
    assert {tree.split.feature for tree in good if isinstance(tree, Node)} == set(
        stream.metafeatures
    )
    others = {tree.split.feature for tree in bad}
    assert len(others) == 10 and not others & set(stream.metafeatures)


def test_rows_on_which_two_stumps_may_look_alike_are_too_few_for_an_adversary():
    """64 features need 2 log2(64) + 8 = 20 rows."""
    some = {"n_tasks": 20, "n_features": 64, "n_metafeatures": 3, "n_unrelated": 4}
    streams.adversary("realizable", n_examples=20, **some)
    with pytest.raises(BadParameter, match="must be 20 or more for 64 features"):
        streams.adversary("realizable", n_examples=19, **some)
