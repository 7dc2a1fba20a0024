"""Any order of buying, crashing, reopening, resolving, retrying, expiring and compacting."""

import shutil
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.crash import Crash
from tests.market import seller
from thrifty import PriceList
from thrifty.cells import Cells, Ledger
from thrifty.cells.ledger.book import POINTS, on_point
from thrifty.cells.ledger.owner import process
from thrifty.errors import MalformedAnswer, NotBilled, PurchaseInDoubt, StoreError
from thrifty.stores import SQLiteStore

IDS = [f"p{i}" for i in range(4)]
FEATURES = ["a", "b", "c"]  # a and b share a panel; a expires
OWN, FEE, SPAN = {"a": 3, "b": 2, "c": 1}, 5, 100.0
PRICES = PriceList(OWN, fees={"blood": (FEE, ["a", "b"])}, valid_for={"a": SPAN})
CALL_POINTS = POINTS[:8]

cells_of = st.tuples(
    st.lists(st.integers(0, len(IDS) - 1), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, len(FEATURES) - 1), min_size=1, max_size=3, unique=True),
)


class World:
    """The provider's side: what it billed when, and what it said. It never forgets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.said: dict[tuple[str, str], tuple[float, int]] = {}
        self.billed = 0.0
        self.calls = 0
        self.fault = ""

    def ask(self, ids, names):
        self.calls += 1
        if self.fault == "refuse":
            raise NotBilled("no")
        answer = []
        for i in ids:
            row = []
            for name in names:
                before = self.said.get((i, name))
                assert before is None or self.expired(name, before[0]), f"paid twice: {i}, {name}"
                # a new test may give another value
                value = (zlib.crc32(f"{i}{name}".encode()) + self.calls) & 1
                self.said[i, name] = (self.now, value)
                self.billed += OWN[name]
                row.append(value)
            answer.append(row)
        if self.fault == "error-after":
            raise ConnectionResetError("after billing")
        if self.fault == "malformed":
            return [[*row, 1] for row in answer]
        return answer

    def expired(self, name, when) -> bool:
        return name == "a" and when < self.now - SPAN


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        shm = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=shm if shm.is_dir() else None))
        self.world, self.given_up = World(), 0
        self.reopen()

    def teardown(self) -> None:
        on_point(None)
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule()
    def reopen(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
        self.store = SQLiteStore(self.folder / "store.db")
        book = self.store.book("test", {"family": "Test"}, {})
        self.ledger = Ledger(book, clock=lambda: self.world.now)

    def reader(self) -> Cells:
        source = seller(self.world.ask, IDS, FEATURES, prices=PRICES, max_examples=2, attempts=1)
        return Cells(source, ledger=self.ledger, task="t")

    def in_doubt(self, rows, features) -> bool:
        """Whether these cells, or the draw they need, belong to an open purchase."""
        for p in self.ledger.open_purchases():
            examples = {IDS[r] for r in rows} & set(p.examples)
            wanted = {FEATURES[f] for f in features}
            panel = {"a", "b"}
            drawn = bool(wanted & panel and set(p.features) & panel)
            if examples and (wanted & set(p.features) or drawn):
                return True
        return False

    @rule(what=cells_of)
    def buy(self, what) -> None:
        rows, features = what
        self.world.fault = ""
        stuck = self.in_doubt(rows, features)
        cells = self.reader()
        try:
            values = cells.get(rows, features)
        except PurchaseInDoubt:
            assert stuck, "in doubt without an open purchase"
            return
        for i, r in enumerate(rows):
            for j, f in enumerate(features):
                assert values[i, j] == self.world.said[IDS[r], FEATURES[f]][1]

    @rule(what=cells_of)
    def buy_again_costs_nothing(self, what) -> None:
        rows, features = what
        self.world.fault = ""
        try:
            first = self.reader().get(rows, features)
        except PurchaseInDoubt:
            return
        calls, spent = self.world.calls, self.ledger.balance().spent
        assert (self.reader().get(rows, features) == first).all()
        assert (self.world.calls, self.ledger.balance().spent) == (calls, spent)

    @rule(what=cells_of, fault=st.sampled_from(["refuse", "error-after", "malformed"]))
    def buy_from_a_bad_provider(self, what, fault) -> None:
        self.world.fault = fault
        calls = self.world.calls
        try:
            self.reader().get(*what)
        except (NotBilled, PurchaseInDoubt, MalformedAnswer):
            return
        assert self.world.calls == calls, "it must have known everything"

    @rule(what=cells_of, point=st.sampled_from(CALL_POINTS), nth=st.integers(1, 2))
    def crash(self, what, point, nth) -> None:
        self.world.fault = ""
        left = nth
        store = self.store

        def hook(reached: str) -> None:
            nonlocal left
            left -= reached == point
            if left == 0 and reached == point:

                def dead(*_):
                    raise StoreError("the process is dead")

                store.write = dead
                raise Crash(point)

        on_point(hook)
        try:
            self.reader().get(*what)
        except BaseException as error:
            if not (isinstance(error, PurchaseInDoubt | Crash | StoreError) or _is_crash(error)):
                raise
        finally:
            on_point(None)
            process().in_flight.clear()
        self.reopen()

    @precondition(lambda self: self.ledger.open_purchases())
    @rule(with_values=st.booleans())
    def resolve(self, with_values) -> None:
        for p in self.ledger.open_purchases():
            cells = [(e, f) for e in p.examples for f in p.features]
            said = [self.world.said.get(c) for c in cells]
            was_billed = all(s is not None and s[0] >= p.created_at for s in said)
            if not was_billed:
                self.ledger.resolve(p.id, "not-billed")
            elif with_values:
                values = [[self.world.said[e, f][1] for f in p.features] for e in p.examples]
                self.ledger.resolve(p.id, "billed", values)
                for c in cells:  # it is bought as of now
                    self.world.said[c] = (self.world.now, self.world.said[c][1])
            else:
                self.ledger.resolve(p.id, "billed")
                for c in cells:  # the user gave it up: it may be paid again
                    del self.world.said[c]
        assert self.ledger.open_purchases() == []

    @rule(seconds=st.sampled_from([1.0, 60.0, 101.0, 500.0]))
    def time_passes(self, seconds) -> None:
        self.world.now += seconds

    @rule()
    def compact(self) -> None:
        self.ledger.book.write(lambda pages: self.ledger.compact(pages, "t"))

    @invariant()
    def money_covers_the_bill(self) -> None:
        balance = self.ledger.balance()
        assert balance.reserved + balance.spent >= self.world.billed
        if not self.ledger.open_purchases():
            assert balance.reserved == 0


def _is_crash(error: BaseException) -> bool:
    inside = getattr(error, "exceptions", ())
    return isinstance(error, Crash | StoreError) or any(map(_is_crash, inside))


def run(max_examples, steps):
    LedgerMachine.TestCase.settings = settings(
        max_examples=max_examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    LedgerMachine.TestCase("runTest").runTest()


def test_any_order_of_events():
    run(25, 20)


@pytest.mark.slow
def test_any_order_of_events_at_length():
    run(400, 50)
