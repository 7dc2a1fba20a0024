"""Batches of questions: sending, looking and fetching are three acts; text by text is settled."""

import threading

import pytest

from tests.market import ledger
from thrifty import ChatServer, Question, Rates, Source
from thrifty.errors import NotBilled, ProviderError, PurchaseInDoubt
from thrifty.protocol import Cells
from thrifty.testing.provider import LocalChatServer

RATES = Rates("0.15 USD", "0.60 USD", cached="0.03 USD")
TEXTS = {f"note {i}": f"Patient {i} is {40 + i} years old." for i in range(6)}
AGE = {"age": Question("How old is the patient?", "number")}


def knows(text: str, question: str):
    return int(text.split(" is ")[1].split()[0])


def bank(server, **options):
    ask = ChatServer("small", base_url=server.url, key_from=None, poll=0.01)
    return Source.from_questions(TEXTS, AGE, ask=ask, rates=RATES, **options)


def spent(book) -> float:
    """To the millionth, and nothing open."""
    assert book.balance().reserved == 0 and book.open_purchases() == []
    return round(book.balance().spent * 1e6)


@pytest.mark.parametrize(
    "trouble",
    [
        {"poll": [503, 503, 503]},
        {"poll": [429] * 5},
        {"poll": [500, 502, 0, 504, 408]},
        {"download": [503, 429, 503]},
        {"download": [500, 0]},
        {"upload": [503]},
        {"submit": [429, 503]},
        {"upload": [429], "submit": [503], "poll": [503, 0], "download": [503]},
    ],
)
def test_trouble_on_the_way_to_a_batch_never_sends_it_again(trouble):
    with LocalChatServer(knows, rates=RATES, trouble=trouble) as server:
        book = ledger()
        cells = Cells(bank(server, batch=True), ledger=book, task="t")
        assert cells.get(range(3), [0])[:, 0].tolist() == [40.0, 41.0, 42.0]
        assert len(server.requests) == 3, "each text once"
        assert spent(book) == server.billed


@pytest.mark.parametrize("status", [401, 404])
@pytest.mark.parametrize("act", ["poll", "download"])
def test_a_batch_that_cannot_be_read_is_in_doubt(act, status):
    with LocalChatServer(knows, rates=RATES, trouble={act: [status] * 50}) as server:
        book = ledger()
        cells = Cells(bank(server, batch=True, concurrency=1), ledger=book, task="t")
        with pytest.raises(PurchaseInDoubt):
            cells.get([0], [0])
        assert len(server.requests) == 1
        assert round(book.balance().reserved * 1e6) >= server.billed > 0


def test_a_submission_that_breaks_off_is_in_doubt():
    with LocalChatServer(knows, rates=RATES, trouble={"submit": [0]}) as server:
        book = ledger()
        with pytest.raises(PurchaseInDoubt):
            Cells(bank(server, batch=True, concurrency=1), ledger=book, task="t").get([0], [0])
        assert book.balance().reserved > 0


@pytest.mark.parametrize("ends", ["completed", "expired", "cancelled"])
def test_what_a_batch_refused_is_refused_and_the_rest_is_settled(ends):
    full = threading.Event()

    def status(text: str) -> int:
        return 429 if "Patient 1 " in text and not full.is_set() else 200

    with LocalChatServer(knows, rates=RATES, status=status, ends=ends) as server:
        book = ledger()
        source = bank(server, batch=True, attempts=2)
        source.proven = True
        with pytest.raises(NotBilled):
            Cells(source, ledger=book, task="t").get(range(4), [0])
        assert len(server.requests) == 3 and spent(book) == server.billed
        full.set()
        got = Cells(source, ledger=book, task="t").get(range(4), [0])[:, 0]
        assert got.tolist() == [40.0, 41.0, 42.0, 43.0]
        assert len(server.requests) == 4 and spent(book) == server.billed


def test_a_batch_that_failed_as_a_whole_billed_nothing():
    with LocalChatServer(knows, rates=RATES, status=lambda t: 400, ends="failed") as server:
        book = ledger()
        with pytest.raises(NotBilled):
            Cells(bank(server, batch=True, attempts=1), ledger=book, task="t").get([0], [0])
        assert spent(book) == server.billed == 0


def test_a_request_that_is_in_no_file_of_a_finished_batch_is_in_doubt():
    with LocalChatServer(knows, rates=RATES, lose=lambda t: "Patient 2 " in t) as server:
        book = ledger()
        source = bank(server, batch=True)
        source.proven = True
        with pytest.raises(PurchaseInDoubt):
            Cells(source, ledger=book, task="t").get(range(4), [0])
        (waits,) = book.open_purchases()
        assert waits.examples[0].startswith("note 2") and len(server.requests) == 4


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("most", [2, 4, 6])
def test_many_texts_at_once_are_settled_text_by_text(most, batch):
    full = threading.Event()

    def status(text: str) -> int:
        return 429 if "Patient 1 " in text and not full.is_set() else 200

    with LocalChatServer(knows, rates=RATES, status=status) as server:
        book = ledger()
        source = bank(server, max_examples=most, attempts=1, batch=batch)
        source.proven = True
        with pytest.raises(ProviderError):
            Cells(source, ledger=book, task="t").get(range(6), [0])
        assert spent(book) == server.billed > 0, "what was answered is settled"
        asked = len(server.requests)
        full.set()
        got = Cells(source, ledger=book, task="t").get(range(6), [0])[:, 0]
        assert got.tolist() == [40.0 + i for i in range(6)]
        assert len(server.requests) == 6 and asked >= 1, "no text was asked about twice"
        assert spent(book) == server.billed


def test_two_threads_may_share_a_source_of_batches():
    with LocalChatServer(knows, rates=RATES) as server:
        source, books, got = bank(server, batch=True), [ledger(), ledger()], {}

        def buy(i: int) -> None:
            got[i] = Cells(source, ledger=books[i], task="t").get(range(6), [0])[:, 0].tolist()

        threads = [threading.Thread(target=buy, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert got[0] == got[1] == [40.0 + i for i in range(6)]
        assert sum(map(spent, books)) == server.billed


def test_a_batch_is_waited_for_as_long_as_providers_take():
    with LocalChatServer(knows, rates=RATES) as server:
        assert bank(server, batch=True).limits.timeout > 24 * 3600
        assert bank(server, batch=True, timeout=5.0).limits.timeout == 5.0
        assert bank(server).limits.timeout == 60.0
