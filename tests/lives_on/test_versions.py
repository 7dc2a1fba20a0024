"""Next month's rows: updates, versions, the way back."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import thrifty
from tests.shell import run
from thrifty.errors import BadInput, BadParameter, UnknownTask

pd = pytest.importorskip("pandas")


def month(n=240, seed=0, first=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"t{i}": rng.normal(size=n).round(3) for i in range(5)})
    y = (frame["t1"] - frame["t3"] + 0.8 * rng.normal(size=n) > 0.5).astype(int).to_numpy()
    frame.index = [f"p{first + i}" for i in range(n)]
    return frame, y


def source(frame):
    return thrifty.Source.from_frame(frame, examples=list(frame.index), name="clinic")


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.slow), "file"])
def life(request, tmp_path):
    place = None if request.param == "memory" else tmp_path / "clinic.db"
    return thrifty.Lifetime(store=place, random_state=0)


@pytest.fixture
def quick(tmp_path):
    """With a model that is fitted in no time: what is bought, billed and kept is the same."""
    family = thrifty.Models(LogisticRegression())
    return thrifty.Lifetime(family, store=tmp_path / "clinic.db", random_state=0)


def test_an_update_buys_only_new_rows_and_is_a_version(life):
    X, y = month()
    more, z = month(seed=1, first=240)
    life.learn("ill", source(X), y, spend="100 %")
    first = life["ill"].model
    made = life["ill"].update(source(more), z, spend=600)
    assert made.name == "ill@2" and 0 < made.receipt.cost <= 600
    assert made.judged >= 20 and made.taken == (made.loss <= made.loss_before)
    states = [v.state for v in life["ill"].versions]
    assert states == (["before", "present"] if made.taken else ["present", "kept aside"])
    newest = life["ill@2"].model
    assert newest.table_.n_rows > first.table_.n_rows
    assert np.allclose(life["ill@1"].model.predict_proba(more), first.predict_proba(more))
    now = newest if made.taken else first
    assert np.allclose(life["ill"].model.predict_proba(more), now.predict_proba(more))


def test_old_rows_in_a_bigger_table_count_once(quick):
    life = quick
    X, y = month()
    more, z = month(seed=1, first=240)
    life.learn("ill", source(X), y, spend="100 %")
    known = life["ill"].model.table_.n_rows
    both = pd.concat([X, more])
    made = life["ill"].update(source(both), np.r_[y, z])
    assert made.model.table_.n_rows <= len(both)
    assert made.receipt.cells <= (len(both) - known) * 5 + known  # nothing twice
    again, w = month(seed=2, first=480)
    third = life["ill"].update(source(pd.concat([both, again])), np.r_[y, z, w])
    assert third.number == 3 and third.model.table_.n_rows <= 720


def test_rollback_and_what_another_process_sees(tmp_path):
    X, y = month()
    place = tmp_path / "clinic.db"
    life = thrifty.Lifetime(store=place, random_state=0)
    other = thrifty.Lifetime.open(place)
    life.learn("ill", source(X), y, spend="100 %")
    made = life["ill"].update(source(month(500, seed=1, first=240)[0]), month(500, seed=1)[1])
    assert made.taken, "twice the rows of the same kind"
    probe = month(30, seed=7)[0]
    two = life["ill"].model.predict_proba(probe)
    assert np.allclose(other.predict("ill", probe).probabilities, two)
    back = life["ill"].rollback()
    assert back.name == "ill@1" and back.taken
    one = life["ill"].model.predict_proba(probe)
    assert not np.allclose(one, two)
    assert np.allclose(other.predict("ill", probe).probabilities, one)
    assert np.allclose(thrifty.Lifetime.open(place)["ill@2"].model.predict_proba(probe), two)
    assert [v.state for v in life["ill"].versions] == ["present", "rolled back"]
    with pytest.raises(BadInput, match="no version of 'ill' before the present one"):
        life["ill"].rollback()
    third = life["ill"].update(source(month(500, seed=3, first=900)[0]), month(500, seed=3)[1])
    assert third.number == 3


def test_a_worse_version_is_kept_aside():
    X, y = month(400)
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X, y, spend="100 %")
    before = life["ill"].model
    rng = np.random.default_rng(0)
    made = life["ill"].update(month(24, seed=1)[0], rng.permutation(np.arange(24) % 2))
    again = life["ill"].update(month(6, seed=1)[0], [0, 1, 0, 1, 0, 1])
    assert again.state == "kept aside" and again.loss is None
    assert "too few new rows" in str(again)
    if not made.taken:
        assert life["ill"].model is before


def test_new_columns_join(life):
    rng = np.random.default_rng(0)
    X, y = month(300)
    life.learn("ill", source(X), y, spend="100 %")
    more, z = month(400, seed=1, first=300)
    more["marker"] = z + 0.3 * rng.normal(size=400)
    made = life["ill"].update(source(more), z)
    assert made.taken
    assert "marker" in [made.model.feature_names_[f] for f in made.model.features_]
    assert len(life.predict("ill", source(more))) == 400


def test_numbers_go_on_too(life):
    X, _ = month(300)
    made = life.learn("dose", source(X), X["t1"] * 2 + 0.1 * X["t2"] + 0.05, spend="100 %")
    more, _ = month(300, seed=1, first=300)
    version = life["dose"].update(source(more), more["t1"] * 2 + 0.1 * more["t2"] + 0.05)
    assert version.model.table_.n_rows > made.model.table_.n_rows
    assert version.loss is not None


def test_forget_takes_the_versions_and_the_bill_stays(quick):
    life = quick
    X, y = month()
    life.learn("ill", source(X), y, spend="100 %")
    life["ill"].update(source(month(seed=1, first=240)[0]), month(seed=1)[1])
    spent = life.balance().spent
    life.forget("ill")
    assert "ill" not in life
    assert life.balance().spent == pytest.approx(spent)
    life.learn("ill", source(X), y, spend="100 %")
    assert [v.name for v in life["ill"].versions] == ["ill@1"]
    assert life.balance().spent == pytest.approx(spent), "what it bought is owned"
    life["ill"].update(source(month(seed=4, first=800)[0]), month(seed=4)[1])
    assert life.bill()["cost"].sum() == pytest.approx(life.balance().spent)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ([0.5, 1.25] * 120, "hold numbers"),
        (["low", "high"] * 120, "hold 'high' too"),
        ([0, 1, 2] * 80, "hold 2 too"),
    ],
)
def test_labels_of_another_kind_are_refused_before_anything_is_bought(wrong, message):
    X, y = month()
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", X, y, spend="100 %")
    spent = life.balance().spent
    with pytest.raises(BadInput, match=message):
        life["ill"].update(month(seed=1)[0], wrong)
    assert life.balance().spent == spent


def test_what_cannot_be_updated():
    X, y = month()
    life = thrifty.Lifetime(random_state=0)
    life.learn("ill", source(X), y, spend="100 %")
    with pytest.raises(UnknownTask, match="no task named 'well'"):
        life["well"].update(X, y)
    with pytest.raises(BadInput, match="'ill' has no version 3; there are ill@1"):
        life.predict("ill@3", X)
    bought = life["ill"].model.table_.n_rows
    if bought == len(X):
        with pytest.raises(BadInput, match="learned from before"):
            life["ill"].update(source(X), y)
    with pytest.raises(BadInput, match="single new row"):
        life["ill"].update(source(month(seed=1, first=240)[0]), month(seed=1)[1], spend=1)
    with pytest.raises(BadInput, match="not one of its versions"):
        life.forget("ill@1")
    trees = thrifty.Lifetime(thrifty.Trees(max_depth=2))
    trees.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    with pytest.raises(BadParameter, match="Trees learns a task once"):
        trees["either"].update([[0, 0], [1, 1]], [0, 1])


def test_on_the_command_line(tmp_path):
    X, y = month()
    more, z = month(500, seed=1, first=240)
    for name, frame, labels in [("a.csv", X, y), ("b.csv", more, z)]:
        frame.assign(ill=labels, patient=frame.index).to_csv(tmp_path / name, index=False)
    store = tmp_path / "a.db"
    options = ["--label", "ill", "--id", "patient", "--store", store]
    run("learn", tmp_path / "a.csv", *options)
    said = run("learn", tmp_path / "b.csv", *options)
    assert "learned before" in said.stderr and "--update" in said.stderr
    said = run("learn", tmp_path / "b.csv", *options, "--update")
    assert "ill@2: present" in said.stderr
    listed = run("store", "versions", store, "ill")
    assert "ill@1: before" in listed.stdout and "ill@2: present" in listed.stdout
    assert "ill@2" in run("bill", store).stdout
    run("store", "rollback", store, "ill")
    assert "ill@1: present" in run("store", "versions", store, "ill").stdout
    run("store", "forget", store, "ill")
    assert "ill" not in thrifty.Lifetime.open(store)


def test_rows_of_an_update_weigh_and_belong_together(life):
    X, y = month()
    more, z = month(seed=1, first=240)
    life.learn("ill", source(X), y, spend="100 %")
    weights = np.where(np.arange(240) < 40, 0.0, 1.0 + np.arange(240) % 3)
    together = np.arange(240) // 4
    made = life["ill"].update(source(more), z, spend=5000, sample_weight=weights, groups=together)
    plain = thrifty.Lifetime(random_state=0)
    plain.learn("ill", source(X), y, spend="100 %")
    other = plain["ill"].update(source(more), z, spend=5000)
    table, before = made.model.table_, life["ill"].versions[0].model.table_
    new = table.of_rows(np.arange(before.n_rows, table.n_rows))
    assert new.n_rows == 200, "what weighs nothing is not bought"
    assert other.model.table_.n_rows - before.n_rows == 240
    ratio = new.weights / (1.0 + np.arange(40, 240) % 3)
    assert len(np.unique(ratio.round(6))) <= 2, "one factor for each class, times what was said"
    old = table.groups[: before.n_rows]
    assert len(np.unique(old)) == before.n_rows, "nothing was said of the first rows"
    assert len(np.unique(new.groups)) == 50 and not set(new.groups) & set(old)
    assert made.loss != other.loss, "groups are not parted where it is judged"


@pytest.mark.parametrize("said", [{"sample_weight": [-1.0] * 240}, {"groups": ["a"] * 240}])
def test_weights_and_groups_of_an_update_that_are_none(life, said):
    X, y = month()
    life.learn("ill", source(X), y, spend="100 %")
    with pytest.raises(BadInput, match=next(iter(said))):
        life["ill"].update(source(month(seed=1, first=240)[0]), y, **said)
    assert [v.number for v in life["ill"].versions] == [1]
