"""Real-valued features: the scratch tree every time, at most K from scratch, thresholds exact."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import thrifty
from tests.guarantees.lives import scratch
from tests.guarantees.seeds import seeds, shifted
from tests.loops import paper
from tests.trees.definitions import is_grown_from_prefixes
from thrifty.labels import read_classes
from thrifty.trees.gains import gain_named
from thrifty.trees.scratch import grow_real
from thrifty.trees.tree import internal_nodes, relabel, size


def scratch_tree(X, y, gain="entropy"):
    nobody = np.zeros(X.shape[1], dtype=bool)
    return grow_real(X, nobody, read_classes(y), gain_named(gain), np.ones(X.shape[1]))


def live(stream, d, match):
    life = thrifty.Lifetime(paper(d, match=match))
    for task in stream:
        before = life.representation
        learned = life.learn(task.name, task.X, task.y)
        tree = learned.model.tree_
        assert (learned.model.predict(task.X) == task.y).all()
        assert task.target == scratch_tree(task.X, task.y)
        if learned.route == "scratch":
            assert tree == task.target and learned.receipt.cells == task.X.size
            continue
        assert learned.receipt.max_cells_per_example <= 2 * (len(before) + d)
        if is_grown_from_prefixes(task.target, before):
            assert tree == task.target
    return life


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("match", ["feature", "threshold"])
def test_recurring_thresholds(match, seed):
    K, d = 4, 4
    stream = list(thrifty.streams.reals(25, 80, K, 800, d, random_state=seed))
    life = live(stream, d, match)
    assert all(t.model.tree_ == task.target for t, task in zip(life.tasks, stream))
    assert scratch(life) <= K and len(life.representation) <= K * d


@pytest.mark.parametrize("seed", seeds(6))
def test_drifting_thresholds_need_matching_by_feature(seed):
    K, d = 4, 4
    stream = list(thrifty.streams.reals(25, 80, K, 800, d, random_state=seed, levels=None))
    by_feature, exact = live(stream, d, "feature"), live(stream, d, "threshold")
    assert scratch(by_feature) <= K and len(by_feature.representation) <= K * d
    assert all(t.model.tree_ == task.target for t, task in zip(by_feature.tasks, stream))
    assert scratch(exact) > scratch(by_feature)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [8, None])
def test_real_streams_at_length(levels, capsys):
    K, d, m = 6, 5, 60
    counts = []
    for seed in seeds(5):
        stream = list(thrifty.streams.reals(m, 200, K, 1200, d, random_state=seed, levels=levels))
        life = live(stream, d, "feature")
        same = sum(t.model.tree_ == task.target for t, task in zip(life.tasks, stream))
        counts.append((scratch(life), same))
    with capsys.disabled():
        print(f"\nreals, levels={levels}, K={K}, {m} tasks: (scratch, identical trees) {counts}")
    assert all(n <= K and same == m for n, same in counts)


@pytest.mark.parametrize("gain", ["entropy", "gini"])
def test_the_tree_of_scikit_learn(gain):
    """The same splits and thresholds; scikit-learn breaks ties at random, so small nodes are not
    compared: where few rows of a class are left, many cuts tie."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 30)).astype(np.float32)
    y = ((X[:, 3] > 0.3) ^ (X[:, 8] > -0.2) & (X[:, 11] < 0.5)).astype(int)
    ours = thrifty.TreeClassifier(gain=gain).fit(X, y)
    theirs = DecisionTreeClassifier(criterion=gain, random_state=0).fit(X, y)
    assert ours.score(X, y) == theirs.score(X, y) == 1.0
    flat = theirs.tree_

    compared = []

    def same(node, at):
        rows = flat.value[at][0] * flat.n_node_samples[at]
        if min(rows) < 10:
            return
        compared.append(at)
        assert node.split.feature == flat.feature[at]
        assert node.split.threshold == pytest.approx(flat.threshold[at], abs=1e-6)
        same(node.false, flat.children_left[at])
        same(node.true, flat.children_right[at])

    same(ours.tree_, 0)
    assert len(compared) >= 4


def test_mixed_columns():
    rng = np.random.default_rng(shifted(0))
    X = rng.random((500, 12))
    X[:, 4:8] = rng.integers(0, 2, (500, 4))
    y = ((X[:, 5] == 1) & (X[:, 2] >= 0.4)).astype(int)
    life = thrifty.Lifetime(paper(4))
    tree = life.learn("first", X, y).model.tree_
    splits = {node.split for _, node in internal_nodes(tree)}
    assert {s.threshold is None for s in splits if 4 <= s.feature < 8} == {True}
    assert {s.threshold is None for s in splits if s.feature == 2} == {False}
    again = life.learn("second", X, 1 - y)
    assert again.route == "reused"
    assert again.model.tree_ == relabel(tree, lambda label: 1 - label)


def test_a_feature_may_recur_on_a_path():
    X = np.linspace(0, 1, 300)[:, None].repeat(2, axis=1)
    X[:, 1] = np.random.default_rng(shifted(0)).random(300)
    y = ((X[:, 0] > 0.3) & (X[:, 0] < 0.6)).astype(int)
    life = thrifty.Lifetime(paper(4))
    tree = life.learn("band", X, y).model.tree_
    assert size(tree) == 2 and {n.split.feature for _, n in internal_nodes(tree)} == {0}
    again = life.learn("band again", X.copy(), y)
    assert again.route == "reused" and again.receipt.max_cells_per_example == 1


def test_neighbouring_floats_are_told_apart():
    low = np.float64(1.0)
    high = np.nextafter(low, 2.0)
    X = np.array([[low], [high], [low], [high]])
    model = thrifty.TreeClassifier().fit(X, [0, 1, 0, 1])
    assert model.tree_.split.threshold == high
    assert model.predict(X).tolist() == [0, 1, 0, 1]
    huge = np.array([[-1.7e308], [1.7e308]])
    assert thrifty.TreeClassifier().fit(huge, [0, 1]).predict(huge).tolist() == [0, 1]


class TestMissing:
    rng = np.random.default_rng(5)
    X = rng.random((400, 8))
    y = ((X[:, 1] >= 0.7) | (X[:, 4] >= 0.8)).astype(int)
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan

    def test_refused_unless_asked_for(self):
        life = thrifty.Lifetime(paper(6))
        with pytest.raises(thrifty.errors.BadInput, match="missing='larger-child'"):
            life.learn("gaps", self.gaps, self.y)
        assert len(life) == 0
        with pytest.raises(thrifty.errors.BadInput, match="NaN"):
            thrifty.TreeClassifier().fit(self.X, self.y).predict(self.gaps)

    def test_rows_follow_the_larger_child(self):
        X = np.array([[0.0], [0.1], [0.2], [1.0], [np.nan], [np.nan]])
        y = [0, 0, 0, 1, 0, 0]
        model = thrifty.TreeClassifier(missing="larger-child").fit(X, y)
        assert model.tree_.split.threshold == 0.6
        assert model.tree_.false.counts == (5, 0)
        assert model.predict([[np.nan]]).tolist() == [0]
        upper = thrifty.TreeClassifier(missing="larger-child").fit(1 - X, [1, 1, 1, 0, 1, 1])
        assert upper.predict([[np.nan]]).tolist() == [1]

    def test_reused_equals_scratch_with_gaps(self):
        family = paper(40, missing="larger-child")
        life = thrifty.Lifetime(family)
        first = life.learn("first", self.gaps, self.y)
        assert (first.model.predict(self.gaps) == self.y).all()
        again = life.learn("again", self.gaps, self.y)
        assert again.route == "reused" and again.model.tree_ == first.model.tree_
        back = family.load_estimator(again.model.to_dict())
        assert (back.predict(self.gaps) == self.y).all()

    def test_an_unknown_rule(self):
        for make in (thrifty.trees.Race, thrifty.trees.Paper, thrifty.Lists):
            with pytest.raises(thrifty.errors.BadParameter, match="missing must be one of"):
                make(missing="guess")

    def test_all_values_missing_is_a_constant_feature(self):
        X = np.column_stack([np.full(6, np.nan), [0.0, 1.0, 0.5, 3.0, 4.0, 5.0]])
        model = thrifty.TreeClassifier(missing="larger-child").fit(X, [0, 0, 0, 1, 1, 1])
        assert model.tree_.split.feature == 1


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinities_are_refused(bad):
    X = np.random.default_rng(0).random((20, 3))
    X[4, 1] = bad
    for missing in ("error", "larger-child"):
        life = thrifty.Lifetime(paper(3, missing=missing))
        with pytest.raises(thrifty.errors.BadInput, match="infinity for x1 on example 4"):
            life.learn("bad", X, X[:, 0] > 0.5)
        assert len(life) == 0


def test_words_for_features_name_the_encoder():
    with pytest.raises(thrifty.errors.BadInput, match="OneHotEncoder"):
        thrifty.TreeClassifier().fit([["red"], ["blue"]], [0, 1])


def test_unknown_match():
    with pytest.raises(thrifty.errors.BadParameter, match="match must be one of"):
        paper(3, match="nearly")
