"""Many workers give what one gives: the same models, representation and receipts."""

import numpy as np
import pytest

import thrifty
from tests.loops import assert_same, one_by_one
from tests.market import table_seller
from thrifty.engines import ENGINES, open_pool
from thrifty.errors import BadInput, BadParameter, ContradictoryLabels, TaskExists, ThriftyError

FAMILIES = [
    thrifty.Trees(max_depth=4),
    thrifty.Trees(max_depth=4, learner=thrifty.trees.Paper(improve="features")),
    thrifty.Trees(max_depth=4, learner=thrifty.trees.Race()),
    thrifty.Lists(max_depth=4),
]


def stream(n=12, seed=3):
    return thrifty.streams.trees(n, 60, 3, 300, 3, random_state=seed)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_threads_give_what_a_loop_gives(family):
    tasks = stream()
    if isinstance(family, thrifty.Lists):
        tasks = thrifty.streams.lists(10, 60, 3, 300, 4, random_state=1)
    expected, life = one_by_one(tasks, family), thrifty.Lifetime(family)
    learned = life.learn_many(tasks, n_jobs=3)
    assert [task.name for task in learned] == list(life)
    assert_same(expected, life)


def test_tasks_that_share_a_source_reuse_each_others_cells():
    task = stream(1)[0]
    source = thrifty.Source.from_array(task.X)
    tasks = [(f"label {f}", source, task.X[:, f]) for f in (1, 2, 1, 3, 2)]
    tasks = [(f"{i} {name}", X, y) for i, (name, X, y) in enumerate(tasks)]
    expected = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    for name, X, y in tasks:
        expected.learn(name, X, y)
    fresh = thrifty.Source.from_array(task.X)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    life.learn_many([(name, fresh, y) for name, _, y in tasks], n_jobs=2)
    assert_same(expected, life)
    assert life.tasks[-1].receipt.cells == 0


def test_a_store_and_a_mapping(tmp_path):
    expected = one_by_one(stream(6), thrifty.Trees(max_depth=4))
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4), store=str(tmp_path / "life.db"))
    life.learn_many({task.name: (task.X, task.y) for task in stream(6)}, n_jobs=2)
    assert_same(expected, life)
    reopened = thrifty.Lifetime.open(str(tmp_path / "life.db"))
    assert reopened.representation == expected.representation


def test_what_costs_money_is_bought_in_its_turn_and_once():
    """The same examples in every task: a later task finds what an earlier one has paid."""
    X = stream(1)[0].X
    labels = [X[:, 1] & X[:, 2], X[:, 1], X[:, 2], X[:, 1] & X[:, 2]]
    one, two = [], []
    expected = thrifty.Lifetime(thrifty.Trees(max_depth=3), budget=thrifty.Budget(10**9))
    source = table_seller(X, sold=one)
    for i, y in enumerate(labels):
        expected.learn(f"task {i}", source, y)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), budget=thrifty.Budget(10**9))
    source = table_seller(X, sold=two)
    life.learn_many([(f"task {i}", source, y) for i, y in enumerate(labels)], n_jobs=3)
    assert_same(expected, life)
    assert sorted(one) == sorted(two) and len(set(two)) == len(two)


def test_a_budget_holds():
    budget = thrifty.Budget(total=60 * 300 + 1)
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4), budget=budget)
    with pytest.raises(thrifty.errors.BudgetExceeded):
        life.learn_many(stream(), n_jobs=2)
    looped = thrifty.Lifetime(thrifty.Trees(max_depth=4), budget=budget)
    with pytest.raises(thrifty.errors.BudgetExceeded):
        for task in stream():
            looped.learn(task.name, task.X, task.y)
    assert_same(looped, life)


def test_an_error_comes_when_its_task_is_due():
    tasks = list(stream(6))
    X = np.zeros((4, 60), dtype=np.uint8)
    broken = [*tasks[:3], ("broken", X, [0, 1, 0, 1]), *tasks[3:]]
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    with pytest.raises(ContradictoryLabels):
        life.learn_many(broken, n_jobs=3)
    assert list(life) == [task.name for task in tasks[:3]]
    with pytest.raises(TaskExists):
        life.learn_many(tasks, n_jobs=2)
    with pytest.raises(BadInput, match=r"\(name, X, y\)"):
        life.learn_many([("no labels", X)])


def test_a_long_stream_is_read_as_it_is_learned():
    seen = []

    def tasks():
        for task in stream(10):
            seen.append(len(life))
            yield task

    life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    life.learn_many(tasks(), n_jobs=1)
    assert seen[-1] >= 5


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "two", True])
def test_wrong_n_jobs(n_jobs):
    with pytest.raises(BadParameter, match="n_jobs must be 1 or more"):
        thrifty.Lifetime(thrifty.Trees()).learn_many([], n_jobs=n_jobs)


def test_unknown_engine():
    with pytest.raises(BadParameter, match=r"engine must be one of \['dask', 'loky'"):
        thrifty.Lifetime(thrifty.Trees()).learn_many([], engine="spark")


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_installed(engine, module, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ThriftyError, match=rf"pip install 'thrifty\[{engine}\]'"):
        thrifty.Lifetime(thrifty.Trees()).learn_many([], engine=engine)


def test_every_engine_has_a_name():
    assert sorted(ENGINES) == ["dask", "loky", "processes", "ray", "threads"]
    with open_pool("threads", 1) as pool:
        assert pool.submit(abs, -3).result() == 3
