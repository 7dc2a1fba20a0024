"""Answers that are no answers: an error each, kept, counted as spent, never a value."""

import pytest

from tests.malformed import malformed_answers
from tests.market import seller
from thrifty.cells import Cells, Ledger
from thrifty.errors import MalformedAnswer, NotBilled, PurchaseFailed, PurchaseInDoubt
from thrifty.stores import MemoryStore
from thrifty.testing import FakeProvider

KINDS = ("plain", "async", "idempotent")
IDS, FEATURES = ["p1", "p2", "p3"], ["a", "b"]


def make(kind, faults, **options):
    provider = FakeProvider(idempotent=kind == "idempotent", faults=faults, seconds=0.3)
    ledger = Ledger(MemoryStore().book("test", {}, {}))
    source = provider.source(IDS, FEATURES, awaited=kind == "async", **{"prices": 2, **options})
    return provider, ledger, Cells(source, ledger=ledger, task="t")


def nothing_is_known(cells) -> bool:
    return not cells._account.known.known.any()


@pytest.mark.parametrize("kind", KINDS)
def test_every_malformed_answer_is_an_error(kind):
    answers = dict(malformed_answers())
    assert len(answers) >= 80
    for name, bad in answers.items():
        provider, ledger, cells = make(kind, [bad])
        with pytest.raises(MalformedAnswer) as caught:
            cells.get([0, 1, 2], [0, 1])
        assert "life.ledger.resolve(1" in str(caught.value), name
        assert nothing_is_known(cells), name
        (kept,) = ledger.open_purchases()
        assert (kept.status, kept.id) == ("malformed", caught.value.purchases[0]), name
        assert ledger.balance().spent == 12.0, name
        assert ledger.balance().reserved == 0.0, name
        # Asked again, it does not pay again: only the user may say so.
        with pytest.raises(PurchaseInDoubt):
            cells.get([0], [0])
        assert provider.bill().calls == 1, name


def test_a_malformed_answer_can_be_resolved_and_bought_again():
    provider, ledger, cells = make("plain", [None])
    with pytest.raises(MalformedAnswer):
        cells.get([0], [0])
    ledger.resolve(1, "billed")
    assert cells.get([0], [0]).tolist() == [[provider.value("p1", "a")]]
    assert ledger.balance().spent == 4.0


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("plain", "error"),
        ("plain", "error-after"),
        ("plain", "slow"),
        ("plain", "slow-after"),
        ("async", "error"),
        ("async", "error-after"),
    ],
)
def test_an_end_that_nobody_knows_is_in_doubt(kind, fault):
    _, ledger, cells = make(kind, [fault], timeout=0.1)
    with pytest.raises(PurchaseInDoubt):
        cells.get([0, 1], [0])
    assert nothing_is_known(cells)
    assert ledger.balance().reserved == 4.0
    assert [p.status for p in ledger.open_purchases()] == ["doubt"]


def test_an_async_call_that_takes_too_long_is_in_doubt():
    import anyio

    async def slow(ids, names):
        await anyio.sleep(5)

    source = seller(slow, IDS, FEATURES, prices=2, timeout=0.1)
    ledger = Ledger(MemoryStore().book("test", {}, {}))
    with pytest.raises(PurchaseInDoubt):
        Cells(source, ledger=ledger).get([0], [0])


@pytest.mark.parametrize("fault", ["error", "error-after", "slow", "slow-after"])
def test_with_keys_it_is_asked_again_and_billed_once(fault):
    provider, ledger, cells = make("idempotent", [fault, fault], timeout=0.1)
    assert cells.get([0, 1], [0, 1]).shape == (2, 2)
    assert provider.bill().twice == []
    assert ledger.balance().spent == 8.0
    assert ledger.open_purchases() == []


def test_a_refusal_is_tried_again_and_costs_nothing():
    provider, ledger, cells = make("plain", ["refuse", "refuse"])
    cells.get([0], [0, 1])
    assert (provider.calls, ledger.balance().spent) == (3, 4.0)


def test_a_lasting_refusal_is_an_error_that_costs_nothing():
    _, ledger, cells = make("plain", ["refuse"] * 4)
    with pytest.raises(NotBilled):
        cells.get([0], [0, 1])
    assert (ledger.balance().spent, ledger.balance().reserved) == (0.0, 0.0)
    cells.get([0], [0, 1])
    assert ledger.balance().spent == 4.0


def test_a_refusal_after_an_unknown_end_stays_in_doubt():
    _, ledger, cells = make("idempotent", ["error-after", "refuse", "refuse", "refuse"])
    with pytest.raises(PurchaseInDoubt):
        cells.get([0], [0])
    assert ledger.balance().reserved == 2.0


def test_a_failure_costs_its_share():
    from thrifty import PriceList

    _, ledger, cells = make("plain", ["fail"], prices=PriceList(10, failed=0.25))
    with pytest.raises(PurchaseFailed, match=r"cost 5"):
        cells.get([0, 1], [0])
    assert ledger.balance().spent == 5.0
    cells.get([0, 1], [0])
    assert ledger.balance().spent == 25.0
