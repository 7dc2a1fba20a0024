"""Looking at trees: what each node came from, and that pictures show their data."""

import re

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thrifty
from tests.trees.definitions import induce, is_grown_from_prefixes
from tests.trees.strategies import skeletons, trees
from thrifty.trees import drawing
from thrifty.trees.representation import origins
from thrifty.trees.tree import (
    EMPTY,
    Leaf,
    Node,
    Split,
    affix,
    internal_nodes,
    size,
    stump,
    subtree,
    tree_text,
)

matplotlib.use("Agg")


@given(trees(n_features=3), st.lists(skeletons(n_features=3, depth=2), max_size=4))
def test_an_origin_explains_its_node(tree, metafeatures):
    found = origins(tree, metafeatures)
    for path, node in internal_nodes(tree):
        if path in found:
            f = metafeatures[found[path].metafeature]
            assert induce(tree, found[path].laid_on, path, f) == node.split
            # It has agreed all the way down from where it was laid.
            for i in range(len(found[path].laid_on), len(path)):
                above = subtree(tree, path[:i])
                assert induce(tree, found[path].laid_on, path[:i], f) == above.split
        else:
            assert all(f.split != node.split for f in metafeatures)
    if is_grown_from_prefixes(tree, metafeatures):
        assert len(found) == size(tree)


def test_a_metafeature_once_laid_goes_on():
    f, g = Node(Split(1), EMPTY, stump(2)), stump(2)
    tree = affix(f, (True, False), stump(3))
    found = origins(tree, [g, f, stump(3)])
    assert found[()].metafeature == found[(True,)].metafeature == 1
    assert found[(True, False)].metafeature == 2


def test_thresholds_may_differ_in_origins():
    tree = Node(Split(1, 0.4), Leaf(0), Leaf(1))
    stored = [Node(Split(1, 0.7), EMPTY, EMPTY)]
    assert origins(tree, stored) and not origins(tree, stored, by_feature=False)


@given(trees())
def test_layout_has_everything_once_and_parents_between_children(tree):
    boxes = {box.path: box for box in drawing.layout(tree)}
    assert len(boxes) == 2 * size(tree) + 1
    for path, box in boxes.items():
        assert box.y == len(path)
        if not box.is_leaf:
            assert boxes[(*path, False)].x < box.x < boxes[(*path, True)].x
    columns = [box.x for box in boxes.values() if box.is_leaf]
    assert columns == list(range(len(columns)))


def test_graphviz_escapes_what_users_wrote():
    names = ['a "quoted" name', "back\\slash", "two\nlines"]
    tree = Node(Split(0), Leaf('"]; evil [label="'), Node(Split(1), Leaf(0), stump(2)))
    text = drawing.graphviz_text(tree, names.__getitem__)
    assert text.count("->") == 2 * size(tree)
    strings = re.sub(r'"(?:[^"\\]|\\.)*"', "S", text)
    assert '"' not in strings and "evil" not in strings
    graphviz = pytest.importorskip("graphviz")
    assert graphviz.Source(text).source.startswith("digraph tree {")


def test_models_show_themselves():
    stream = thrifty.streams.trees(6, 40, 2, 500, 3, random_state=0)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    for task in stream:
        model = life.learn(task.name, task.X, task.y).model
    assert model.to_text() == str(model) == tree_text(model.tree_)
    assert "[metafeature" in model.to_text(life.representation)
    assert "[new]" not in model.to_text(life.representation)
    assert "fillcolor" in model.to_graphviz(life.representation)
    drawn = model.plot(life.representation)
    shown = {text.get_text() for text in drawn.texts}
    assert {box.text for box in drawing.layout(model.tree_)} <= shown


def test_a_leaf_alone_can_be_looked_at():
    assert drawing.text_with_origins(Leaf(3), []) == "3"
    assert drawing.draw_tree(Leaf("only")).texts[0].get_text() == "only"
    matplotlib.pyplot.close("all")


class TestLists:
    one = Node(Split(3), Node(Split(7), Leaf(0), Leaf(1)), Leaf(1))

    def test_as_the_paper_writes_them(self):
        swapped = Node(Split(3), Node(Split(7), Leaf(0), Node(Split(2), Leaf(1), Leaf(0))), Leaf(1))
        assert drawing.list_text(swapped) == "if x3: + / elif not x7: - / elif x2: - / else: +"
        assert drawing.list_text(self.one, between="\n").splitlines()[-1] == "else: -"

    def test_thresholds_and_names(self):
        tree = Node(Split(0, 45.0), Leaf("young"), Node(Split(1), Leaf("old"), Leaf("sick")))
        told = drawing.list_text(tree, ["age", "smokes"].__getitem__)
        assert told == "if age < 45: young / elif smokes: sick / else: old"

    def test_a_tree_is_no_list(self):
        assert not drawing.is_list(Node(Split(0), stump(1), stump(2)))
        with pytest.raises(thrifty.errors.BadInput, match="expected a decision list"):
            drawing.list_text(Node(Split(0), stump(1), stump(2)))

    def test_models_print_so(self):
        X = np.array([[a, b] for a in (0, 1) for b in (0, 1)], dtype=np.uint8)
        model = thrifty.estimators.ListClassifier().fit(X, [0, 1, 1, 1])
        assert str(model) == "if x0: + / elif x1: + / else: -"
        words = thrifty.estimators.ListClassifier().fit(X, ["no", "yes", "yes", "yes"])
        assert str(words) == "if x0: yes / elif x1: yes / else: no"
