"""The tribunal in short, and that it finds what it is there to find."""

import random
import time

import pytest

from tests.faults.sabotages import a_refused_repetition_charged_twice
from tests.market import seller
from tests.tribunal import Tribunal
from tests.tribunal.history import again_too_early, most_billed
from tests.tribunal.provider_process import Faults
from tests.tribunal.rooms import FEATURES, WINDOW, make_room
from tests.tribunal.tribunal import _Session
from tests.tribunal.worker import open_lifetime
from thrifty.cells import Answered, Cells
from thrifty.cells.ledger import ending, settlement
from thrifty.cells.ledger import next_calls as asking
from thrifty.cells.sources.answered import FAILED
from thrifty.errors import PurchaseInDoubt


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_nothing_is_paid_twice_lost_over_or_wrong(store, request, fast_path):
    database = None
    if store == "postgres":
        database = request.getfixturevalue("postgres").new_database
    size = {"kills": 6, "pauses": 4, "workers": 4, "n_examples": 40}
    verdict = Tribunal(**size, new_database=database, folder=fast_path, seed=11).run()
    print(verdict)
    assert verdict.sound, str(verdict)
    assert verdict.kills >= 6 and verdict.pauses >= 4 and verdict.calls > 20


def rough(fast_path, kills=12, **chosen):
    """Few cells and many cuts, so that what is broken shows soon."""
    size = {"kills": kills, "pauses": 0, "workers": 4, "n_examples": 30}
    faults = Faults(refused=0.35, cut=0.4, malformed=0.0, slow=0.0)
    return Tribunal(**size, folder=fast_path, seed=3, faults=faults, **chosen)


def test_it_finds_a_ledger_that_forgets_a_first_charge(fast_path, monkeypatch):
    """The refusal of a repetition taken for a refusal of the purchase: money was lost that way."""
    a_refused_repetition_charged_twice(monkeypatch)
    verdict = rough(fast_path, provider="keyed", money="flat").run()
    assert verdict.twice + verdict.unknown > 0 and not verdict.sound


@pytest.mark.slow
def test_it_finds_a_budget_that_does_not_hold(fast_path, monkeypatch):
    monkeypatch.setattr(settlement, "check_budget", lambda *_: None)
    monkeypatch.setattr(asking, "check_budget", lambda *_: None)
    # On a busy machine few kills are made before the money runs out: then with more of them.
    for kills in (40, 120, 360):
        folder = fast_path / str(kills)
        folder.mkdir()
        verdict = rough(folder, kills=kills, provider="plain", money="fee", tight=True).run()
        if verdict.over:
            break
    assert verdict.over > 0 and not verdict.sound


def test_it_finds_values_that_are_not_the_providers(fast_path, monkeypatch):
    right = ending.read_answer

    def wrong(*given, **options):
        return 1 - right(*given, **options)

    monkeypatch.setattr(ending, "read_answer", wrong)
    verdict = rough(fast_path, provider="async", money="flat").run()
    assert verdict.wrong > 0 and not verdict.sound


@pytest.mark.parametrize("taken_for", ["not-billed", "billed"])
@pytest.mark.slow
def test_it_finds_examples_of_a_call_whose_end_is_unknown_taken_for_known(
    fast_path, monkeypatch, taken_for
):
    right = Answered.ends

    def sure(*given):
        ends = right(*given)
        ends[ends == FAILED.index("unknown") + 1] = FAILED.index(taken_for) + 1
        return ends

    monkeypatch.setattr(Answered, "ends", sure)
    few = Faults(refused=0.0, cut=0.0, malformed=0.0, slow=0.0)
    room = {"provider": "plain", "money": "flat", "says": "below", "parts": True, "gentle": False}

    def is_sound(seed):  # where the kills fall is the machine's to say
        return Tribunal(
            kills=10, pauses=0, workers=4, n_examples=60, folder=fast_path / f"room {seed}",
            seed=seed, faults=few, tight=False, limited=False, **room,
        ).run().sound  # fmt: skip

    assert not all(is_sound(seed) for seed in range(3, 9))


def test_its_user_knows_which_cells_of_a_call_were_on_no_bill(fast_path):
    """Of a call whose answer nobody heard one example had failed: the next bill of it is a new one.

    In one of 1,800 kills the user took that bill for the first one's and resolved "not billed".
    """
    room = make_room(
        str(fast_path / "s.db"), fast_path / "bill.log", random.Random(0), 12, provider="plain",
        money="window", says="below", parts=True, mixed=False, jumps=False,
    )  # fmt: skip
    session, bills = _Session(Tribunal(), room, fast_path / "notes", False), []
    life = open_lifetime(room, None)

    def cut(*_):
        raise ConnectionResetError

    source = seller(cut, room.examples, FEATURES, prices=room.prices[0], attempts=1)
    for rows, billed in (([0, 1], ["p1"]), ([0], ["p0"])):
        with pytest.raises(PurchaseInDoubt):
            Cells(source, ledger=life.ledger, task=f"t{rows}").get(rows, [FEATURES.index("f5")])
        costs = dict.fromkeys(billed, 5_450_000)
        bills.append({"t": time.time(), "ids": billed, "names": ["f5"], "costs": costs})
        (purchase,) = life.ledger.open_purchases()
        session._resolve_one(life, purchase, bills)
        time.sleep(WINDOW + 0.1)  # what was told has expired
    assert life.balance().spent == 2 * 5.45


def test_a_history_is_read_cell_by_cell():
    def bill(t, ids, names, amount=1, calm=False):
        return {"t": t, "ids": ids, "names": names, "amount": amount, "calm": calm}

    history = [
        bill(1, ["p", "q"], ["a", "b"], 4),
        bill(2, ["p"], ["c"]),
        bill(3, ["q"], ["b"], 5),  # again, and too early
        bill(4, ["p"], ["c"]),  # again, but the user had given it up
        bill(5, ["p"], ["w"]),
        bill(7, ["p"], ["w"]),  # again, after it had expired
        bill(8, ["p"], ["a"], 9, calm=True),  # billed once, and not known at the end
    ]
    twice, unknown = again_too_early(history, {"w": 2.0}, {("p", "c"): 1})
    assert [text.split(" at ")[0] for text in twice] == ["q b"]
    assert [text.split(" at ")[0] for text in unknown] == ["p a"]
    assert most_billed(history) == 13


@pytest.mark.parametrize("seed", [906, 907])
def test_what_is_free_and_asked_again_is_not_paid_twice(seed, fast_path):
    """A derived cell whose call was cut costs nothing the second time: the judge cried wolf."""
    verdict = Tribunal(
        kills=15, pauses=3, workers=4, n_examples=60, folder=fast_path, seed=seed,
        faults=Faults(refused=0.05, cut=0.5, malformed=0.0, slow=0.0), provider="plain",
        money="derived", says="below", gentle=False, tight=False,
    ).run()  # fmt: skip
    assert verdict.sound, str(verdict)


def test_tables_labels_answers_and_updates_are_paid_for_once(fast_path):
    """Learners that share a priced table, a doctor who labels and answers, beside the laboratory.

    The second kind of room showed that the lines of a task with bought labels were not its cost.
    """
    verdict = Tribunal(
        kills=4, pauses=2, workers=3, n_examples=40, folder=fast_path, seed=6, provider="async",
        wards=True, gentle=True,
    ).run()  # fmt: skip
    assert verdict.sound, str(verdict)
    assert verdict.rooms["wards"] >= 1
