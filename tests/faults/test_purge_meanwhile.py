"""What a purge took out does not come back by what was under way at that moment."""

import warnings

import numpy as np
import pytest

import thrifty
from tests.lives_on.test_purge import ID, NAMES, SECRET, dump, free, layers, rows, where, with_her
from thrifty.cells import Cells
from thrifty.errors import BadInput
from thrifty.lifetime.prediction_runs import PredictionRuns
from thrifty.lifetime.task import Task
from thrifty.lifetime.transaction import Transactions
from thrifty.testing import FakeProvider

OLD, Y = rows(60)
OLD = with_her(OLD)


def begun(place):
    life = thrifty.Lifetime(store=place, random_state=0)
    life.learn("ill", free(OLD), Y)
    return life, thrifty.Lifetime.open(place)


def purged_before(monkeypatch, owner, method, other):
    """Another process purges her when this one is about to commit."""
    commit, done = getattr(owner, method), []

    def meanwhile(self, *given, **named):
        if not done:
            done.append(other.ledger.purge(ID))
        return commit(self, *given, **named)

    monkeypatch.setattr(owner, method, meanwhile)
    return done


def test_a_task_that_holds_her_is_not_committed(tmp_path, monkeypatch):
    life, other = begun(tmp_path / "s.db")
    done = purged_before(monkeypatch, Transactions, "finished", other)
    with pytest.raises(BadInput, match="taken out of the store"):
        life.learn("well", free(OLD), 1 - Y, spend="80 %")
    assert done and not where(tmp_path / "s.db")
    assert "well" not in life
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        life.learn("well", free(OLD.drop(ID)), np.delete(1 - Y, 17))
    assert not where(tmp_path / "s.db")


def test_an_update_of_a_model_that_held_her_goes_on_without(tmp_path, monkeypatch):
    life, other = begun(tmp_path / "s.db")
    done = purged_before(monkeypatch, Task, "_commit", other)
    more, labels = rows(60, 1, 500)
    version = life["ill"].update(free(more), labels)
    assert done and version.number == 2 and not where(tmp_path / "s.db")


def test_a_prediction_of_her_leaves_nothing(tmp_path, monkeypatch):
    life, other = begun(tmp_path / "s.db")
    done = purged_before(monkeypatch, PredictionRuns, "_end", other)
    assert len(life.predict("ill", free(OLD)).values) == 60
    assert done and not where(tmp_path / "s.db")
    monkeypatch.undo()
    life["ill"].outcomes(["p3"], [1])


def test_an_answer_about_her_leaves_nothing(tmp_path):
    life, other = begun(tmp_path / "s.db")
    asked = []

    def ask(ids):
        if not asked:
            other.ledger.purge(ID)
        asked.extend(ids)
        return [bool(Y[list(OLD.index).index(one)]) for one in ids]

    oracle = thrifty.Oracle(ask, price=1, classes=(0, 1))
    before = life.balance().spent
    answers = life.answer("ill", free(OLD), oracle=oracle, agree=0.99, random_state=0)
    assert ID in asked and not where(tmp_path / "s.db")
    cost = life.balance().spent - before - answers.prediction.receipt.cost
    assert cost == len(asked) and life.bill()["cost"].sum() == life.balance().spent


@pytest.mark.parametrize("paid", [False, True])
def test_an_interview_of_her_writes_nothing_back(tmp_path, paid):
    life, other = begun(tmp_path / "s.db")
    interview = life.ask("ill", id=ID, source="ward", stop=None)
    interview.close()
    other.ledger.purge(ID)
    interview = life.ask("ill", id=ID, source="ward", stop=None)
    interview.tell(SECRET[interview.next.feature])
    other.ledger.purge(ID)
    spent = life.balance().spent
    with pytest.raises(BadInput, match="taken out of the store"):
        interview.tell(0.5, paid=paid)
    with pytest.raises(BadInput, match="taken out of the store"):
        interview.skip()
    assert not where(tmp_path / "s.db") and life.balance().spent == spent
    assert life.ask("ill", id=ID, source="ward").known == {}


def lab(made, **options):
    ids = list(OLD.index[10:25])
    return made.source(ids, NAMES, prices=2, name="lab", boolean=False, **options)


class Purging(FakeProvider):
    """She is purged while the provider is thinking."""

    def __init__(self, life, **options) -> None:
        super().__init__(lambda e, f: float(OLD.loc[e, f]), **options)
        self.life = life

    def __call__(self, ids, names, idempotency_key=None):
        said = super().__call__(ids, names, idempotency_key)
        if self.life is not None:
            self.life.ledger.purge(ID)
            self.life = None
        return said


def test_a_call_in_flight_leaves_nothing(tmp_path):
    place = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(), store=place)
    made = Purging(None)
    Cells(lab(made), ledger=life.ledger, task="t").get([7], [0])
    assert where(place)
    made.life = thrifty.Lifetime.open(place)
    Cells(lab(made), ledger=life.ledger, task="u").get([6, 7, 8], [1, 2])
    assert not where(place)
    assert life.balance().spent == 2 + 12 == life.bill()["cost"].sum()
    again = Cells(lab(made), ledger=life.ledger, task="v")
    assert again.owned_rows([1, 2]).tolist() == [6, 8]


@pytest.mark.parametrize("how", ["values", "malformed"])
def test_a_doubt_that_is_resolved_later_leaves_nothing(tmp_path, how):
    place = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(), store=place)
    odd = [["t1 is 77.000123"] * 2] * 3
    made = Purging(None, faults=[odd] if how == "malformed" else ["error-after"])
    with pytest.raises(thrifty.errors.ThriftyError):
        Cells(lab(made), ledger=life.ledger, task="u").get([6, 7, 8], [1, 2])
    life.ledger.purge(ID)
    (one,) = life.ledger.open_purchases()
    values = [[float(OLD.iloc[10 + r][f]) for f in ("t1", "t2")] for r in (6, 7, 8)]
    life.ledger.resolve(one.id, "billed", values if how != "malformed" else None)
    assert not where(place) and not life.ledger.open_purchases()
    assert life.balance().spent == 12 and life.balance().reserved == 0


def test_a_doubt_with_a_key_resolves_itself(tmp_path):
    place = tmp_path / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(), store=place)
    made = Purging(None, idempotent=True, faults=["error-after"] * 3)
    with pytest.raises(thrifty.errors.ThriftyError):
        Cells(lab(made, attempts=1), ledger=life.ledger, task="u").get([6, 7, 8], [1, 2])
    life.ledger.purge(ID)
    assert life.ledger.open_purchases()
    again = Cells(lab(made, attempts=4), ledger=life.ledger, task="v")
    assert not life.ledger.open_purchases()
    assert where(place) <= {"cell_names"}, "her id is named again, and no value of hers"
    assert again.owned_rows([1, 2]).tolist() == [6, 8] and life.balance().spent == 12
    assert SECRET["t1"] == again.get([7], [1])[0, 0]
    assert made.bill().cells[ID, "t1"] == 2, "asked for on purpose, after the purge"


WORD = b"hospice-of-hers"


def places_of_the_word(place):
    return {table for table, value in dump(place) for layer in layers(value) if WORD in layer}


def test_a_category_that_only_she_had_is_gone_and_the_others_mean_what_they_meant(tmp_path):
    place = tmp_path / "s.db"
    frame = OLD.assign(ward=["north" if i % 3 else "south" for i in range(60)])
    frame.loc[ID, "ward"] = WORD.decode()
    frame["ward"] = frame["ward"].astype("object")
    life = thrifty.Lifetime(store=place, random_state=0)
    life.learn("ill", free(frame), Y)
    made = FakeProvider(lambda e, f: frame.loc[e, f])
    source = made.source(
        list(frame.index), ["ward"], prices=1, name="paid",
        kinds={"ward": ["south", WORD.decode(), "north"]},
    )  # fmt: skip
    Cells(source, ledger=life.ledger, task="t").get(range(60), [0])
    others = frame.drop(ID)
    before = life.predict("ill", free(others)).probabilities
    assert places_of_the_word(place) >= {"cell_names", "tasks"}  # the test can fail
    life.ledger.purge(ID)
    assert not places_of_the_word(place)
    again = thrifty.Lifetime.open(place)
    source = made.source(
        list(others.index), ["ward"], prices=1, name="paid", kinds={"ward": ["north", "south"]}
    )
    cells = Cells(source, ledger=again.ledger, task="u")
    values = cells.get(range(59), [0])[:, 0]
    assert [["north", "south"][int(v)] for v in values] == others["ward"].tolist()
    assert cells.receipt().cells == 0
    after = again.predict("ill", free(others)).probabilities
    assert np.abs(after - before).max() < 0.2
    again.learn("more", free(others), np.delete(Y, 17))
