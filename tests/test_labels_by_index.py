"""Labels of a series belong to the rows that its index names, never silently to others."""

import numpy as np
import pytest

import thrifty
from tests.loops import paper
from thrifty.errors import BadInput
from thrifty.testing import FakeProvider

pd = pytest.importorskip("pandas")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 5)).astype(bool), columns=list("abcde"))
    X.index = [f"p{i}" for i in range(60)]
    return X, (X["a"] & X["b"]).rename("ill")


def right(life, X, y):
    return (life.predict("t", X).values == y.to_numpy()).all()


def exact():
    return thrifty.Lifetime(paper(2), budget=thrifty.Budget(10**9))


@pytest.mark.parametrize("brought", ["frame", "source", "ids", "many"])
def test_labels_in_another_order_are_put_in_the_order_of_the_rows(table, brought):
    X, y = table
    shuffled = y.sample(frac=1, random_state=0)
    assert (shuffled.to_numpy() != y.to_numpy()).any()
    life = exact()
    if brought == "many":
        life.learn_many([("u", X, y), ("t", X.copy(), shuffled)], n_jobs=2)
    elif brought == "ids":
        provider = FakeProvider(lambda example, feature: bool(X.loc[example, feature]))
        life.learn("t", provider.source(list(X.index), list(X.columns), prices=1), shuffled)
    else:
        life.learn("t", X if brought == "frame" else thrifty.Source.from_frame(X), shuffled)
    assert right(life, X, y)


def test_labels_of_other_rows_are_refused(table):
    X, y = table
    life = exact()
    for other in (y.reset_index(drop=True), y.rename(index={"p7": "p99"}), y.iloc[:50]):
        with pytest.raises(BadInput, match=r"not of the same rows.*y\.to_numpy\(\)"):
            life.learn("t", X, other)
    twice = pd.concat([y.iloc[:59], y.iloc[:1]])
    with pytest.raises(BadInput, match="not of the same rows"):
        life.learn("t", X, twice)
    assert len(life) == 0
    life.learn("t", X, y.reset_index(drop=True).to_numpy())
    assert right(life, X, y)


def test_an_index_that_only_the_labels_have_says_nothing(table):
    X, y = table
    life = exact()
    life.learn("t", X.to_numpy(), y)
    assert (life.predict("t", X.to_numpy()).values == y.to_numpy()).all()
