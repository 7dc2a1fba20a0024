"""Power cuts and I/O errors under SQLite, at every operation on the disk."""

import random
import sqlite3

import apsw
import numpy as np
import pytest

from tests.faults import fragile_disk as fragile
from thrifty.cells import Cells, Ledger
from thrifty.cells.ledger.owner import process
from thrifty.errors import ProviderError, StoreError
from thrifty.stores import SQLiteStore
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(8)]
FEATURES = ["a", "b", "c"]
EVERY = 7  # the short version takes every seventh operation, the long one all
FEWER = 19  # each of these learns on until the disk works again


class FragileStore(SQLiteStore):
    """The very same store on a disk that forgets."""

    def __init__(self, disk):
        self.layer = f"fragile-{id(disk)}"
        self.vfs = fragile.FragileVFS(self.layer, disk)
        super().__init__("store.db", wait=1)

    def _connect(self):
        return apsw.Connection("store.db", vfs=self.layer)

    def _errors(self):
        return (apsw.Error, *super()._errors())


def buy_everything(store, provider, acknowledged):
    """Two tasks: what is returned to a learner is acknowledged."""
    book = store.book("clinic", {"family": "Test"}, {"n": 0})
    ledger = Ledger(book)
    for task, rows in (("one", range(5)), ("two", range(3, 8))):
        source = provider.source(IDS, FEATURES, prices=1, max_examples=3)
        cells = Cells(source, ledger=ledger, task=task)
        values = cells.get(list(rows), [0, 1, 2])
        for i, r in enumerate(rows):
            acknowledged.update({(IDS[r], f): values[i, j] for j, f in enumerate(FEATURES)})
        book.write(lambda pages, task=task: ledger.compact(pages, task))
    return ledger


def operations() -> int:
    disk = fragile.Disk()
    buy_everything(FragileStore(disk), FakeProvider(), {})
    return disk.operations


def check_what_is_left(folder, files, provider, acknowledged):
    """0 acknowledged values lost, 0 corrupt files, every billed cell known or in doubt."""
    for old in folder.iterdir():
        old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    path = folder / "store.db"
    process().in_flight.clear()
    store = SQLiteStore(path)
    (intact,) = sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone()
    assert intact == "ok"
    if "clinic" not in store.lifetimes():
        assert not acknowledged and not provider.bill().cells
        return
    ledger = Ledger(store.book("clinic", None, None))
    known = read_all(ledger, provider)
    for cell, value in acknowledged.items():
        assert known.get(cell) == value, f"acknowledged and lost: {cell}"
    waiting = {(e, f) for p in ledger.open_purchases() for e in p.examples for f in p.features}
    for cell in provider.bill().cells:
        assert cell in known or cell in waiting, f"billed but unknown: {cell}"
    balance = ledger.balance()
    assert balance.reserved + balance.spent >= sum(provider.bill().cells.values())
    store.close()


def read_all(ledger, provider):
    cells = Cells(provider.source(IDS, FEATURES, prices=1), ledger=ledger)
    known = cells._account.known
    out = {}
    for r, example in enumerate(IDS):
        for f, name in enumerate(FEATURES):
            if known.is_known(f, np.array([r]))[0]:
                out[example, name] = int(known.column(f, np.array([r]))[0])
                assert out[example, name] == provider.value(example, name)
    return out


@pytest.mark.parametrize("every", [EVERY, pytest.param(1, marks=pytest.mark.slow)])
def test_power_is_cut_at_any_operation(every, fast_path):
    total, cuts = operations(), 0
    assert total > 100
    for at in range(0, total, every):
        disk, provider, acknowledged = fragile.Disk("power", at), FakeProvider(), {}
        with pytest.raises((StoreError, ProviderError)):
            buy_everything(FragileStore(disk), provider, acknowledged)
        assert disk.hit
        for seed in range(2 if every > 1 else 6):
            files = disk.survivors(random.Random(1000 * at + seed))
            check_what_is_left(fast_path, files, provider, acknowledged)
            cuts += 1
    print(f"{cuts} power cuts over {len(range(0, total, every))} of {total} fault points: 0 lost")


@pytest.mark.parametrize("fault", ["error", "full"])
@pytest.mark.parametrize("every", [FEWER, pytest.param(1, marks=pytest.mark.slow)])
def test_the_disk_fails_at_any_operation(every, fault, fast_path):
    """An error is said clearly; when the disk works again nothing is paid twice or lost."""
    total, errors = operations(), 0
    for at in range(0, total, every):
        for lasting in (0, 12):
            disk = fragile.Disk(fault, at, lasting)
            provider, acknowledged = FakeProvider(), {}
            store = None
            for _ in range(60):
                try:
                    store = store or FragileStore(disk)
                    buy_everything(store, provider, acknowledged)
                    break
                except StoreError:
                    errors += 1
                except ProviderError:
                    # An answer was lost with the call that failed: the user resolves it.
                    resolve(store, provider)
            else:
                raise AssertionError("the store never recovered")
            assert provider.bill().twice == []
            assert len(acknowledged) == 24
            disk.fault = ""
            files = {name: bytes(file.content) for name, file in disk.files.items()}
            check_what_is_left(fast_path, files, provider, acknowledged)
    assert errors > 0


def resolve(store, provider):
    ledger = Ledger(store.book("clinic", None, None))
    billed = provider.bill().cells
    for p in ledger.open_purchases():
        values = [[provider.value(e, f) for f in p.features] for e in p.examples]
        if (p.examples[0], p.features[0]) in billed:
            ledger.resolve(p.id, "billed", values)
        else:
            ledger.resolve(p.id, "not-billed")
