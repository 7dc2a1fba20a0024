"""Several answerers of one question, confidences from log-probabilities, rates from a package."""

import sys
import warnings
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import pytest

import thrifty
from tests.market import reader
from thrifty.cells.prices.money import UNIT
from thrifty.cells.sources.prompts import token_confidence
from thrifty.errors import BadInput, MixedCurrencies, NotBilled
from thrifty.testing import LocalChatServer

TEXTS = [f"message {i}: {'rain' if i % 3 == 0 else 'sun'}" for i in range(12)]
CHEAP, EXPENSIVE = thrifty.Rates("0.1 USD", "0.4 USD"), thrifty.Rates("2 USD", "8 USD")


def wet(text: str, question: str) -> str:
    return "yes" if "rain" in text else "no"


def never(text: str, question: str) -> str:
    return "no"


@contextmanager
def two_servers(cheap, expensive):
    """Two servers, and an answerer at each."""
    with (
        LocalChatServer(cheap, rates=CHEAP) as one,
        LocalChatServer(expensive, rates=EXPENSIVE) as two,
    ):
        small, large = (
            thrifty.ChatServer(name, rates=server.rates, base_url=server.url, key_from=None)
            for name, server in (("small", one), ("large", two))
        )
        yield one, two, small, large


def bank(*answerers: object, **more: object) -> thrifty.Source:
    asked = [thrifty.Question("Is it wet?", answerers=answerers)]
    return thrifty.Source.from_questions(TEXTS, asked, **more)


def test_each_answerer_is_a_feature_with_its_own_price_and_bill():
    with two_servers(never, wet) as (one, two, small, large):
        source = bank(small, large)
        assert source.feature_names == ("Is it wet? by small", "Is it wet? by large")
        cells = reader(source)
        assert cells.alternatives == ((0, 1),) and cells.prices[0] < cells.prices[1] / 10
        found = cells.get(range(12), [0, 1])
        assert (found[:, 0] == 0).all() and (found[:, 1] == [i % 3 == 0 for i in range(12)]).all()
        # a call is to one of them, and billed at its rates
        assert len(one.requests) == len(two.requests) == 12
        billed = Decimal(one.billed + two.billed) / UNIT
        assert cells.receipt().cost == pytest.approx(float(billed))


def test_one_answerer_that_refuses_does_not_bill_the_other_twice():
    with two_servers(never, wet) as (one, two, small, large):
        two.status = lambda text: 503
        life = thrifty.Lifetime()
        cells = thrifty.protocol.Cells(bank(small, large, attempts=1), ledger=life.ledger, task="t")
        with pytest.raises(NotBilled):
            cells.get(range(12), [0, 1])
        two.status = lambda text: 200
        cells.get(range(12), [0, 1])
        assert len(one.requests) == 12  # what the small one said is kept
        assert life.balance().spent == pytest.approx((one.billed + two.billed) / UNIT)


def test_a_model_asks_the_large_one_where_the_small_one_leaves_doubt():
    rng = np.random.default_rng(0)
    topics = [f"topic{j}" for j in range(4)]
    holds = rng.random((600, 4)) < 0.15
    texts = [f"{i} " + " ".join(t for t, h in zip(topics, row) if h) for i, row in enumerate(holds)]
    wrong = rng.random((600, 4)) < 0.1

    def answered(noisy: bool):
        def ask(prompt: str) -> str:
            text = prompt.split("<text>\n")[1].split("\n</text>")[0]
            row = int(text.split()[0])
            asked = prompt.split("</text>\n")[1].splitlines()
            out = []
            for k, line in enumerate(asked, 1):
                j = int(line.split("topic")[1][0])
                said = "yes" if holds[row, j] ^ (noisy and wrong[row, j]) else "no"
                out.append(f'"{k}": "{said}"')
            return "{" + ", ".join(out) + "}"

        return ask

    small, large = answered(True), answered(False)
    small.__name__, small.rates = "small", CHEAP
    large.__name__, large.rates = "large", EXPENSIVE
    questions = {t: thrifty.Question(f"Is it about {t}?", answerers=[small, large]) for t in topics}
    source = thrifty.Source.from_questions(texts, questions)
    life = thrifty.Lifetime(random_state=0)
    y = holds[:, 0] | holds[:, 1]
    everything = reader(source).price_of(np.arange(600), np.arange(8))
    model = life.learn("either", source, y, spend=0.5 * everything).model
    climbed = [s for s in model.steps_ if not s.alone]
    assert climbed and all(source.feature_names[s.expensive].endswith("large") for s in climbed)
    found = life.predict("either", source)
    assert np.mean(found.values == y) > 0.9
    # the large one was asked on some rows alone
    asked = found.receipt.per_feature
    assert asked[source.feature_names[1]] < 600 if source.feature_names[1] in asked else True


@pytest.mark.parametrize(
    "answerers, said",
    [
        ([wet], "two or more"),
        ("small", "two or more"),
        ([wet, "large"], "function or a ChatServer"),
        ([wet, wet], "same name"),
    ],
)
def test_bad_answerers(answerers, said):
    wet.rates = CHEAP
    with pytest.raises(BadInput, match=said):
        thrifty.Source.from_questions(TEXTS, [thrifty.Question("Wet?", answerers=answerers)])


def test_somebody_must_be_asked_and_in_one_currency():
    with pytest.raises(BadInput, match="nobody is asked"):
        thrifty.Source.from_questions(TEXTS, ["Is it wet?"])
    euros = thrifty.ChatServer("eu", rates=thrifty.Rates("1 EUR", "2 EUR"), key_from=None)
    dollars = thrifty.ChatServer("us", rates=CHEAP, key_from=None)
    with pytest.raises(MixedCurrencies):
        bank(euros, dollars)


def test_alternatives_with_other_answers_are_refused():
    cells = thrifty.protocol.Cells(
        thrifty.Source.from_array(np.array([[0.5, 1.5], [0.25, 0.0]])),
        thrifty.PriceList([1, 2], alternatives={"t": ["x0", "x1"]}),
    )
    assert cells.alternatives == ((0, 1),)
    mixed = thrifty.Source.from_callable(
        lambda ids, names: [[0] * len(names) for _ in ids], examples=[1, 2], features=["a", "b"],
        kinds={"a": ["low", "high"], "b": ["low", "none"]}, name="lab",
        prices=thrifty.PriceList([1, 2], alternatives={"t": ["a", "b"]}),
    )  # fmt: skip
    with pytest.raises(BadInput, match="with different answers"):
        _ = thrifty.protocol.Cells(mixed, ledger=thrifty.Lifetime().ledger).alternatives
    for given, said in (
        ({"t": ["a"]}, "two or more"),
        ({"t": "ab"}, "two or more"),
        ({"t": ["a", "a"]}, "two or more"),
        ({"t": ["a", "b"], "u": ["b", "c"]}, "answers one thing"),
    ):
        with pytest.raises(BadInput, match=said):
            thrifty.PriceList(1, alternatives=given)
    with pytest.raises(BadInput, match="alternatives must be a mapping"):
        thrifty.PriceList(1, alternatives=["a", "b"])


def test_confidence_is_read_off_the_servers_tokens():
    with LocalChatServer(wet, logprob=lambda text: -0.5) as server:
        chat = thrifty.ChatServer("m", rates=server.rates, base_url=server.url, key_from=None)
        source = thrifty.Source.from_questions(TEXTS, ["Is it wet?"], ask=chat, confidence="tokens")
        cells = reader(source)
        found = cells.get(range(12), [0, 1])
    assert source.feature_names[1] == "Is it wet? (confidence)"
    assert found[:, 1] == pytest.approx(np.exp(-0.5))  # one token each
    assert len(server.requests) == 12  # it came with the answer


def test_a_server_without_log_probabilities_leaves_gaps_and_that_is_said_once():
    with LocalChatServer(wet) as server:
        chat = thrifty.ChatServer("m", rates=server.rates, base_url=server.url, key_from=None)
        source = thrifty.Source.from_questions(TEXTS, ["Is it wet?"], ask=chat, confidence="tokens")
        cells = reader(source)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = cells.get(range(12), [0, 1])
    assert np.isnan(found[:, 1]).all() and (found[:, 0] == [i % 3 == 0 for i in range(12)]).all()
    assert len([w for w in said if "log-probabilities" in str(w.message)]) == 1
    with pytest.raises(BadInput, match="confidence must be"):
        thrifty.Source.from_questions(TEXTS, ["Wet?"], ask=chat, confidence="words")


def test_tokens_of_several_answers():
    text = '{"1": "no", "2": 4.5, "3": "yes"}'
    pieces = ['{"1": "', "n", "o", '", "2": ', "4.5", ', "3": "yes', '"}']
    logs = [0.0, -0.1, -0.2, 0.0, -1.0, -0.7, 0.0]
    found = token_confidence(text, list(zip(pieces, logs)), 4)
    assert found[:3] == pytest.approx([np.exp(-0.3), np.exp(-1.0), np.exp(-0.7)])
    assert np.isnan(found[3]) and np.isnan(token_confidence(text, [("other", -1.0)], 1)[0])


def test_rates_of_a_package_come_after_ones_own(monkeypatch):
    own = thrifty.ChatServer("gpt-4o-mini", rates=CHEAP, key_from=None)
    assert thrifty.Source.from_questions(TEXTS, ["Wet?"], ask=own).rates == CHEAP
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(BadInput, match=r"thrifty\[rates\]"):
        thrifty.Rates.of("gpt-4o-mini")


def test_rates_of_the_real_package():
    pytest.importorskip("genai_prices")
    rates = thrifty.Rates.of("gpt-4o-mini", "https://api.openai.com/v1")
    assert rates.currency == "USD" and 0 < rates.cost(1_000_000, 0) < rates.cost(0, 1_000_000)
    assert rates.cost(1_000_000, 0, 1_000_000) <= rates.cost(1_000_000, 0)
    chat = thrifty.ChatServer("gpt-4o-mini", key_from=None)
    assert thrifty.Source.from_questions(TEXTS, ["Wet?"], ask=chat).rates == rates
    for model, url in (("none of these", None), ("gpt-4o-mini", "http://127.0.0.1:9/v1")):
        with pytest.raises(BadInput, match="knows no prices"):
            thrifty.Rates.of(model, url)


@pytest.mark.parametrize("spend", ["0.03 USD", "0.05 USD", "0.08 USD"])
def test_two_answerers_and_a_limit_end_in_a_model(spend):
    """What a call to each is reserved at is what the task was told that it costs."""
    rng = np.random.default_rng(0)
    holds = rng.random((200, 4)) < 0.4
    words = [" ".join(f"topic{j}" for j in np.flatnonzero(row)) for row in holds]
    texts = [f"{i} {said}" for i, said in enumerate(words)]

    def ask(text: str, question: str) -> str:
        return "yes" if question[question.index("topic") :][:6] in text else "no"

    with two_servers(ask, ask) as (one, two, small, large):
        asked = [
            thrifty.Question(f"Does it name topic{j}?", answerers=(small, large)) for j in range(4)
        ]
        source = thrifty.Source.from_questions(texts, asked)
        life = thrifty.Lifetime(random_state=0)
        learned = life.learn("t", source, holds[:, 0] | holds[:, 1], spend=spend)
        assert learned.receipt.cost == pytest.approx((one.billed + two.billed) / UNIT)
        assert 0 < learned.receipt.cost <= float(spend.split()[0])


def test_a_price_that_is_asked_for_is_what_is_reserved():
    with two_servers(wet, wet) as (*_, small, large):
        for features in ([0], [1], [0, 1]):
            source = bank(small, large, name=str(features))
            exactly = thrifty.Budget(total=reader(source).price_of(range(12), features))
            reader(source, budget=exactly).get(range(12), features)
            scant = thrifty.Budget(total=exactly.total - 1e-6)
            with pytest.raises(thrifty.errors.BudgetExceeded):
                reader(source, budget=scant).get(range(12), features)
