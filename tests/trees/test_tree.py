"""The operations on trees against their definitions, spelled out by brute force."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.definitions import conflict, induce, is_grown_from, is_grown_from_prefixes
from tests.trees.strategies import skeletons, trees
from thrifty.errors import BadInput
from thrifty.trees import tree as ops
from thrifty.trees.growing import Suggested


def leaves(tree, path=()):
    """Every leaf with its position."""
    if isinstance(tree, ops.Leaf):
        return [(path, tree)]
    return leaves(tree.false, (*path, False)) + leaves(tree.true, (*path, True))


def prefixes(tree):
    """Pref(tree): every pruning, the tree itself among them."""
    if isinstance(tree, ops.Leaf):
        return {ops.EMPTY, tree}
    sides = itertools.product(prefixes(tree.false), prefixes(tree.true))
    return {ops.EMPTY} | {ops.Node(tree.split, a, b) for a, b in sides}


def closure(metafeatures, most_nodes):
    """DT(F) up to a size: what affix and label reach from the empty leaf."""
    found, frontier = {ops.EMPTY}, [ops.EMPTY]
    while frontier:
        tree = frontier.pop()
        for path, leaf in leaves(tree):
            if leaf != ops.EMPTY:
                continue
            grown = [ops.affix(tree, path, ops.Leaf(y)) for y in (0, 1)]
            grown += [ops.affix(tree, path, f) for f in metafeatures]
            for new in grown:
                if new not in found and ops.size(new) <= most_nodes:
                    found.add(new)
                    frontier.append(new)
    return found


@given(trees(), skeletons(), st.sampled_from([0, 1]))
def test_affix_and_label(tree, other, y):
    for path, leaf in leaves(tree):
        if leaf != ops.EMPTY:
            with pytest.raises(BadInput, match="expected an empty leaf"):
                ops.affix(tree, path, other)
            with pytest.raises(BadInput, match="expected an empty leaf"):
                ops.affix(tree, path, ops.Leaf(y))
            continue
        hung, named = ops.affix(tree, path, other), ops.affix(tree, path, ops.Leaf(y))
        assert ops.subtree(hung, path) == other and ops.subtree(named, path) == ops.Leaf(y)
        assert ops.size(hung) == ops.size(tree) + ops.size(other) and ops.size(named) == ops.size(
            tree
        )
        elsewhere = [(at, what) for at, what in leaves(tree) if at != path]
        assert [(at, what) for at, what in leaves(named) if at != path] == elsewhere
        assert [(at, w) for at, w in leaves(hung) if at[: len(path)] != path] == elsewhere


@given(trees(depth=2, n_features=2), trees(depth=3, n_features=2))
def test_is_prefix_is_membership_in_pref(small, large):
    assert ops.is_prefix(small, large) == (small in prefixes(large))
    for pruned in itertools.islice(prefixes(large), 20):
        assert ops.is_prefix(pruned, large)


@given(skeletons(n_features=3), st.lists(skeletons(n_features=3), max_size=4))
def test_induced_is_conflict_and_induce(tree, metafeatures):
    """What is carried down a path equals laying every metafeature on every ancestor anew."""
    for path, _ in leaves(tree):
        suggested = Suggested(metafeatures)
        asked = set()
        for i in range(len(path)):
            node = ops.subtree(tree, path[:i])
            suggested.follow(path[:i], node.split)
            asked.add(node.split.feature)
        laid = {
            induce(tree, path[:i], path, f)
            for f in metafeatures
            for i in range(len(path) + 1)
            if not conflict(tree, path[:i], path, f)
        }
        expected = sorted({split.feature for split in laid if split is not None} - asked)
        assert suggested.at(path).tolist() == expected


@settings(deadline=None, max_examples=25)
@given(st.lists(skeletons(n_features=3, depth=2), min_size=1, max_size=2), st.data())
def test_dt_of_f_is_the_closure(metafeatures, data):
    reached = closure(metafeatures, 3)
    for tree in itertools.islice(reached, 60):
        assert is_grown_from(tree, metafeatures)
    other = data.draw(trees(n_features=3, depth=2).filter(lambda t: ops.size(t) <= 3))
    assert is_grown_from(other, metafeatures) == (other in reached)


@settings(deadline=None, max_examples=25)
@given(st.lists(skeletons(n_features=3, depth=2), min_size=1, max_size=2), st.data())
def test_dt_of_prefixes_is_the_closure_of_prunings(metafeatures, data):
    pruned = {p for f in metafeatures for p in prefixes(f) if isinstance(p, ops.Node)}
    other = data.draw(trees(n_features=3, depth=2).filter(lambda t: ops.size(t) <= 3))
    assert is_grown_from_prefixes(other, metafeatures) == is_grown_from(other, pruned)
    reached = closure(metafeatures, 3)
    assert all(is_grown_from_prefixes(tree, metafeatures) for tree in reached)


@given(trees())
def test_counts_of_nodes_and_edges(tree):
    positions = [path for path, _ in leaves(tree)]
    assert ops.depth(tree) == max(map(len, positions))
    assert ops.size(tree) == len(positions) - 1 == len(list(ops.internal_nodes(tree)))
    splits = {path: node.split for path, node in ops.internal_nodes(tree)}
    assert ops.features_of(tree) == {split.feature for split in splits.values()}
    assert ops.build(splits, dict(leaves(tree))) == tree
    assert ops.skeleton(tree) == ops.build(splits, {})
    assert ops.relabel(ops.relabel(tree, lambda y: f"class {y}"), lambda y: int(y[-1])) == tree


@given(trees())
def test_dict_and_back(tree):
    assert ops.tree_from_dict(tree.to_dict()) == tree


def test_thresholds_travel_in_dicts():
    tree = ops.Node(ops.Split(2, 0.75), ops.Leaf("a", (3, 0)), ops.Leaf("b"))
    data = tree.to_dict()
    assert data["threshold"] == 0.75 and ops.tree_from_dict(data) == tree
    assert ops.tree_from_dict(data).false.counts == (3, 0)


def test_a_node_without_a_branch_is_refused():
    with pytest.raises(BadInput, match="'feature', 'false' and 'true'"):
        ops.tree_from_dict({"feature": 1, "false": {}})


def test_below_a_leaf_there_is_nothing():
    with pytest.raises(BadInput, match="ends in a leaf"):
        ops.subtree(ops.stump(1), (True, True))
