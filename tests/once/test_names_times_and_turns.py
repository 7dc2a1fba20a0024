"""Names, moments and turns that bent the books: each is refused, or decided in its transaction."""

import time

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadInput
from thrifty.lifetime.task import Task
from thrifty.testing import FakeProvider

X = np.random.default_rng(0).normal(size=(300, 4))
Y = (X[:, 1] > 0).astype(int)
IDS = [f"p{i}" for i in range(300)]


def rows(some):
    return thrifty.Source.from_array(X[some], examples=IDS[some], name="ward")


def sums(life):
    return life.bill()["cost"].sum(), life.balance().spent


@pytest.mark.parametrize("kept", [False, True])
def test_a_task_is_not_called_like_a_version_of_another(tmp_path, kept):
    life = thrifty.Lifetime(store=tmp_path / "s.db" if kept else None, random_state=0)
    life.learn("t", rows(slice(100)), Y[:100])
    life["t"].update(rows(slice(100, 200)), Y[100:200])
    for name in ("t@2", "t@9", "me@home"):
        with pytest.raises(BadInput, match="@"):
            life.learn(name, rows(slice(200, 300)), Y[200:])
    with pytest.raises(BadInput, match="@"):
        life.learn(["a", "b@2"], rows(slice(200, 300)), {"a": Y[200:], "b@2": Y[200:]})
    bill, spent = sums(life)
    assert bill == spent
    life.forget("t")
    assert sums(life) == (spent, spent)


def repr_of(moment: object) -> str:
    """Every process that collects names them alike, whatever the clock says."""
    return f"{moment:.0e}" if isinstance(moment, float) else str(moment)[:12]


@pytest.mark.parametrize(
    "at",
    [time.time() * 1000, float("nan"), -5.0, 1e300, 10**400, "yesterday", time.time() + 10 * 86400],
    ids=repr_of,
)
def test_a_moment_that_is_none_is_refused(tmp_path, at):
    life = thrifty.Lifetime(store=tmp_path / "s.db", random_state=0)
    life.learn("t", rows(slice(200)), Y[:200])
    life.predict("t", rows(slice(200, 300)))
    with pytest.raises(BadInput, match="seconds since 1970"):
        life["t"].outcomes(IDS[200:], Y[200:], at=at)
    assert life["t"].outcomes(IDS[200:], Y[200:], at=time.time()).outcomes == 100
    assert life["t"].monitor().outcomes == 100


def test_what_was_retired_is_bought_by_nobody():
    from sklearn.tree import DecisionTreeClassifier

    made = FakeProvider(lambda e, f: float(X[int(e[1:]), int(f[1:])]))
    names = [f"f{i}" for i in range(4)]
    life = thrifty.Lifetime(random_state=0)
    life.retire("f1")
    source = made.source(IDS[:50], names, prices=1, boolean=False)
    assert life.background(source, rows=20).cells == 60
    fitted = DecisionTreeClassifier(random_state=0).fit(X, Y)  # asks for f1 first
    fitted.feature_names_in_ = np.array(names, dtype=object)
    with pytest.raises(BadInput, match="f1.*retired"):
        life.metered(fitted, source).predict()
    assert not [cell for cell in made.bill().cells if cell[1] == "f1"]
    life.retire("f1", undo=True)
    life.metered(fitted, source).predict()


@pytest.mark.parametrize("kept", [False, True])
def test_a_rollback_during_an_update_leaves_one_present_version(tmp_path, monkeypatch, kept):
    noisy = (X[:, 1] + np.random.default_rng(3).normal(size=300) > 0).astype(int)
    store = tmp_path / "s.db" if kept else None
    life = thrifty.Lifetime(store=store, random_state=0)
    life.learn("t", rows(slice(12)), noisy[:12])
    assert life["t"].update(rows(slice(12, 40)), noisy[12:40]).taken
    other = thrifty.Lifetime.open(store) if kept else life
    commit, done = Task._commit, []

    def meanwhile(self, *given):
        if not done:
            assert given[-1].not_worse, "one that would answer, were it not for the rollback"
            done.append(other["t"].rollback())
        return commit(self, *given)

    monkeypatch.setattr(Task, "_commit", meanwhile)
    life["t"].update(rows(slice(40, 300)), noisy[40:300])
    assert done[0].number == 1
    versions = life["t"].versions
    (present,) = [version for version in versions if version.taken]
    again = thrifty.Lifetime.open(store) if kept else life
    assert (again.predict("t", X).values == present.model.predict(X)).all()
