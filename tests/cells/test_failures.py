"""Failures are not the end: what a provider says of rows and cells; gaps after some tries."""

import asyncio

import numpy as np
import pytest

import thrifty
from tests.market import seller
from thrifty import errors
from thrifty.cells import Answered, Cells, Ledger
from thrifty.stores import MemoryStore

IDS, FEATURES = ["p1", "p2", "p3"], ["a", "b"]


def value(id, name):
    return (IDS.index(id) + FEATURES.index(name)) % 2


def answers(ids, names):
    return [[value(i, n) for n in names] for i in ids]


def opened(fn, *, book=None, ids=IDS, task="t", **options):
    """A ledger, and the reader of a source of ``fn``."""
    options = {"prices": 2, "attempts": 1, "name": "lab", **options}
    source = seller(fn, ids, FEATURES, **options)
    ledger = Ledger(book or MemoryStore().book("test", {}, {}))
    return ledger, Cells(source, ledger=ledger, task=task)


def said(states):
    """A provider that says ``states`` of its first call, and answers every later one."""
    told = [states]

    def ask(ids, names):
        return Answered(answers(ids, names), failed=told.pop() if told else None)

    return ask


def in_async(fn):
    async def ask(ids, names):
        await asyncio.sleep(0)
        return fn(ids, names)

    return ask


@pytest.mark.parametrize("kind", [lambda fn: fn, in_async], ids=["plain", "async"])
def test_a_row_that_was_not_billed_costs_nothing_and_is_asked_again(kind):
    calls = []
    inner = said(["", "not-billed", ""])

    def ask(ids, names):
        calls.append(list(ids))
        return inner(ids, names)

    ledger, cells = opened(kind(ask))
    got = cells.get([0, 1, 2], [0, 1])
    assert got.tolist() == answers(IDS, FEATURES)
    assert calls == [["p1", "p2", "p3"], ["p2"]]
    assert ledger.balance().spent == 12.0
    assert ledger.balance().reserved == 0.0


def test_a_cell_that_failed_and_is_billed_costs_its_share():
    prices = thrifty.PriceList({"a": 2, "b": 4}, failed=0.5)
    ledger, cells = opened(said([["", "billed"], ["", ""], ["", ""]]), prices=prices)
    with pytest.raises(errors.PurchaseFailed, match="b of example 'p1'") as caught:
        cells.get([0, 1, 2], [0, 1])
    assert "what it answered is kept" in str(caught.value)
    assert ledger.balance().spent == 2 * 3 + 4 * 2 + 4 * 0.5
    assert cells.get([0, 1, 2], [0, 1]).tolist() == answers(IDS, FEATURES)
    assert ledger.balance().spent == 2 * 3 + 4 * 2 + 4 * 0.5 + 4


def test_what_nobody_knows_stays_reserved_and_the_rest_is_kept():
    ledger, cells = opened(said([["", ""], ["", "unknown"], ["", ""]]))
    with pytest.raises(errors.PurchaseInDoubt):
        cells.get([0, 1, 2], [0, 1])
    assert (ledger.balance().spent, ledger.balance().reserved) == (10.0, 2.0)
    (open_,) = ledger.open_purchases()
    assert (open_.examples, open_.features, open_.status) == (("p2",), ("b",), "doubt")
    assert cells.get([0, 2], [0, 1]).tolist() == answers(["p1", "p3"], FEATURES)
    ledger.resolve(open_.id, "billed", [[value("p2", "b")]])
    assert cells.get([0, 1, 2], [0, 1]).tolist() == answers(IDS, FEATURES)
    assert ledger.balance().spent == 12.0


def test_a_fee_is_owed_as_long_as_a_cell_of_its_row_was_answered():
    prices = thrifty.PriceList({"a": 1, "b": 2}, fees={"needle": (10, ["a", "b"])})
    states = [["", "not-billed"], ["not-billed", "not-billed"], ["", ""]]
    ledger, cells = opened(said(states), prices=prices)
    cells.get([0, 1, 2], [0, 1])
    # p1: needle and a; p3 all; then b of p1, which needs no second needle, and all of p2
    assert ledger.balance().spent == 11 + 13 + 2 + 13


def test_what_the_provider_says_it_cost_is_booked_once_a_row():
    states = iter([[["", "billed"], ["billed", "billed"], ["", ""]]])

    def ask(ids, names):
        found = next(states, None)
        cost = None if found is None else ["1.5", "0.25", "4"]
        return Answered(answers(ids, names), cost=cost, failed=found)

    ledger, cells = opened(ask, on_failure="gap", tries=1)
    got = cells.get([0, 1, 2], [0, 1])
    assert np.isnan(got).tolist() == [[False, True], [True, True], [False, False]]
    assert ledger.balance().spent == 5.75
    assert cells.receipt().gaps == 3
    assert cells.receipt().cells == 3


@pytest.mark.parametrize(
    "states", [["lost", "", ""], [""], [["", ""], [""], [""]], [[""], [""], [""]], 3, [1, 0, 0]]
)
def test_odd_words_about_failures_are_no_answer(states):
    ledger, cells = opened(lambda ids, names: Answered(answers(ids, names), failed=states))
    with pytest.raises(errors.MalformedAnswer, match="not-billed"):
        cells.get([0, 1, 2], [0, 1])
    assert ledger.balance().spent == 12.0


def refusing(bad, error=errors.NotBilled, log=None):
    """A provider that refuses every call about one of some examples."""

    def ask(ids, names):
        if log is not None:
            log.append(list(ids))
        if set(ids) & set(bad):
            raise error("no")
        return [[1 for _ in names] for _ in ids]

    return ask


def test_one_bad_row_is_found_in_a_batch_and_is_a_gap():
    ids, log = [f"e{i}" for i in range(40)], []
    _, cells = opened(refusing({"e17"}, log=log), ids=ids, on_failure="gap", tries=2)
    got = cells.get(np.arange(40), [0, 1])
    assert np.isnan(got[17]).all()
    assert (got[np.arange(40) != 17] == 1).all()
    receipt = cells.receipt()
    assert (receipt.gaps, receipt.cells, receipt.cost) == (2, 78, 156.0)
    assert log.count(["e17"]) == 2
    assert len(log) < 20


def test_gaps_are_known_to_the_store_until_they_are_forgotten():
    ids, log, book = [f"e{i}" for i in range(4)], [], MemoryStore().book("test", {}, {})
    provider = refusing({"e1"}, log=log)
    ledger, cells = opened(provider, book=book, ids=ids, on_failure="gap", max_examples=1)
    cells.get(np.arange(4), [0])
    asked = len(log)
    assert log.count(["e1"]) == 3
    _, again = opened(provider, book=book, ids=ids, on_failure="gap", max_examples=1, task="u")
    assert np.isnan(again.get(np.arange(4), [0])[:, 0]).tolist() == [False, True, False, False]
    assert len(log) == asked
    assert (again.receipt().gaps, again.receipt().reused_cells, again.receipt().cells) == (1, 3, 0)
    (gap,) = ledger.gaps()
    assert (gap.source, gap.example, gap.feature, gap.tries) == ("lab", "e1", "a", 3)
    assert ledger.forget_gaps(source="another") == 0
    assert ledger.forget_gaps(source="lab", features=["a"], examples=["e1"]) == 1
    healed = refusing(set(), log=log)
    _, third = opened(healed, book=book, ids=ids, on_failure="gap", task="v")
    assert third.get(np.arange(4), [0])[:, 0].tolist() == [1, 1, 1, 1]
    assert ledger.gaps() == []


def test_a_source_that_stops_asks_for_gaps_of_others():
    ids, book = [f"e{i}" for i in range(4)], MemoryStore().book("test", {}, {})
    _, cells = opened(refusing({"e1"}), book=book, ids=ids, on_failure="gap", tries=1)
    cells.get(np.arange(4), [0])
    _, stops = opened(refusing(set()), book=book, ids=ids, task="u")
    assert stops.get(np.arange(4), [0])[:, 0].tolist() == [1, 1, 1, 1]
    # and what came is used by those that take gaps, though the gap was noted before
    _, gaps = opened(refusing({"e1"}), book=book, ids=ids, on_failure="gap", task="w")
    assert gaps.get(np.arange(4), [0])[:, 0].tolist() == [1, 1, 1, 1]


def test_an_outage_makes_no_gaps():
    ids = [f"e{i}" for i in range(60)]
    ledger, cells = opened(
        refusing(set(ids[20:])), ids=ids, on_failure="gap", tries=2, max_examples=1
    )
    with pytest.raises(errors.NotBilled, match="looks like an outage"):
        cells.get(np.arange(60), [0])
    assert ledger.gaps() == []
    assert cells.receipt().cells == 20
    assert ledger.balance().reserved == 0.0


def test_many_bad_rows_among_good_ones_are_no_outage():
    ids = [f"e{i}" for i in range(60)]
    bad = set(ids[1::2])
    ledger, cells = opened(refusing(bad), ids=ids, on_failure="gap", tries=2, max_examples=1)
    got = cells.get(np.arange(60), [0])[:, 0]
    assert np.isnan(got).sum() == 30
    assert len(ledger.gaps()) == 30


def test_malformed_replies_about_one_example_become_a_gap_and_are_paid():
    def ask(ids, names):
        return [["what?" if i == "p2" else 1 for _ in names] for i in ids]

    ledger, cells = opened(ask, on_failure="gap", tries=2, max_examples=1)
    got = cells.get([0, 1, 2], [0])[:, 0]
    assert np.isnan(got).tolist() == [False, True, False]
    assert ledger.balance().spent == 2 + 2 + 2 * 2
    assert ledger.open_purchases() == []


def test_zero_or_one_is_still_asked_for_where_a_gap_may_be():
    _, cells = opened(lambda ids, names: [[7 for _ in names] for _ in ids], on_failure="gap")
    with pytest.raises(errors.MalformedAnswer, match="0 or 1"):
        cells.get([0, 1], [0])


def test_a_time_out_of_what_costs_nothing_is_asked_again():
    import time

    calls = []

    def ask(ids, names):
        calls.append(1)
        if len(calls) < 3:
            time.sleep(0.3)
        return answers(ids, names)

    ledger, cells = opened(ask, prices=0, timeout=0.1, attempts=4)
    assert cells.get([0, 1, 2], [0, 1]).tolist() == answers(IDS, FEATURES)
    assert len(calls) == 3
    assert ledger.open_purchases() == []


def test_a_free_call_that_never_ends_is_an_error_and_no_doubt():
    def ask(ids, names):
        raise ConnectionResetError("gone")

    ledger, cells = opened(ask, prices=0, attempts=2)
    with pytest.raises(errors.NotBilled, match="2 times"):
        cells.get([0], [0])
    assert ledger.open_purchases() == []


def bills_what_is_free():
    """A provider that bills for b, which the list says is free, and breaks on p3 after its bill."""
    billed = []

    def ask(ids, names):
        costs = [sum({"a": 2, "b": 1}[n] for n in names) for _ in ids]
        billed.append((tuple(ids), tuple(names), sum(costs)))
        if "p3" in ids and names == ["b"]:
            raise ConnectionResetError("gone")
        return Answered(answers(ids, names), cost=costs)

    return billed, ask


def test_where_the_list_was_wrong_before_a_free_call_is_not_asked_again():
    billed, ask = bills_what_is_free()
    ledger, other = opened(ask, prices={"a": 2, "b": 0}, attempts=4, name="other")
    with pytest.raises(errors.CostAboveReservation):
        other.get([0], [1])
    assert ledger.balance().over == 1
    with pytest.raises(errors.CostAboveReservation, match="is not called again before"):
        other.get([2], [1])
    _, cells = opened(ask, book=ledger.book, prices={"a": 2, "b": 0}, attempts=4)
    with pytest.raises(errors.PurchaseInDoubt):
        cells.get([2], [1])
    assert [b for b in billed if "p3" in b[0]] == [(("p3",), ("b",), 1)], "asked once"
    (open_one,) = ledger.open_purchases()
    # another process, later: still in doubt, and not asked for
    _, again = opened(ask, book=ledger.book, task="u", prices={"a": 2, "b": 0})
    with pytest.raises(errors.PurchaseInDoubt):
        again.get([2], [1])
    assert len([b for b in billed if "p3" in b[0]]) == 1
    ledger.resolve(open_one.id, "billed", [[value("p3", "b")]], cost=1)
    assert ledger.balance().over == 2, "what the provider billed in all"
    assert again.get([2], [1]).tolist() == [[value("p3", "b")]]


def test_a_task_goes_on_with_gaps_and_its_receipt_says_how_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=300) > 0
    ids = [f"t{i}" for i in range(300)]

    def ask(some, names):
        if any(int(i[1:]) % 20 == 7 for i in some):
            raise errors.NotBilled("content policy")
        return [[X[int(i[1:]), int(n[1:])] for n in names] for i in some]

    how = {"on_failure": "gap", "tries": 1, "attempts": 1, "max_examples": 1, "boolean": False}

    def api(some):
        return seller(ask, some, ["f0", "f1", "f2", "f3"], name="api", prices="0.01 USD", **how)

    life = thrifty.Lifetime(random_state=0)
    learned = life.learn("t", api(ids), y, spend="8 USD")
    assert learned.receipt.gaps > 0
    assert learned.receipt.cells > 0
    assert learned.model.score(X, y) > 0.8
    assert life.balance().spent == pytest.approx(learned.receipt.cost)
    assert life.predict("t", api(ids[:40])).receipt.gaps >= 2
    known = len(life.ledger.gaps())
    assert known >= 2
    assert (life.ledger.forget_gaps("api"), life.ledger.gaps()) == (known, [])


def test_a_refused_text_is_a_gap_and_the_others_are_answered():
    texts = ["it rains", "a forbidden text", "sun all day"]

    def ask(prompt):
        if "forbidden" in prompt:
            raise errors.NotBilled("content policy")
        return '{"1": "yes"}' if "rains" in prompt else '{"1": "no"}'

    bank = thrifty.Source.from_questions(
        texts, ["Is it wet?"], ask=ask, rates=thrifty.Rates("0.15 USD", "0.60 USD"),
        on_failure="gap", attempts=1,
    )  # fmt: skip
    cells = Cells(bank, ledger=Ledger(MemoryStore().book("test", {}, {})))
    got = cells.get([0, 1, 2], [0])[:, 0]
    assert np.isnan(got[1])
    assert [bank.categories[0][int(v)] for v in got[[0, 2]]] == ["yes", "no"]
    assert cells.receipt().gaps == 1


def test_bad_parameters():
    with pytest.raises(errors.BadParameter, match="on_failure must be 'stop' or 'gap'"):
        opened(answers, on_failure="ignore")
    with pytest.raises(errors.BadParameter, match="tries"):
        opened(answers, tries=0)


def test_a_frame_without_prices_is_no_money():
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(200, 2)), ["a", "b"]
    y = X[:, 0] + 0.5 * rng.normal(size=200) > 0

    def ask(ids, wanted):
        return [[X[int(i), names.index(n)] for n in wanted] for i in ids]

    lab = seller(ask, range(200), names, boolean=False, prices="0.5 USD")
    life = thrifty.Lifetime(random_state=0)
    life.learn("t", lab, y, spend="50 %")
    spent = life.balance().spent
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
    for road in (lambda: life.predict("t", frame), lambda: life.learn("u", frame, y)):
        with pytest.raises(
            errors.MixedCurrencies, match=r"pays in USD, .* life.change\(prices=0\)"
        ):
            road()
    assert life.balance().spent == spent
    life.change(prices=0)
    assert life.predict("t", frame).receipt.cost == 0
    life.change(prices=thrifty.PriceList(0.5, currency="USD"))
    priced = life.predict("t", frame.iloc[:10])
    assert (priced.receipt.cost, priced.receipt.currency) == (10.0, "USD")
    assert life.balance().spent == spent + 10


def test_a_family_that_reads_no_gaps_refuses_a_source_that_makes_them():
    lab = seller(answers, IDS, FEATURES, on_failure="gap")
    with pytest.raises(errors.BadInput, match="reads no gaps"):
        thrifty.Lifetime(thrifty.Trees()).learn("t", lab, [0, 1, 0])


def test_a_gap_opens_no_discount():
    """A cheap test that would open a discount and is always refused: the other pays in full."""
    calls = []

    def lab(ids, names):
        calls.append(list(names))
        if "cheap" in names:
            raise errors.NotBilled("none to be had")
        return [[1.5] * len(names) for _ in ids]

    prices = thrifty.PriceList(
        {"cheap": 1, "dear": 8}, discounts={"tube": {"cheap": "0.5", "dear": 4}}
    )
    source = thrifty.Source.from_callable(
        lab, examples=["p"], features=["cheap", "dear"], name="lab", prices=prices, boolean=[],
        attempts=1, on_failure="gap", tries=2,
    )  # fmt: skip
    life = thrifty.Lifetime()
    cells = Cells(source, ledger=life.ledger, task="t")
    assert np.isnan(cells.get([0], [0])).all()
    assert cells.get([0], [1]).tolist() == [[1.5]]
    assert calls[-1] == ["dear"] and life.balance().spent == 8.0
