"""Orders and prefixes are made once, kept in the store, and loaded with the model."""

import numpy as np

import thrifty
from thrifty.models.asking import ask


def test_reopened_store_has_the_prefixes_and_answers_the_same(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 1] + 0.5 * X[:, 4] + 0.5 * rng.normal(size=200) > 0).astype(int)
    new = rng.normal(size=(80, 6))
    with thrifty.Lifetime(store=tmp_path / "life.db", random_state=0) as life:
        life.learn("ill", X, y, spend="80 %")
        first = life.predict("ill", new.copy(), stop=thrifty.Sure(0.8))
    made = _counted(monkeypatch)
    with thrifty.Lifetime.open(tmp_path / "life.db") as life:
        again = life.predict("ill", new.copy(), stop=thrifty.Sure(0.8))
        assert made == []
        assert np.allclose(again.probabilities, first.probabilities, atol=1e-6)
        assert again.stopped == first.stopped
        life.change(prices=[1, 1, 1, 1, 1, 9])  # other prices, another order
        life.predict("ill", new.copy(), stop=thrifty.Sure(0.8))
        assert made == [1]


def _two_labels(n=200):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    ill = (X[:, 1] + 0.5 * X[:, 4] + 0.5 * rng.normal(size=n) > 0).astype(int)
    old = (X[:, 2] - 0.5 * X[:, 4] + 0.5 * rng.normal(size=n) > 0).astype(int)
    source = thrifty.Source.from_array(X, examples=[f"p{i}" for i in range(n)], name="people")
    return source, np.column_stack([ill, old]), rng.normal(size=(80, 6))


def _counted(monkeypatch):
    """How often prefixes are fitted from here on, alone or for several tasks."""
    made = []
    fit = ask.fit_ladder
    monkeypatch.setattr(ask, "fit_ladder", lambda *a, **k: made.append(1) or fit(*a, **k))
    return made


def test_reopened_store_has_the_prefixes_of_several_tasks(tmp_path, monkeypatch):
    source, Y, new = _two_labels()
    tasks = ["ill", "old"]
    with thrifty.Lifetime(store=tmp_path / "life.db", random_state=0) as life:
        life.learn(tasks, source, Y, spend="80 %")
        first = life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
    made = _counted(monkeypatch)
    with thrifty.Lifetime.open(tmp_path / "life.db") as life:
        again = life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
        assert made == []
        assert first.joint and again.joint
        assert again.receipt.cells == first.receipt.cells
        for task in tasks:
            assert np.allclose(again[task].probabilities, first[task].probabilities, atol=1e-6)
            assert again[task].stopped == first[task].stopped
        # what a task counts, and what cells cost, changes the order
        life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8), weights={"old": 3})
        assert made == [1]
        life.change(prices=[1, 2, 3, 4, 5, 6])
        life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
        assert made == [1, 1]


def test_tasks_on_other_rows_take_turns_and_are_not_fitted_again(tmp_path, monkeypatch):
    source, Y, new = _two_labels()
    other, Z, _ = _two_labels(190)
    tasks = ["ill", "old"]
    with thrifty.Lifetime(store=tmp_path / "life.db", random_state=0) as life:
        life.learn("ill", np.array(source.read(range(200), range(6))), Y[:, 0], spend="80 %")
        life.learn("old", np.array(other.read(range(190), range(6))), Z[:, 1], spend="80 %")
        first = life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
    made = _counted(monkeypatch)
    with thrifty.Lifetime.open(tmp_path / "life.db") as life:
        again = life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
    assert made == []
    assert not first.joint and not again.joint
    assert again["old"].stopped == first["old"].stopped


def test_a_purge_takes_the_prefixes_of_several_tasks(tmp_path, monkeypatch):
    source, Y, new = _two_labels()
    tasks = ["ill", "old"]
    with thrifty.Lifetime(store=tmp_path / "life.db", random_state=0) as life:
        life.learn(tasks, source, Y, spend="80 %")
        life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
        life.ledger.purge("p3")
        made = _counted(monkeypatch)
        life.predict(tasks, new.copy(), stop=thrifty.Sure(0.8))
        assert made == [1]


def test_what_is_worth_its_price_is_the_same_in_memory_and_reopened(tmp_path):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 5)), rng.normal(size=(60, 5))
    y = (X[:, 1] + X[:, 3] + rng.normal(size=60) > 0).astype(int)
    found, statements = [], []

    def held_out(life):
        (ladder,) = life["ill"].model._ladders.values()
        return ladder.tasks[0].seen  # what falls of the loss are expected from

    place = tmp_path / "life.db"
    for begin in (
        lambda: thrifty.Lifetime(random_state=0),
        lambda: thrifty.Lifetime(store=place, random_state=0),
        lambda: thrifty.Lifetime.open(place),
    ):
        with begin() as life:
            if "ill" not in life:
                life.learn("ill", X, y, spend="80 %")
            found.append(life.predict("ill", new.copy(), stop=thrifty.Worth(0.002)))
            statements.append(held_out(life))
    for one in statements[1:]:
        np.testing.assert_array_equal(one, statements[0])
    for one in found[1:]:
        np.testing.assert_array_equal(one.probabilities, found[0].probabilities)
        assert one.stopped == found[0].stopped
