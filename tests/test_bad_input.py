"""Bad input gets an error: what was expected, what came, what to do. Nothing changes."""

import numpy as np
import pytest

import thrifty
from thrifty import errors

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (60, 8), dtype=np.uint8)
Y = X[:, 2] & X[:, 5]


def with_value(value, dtype=float):
    bad = X.astype(dtype)
    bad[3, 4] = value
    return bad


@pytest.fixture
def life():
    made = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    made.learn("first", X, Y)
    return made


BAD_TASKS = [
    (with_value(np.nan), Y, errors.BadInput, r"got NaN for x4 on example 3.*(impute|missing)"),
    (with_value(np.inf), Y, errors.BadInput, r"got infinity for x4 on example 3"),
    ([[0, 1], [1]], [0, 1], errors.BadInput, r"rows of equal length"),
    (np.zeros((0, 8)), [], errors.BadInput, r"at least one"),
    (np.zeros((60, 0)), Y, errors.BadInput, r"at least one"),
    (np.zeros(60), Y, errors.BadInput, r"two-dimensional"),
    ("table.csv", Y, errors.BadInput, r"got the text 'table.csv'"),
    (
        pd.DataFrame({"day": pd.date_range("2020-01-01", periods=60)}),
        Y,
        errors.BadInput,
        r"'day' holds d",
    ),
    (np.array([[{1: 2}]] * 60, dtype=object), Y, errors.BadInput, r"'x0' holds a dict"),
    (X, Y[:-1], errors.BadInput, r"60 examples and y has 59"),
    (X, np.full(60, np.nan), errors.BadInput, r"every label is empty"),
    (X, RNG.random(60), errors.BadInput, r"continuous"),
    (X, np.zeros((60, 2)), errors.BadInput, r"one-dimensional"),
    (X[:, :7], Y, errors.FeaturesChanged, r"has 8 features; the new task has 7"),
]


@pytest.mark.parametrize("bad_X, bad_y, error, message", BAD_TASKS)
def test_bad_task_is_refused_and_changes_nothing(life, bad_X, bad_y, error, message):
    before = (len(life), life.representation, life.bill()["cells"].sum())
    with pytest.raises(error, match=message):
        life.learn("second", bad_X, bad_y)
    assert (len(life), life.representation, life.bill()["cells"].sum()) == before
    assert "second" not in life
    life.learn("second", X, 1 - Y)


def test_a_name_used_twice(life):
    with pytest.raises(errors.TaskExists, match="'first' was learned before"):
        life.learn("first", X, Y)


def test_an_unknown_task(life):
    with pytest.raises(errors.UnknownTask, match=r"no task named 'nobody'; .* begin with 'first'"):
        life["nobody"]


def test_contradictory_rows_are_named():
    doubled = np.vstack([X, X])
    y = np.concatenate([Y, Y])
    y[60 + 7] ^= 1
    life = thrifty.Lifetime(thrifty.Trees(max_depth=10))
    with pytest.raises(
        errors.ContradictoryLabels, match=r"examples \d+ and \d+ agree on every feature"
    ):
        life.learn("first", doubled, y)
    assert len(life) == 0 and len(life.representation) == 0


@pytest.mark.parametrize("max_depth", [0, -1, 1.5, "3", None])
def test_max_depth_below_one(max_depth):
    with pytest.raises(errors.BadParameter, match="max_depth must be an integer, 1 or more"):
        thrifty.Trees(max_depth=max_depth)


@pytest.mark.parametrize(
    "parameters",
    [{"improve": "magic"}, {"gain": "luck"}, {"max_nodes": 0}, {"match": "some"}, {"missing": 1}],
)
@pytest.mark.parametrize("learner", [thrifty.trees.Paper, thrifty.trees.Race, thrifty.trees.Tested])
def test_unknown_choices(parameters, learner):
    with pytest.raises(errors.BadParameter, match=r"must be"):
        learner(**parameters)


def test_one_class_is_a_constant_for_no_cells(life):
    learned = life.learn("constant", X, np.ones(60, dtype=int))
    assert learned.receipt.cells == 0
    assert learned.route == "reused"
    assert learned.model.tree_.to_dict()["label"] == 1
    assert (learned.model.predict(X) == 1).all()


@pytest.mark.parametrize("prices", [[1.0] * 7, [-1.0] * 8, [np.nan] * 8, {"x0": 1}])
def test_bad_prices(prices):
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4), prices=prices)
    with pytest.raises(errors.BadInput, match="price"):
        life.learn("first", X, Y)
    assert len(life) == 0
