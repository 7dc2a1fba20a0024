"""Replies as real models write them: read where they answer, refused where they do not."""

import math
import re

import pytest

import thrifty
from tests.market import ledger
from thrifty import ChatServer, Question, Rates, Source
from thrifty.cells.sources.prompts import read_reply
from thrifty.errors import CostAboveReservation, MalformedAnswer
from thrifty.protocol import Cells
from thrifty.results import Reply
from thrifty.testing import LocalChatServer

ILL = Question("Is he ill?")
AGE = Question("How old is he?", "number")
WARD = Question("Which ward?", ["surgery", "medicine", "medicine, short stay"])
RATES = Rates("0.15 USD", "0.60 USD")


@pytest.mark.parametrize(
    "reply",
    [
        "yes.",
        "Yes",
        "YES!",
        "**Yes**",
        "Yes, because he has a fever.",
        "yes - there is a fever",
        "<think>Fever means no... no, wait: yes.</think>\nYes.",
        '{"1": "yes."}',
        '{"1": "Yes, he has a fever"}',
        '{"1": true}',
        '{"1": {"answer": "yes"}}',
        '{"answer": "yes"}',
        '{"Q1": "yes", "explanation": "a fever"}',
        '{"Is he ill?": "yes"}',
        'Here is my answer:\n```json\n{"1": "yes"}\n```\nI hope it helps.',
        'The JSON object: {"1": "yes"}.',
        "1. yes",
        '["yes"]',
    ],
)
def test_a_yes_is_a_yes(reply):
    assert read_reply(reply, [ILL]) == [1.0]


@pytest.mark.parametrize(
    ("said", "value"),
    [("45", 45), ("45.", 45), ("45 years", 45), ("1,200", 1200), ("~45", 45), ("38.5 °C", 38.5),
     ("1.5e3", 1500), ("1.5", 1.5), ("-3", -3)],
)  # fmt: skip
def test_a_number_with_its_unit_is_a_number(said, value):
    assert read_reply(said, [AGE]) == [value] == read_reply(f'{{"1": "{said}"}}', [AGE])


@pytest.mark.parametrize("said", ["unknown", "Unknown.", "N/A", "not stated", "null"])
def test_what_the_text_does_not_say_is_unknown(said):
    assert math.isnan(read_reply(said, [AGE])[0])
    assert read_reply(said, [ILL]) == [2.0]


def test_the_longest_category_counts_and_numbered_lines_are_answers():
    assert read_reply("Medicine, short stay", [WARD]) == [2.0]
    assert read_reply("Medicine, since he has a fever", [WARD]) == [1.0]
    assert read_reply("1. Yes\n2. 45 years\n3. surgery", [ILL, AGE, WARD]) == [1.0, 45.0, 0.0]


NO_ANSWERS = {
    "wrote nothing": [""],
    "one of": ["I cannot help with that.", "No idea", "yes or no", "yes/no", "It depends", "[1]",
               "{", "[[[[", "maybe yes", '{"1": "perhaps"}', '{"1": 3}'],
    "other": ['["yes", "no"]', '{"1": "yes", "2": "no"}'],
    "answered twice": ['{"1": "yes", "Q1": "no"}'],
    "did not answer": ['{"2": "yes"}'],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "message"), [(reply, why) for why, replies in NO_ANSWERS.items() for reply in replies]
)
def test_what_is_no_answer_never_becomes_a_value(reply, message):
    with pytest.raises(MalformedAnswer, match=message):
        read_reply(reply, [ILL])


@pytest.mark.parametrize("reply", ['{"1": "ten"}', '{"1": true}', '{"1": NaN}', "40 to 45"])
def test_a_number_must_be_one(reply):
    with pytest.raises(MalformedAnswer, match="number"):
        read_reply(reply, [AGE])


def source(ask):
    return Source.from_questions(["He is 45."], {"age": AGE}, ask=ask, rates=RATES, again=0)


def get(ask):
    return Cells(source(ask), ledger=ledger()).get([0], [0])


class Thinks:
    """An answerer that counts so many tokens of thoughts beside its answer."""

    model, rates = "small", RATES

    def __init__(self, thoughts, reasoning=0, **said):
        self.thoughts, self.reasoning, self.said = thoughts, reasoning, said

    def __call__(self, prompt):
        said = {"text": "45", **self.said}
        return Reply(read=60, written=4 + self.thoughts, **said)


def test_thoughts_have_room_where_it_was_said():
    assert get(Thinks(400, reasoning=500)).tolist() == [[45.0]]
    with pytest.raises(CostAboveReservation, match="reasoning="):
        get(Thinks(400))


def test_refusals_and_replies_that_were_cut_off_say_what_they_are():
    with pytest.raises(MalformedAnswer, match="the model refused: 'Not that'"):
        get(Thinks(0, text="", refusal="Not that"))
    with pytest.raises(MalformedAnswer, match=r"cut off.*reasoning="):
        get(Thinks(0, text='{"1": "4', ended="length"))


def test_a_server_is_sent_what_it_takes():
    server = ChatServer("m", rates=RATES, reasoning=100)
    assert server.body("p", 20)["max_tokens"] == 120 and server.body("p", 20)["temperature"] == 0
    assert "max_tokens" not in ChatServer("m", rates=RATES, max_tokens=None).body("p", 20)
    assert ChatServer("m", rates=RATES, max_tokens=7).body("p", 20)["max_tokens"] == 7
    assert set(ChatServer("m", rates=RATES, options={}).body("p")) == {"model", "messages"}
    quiet = ChatServer("m", rates=RATES, options={"temperature": None, "seed": 3})
    assert "temperature" not in quiet.body("p") and quiet.body("p")["seed"] == 3
    assert server._goes_without("max_tokens") and server._goes_without("temperature")
    body = server.body("p", 20)
    assert body["max_completion_tokens"] == 120 and "temperature" not in body
    assert not server._goes_without("temperature") and not server._goes_without("messages")
    assert ChatServer("gpt-5-mini", rates=RATES).reasoning == 2000


def test_room_for_thoughts_is_in_the_price_of_a_call():
    expensive, cheap = (source(Thinks(0, room)).per_call[0] for room in (1000, 0))
    assert expensive - cheap == pytest.approx(RATES.cost(0, 1000), abs=1)


def test_a_model_that_reasons_unasked_is_said_with_the_room_it_needs_which_is_then_enough():
    """400 tokens of thoughts: the number that the warning names lets the same calls end well."""
    texts = [f"He is {i}." for i in range(20, 26)]
    said = lambda text, question: text[6:8]  # noqa: E731
    with LocalChatServer(said, rates=RATES, reasoning=400) as server:

        def bank(reasoning):
            ask = ChatServer("plain", rates=RATES, base_url=server.url, key_from=None,
                             max_tokens=None, reasoning=reasoning)  # fmt: skip
            return Source.from_questions(texts, {"age": AGE}, ask=ask, again=0)

        book = ledger()
        took = pytest.warns(UserWarning, match=r"took 4\d\d tokens where \d+ were")
        with took as told, pytest.raises(CostAboveReservation):
            Cells(bank(0), ledger=book).get(range(6), [0])
        room = int(re.search(r"reasoning=(\d+)", str(told[0].message))[1])
        assert 400 < room < 1000
        got = Cells(bank(room), ledger=book).get(range(6), [0])
        assert got.ravel().tolist() == [20, 21, 22, 23, 24, 25]
        assert len(server.requests) == 6, "what was answered is not asked again"


@pytest.mark.parametrize("heeds", [True, False])
def test_a_model_that_reasons_unasked_is_learned_from_its_first_call(heeds):
    """The first reply is cut off, or billed above its reservation; all are answered once."""
    texts = [f"He is {i}." for i in range(20, 40)]
    said = lambda text, question: text[6:8]  # noqa: E731
    with LocalChatServer(said, rates=RATES, reasoning=400, heeds_limit=heeds) as server:
        ask = ChatServer("plain", rates=RATES, base_url=server.url, key_from=None)
        bank = Source.from_questions(texts, {"age": AGE}, ask=ask)
        life = thrifty.Lifetime(budget=thrifty.Budget(total="1 USD"))
        cells = Cells(bank, ledger=life.ledger, task="age")
        with pytest.warns(UserWarning, match="plain (was cut off after|took)") as told:
            got = cells.get(range(20), [0])
        assert got.ravel().tolist() == list(range(20, 40)) and len(told) == 1
        assert len(server.requests) == 20 + heeds, "what was answered is not asked again"
        balance = life.balance()
        assert round((balance.spent + balance.over) * 1e6) == server.billed
        assert (balance.over == 0) == heeds
        assert 500 <= ask.reasoning <= 1000, "what it took, and half as much again"
        more = Source.from_questions(["He is 55."], {"age": AGE}, ask=ask)
        assert Cells(more, ledger=life.ledger).get([0], [0]).tolist() == [[55]]
