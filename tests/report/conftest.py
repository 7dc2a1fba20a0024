"""Lifetimes to look at: one of trees in memory, learned once for all tests of this folder."""

import pytest

import thrifty
from tests.loops import one_by_one
from thrifty.report import LifetimeView, view_of


@pytest.fixture(scope="session")
def stream() -> thrifty.streams.TreeStream:
    return thrifty.streams.trees(
        n_tasks=24, n_features=60, n_metafeatures=4, n_examples=400, max_depth=4, random_state=3
    )


@pytest.fixture(scope="session")
def life(stream: thrifty.streams.TreeStream) -> thrifty.Lifetime:
    return one_by_one(stream, thrifty.Trees(max_depth=4))


@pytest.fixture(scope="session")
def view(life: thrifty.Lifetime) -> LifetimeView:
    return view_of(life, "clinic")
