"""A purge reaches everything: after it no value and no id of the example is in any table."""

import base64
import binascii
import json
import re
import struct
import warnings
import zlib

import numpy as np
import pytest

import thrifty
from thrifty.errors import BadInput, ExamplePurged
from thrifty.stores import open_store
from thrifty.testing import FakeProvider

pd = pytest.importorskip("pandas")

NAMES = ["t0", "t1", "t2", "t3"]
ID = "patient-0017-Ada"
#: values like nobody else's, between the others and far outside
SECRET = {"t0": 0.123456789012, "t1": 77.000123, "t2": -0.4321987654, "t3": 1.9283746}


def rows(n=120, seed=0, first=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)).round(4), columns=NAMES)
    y = (frame["t1"] - frame["t3"] + 0.5 * rng.normal(size=n) > 0).astype(int).to_numpy()
    frame.index = [f"p{first + i}" for i in range(n)]
    return frame, y


def with_her(frame):
    ids = list(frame.index)
    ids[17] = ID
    frame = frame.set_axis(ids)
    frame.loc[ID] = pd.Series(SECRET)
    return frame


def free(frame):
    return thrifty.Source.from_frame(frame, examples=list(frame.index), name="clinic")


def paid(frame):
    provider = FakeProvider(lambda example, feature: float(frame.loc[example, feature]))
    return provider.source(
        list(frame.index), NAMES, prices=2, name="lab", kinds=dict.fromkeys(NAMES, "number")
    )


def full(place, source=free):
    """A lifetime that has put something of her into every place that there is."""
    life = thrifty.Lifetime(store=place, random_state=0)
    old, y = rows()
    old = with_her(old)
    life.learn("ill", source(old), y, spend="100 %")
    life.learn("well", source(old), 1 - y, spend="60 %")
    more, more_y = rows(80, 1, 500)
    both = pd.concat([old, more])
    life["ill"].update(source(both), np.concatenate([y, more_y]), spend="100 %")
    life.learn(
        ["both", "neither"],
        source(old),
        {"both": y, "neither": (y + np.arange(120)) % 2},
        spend="100 %",
    )
    life.background(source(old), rows=120)
    labels = dict(zip(old.index, y.tolist()))
    oracle = thrifty.Oracle(lambda ids: [labels[i] for i in ids], price=1)
    life.learn("asked", source(old), oracle, spend=150)
    life.predict("ill", source(old), stop=thrifty.Sure(0.9))
    life.predict(["both", "neither"], source(old))
    life["ill"].outcomes([ID, "p3"], [1, 0])
    interview = life.ask("ill", id=ID)
    interview.tell(SECRET[interview.next.feature])
    return life, source(old), y


def dump(place):
    """Every cell of every table, as text or bytes."""
    store = open_store(place)

    def work(pages):
        from thrifty.stores.copying import _schema

        for table in _schema():
            for row in pages._run(f"SELECT * FROM {table.name}"):
                for value in row:
                    if isinstance(value, str | bytes | memoryview):
                        yield table.name, value.encode() if isinstance(value, str) else bytes(value)

    found = store.read(0, lambda pages: list(work(pages)))
    store.close()
    return found


def layers(data, depth=0):
    """Bytes, and what is packed or written as base64 inside of them."""
    yield data
    if depth > 3:
        return
    for match in re.finditer(b"\x78[\x01\x5e\x9c\xda]", data):
        try:
            yield from layers(zlib.decompressobj().decompress(data[match.start() :]), depth + 1)
        except zlib.error:
            continue
    for match in re.finditer(rb"[A-Za-z0-9+/]{16,}={0,2}", data):
        try:
            yield from layers(base64.b64decode(match.group(), validate=True), depth + 1)
        except (binascii.Error, ValueError):
            continue


WANTED = [ID.encode()]
for _v in SECRET.values():
    WANTED += [struct.pack("<d", _v), struct.pack("<f", _v), repr(_v).encode()]


def where(place):
    """In which tables something of her stands."""
    return {
        table
        for table, value in dump(place)
        for layer in layers(value)
        if any(wanted in layer for wanted in WANTED)
    }


@pytest.mark.slow
@pytest.mark.parametrize("source", [free, paid])
def test_nothing_of_her_is_anywhere(tmp_path, source):
    place = tmp_path / "clinic.db"
    life, table, _ = full(place, source)
    before = where(place)
    assert {"tasks", "versions", "cell_names", "cell_blocks"} <= before  # the test can fail
    spent, bill = life.balance().spent, len(life._bill_rows())
    gone = life.ledger.purge(ID)
    assert {"ill", "ill@2", "well", "both", "neither"} <= set(gone.fitted_again)
    assert gone.forgotten == () and gone.features >= 4
    life.close()
    assert where(place) == set()
    bytes_of = place.read_bytes()
    assert not any(wanted in layer for layer in layers(bytes_of, 3) for wanted in WANTED)
    again = thrifty.Lifetime.open(place)
    assert again.balance().spent == spent and len(again._bill_rows()) == bill
    assert set(again) == {"ill", "well", "both", "neither", "asked"}
    others = rows(30, 5, 900)[0]
    for name in ("ill", "ill@1", "well", "both"):
        assert len(again.predict(name, source(others)).values) == 30
    with pytest.warns(ExamplePurged, match="were taken out of the store"):
        again.predict("ill", table)
    again.learn("later", source(others), (others["t1"] > 0).to_numpy(), spend="100 %")


@pytest.mark.slow
def test_nothing_of_her_is_in_postgres(postgres):
    url = postgres.new_database()
    life, _, _ = full(url, paid)
    assert "versions" in where(url)
    life.ledger.purge(ID)
    assert where(url) == set()


def test_models_without_her_are_those_that_never_saw_her(tmp_path):
    frame, y = rows()
    frame = with_her(frame)
    life = thrifty.Lifetime(store=tmp_path / "a.db", random_state=0)
    life.learn("ill", free(frame), y, spend="100 %")
    life.ledger.purge(ID)
    table = life["ill"].model.table_
    assert 17 not in table.rows.tolist() and table.n_rows == 119
    assert set(np.unique(table.values)).isdisjoint(SECRET.values())
    fresh = thrifty.Lifetime.open(tmp_path / "a.db")["ill"].model
    new = rows(50, 3)[0]
    assert np.array_equal(fresh.predict_proba(new), life["ill"].model.predict_proba(new))


def test_every_lifetime_of_the_store_forgets_her(tmp_path):
    frame, y = rows()
    frame = with_her(frame)
    for name in ("one", "two"):
        thrifty.Lifetime(store=tmp_path / "a.db", name=name).learn(
            "ill", free(frame), y, spend="100 %"
        )
    thrifty.Lifetime.open(tmp_path / "a.db", name="one").ledger.purge(ID)
    assert where(tmp_path / "a.db") == set()


def test_twice_and_again(tmp_path):
    frame, y = rows()
    frame = with_her(frame)
    life = thrifty.Lifetime(store=tmp_path / "a.db", random_state=0)
    life.learn("ill", paid(frame), y, spend="100 %")
    life.ledger.purge(ID)
    with pytest.raises(BadInput, match="knows no example"):
        life.ledger.purge(ID)
    with pytest.warns(ExamplePurged):
        life.predict("ill", paid(frame))  # bought again
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExamplePurged)
        life.predict("ill", paid(frame))
    life.ledger.purge(ID)
    assert where(tmp_path / "a.db") == set()
    with pytest.warns(ExamplePurged):
        life.predict("ill", paid(frame))


def test_a_model_that_tells_nothing_without_her_is_forgotten(tmp_path):
    frame, _ = rows(12)
    frame = with_her(pd.concat([frame, rows(12, 2, 50)[0]]))
    y = np.zeros(24, dtype=int)
    y[[16, 17]] = 1
    life = thrifty.Lifetime(store=tmp_path / "a.db", random_state=0)
    life.learn("rare", free(frame), y, spend="100 %")
    life.ledger.purge(frame.index[16])
    gone = life.ledger.purge(ID)
    assert gone.forgotten == ("rare",) and list(life) == []
    assert where(tmp_path / "a.db") == set()


def test_interviews_and_prefixes_of_hers_are_gone(tmp_path):
    life, _, _ = full(tmp_path / "a.db")
    life.ledger.purge(ID)
    kept = life.ledger.book.read(lambda pages: pages._run("SELECT kind, name FROM kept"))
    assert all(ID not in name for _, name in kept)
    assert not [kind for kind, _ in kept if kind == "prefixes"]
    assert life.ledger.book.read(lambda pages: pages.kept("prefixes", "none")) is None
    assert json.dumps(life.ledger.changes()[-1][1:]) is not None


def test_no_value_of_hers_stays_in_the_memory_of_who_purged(tmp_path):
    """Columns that were read of late are kept there, for whoever serves rows."""
    from thrifty.cells.ledger.compacted import _READ

    frame, y = rows(60)
    life = thrifty.Lifetime(store=tmp_path / "life.db", random_state=0)
    life.learn("ill", free(with_her(frame)), y, spend="100 %")

    def kept():
        return [value for facts in _READ._kept.values() for value in facts.values.tolist()]

    assert SECRET["t1"] in kept()
    life.ledger.purge(ID)
    assert SECRET["t1"] not in kept()
