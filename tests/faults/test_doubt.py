"""Doubt that people can live with: policies, interruptions, messages that can be pasted."""

import os
import shlex
import signal
import threading
import time

import numpy as np
import pytest

import thrifty
from tests.market import seller
from tests.shell import run
from thrifty import Budget, errors
from thrifty.cells import Cells, Ledger
from thrifty.stores import SQLiteStore
from thrifty.testing import FakeProvider

IDS = [f"p{i}" for i in range(40)]
FEATURES = ["a", "b"]


def ledger(path, **options) -> Ledger:
    return Ledger(SQLiteStore(path).book("lifetime", {"family": "Test"}, {}), **options)


def reader(provider, of, **options) -> Cells:
    options = {"prices": 1, "attempts": 1, "max_examples": 4, "name": "lab", **options}
    return Cells(provider.source(IDS, FEATURES, **options), ledger=of, task="t")


# -- ask again ---------------------------------------------------------------------------------


def test_ask_again_counts_the_first_as_billed_and_goes_on(tmp_path):
    """3 % of calls time out: the task is learned in one go, and the ledger holds every bill."""
    provider = FakeProvider(faults=lambda n: "error-after" if n in (2, 7) else "")
    of = ledger(tmp_path / "s.db")
    values = reader(provider, of, on_doubt="ask again").get(range(40), [0, 1])
    right = [[provider.value(e, f) for f in FEATURES] for e in IDS]
    assert values.tolist() == right
    assert of.open_purchases() == []
    billed = sum(provider.bill().cells.values())
    assert billed == 80 + 2 * 8
    assert (of.balance().spent, of.balance().reserved) == (billed, 0)
    statuses = [p.status for p in of.book.read(lambda pages: pages.purchases())]
    assert (statuses.count("lost"), statuses.count("settled")) == (2, 10)


def test_ask_again_has_a_limit(tmp_path):
    provider = FakeProvider(faults=lambda n: "error-after")
    of = ledger(tmp_path / "s.db")
    with pytest.raises(errors.PurchaseInDoubt):
        reader(provider, of, on_doubt="ask again", doubt_limit=3).get(range(4), [0])
    assert provider.bill().calls == 4
    assert len(of.open_purchases()) == 1
    assert of.balance().spent + of.balance().reserved == 16


def test_ask_again_stays_within_the_budget(tmp_path):
    provider = FakeProvider(faults=lambda n: "error-after")
    of = ledger(tmp_path / "s.db", budget=Budget(total=10))
    with pytest.raises(errors.BudgetExceeded):
        reader(provider, of, on_doubt="ask again").get(range(4), [0])
    assert sum(provider.bill().cells.values()) == 8


def test_what_a_dead_process_left_is_asked_again(tmp_path, tools):
    path = tmp_path / "s.db"
    ledger(path)
    log = tmp_path / "bill.log"

    def dies():
        from tests.crash import kill_at

        kill_at("after-call")
        reader(FakeProvider(log=log), ledger(path)).get(range(4), [0])

    assert tools.wait_for(tools.in_child(dies)) == tools.KILLED
    provider, of = FakeProvider(log=log), ledger(path)
    with pytest.raises(errors.PurchaseInDoubt):
        reader(provider, of).get(range(4), [0])
    reader(provider, of, on_doubt="ask again").get(range(4), [0])
    assert of.balance().spent == sum(provider.bill().cells.values()) == 8


def test_with_keys_asking_again_costs_nothing(tmp_path):
    provider = FakeProvider(idempotent=True, faults=["error-after", "error-after"])
    of = ledger(tmp_path / "s.db")
    reader(provider, of, on_doubt="ask again").get(range(4), [0])
    assert provider.bill().twice == []
    assert of.balance().spent == 4


def test_other_policies_are_refused():
    with pytest.raises(errors.BadParameter, match="ask again"):
        seller(FakeProvider().ask, IDS, ["a"], on_doubt="guess")


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """A shell that starts the tests in the background lets them ignore Ctrl-C: here it counts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


# -- interruption ------------------------------------------------------------------------------


def test_calls_in_flight_are_booked_when_the_user_interrupts(tmp_path):
    provider, of = FakeProvider(delay=0.4), ledger(tmp_path / "s.db")
    cells = reader(provider, of, concurrency=2)
    cells.get([0], [0])  # a first answer, so that two calls run at once
    threading.Timer(0.2, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        cells.get(range(4, 40), [0, 1])
    assert of.open_purchases() == [], "they would have answered in half a second"
    billed = sum(provider.bill().cells.values())
    assert (of.balance().spent, of.balance().reserved) == (billed, 0)
    assert billed == 1 + 2 * 8, "nothing new was asked after the interruption"
    cells.get(range(40), [0, 1])
    assert provider.bill().twice == []


def test_a_second_interruption_does_not_wait(tmp_path):
    provider, of = FakeProvider(delay=30), ledger(tmp_path / "s.db")
    for seconds in (0.2, 0.5):
        threading.Timer(seconds, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        reader(provider, of).get(range(4), [0])
    assert [p.status for p in of.open_purchases()] == ["doubt"]


def test_what_waits_for_its_turn_is_not_called_after_an_interruption(tmp_path):
    provider, of = FakeProvider(), ledger(tmp_path / "s.db")
    cells = reader(provider, of, per_second=0.5, concurrency=2)
    threading.Timer(0.5, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        cells.get(range(40), [0, 1])
    assert of.open_purchases() == []
    assert of.balance().spent == sum(provider.bill().cells.values())


# -- a first small call ------------------------------------------------------------------------


def test_a_large_batch_begins_with_a_small_call(tmp_path):
    """A provider that answers transposed tables is found out for the price of one example."""

    def transposed(ids, names):
        return np.zeros((len(names), len(ids)))

    many = [f"p{i}" for i in range(1000)]
    lab = seller(transposed, many, FEATURES, prices=1, concurrency=4)
    of = ledger(tmp_path / "s.db")
    with pytest.raises(errors.MalformedAnswer):
        Cells(lab, ledger=of, task="t").get(range(1000), [0, 1])
    assert of.balance().spent == 2
    assert of.balance().reserved == 0


def test_a_good_first_answer_is_followed_by_the_rest(tmp_path):
    provider, of = FakeProvider(), ledger(tmp_path / "s.db")
    many = [f"p{i}" for i in range(1000)]
    cells = Cells(provider.source(many, FEATURES, prices=1, name="lab"), ledger=of, task="t")
    cells.get(range(1000), [0, 1])
    assert (provider.bill().calls, provider.bill().twice) == (2, [])


# -- messages and commands ---------------------------------------------------------------------


@pytest.fixture
def in_doubt(tmp_path):
    """A lifetime with three purchases in doubt, in a folder with a space in its name."""
    (tmp_path / "our clinic").mkdir()
    path = tmp_path / "our clinic" / "s.db"
    life = thrifty.Lifetime(thrifty.Trees(max_depth=2), store=path)
    provider = FakeProvider(faults=lambda n: "error-after")
    for i in range(3):
        with pytest.raises(errors.PurchaseInDoubt) as caught:
            reader(provider, life.ledger).get([i], [0])
    return life, path, str(caught.value)


def test_the_message_can_be_pasted(in_doubt):
    life, path, message = in_doubt
    command = message.split("what happened: ")[1].split(" --billed or")[0]
    words = shlex.split(command)
    assert words[:2] == ["thrifty", "resolve"] and words[2] == str(path)
    run(*words[1:], "--not-billed")
    assert len(life.ledger.open_purchases()) == 2


@pytest.mark.parametrize(("outcome", "spent"), [("billed", 3.0), ("not-billed", 0.0)])
def test_resolve_all(outcome, spent, in_doubt):
    life, path, _ = in_doubt
    result = run("resolve", path, "--all", outcome)
    assert "3 purchases resolved" in result.output
    assert life.ledger.open_purchases() == []
    assert (life.balance().spent, life.balance().reserved) == (spent, 0.0)


def test_resolve_all_is_not_mixed_with_one(in_doubt):
    life, path, _ = in_doubt
    for words in (["--all", "perhaps"], ["1", "--all", "billed"], ["--all", "billed", "--billed"]):
        refused = run("resolve", path, *words, ok=False)
        assert isinstance(refused.exception, errors.ThriftyError)
    assert len(life.ledger.open_purchases()) == 3


def test_a_lifetime_with_a_name_is_named_in_the_message(tmp_path):
    book = SQLiteStore(tmp_path / "s.db").book("my clinic", {"family": "Test"}, {})
    said = Ledger(book).how_to_resolve(7)
    assert said.endswith("s.db --lifetime 'my clinic' 7 --billed or --not-billed")


def test_a_process_that_is_interrupted_ends_as_interrupted(tmp_path, tools):
    """SIGINT from outside, as Ctrl-C sends it: booked, then KeyboardInterrupt."""
    path, log, begun = tmp_path / "s.db", tmp_path / "bill.log", tmp_path / "begun"
    ledger(path)

    def buys():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        provider = FakeProvider(log=log)

        def ask(ids, names):
            begun.touch()
            time.sleep(0.5)
            return provider(ids, names)

        lab = seller(ask, IDS, FEATURES, prices=1)
        try:
            Cells(lab, ledger=ledger(path), task="t").get(range(4), [0])
        except KeyboardInterrupt:
            return 9

    pid = tools.in_child(buys)
    while not begun.exists():
        time.sleep(0.01)
    os.kill(pid, signal.SIGINT)
    assert tools.wait_for(pid) == 9
    assert ledger(path).open_purchases() == []
    assert ledger(path).balance().spent == 4
