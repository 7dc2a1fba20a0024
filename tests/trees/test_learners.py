"""Learners own their parameters; max_depth means the same for all; what is gone is said."""

import contextlib
import dataclasses
import json
import sqlite3

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadParameter, NotInFamily, StoreError
from thrifty.stores.settings import family_from_dict

LEARNERS = [
    thrifty.trees.Paper(gain="gini", max_nodes=9),
    thrifty.trees.Race(improve="anchors", warm_up=thrifty.trees.WarmUp(0.5, 2)),
    thrifty.trees.Tested(0.05, 0.9, match="threshold"),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_learner_goes_through_json_and_is_a_value(learner):
    family = thrifty.Trees(max_depth=np.int64(4), learner=learner)
    back = family_from_dict(json.loads(json.dumps(family.to_dict())))
    assert back == family and back.max_depth.__class__ is int
    assert eval(repr(learner), vars(thrifty.trees)) == learner


def test_parameters_that_are_gone_do_not_keep_a_store_from_opening():
    """0.2 stored them; the trees that they led to were consistent, as those of today are."""
    gone = {"class_weight": [[1, 2.0]], "race": False, "match": "stored"}
    for learner in LEARNERS[:1] + LEARNERS[2:]:
        family = thrifty.Trees(3, learner).to_dict()
        family["learner"] |= gone
        assert family_from_dict(family).learner == dataclasses.replace(learner, match="threshold")
    lists = thrifty.Lists(3, match="threshold")
    assert family_from_dict({**lists.to_dict(), "match": "stored"}) == lists


@pytest.mark.parametrize(
    "learner, unused",
    [(thrifty.trees.Race, "error"), (thrifty.trees.Paper, "error"), (thrifty.Trees, "epsilon")],
)
def test_what_a_learner_does_not_use_cannot_be_given(learner, unused):
    with pytest.raises(TypeError, match=unused):
        learner(**{unused: 1})


def test_the_default_is_the_race():
    assert thrifty.Trees(4).learner == thrifty.trees.Race()


@pytest.mark.parametrize("what", ["race", 3, thrifty.trees.Race, None.__class__])
def test_a_learner_must_be_one(what):
    with pytest.raises(BadParameter, match=r"learner must be thrifty\.trees\.Race\(\)"):
        thrifty.Trees(max_depth=3, learner=what)


def noisy(n=800, n_features=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) < 0.5
    return X, X[:, 3] ^ (rng.random(n) < 0.1)


@pytest.mark.parametrize(
    "family",
    [
        thrifty.Trees(4, thrifty.trees.Paper()),
        thrifty.Trees(4, thrifty.trees.Race()),
        thrifty.Trees(4, thrifty.trees.Tested()),
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
    cells = thrifty.protocol.Cells(X)
    family = thrifty.Trees(2)
    with pytest.raises(NotInFamily, match="at depth 2"):
        family.from_scratch(cells, family.read_labels(y), None)
    assert cells.receipt().cells < 0.8 * X.size


@pytest.mark.parametrize("name", ["Forests", "Verified", "Consistent"])
def test_no_other_name_is_made_up(name):
    with pytest.raises(AttributeError, match=f"has no attribute {name!r}"):
        getattr(thrifty, name)


def test_a_store_whose_learner_is_gone_says_what_to_use(tmp_path):
    place = tmp_path / "life.db"
    thrifty.Lifetime(thrifty.Trees(4), store=place).close()
    gone = {"learner": "Verified", "epsilon": 0.1, "delta": 0.1, "certain": False}
    with contextlib.closing(sqlite3.connect(place)) as store, store:
        (family,) = store.execute("SELECT family FROM lifetimes").fetchone()
        family = json.dumps({**json.loads(family), "learner": gone})
        store.execute("UPDATE lifetimes SET family = ?", [family])
    with pytest.raises(StoreError, match=r"Verified is gone: thrifty\.Models\(\)"):
        thrifty.Lifetime.open(place)
    assert len(thrifty.Lifetime(thrifty.Models(), store=place, name="anew")) == 0


def test_a_rule_of_ones_own_improves():
    """``improve=`` takes a function: here the whole tree is stored."""
    known = []

    def whole(metafeatures, scratch, grown):
        known.append(scratch)
        return [scratch]

    life = thrifty.Lifetime(thrifty.Trees(3, thrifty.trees.Race(improve=whole)))
    X = np.random.default_rng(0).random((300, 8)) < 0.5
    life.learn("first", X, np.where(X[:, 1], X[:, 2], X[:, 3]))
    assert len(known) == 1 and len(life.representation) == 1
