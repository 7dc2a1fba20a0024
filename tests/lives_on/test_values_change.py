"""Values that change: of a cell that is fixed an error that names it, else the newest counts."""

import numpy as np
import pytest

import thrifty
from tests.market import seller
from thrifty.cells import Cells, Ledger
from thrifty.cells.ledger.known import Known
from thrifty.errors import BadParameter, ChangedValue
from thrifty.stores import MemoryStore

pd = pytest.importorskip("pandas")
N = 120


def clinic(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["tsh", "t4", "age"])
    return frame, (frame["tsh"] + 0.4 * rng.normal(size=N) > 0).to_numpy()


def source(frame, values="fixed", ids=range(N)):
    return thrifty.Source.from_frame(frame, examples=ids, name="lab", values=values)


def learned(frame, y, **given):
    life = thrifty.Lifetime(prices=thrifty.PriceList(2, currency="EUR"), random_state=0, **given)
    life.learn("t", source(frame), y, spend="100 %")
    return life


def test_the_error_names_every_cell_and_the_rest_is_kept():
    frame, y = clinic()
    life = thrifty.Lifetime(prices=thrifty.PriceList(2, currency="EUR"), random_state=0)
    life.learn("t", source(frame.iloc[:100], ids=range(100)), y[:100], spend="100 %")
    before = life.balance().spent
    other = frame.copy()
    other.loc[[3, 5], "tsh"] = [9.0, 8.0]
    with pytest.raises(ChangedValue, match=r"tsh of example '3' in 'lab' .* tsh of '5'") as e:
        life.predict("t", source(other))
    assert [(id, name, new) for id, name, _, new in e.value.cells] == [
        ("3", "tsh", 9.0),
        ("5", "tsh", 8.0),
    ]
    # the 20 new rows are bought, on the bill, and owned
    spent = life.balance().spent
    assert spent - before == 20 * 3 * 2
    assert float(life.bill()["cost"].sum()) == spent
    again = life.predict("t", source(frame))
    assert (again.receipt.cost, life.balance().spent) == (0, spent)


def test_the_newest_value_counts_from_then_on_and_is_not_paid_again(tmp_path):
    frame, y = clinic()
    store = tmp_path / "clinic.db"
    life = learned(frame, y, store=store)
    table, spent = life["t"].model.table_.values.copy(), life.balance().spent
    said = life["t"].model.predict_proba(frame)
    other = frame.copy()
    other.loc[3, "tsh"] = 9.0
    prediction = life.predict("t", source(other, "newest"))
    assert prediction.probabilities[3] == pytest.approx(life["t"].model.predict_proba(other)[3])
    assert life.balance().spent == spent
    # what was learned on is unchanged, and so is what the model says
    assert np.array_equal(life["t"].model.table_.values, table, equal_nan=True)
    assert life["t"].model.predict_proba(frame) == pytest.approx(said)
    # the new value is the store's: it agrees now, and the first one does not
    assert life.predict("t", source(other)).receipt.cost == 0
    with pytest.raises(ChangedValue, match=r"tsh of example '3' in 'lab' is 9 in the store"):
        life.predict("t", source(frame))
    life.close()
    again = thrifty.Lifetime.open(store)
    assert again.learn("u", source(other, "newest"), ~y, spend="100 %").receipt.cost == 0


def test_a_provider_may_give_newer_values():
    given = {"a": 0.0, "b": 1.0}

    def ask(ids, names):
        return [[given[n] for n in names] for _ in ids]

    def reader_of(book, values, prices, task):
        lab = seller(ask, ["p"], ["a", "b"], boolean=False, prices=prices, values=values)
        return Cells(lab, ledger=Ledger(book), task=task)

    whole = thrifty.PriceList(None, orders={"panel": (5, ["a", "b"])})
    single = thrifty.PriceList({"a": 1, "b": 1})
    book = MemoryStore().book("test", {}, {})
    assert reader_of(book, "fixed", single, "t").get([0], [0]).tolist() == [[0.0]]
    given["a"] = 7.0
    # b comes with a, in one order: a has changed
    cells = reader_of(book, "newest", whole, "u")
    assert cells.get([0], [1]).tolist() == [[1.0]]
    now = reader_of(book, "newest", single, "v").get([0], [0, 1]).tolist()
    assert now in ([[7.0, 1.0]], [[0.0, 1.0]])


def test_of_a_provider_every_changed_cell_is_named(monkeypatch):
    """Should a cell be asked for that is known, another value for it is kept and never used."""
    given = {"a": 0.0, "b": 1.0}

    def ask(ids, names):
        return [[given[n] for n in names] for _ in ids]

    def reader():
        lab = seller(ask, ["p", "q"], ["a", "b"], boolean=False, prices=1)
        return Cells(lab, ledger=ledger, task="t")

    ledger = Ledger(MemoryStore().book("test", {}, {}))
    reader().get([0, 1], [0])
    given["a"] = 7.0
    cells = reader()
    with monkeypatch.context() as patched:
        patched.setattr(Known, "missing", lambda _, wanted, mask: np.tile(mask, (len(wanted), 1)))
        with pytest.raises(
            ChangedValue, match=r"a of example 'p' is 0 .* now gave 7; also a of 'q'"
        ) as e:
            cells.get([0, 1], [0, 1])
    assert e.value.cells == (("p", "a", 0.0, 7.0), ("q", "a", 0.0, 7.0))
    assert [p.status for p in ledger.open_purchases()] == ["changed"]
    assert reader().get([0], [0]).tolist() == [[0.0]]


def test_other_words_are_refused():
    frame, _ = clinic()
    with pytest.raises(BadParameter, match="values must be 'fixed'.*'newest'"):
        source(frame, "latest")
    with pytest.raises(BadParameter, match="values must be"):
        seller(print, ["a"], ["b"], name="c", values="latest")
