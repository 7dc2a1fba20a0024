"""``Tested``: what is bought, what counts as fresh, when all rows are used after all."""

import numpy as np
import pytest

import thrifty
from thrifty.attempt import Failed
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.labels import read_classes
from thrifty.trees import tested
from thrifty.trees.gains import entropy
from thrifty.trees.growing import Suggested
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tested import grow_on_sample
from thrifty.trees.tree import Leaf, Node, Split, stump


def family(**how):
    return thrifty.Trees(max_depth=3, learner=thrifty.trees.Tested(0.01, 0.95, **how))


def two_levels(n, rng):
    X = rng.random((n, 30)) < 0.5
    return X, np.where(X[:, 3], X[:, 8], X[:, 17])


TARGET = Node(Split(3), Node(Split(17), Leaf(0), Leaf(1)), Node(Split(8), Leaf(0), Leaf(1)))
KNOWN = Metafeatures().with_trees([TARGET])


def test_rows_to_pass_is_the_smallest_number_that_keeps_the_promise():
    for error, confidence, attempt in [(0.01, 0.95, 1), (0.05, 0.9, 3), (0.2, 0.5, 7)]:
        delta = (1 - confidence) / (attempt * (attempt + 1))
        n = tested.rows_to_pass(error, confidence, attempt)
        assert (1 - error) ** n <= delta < (1 - error) ** (n - 1)


def test_the_bill_does_not_grow_with_the_rows():
    bills = []
    for n in (5_000, 50_000):
        X, y = two_levels(n, np.random.default_rng(0))
        cells = Cells(X)
        attempt = family().use_rep(KNOWN, cells, read_classes(y))
        assert attempt.route == "reused" and attempt.model == TARGET
        bills.append(cells.receipt().cells)
    assert max(bills) < 2_000


def test_fresh_rows_are_asked_once_and_never_grown_on_before(monkeypatch):
    X, y = two_levels(20_000, np.random.default_rng(1))
    y[::50] = ~y[::50]  # labels no tree can tell: some tests fail, mistakes join the sample
    grown_on, asked = set(), set()
    grow, ask = tested.grow_on_sample, tested.answers

    def watch_grow(metafeatures, cells, labels, rows, *args, **how):
        grown_on.update(rows.tolist())
        return grow(metafeatures, cells, labels, rows, *args, **how)

    def watch_answers(tree, cells, rows):
        assert not (set(rows.tolist()) & (grown_on | asked))
        asked.update(rows.tolist())
        return ask(tree, cells, rows)

    monkeypatch.setattr(tested, "grow_on_sample", watch_grow)
    monkeypatch.setattr(tested, "answers", watch_answers)
    family().use_rep(KNOWN, Cells(X), read_classes(y))
    assert asked


def test_answers_buy_paths_only():
    X = np.array([[0, 1, 1], [1, 0, 1]], dtype=bool)
    tree = Node(Split(0), Leaf(0), Node(Split(1), Leaf(1), Leaf(0)))
    cells = Cells(X)
    assert tested.answers(tree, cells, np.array([0, 1])).tolist() == [0, 1]
    assert cells.receipt().cells == 3


def test_too_few_rows_use_them_all():
    X, y = two_levels(200, np.random.default_rng(2))
    attempt = family().use_rep(KNOWN, Cells(X), read_classes(y))
    assert attempt.model == TARGET and (sum_of_counts(attempt.model) == 200)


def sum_of_counts(tree):
    if isinstance(tree, Leaf):
        return sum(tree.counts)
    return sum_of_counts(tree.false) + sum_of_counts(tree.true)


def test_a_representation_that_is_not_enough_fails_as_algorithm_2_does():
    X, y = two_levels(3_000, np.random.default_rng(3))
    known = Metafeatures().with_trees([stump(3)])
    attempt = family().use_rep(known, Cells(X), read_classes(y))
    plain = thrifty.Trees(max_depth=3).use_rep(known, Cells(X), read_classes(y))
    assert isinstance(attempt, Failed)
    assert attempt.failure.reason == plain.failure.reason
    assert attempt.grown == plain.grown


def test_an_unfinished_branch_takes_the_most_common_class():
    X = np.zeros((10, 3), dtype=bool)
    X[5:, 0] = True
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    known = Metafeatures().with_trees([stump(0)])
    labels = read_classes(y)
    how = {"max_depth": 3, "max_nodes": None}
    some = grow_on_sample(Suggested(known), Cells(X), labels, np.arange(10), entropy, **how)
    assert some == (Node(Split(0), Leaf(0), Leaf(1)), 1)


def test_another_root_is_tried_before_more_rows_are_bought():
    """On these rows feature 0 looks best and leads nowhere; feature 1 fits."""
    rng = np.random.default_rng(6)
    X = rng.random((4_000, 3)) < 0.5
    y = np.where(X[:, 1], X[:, 2], True)
    X[:, 0] = y ^ (rng.random(4_000) < 0.05)
    known = Metafeatures().with_trees([stump(0), Node(Split(1), Leaf(), stump(2))])
    labels = read_classes(y)
    task = Cells(X), labels, np.arange(60), entropy
    first, mistakes = grow_on_sample(Suggested(known), *task, max_depth=1, max_nodes=None)
    assert first.split.feature == 0 and mistakes > 0
    others = Suggested(known, not_at_root=frozenset({0}))
    second, mistakes = grow_on_sample(others, *task, max_depth=2, max_nodes=None)
    assert second.split.feature == 1 and mistakes == 0


def test_real_values():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20_000, 10))
    y = np.where(X[:, 2] >= 0.2, X[:, 5] >= -0.4, X[:, 7] >= 0)
    target = Node(Split(2, 0.2), stump(7), stump(5))
    cells = Cells(X)
    attempt = family().use_rep(Metafeatures().with_trees([target]), cells, read_classes(y))
    assert attempt.route == "reused"
    wrong = tested.answers(attempt.model, Cells(X), np.arange(len(X))) != y
    assert wrong.mean() <= 0.01
    assert cells.receipt().cells < 20_000


@pytest.mark.parametrize("how", [{"error": 0.0}, {"error": 1}, {"confidence": 1.5}])
def test_shares_lie_between_0_and_1(how):
    with pytest.raises(BadParameter, match="strictly between 0 and 1"):
        thrifty.trees.Tested(**how)
