"""A lifetime as users hold it: names, bills, receipts, sources shared between tasks."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import thrifty

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

STREAM = thrifty.streams.trees(8, 60, 3, 400, 3, random_state=1)
TASKS = list(STREAM)


def learned_life(transform=lambda X: X):
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    for task in TASKS:
        life.learn(task.name, transform(task.X), task.y)
    return life


FORMS = {
    "bool": lambda X: X.astype(bool),
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X.astype(float),
    "int64": lambda X: X.astype(np.int64),
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "csr": scipy.sparse.csr_matrix,
    "csc float": lambda X: scipy.sparse.csc_array(X.astype(float)),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(X.astype(bool)),
    "read-only": lambda X: _frozen(X),
}


def _frozen(X):
    frozen = X.copy()
    frozen.flags.writeable = False
    return frozen


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_table_gives_the_same_lifetime(form):
    plain, other = learned_life(), learned_life(FORMS[form])
    assert plain.representation == other.representation
    for a, b in zip(plain.tasks, other.tasks):
        assert a.model.tree_ == b.model.tree_
        assert (a.route, a.receipt.cells) == (b.route, b.receipt.cells)
        assert a.receipt.max_cells_per_example == b.receipt.max_cells_per_example
    task = TASKS[-1]
    assert (other[task.name].model.predict(FORMS[form](task.X)) == task.y).all()


def test_names_length_iteration():
    life = learned_life()
    assert len(life) == 8 and "task-0003" in life and "nobody" not in life
    assert list(life) == [task.name for task in TASKS]
    assert "8 tasks" in repr(life)


def test_prices_change_the_cost_not_the_cells():
    prices = np.arange(60) / 4
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), prices=prices)
    for task, before in zip(TASKS, learned_life().tasks):
        learned = life.learn(task.name, task.X, task.y)
        assert learned.receipt.cells == before.receipt.cells
        cost = sum(prices[int(f[1:])] * n for f, n in learned.receipt.per_feature.items())
        assert learned.receipt.cost == pytest.approx(cost)


def test_models_are_scikit_learn_classifiers():
    life = learned_life()
    task = TASKS[-1]
    model = life[task.name].model
    assert model.n_features_in_ == 60 and list(model.classes_) == [0, 1]
    assert list(model.feature_names_in_[:2]) == ["x0", "x1"]
    proba = model.predict_proba(task.X)
    assert proba.shape == (400, 2) and np.allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == task.y).all()
    assert model.score(task.X, task.y) == 1
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict(task.X) == task.y).all() and copy.tree_ == model.tree_
    assert not hasattr(clone(model), "tree_")
    again = life.family.load_estimator(model.to_dict())
    assert again.tree_ == model.tree_ and (again.predict(task.X) == task.y).all()


def test_a_task_that_is_forgotten_and_learned_again_is_there_at_once(tmp_path):
    from thrifty.report.view import Reader

    place = tmp_path / "again.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=place)
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    life.learn("either", X, [0, 1, 1, 1])
    reader, other = Reader(str(place)), thrifty.Lifetime.open(place)
    assert len(reader.look().tasks) == 1
    life.forget("either")
    assert len(reader.look().tasks) == 0
    other._refresh()
    assert list(life) == list(other) == []
    life.learn("either", X, [0, 1, 1, 1])
    other._refresh()
    assert list(life) == list(other) == ["either"]
    assert [task.name for task in reader.look().tasks] == ["either"]
