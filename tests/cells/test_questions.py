"""Questions to a language model over real HTTP: what is asked, billed, refused and kept."""

import logging
import math

import pytest

import thrifty
from tests.market import ledger, seller
from thrifty import Budget, ChatServer, PriceList, Question, Rates, Source, errors
from thrifty.protocol import Cells
from thrifty.testing.provider import LocalChatServer

RATES = Rates("0.15 USD", "0.60 USD", cached="0.03 USD")
TEXTS = {f"note {i}": f"Patient {i} is {40 + i} years old and has a fever. " * 5 for i in range(6)}
QUESTIONS = {
    "fever": "Is there a fever?",
    "age": Question("How old is the patient?", "number"),
    "ward": Question("Which ward?", ["surgery", "medicine"]),
}


def knows(text: str, question: str):
    if "old" in question:
        return int(text.split(" is ")[1].split()[0])
    return "yes" if "fever" in question else "medicine"


def bank(server, questions=QUESTIONS, texts=TEXTS, chat=None, **options):
    ask = ChatServer("small", base_url=server.url, key_from=None, poll=0.01, **(chat or {}))
    return Source.from_questions(texts, questions, ask=ask, rates=RATES, **options)


def test_all_the_questions_about_a_text_go_in_one_call_and_the_real_bill_is_booked():
    with LocalChatServer(knows, rates=RATES) as server:
        book = ledger()
        source = bank(server)
        cells = Cells(source, ledger=book, task="t")
        quoted = cells.price_of([0, 1, 2], [0, 1, 2])
        values = cells.get([0, 1, 2], [0, 1, 2])
        assert values[:, 1].tolist() == [40.0, 41.0, 42.0]
        assert [source.categories[2][int(v)] for v in values[:, 2]] == ["medicine"] * 3
        assert [source.categories[0][int(v)] for v in values[:, 0]] == ["yes"] * 3
        assert len(server.requests) == 3, "one request a text"
        assert cells.receipt().cost == book.balance().spent == server.billed / 1e6
        assert 0 < cells.receipt().cost <= quoted, "what was reserved is the most it could be"
        cells.get([0, 1, 2], [0, 2])
        assert len(server.requests) == 3
        assert book.balance().reserved == 0


def test_a_later_question_is_asked_for_the_missing_texts_and_reads_from_the_cache():
    with LocalChatServer(knows, rates=RATES) as server:
        cells = Cells(bank(server), ledger=ledger(), task="t")
        cells.get([0], [0])
        first = server.billed
        cells.get([0, 1], [0, 1])  # row 0 lacks a question, row 1 both: one call each
        assert [len(q) for _, q in server.requests[1:]] in ([1, 2], [2, 1])
        assert cells.receipt().cost == server.billed / 1e6
        fresh = Cells(bank(server, texts={"x": TEXTS["note 1"]}), ledger=ledger())
        fresh.get([0], [0])
        assert server.billed > first


def test_answers_come_out_of_order_and_find_their_texts():
    slow = {text: 0.2 - 0.03 * i for i, text in enumerate(TEXTS.values())}
    with LocalChatServer(knows, rates=RATES, delay=lambda t: slow[t.strip() + " "]) as server:
        source = bank(server, concurrency=6)
        source.proven = True  # ask all at once
        got = Cells(source, ledger=ledger()).get(range(6), [1])[:, 0]
        assert got.tolist() == [40.0 + i for i in range(6)]
        assert server.replied != [t.strip() + " " for t in TEXTS.values()]


def test_a_rate_limit_is_waited_out_and_costs_nothing():
    with LocalChatServer(knows, rates=RATES, refuse=2) as server:
        cells = Cells(bank(server, concurrency=1), ledger=ledger(), task="t")
        cells.get([0, 1], [0])
        assert server.refused == 2
        assert cells.receipt().cost == server.billed / 1e6


def test_a_server_that_refuses_for_good_is_reported_and_nothing_is_spent():
    with LocalChatServer(knows, rates=RATES, refuse=99) as server:
        book = ledger()
        with pytest.raises(errors.NotBilled, match="nothing was billed"):
            Cells(bank(server, attempts=2), ledger=book).get([0], [0])
        assert (book.balance().spent, book.balance().reserved, server.billed) == (0, 0, 0)


def test_a_reply_that_breaks_off_is_in_doubt_and_keeps_its_money_reserved():
    with LocalChatServer(knows, rates=RATES, break_=1) as server:
        book = ledger()
        with pytest.raises(errors.PurchaseInDoubt):
            Cells(bank(server, concurrency=1), ledger=book).get([0], [0])
        assert server.billed > 0 and book.balance().reserved * 1e6 >= server.billed
        assert [p.status for p in book.open_purchases()] == ["doubt"]


def test_malformed_replies_are_asked_again_a_stated_number_of_times_and_all_are_paid():
    with LocalChatServer(knows, rates=RATES, garble=2) as server:
        book = ledger()
        cells = Cells(bank(server, concurrency=1), ledger=book, task="t")
        assert cells.get([0], [1]).tolist() == [[40.0]]
        assert len(server.requests) == 3
        assert book.balance().spent == server.billed / 1e6
        assert book.open_purchases() == []
    with LocalChatServer(knows, rates=RATES, garble=3) as server:
        book = ledger()
        with pytest.raises(errors.MalformedAnswer, match="a number or 'unknown'"):
            Cells(bank(server, concurrency=1), ledger=book).get([0], [1])
        assert len(server.requests) == 3 and book.balance().spent == server.billed / 1e6


def test_unknown_is_an_answer_paid_and_kept():
    with LocalChatServer(lambda t, q: "unknown", rates=RATES) as server:
        source = bank(server)
        cells = Cells(source, ledger=ledger(), task="t")
        values = cells.get([0], [0, 1, 2])
        assert source.categories[0][int(values[0, 0])] == "unknown"
        assert math.isnan(values[0, 1])
        assert source.categories[2][int(values[0, 2])] == "unknown"
        cells.get([0], [0, 1, 2])
        assert len(server.requests) == 1


def test_a_confidence_comes_beside_the_value_for_no_further_call():
    with LocalChatServer(knows, rates=RATES, confidence=0.75) as server:
        source = bank(server, confidence=True)
        cells = Cells(source, ledger=ledger(), task="t")
        at = source.feature_names.index("age (confidence)")
        assert cells.get([0], [source.feature_names.index("age")]).tolist() == [[40.0]]
        assert cells.get([0], [at]).tolist() == [[0.75]]
        assert len(server.requests) == 1
        assert cells.receipt().cost == server.billed / 1e6


def test_an_actual_cost_above_the_reservation_is_an_error_that_loses_nothing():
    with LocalChatServer(knows, rates=RATES, overcharge=5) as server:
        book = ledger()
        cells = Cells(bank(server, concurrency=1), ledger=book, task="t")
        with pytest.raises(errors.CostAboveReservation, match="values are kept and usable"):
            cells.get([0], [1])
        balance = book.balance()
        assert round((balance.spent + balance.over) * 1e6) == server.billed
        assert balance.over > 0, "what is beyond the reservation is named"
        again = Cells(bank(server), ledger=book, task="t")
        assert again.get([0], [1]).tolist() == [[40.0]] and len(server.requests) == 1
    with LocalChatServer(knows, rates=RATES, overcharge=5) as server:
        source = bank(server, concurrency=1)
        reserved = Cells(source, ledger=ledger()).price_of([0], [1])
        book = ledger(budget=Budget(total=reserved))
        with pytest.raises(errors.CostAboveReservation, match="owed beyond that"):
            Cells(source, ledger=book, task="t").get([0], [1])
        assert book.balance().spent == reserved, "a budget is never exceeded in the ledger"


def test_a_budget_holds_in_batch_mode_and_refuses_nothing_that_fits():
    """LiteLLM #12794: batches went past a team's budget, which was checked for single calls only.
    And #10973: once a budget was used up, what cost nothing was refused as well."""
    with LocalChatServer(knows, rates=RATES) as server:
        source = bank(server, batch=True, concurrency=100)
        needed = Cells(source, ledger=ledger()).price_of(range(6), [0, 1])
        exact = ledger(budget=Budget(total=needed))
        got = Cells(source, ledger=exact, task="t").get(range(6), [0, 1])
        assert got[:, 1].tolist() == [40.0 + i for i in range(6)], "it would have fitted, so it did"
        assert len(server.requests) == 6 and server._batches
        assert exact.balance().spent == server.billed / 1e6 <= needed
        single = bank(server)
        assert needed < Cells(single, ledger=ledger()).price_of(range(6), [0, 1]) * 0.55
    with LocalChatServer(knows, rates=RATES) as server:
        source = bank(server, batch=True, concurrency=100)
        book = ledger(budget=Budget(total=needed - 1e-6))
        cells = Cells(source, ledger=book, task="t")
        with pytest.raises(errors.BudgetExceeded):
            cells.get(range(6), [0, 1])
        assert server.requests == [] and book.balance().spent == 0
        cells.get(range(5), [0, 1])  # five fit
        assert book.balance().spent + book.balance().reserved <= needed
        cells.get(range(5), [0, 1])  # known: free, whatever is left
        assert len(server.requests) == 5


def test_an_edited_text_is_another_example_and_another_model_another_source():
    with LocalChatServer(knows, rates=RATES) as server:
        book = ledger()
        Cells(bank(server), ledger=book).get([0], [1])
        edited = {"note 0": TEXTS["note 0"].replace("40", "63")}
        assert Cells(bank(server, texts=edited), ledger=book).get([0], [1]).tolist() == [[63.0]]
        assert len(server.requests) == 2
        assert bank(server).name != bank(server, version="2").name
        assert bank(server).name.startswith("small")
        named = [bank(server, name="notes", version=v).name for v in ("1", "2")]
        assert named[0] != named[1], "a name of one's own does not hide which model answered"
        other = {**QUESTIONS, "age": Question("Age in years, please? old", "number")}
        Cells(bank(server, questions=other), ledger=book).get([0], [1])
        assert len(server.requests) == 3, "another wording is another question"
        assert bank(server, ["A?"]).name == bank(server, ["A?", "B?"]).name, "a list may grow"


def test_the_key_comes_from_the_environment_and_appears_nowhere(tmp_path, monkeypatch, caplog):
    key = "sk-verysecret-0123456789"
    monkeypatch.setenv("SOME_KEY", key)
    caplog.set_level(logging.DEBUG)
    store = tmp_path / "s.db"
    with LocalChatServer(knows, rates=RATES, key=key, break_=1) as server:
        ask = ChatServer("small", base_url=server.url, key_from="SOME_KEY")
        source = Source.from_questions(TEXTS, QUESTIONS, ask=ask, rates=RATES, concurrency=1)
        life = thrifty.Lifetime(thrifty.Models(), store=store)
        cells = Cells(source, ledger=life.ledger, task="t")
        with pytest.raises(errors.PurchaseInDoubt) as caught:
            cells.get([0], [0])
        life.ledger.resolve(caught.value.purchases[0], "billed")
        cells.get([1], [0])
        assert len(server.requests) == 2
    shown = repr(source) + repr(ask) + str(vars(ask)) + str(caught.value) + caplog.text
    assert key not in shown
    assert all(key.encode() not in file.read_bytes() for file in tmp_path.iterdir())
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(errors.NotBilled):
        Cells(source, ledger=ledger()).get([0], [0])


def test_a_dry_run_shows_prompts_and_the_bill_and_calls_nobody():
    def nobody(prompt):
        raise AssertionError("called")

    source = Source.from_questions(TEXTS, QUESTIONS, ask=nobody, rates=RATES)
    dry = source.dry_run(["fever", "age"])
    assert dry.calls == 6 and dry.currency == "USD"
    assert dry.price == pytest.approx(Cells(source, ledger=ledger()).price_of(range(6), [0, 1]))
    assert "1. Is there a fever?" in str(dry) and "2. How old" in str(dry)
    assert "Which ward" not in str(dry)
    with pytest.raises(errors.BadInput, match="no question"):
        source.dry_run(["height"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rates(-1, 1), "0 or more"),
        (lambda: Rates("1 EUR", "1 USD"), "one currency"),
        (lambda: Rates("a b c", 1), "per million"),
        (lambda: Rates(1, 1, batch=0), "share"),
        (lambda: Rates(1, 1, batch="half"), "share"),
        (lambda: Question(""), "is a text"),
        (lambda: Question("a?", "maybe"), "yes/no"),
        (lambda: Question("a?", ["x"]), "two or more"),
        (lambda: Source.from_questions("one", ["a?"], ask=print, rates=RATES), "one text"),
        (lambda: Source.from_questions(["a", "a"], ["a?"], ask=print, rates=RATES), "twice"),
        (lambda: Source.from_questions(["a"], [], ask=print, rates=RATES), "at least one"),
        (lambda: Source.from_questions(["a"], ["a?", "a?"], ask=print, rates=RATES), "twice"),
        (lambda: Source.from_questions(["a"], ["a?"], ask=print), "rates="),
        (lambda: ChatServer("m", base_url="ftp://x"), "http://"),
    ],
)
def test_bad_input_says_what_is_wrong(make, message):
    with pytest.raises(errors.BadInput, match=message):
        make()


@pytest.mark.parametrize("cost", [-0.5, float("nan"), "much", [0.1, 0.2, 0.3], 1e18, "0.1 USD"])
def test_a_cost_that_is_none_is_never_booked(cost):
    def look_up(ids, names):
        return thrifty.Answered([[1 for _ in names] for _ in ids], cost=cost)

    source = seller(look_up, ["a", "b"], ["x"], name="own", prices=PriceList("1 EUR"))
    cells = Cells(source, ledger=ledger(), task="t")
    with pytest.raises(errors.ThriftyError):
        cells.get([0, 1], [0])
    assert 0 <= cells.receipt().cost <= 2


def test_connections_are_kept_while_questions_are_asked():
    texts = [f"text {i}" for i in range(60)]
    with LocalChatServer(lambda text, question: "yes") as server:
        chat = thrifty.ChatServer("m", rates=server.rates, base_url=server.url, key_from=None)
        bank = thrifty.Source.from_questions(texts, ["Is it?"], ask=chat, concurrency=6)
        cells = thrifty.protocol.Cells(bank, ledger=thrifty.Lifetime().ledger, task="t")
        cells.get(range(60), [0])
        assert len(server.requests) == 60
        assert 1 <= server.connections <= 6
        assert not chat._clients  # and closed at the end
