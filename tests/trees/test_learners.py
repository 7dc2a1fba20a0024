"""Learners own their parameters; max_depth means the same for all; what 0.1 said still works."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadParameter, NotInFamily
from thrifty.stores.families import family_from_dict
from thrifty.trees.tree import depth

LEARNERS = [
    thrifty.Paper(gain="gini", class_weight={1: 2.0}, max_nodes=9),
    thrifty.Race(improve="anchors", warm_up=thrifty.WarmUp(0.5, 2)),
    thrifty.Tested(0.05, 0.9, match="threshold"),
    thrifty.Tested(0.05, 0.9, race=False, gain="gain-ratio"),
    thrifty.Verified(0.2, 0.05, certain=True),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_learner_goes_through_json_and_is_a_value(learner):
    family = thrifty.Trees(max_depth=np.int64(4), learner=learner)
    back = family_from_dict(json.loads(json.dumps(family.to_dict())))
    assert back == family and back.max_depth.__class__ is int
    assert eval(repr(learner), {**vars(thrifty)}) == learner


@pytest.mark.parametrize(
    "learner, unused",
    [
        (thrifty.Race, "class_weight"),
        (thrifty.Race, "error"),
        (thrifty.Paper, "error"),
        (thrifty.Tested, "class_weight"),
        (thrifty.Verified, "gain"),
        (thrifty.Verified, "match"),
        (thrifty.Trees, "epsilon"),
    ],
)
def test_what_a_learner_does_not_use_cannot_be_given(learner, unused):
    with pytest.raises(TypeError, match=unused):
        learner(**{unused: 1})


def test_the_default_is_the_race():
    assert thrifty.Trees(4).learner == thrifty.Race()


@pytest.mark.parametrize("what", ["race", 3, thrifty.Race, None.__class__])
def test_a_learner_must_be_one(what):
    with pytest.raises(BadParameter, match=r"learner must be thrifty\.Race\(\)"):
        thrifty.Trees(max_depth=3, learner=what)


def noisy(n=800, n_features=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) < 0.5
    return X, X[:, 3] ^ (rng.random(n) < 0.1)


@pytest.mark.parametrize(
    "family",
    [
        thrifty.Trees(4, thrifty.Paper()),
        thrifty.Trees(4, thrifty.Race()),
        thrifty.Trees(4, thrifty.Tested()),
        thrifty.Lists(4),
    ],
    ids=repr,
)
@pytest.mark.parametrize("real", [False, True])
def test_noisy_labels_do_not_grow_deeper_than_max_depth(family, real):
    """0.1 grew a tree of depth 16 here, and bought every cell."""
    X, y = noisy()
    life = thrifty.Lifetime(family)
    X = X + np.random.default_rng(1).random(X.shape) / 4 if real else X
    with pytest.raises(NotInFamily, match=r"thrifty\.Models\(\)|no decision list"):
        life.learn("noisy", X, y)
    assert len(life) == 0 and len(life.representation) == 0


def test_a_race_stops_buying_at_the_first_impure_node_at_max_depth():
    X, y = noisy(n=4000, n_features=60)
    cells = thrifty.Cells(X)
    family = thrifty.Trees(2)
    with pytest.raises(NotInFamily, match="at depth 2"):
        family.from_scratch(cells, family.read_labels(y), None)
    assert cells.receipt().cells < 0.8 * X.size


@pytest.mark.parametrize("learner", [thrifty.Paper(), thrifty.Race(), thrifty.Verified()])
def test_every_learner_keeps_max_depth(learner):
    X, _ = noisy()
    life = thrifty.Lifetime(thrifty.Trees(3, learner))
    y = X[:, 1] & X[:, 2] & X[:, 4]
    assert depth(life.learn("clean", X, y).model.tree_) <= 3


class TestOldNames:
    @pytest.mark.parametrize(
        "old, new",
        [
            ({"compare": "race"}, thrifty.Race()),
            ({"gain": "gini"}, thrifty.Paper(gain="gini")),
            ({"accept": thrifty.Verified(0.2)}, thrifty.Verified(0.2)),
            ({"accept": thrifty.Tested(0.2, 0.9)}, thrifty.Tested(0.2, 0.9, race=False)),
            (
                {"accept": thrifty.Tested(0.2, 0.9), "compare": "race", "max_nodes": 3},
                thrifty.Tested(0.2, 0.9, max_nodes=3),
            ),
            ({"class_weight": "balanced"}, thrifty.Paper(class_weight="balanced")),
            ({"warm_up": 3, "improve": "anchors"}, thrifty.Paper(warm_up=3, improve="anchors")),
        ],
    )
    def test_old_parameters_warn_and_work(self, old, new):
        with pytest.warns(FutureWarning, match=r"say Trees\(learner=thrifty\."):
            family = thrifty.Trees(max_depth=4, **old)
        assert family == thrifty.Trees(max_depth=4, learner=new)

    def test_the_warning_points_at_the_user(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            thrifty.Trees(max_depth=4, compare="race")
        assert [one.filename for one in seen] == [__file__]

    def test_old_and_new_together_are_refused(self):
        with pytest.raises(BadParameter, match="belong to the learner"):
            thrifty.Trees(learner=thrifty.Race(), gain="gini")

    def test_class_weights_with_a_race_are_refused_as_before(self):
        with pytest.raises(BadParameter, match="class_weight"):
            thrifty.Trees(compare="race", class_weight="balanced")

    @pytest.mark.parametrize(
        "old, new",
        [
            ("ThriftyTreeClassifier", thrifty.TreeClassifier),
            ("ThriftyListClassifier", thrifty.ListClassifier),
        ],
    )
    def test_old_classes_warn_and_work(self, old, new):
        with pytest.warns(FutureWarning, match=new.__name__):
            assert getattr(thrifty, old) is new

    def test_consistent_warns_and_works(self):
        with pytest.warns(FutureWarning, match="Consistent"):
            accept = thrifty.Consistent()
        with pytest.warns(FutureWarning, match="Paper"):
            assert thrifty.Trees(accept=accept).learner == thrifty.Paper()

    def test_no_other_name_is_made_up(self):
        with pytest.raises(AttributeError, match="has no attribute 'Forests'"):
            thrifty.Forests  # noqa: B018


def test_a_rule_of_ones_own_improves():
    """``improve=`` takes a function: here the whole tree is stored."""
    known = []

    def whole(metafeatures, scratch, grown):
        known.append(scratch)
        return [scratch]

    life = thrifty.Lifetime(thrifty.Trees(3, thrifty.Race(improve=whole)))
    X = np.random.default_rng(0).random((300, 8)) < 0.5
    life.learn("first", X, np.where(X[:, 1], X[:, 2], X[:, 3]))
    assert len(known) == 1 and len(life.representation) == 1
