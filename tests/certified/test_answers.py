"""Oracles and answers with a guarantee, through a lifetime."""

import time

import numpy as np
import pytest

import thrifty
from tests.certified.oracles import Counting, made
from thrifty import errors


@pytest.fixture
def life() -> thrifty.Lifetime:
    X, y = made(300, seed=1)
    life = thrifty.Lifetime(prices=0)
    life.learn("large", X, y)
    return life


def test_every_row_is_answered_and_the_certificate_adds_up(life):
    X, y = made()
    ask = Counting(y)
    oracle = thrifty.Oracle(ask, price="0.01 USD")
    answers = life.answer("large", X, oracle=oracle, agree=0.95, random_state=0)
    certificate = answers.certificate
    assert np.mean(answers.values == y) >= 0.95
    assert (answers.values[answers.by_oracle] == y[answers.by_oracle]).all()
    assert len(ask.asked) == len(set(ask.asked)) == certificate.by_oracle
    assert certificate.by_model + certificate.by_oracle == len(X) == len(answers)
    assert certificate.drawn + certificate.doubtful == certificate.by_oracle
    assert certificate.cost == pytest.approx(0.01 * len(ask.asked))
    assert life.balance().spent == pytest.approx(certificate.cost)
    assert life.bill().cost.sum() == pytest.approx(life.balance().spent)
    assert "drawn at random" in str(answers) and str(certificate.drawn) in str(answers)


def test_a_store_keeps_labels_and_bill(tmp_path):
    X, y = made()
    store = tmp_path / "life.db"
    with thrifty.Lifetime(prices=0, store=store) as life:
        life.learn("large", X[:300], y[:300])
        ask = Counting(y)
        ids = [f"p{i}" for i in range(len(X))]
        source = thrifty.Source.from_array(X, examples=ids, name="people")
        oracle = thrifty.Oracle(lambda them: ask([int(i[1:]) for i in them]), price="0.01 USD")
        answers = life.answer("large", source, oracle=oracle, agree=0.9, random_state=0)
        spent = life.balance().spent
        assert spent == pytest.approx(0.01 * answers.by_oracle.sum())
        assert life.bill().cost.sum() == pytest.approx(spent)
    with thrifty.Lifetime.open(store) as life:
        before = len(ask.asked)
        life.answer("large", source, oracle=oracle, agree=0.8, random_state=3)
        assert life.balance().spent == pytest.approx(0.01 * len(ask.asked))
        assert len(set(ask.asked)) == len(ask.asked) >= before


def test_filters_promise_precision_and_recall(life):
    X, y = made()
    answers = life.answer(
        "large", X, oracle=thrifty.Oracle(Counting(y)), precision=0.95, recall=0.95, random_state=0
    )
    chosen = answers.values.astype(bool)
    assert y[chosen].mean() >= 0.95 and chosen[y].mean() >= 0.95
    assert [c.target for c in answers.certificates] == [
        "recall 0.95 of True",
        "precision 0.95 of True",
    ]


def test_classes_are_words_too():
    X, y = made()
    words = np.where(y, "large", "small")
    life = thrifty.Lifetime(prices=0)
    life.learn("size", X[:300], words[:300])
    oracle = thrifty.Oracle(Counting(words), classes=["small", "large"])
    answers = life.answer("size", X, oracle=oracle, agree=0.95, random_state=0)
    assert np.mean(answers.values == words) >= 0.95
    found = life.answer("size", X, oracle=oracle, recall=0.9, of="large", random_state=0)
    assert np.mean(found.values[words == "large"] == "large") >= 0.9
    with pytest.raises(errors.BadParameter, match="of= names the class"):
        life.answer("size", X, oracle=oracle, recall=0.9)
    with pytest.raises(errors.BadInput, match="same classes"):
        life.answer("size", X, oracle=thrifty.Oracle(Counting(y)), agree=0.9)


def test_labels_given_beside_cost_nothing(life):
    X, y = made()
    ask = Counting(y)
    known = {row: bool(y[row]) for row in range(400)}
    oracle = thrifty.Oracle(ask, price=1, known=known)
    answers = life.answer("large", X, oracle=oracle, agree=0.95, random_state=0)
    assert answers.by_oracle[:400].all() and min(ask.asked) >= 400
    assert answers.certificate.known == 400
    one = thrifty.Oracle(ask, known={ask.asked[0]: not y[ask.asked[0]]})
    with pytest.raises(errors.BadInput, match="was paid for saying"):
        life.answer("large", X, oracle=one, agree=0.95)


def test_money_that_ends_before_a_certificate_is_said_and_kept(life):
    X, y = made()
    ask = Counting(y)
    oracle = thrifty.Oracle(ask, price="0.01 USD")
    with pytest.raises(errors.BudgetExceeded, match="before a certificate") as caught:
        life.answer("large", X, oracle=oracle, agree=0.95, spend="0.1 USD", random_state=0)
    assert len(caught.value.prediction) == len(X)
    assert life.balance().spent <= 0.1 + 1e-9
    assert life.balance().spent == pytest.approx(0.01 * len(ask.asked))
    assert life.bill().cost.sum() == pytest.approx(life.balance().spent)


def test_what_an_oracle_may_do_wrong(life):
    X, _ = made()

    def another(rows: list) -> list:
        return ["perhaps"] * len(rows)

    with pytest.raises(errors.MalformedAnswer):
        life.answer("large", X, oracle=thrifty.Oracle(another), agree=0.9)

    def refuses(rows: list) -> list:
        raise thrifty.errors.NotBilled("closed")

    oracle = thrifty.Oracle(refuses, name="closed", attempts=1)
    with pytest.raises(errors.ProviderError):
        life.answer("large", X, oracle=oracle, agree=0.9)

    def breaks(rows: list) -> list:
        raise OSError("broken off")

    with pytest.raises(errors.PurchaseInDoubt):
        life.answer("large", X, oracle=thrifty.Oracle(breaks, name="broken"), agree=0.9)


def test_a_slow_oracle_is_in_doubt(life):
    X, _ = made()

    def slow(rows: list) -> list:
        time.sleep(1.0)
        return [True] * len(rows)

    oracle = thrifty.Oracle(slow, name="slow", timeout=0.2, attempts=1)
    with pytest.raises(errors.PurchaseInDoubt):
        life.answer("large", X, oracle=oracle, agree=0.9)


def test_an_oracle_that_fails_on_some_rows_for_good(life):
    X, y = made()
    ask = Counting(y)

    def fails(rows: list) -> list:
        if any(int(row) % 7 == 0 for row in rows):
            raise thrifty.errors.NotBilled("unreadable")
        return ask(rows)

    more = {"price": 1, "max_examples": 1, "attempts": 1, "on_failure": "gap", "tries": 1}
    oracle = thrifty.Oracle(fails, name="some", **more)
    learned = life.learn("other", X, oracle, spend=150)
    assert not (learned.labelled.rows % 7 == 0).any() and len(ask.asked) <= 150
    assert (learned.labelled.values == y[learned.labelled.rows]).all()
    with pytest.raises(errors.ProviderError, match="no label for"):
        life.answer("other", X, oracle=oracle, agree=0.99, random_state=0)


@pytest.mark.parametrize(("rows", "said"), [(40, True), (400, False)])
def test_fewer_rows_than_a_certificate_needs_are_said_with_how_many_it_takes(life, rows, said):
    """Of 59 rows without an error it follows, with confidence .95, that 95 in 100 are right."""
    X, y = made(rows)
    answers = life.answer(
        "large", X, oracle=thrifty.Oracle(Counting(y)), agree=0.95, random_state=0
    )
    assert ("checked on 59 of them" in str(answers)) is said
    assert (f"{rows} rows are few" in str(answers)) is said
    assert np.mean(answers.values == y) >= 0.95


def test_bad_input(life):
    X, y = made(100)
    oracle = thrifty.Oracle(Counting(y))
    for given, error, said in (
        ({"oracle": oracle}, errors.BadParameter, "agree="),
        ({"oracle": oracle, "agree": 0.9, "confidence": 1.0}, errors.BadParameter, "confidence"),
        ({"known": [True], "agree": 0.9}, errors.BadInput, "one label per row"),
        ({"known": {0: "x"}, "agree": 0.9}, errors.BadInput, "classes are"),
    ):
        known = {"known": given.pop("known")} if "known" in given else {}
        with pytest.raises(error, match=said):
            life.answer("large", X, **{"oracle": thrifty.Oracle(Counting(y), **known), **given})
    for asked, more, said in (
        (Counting(y), {"classes": ["a", "a"]}, "distinct classes"),
        ("nobody", {}, "function"),
        (thrifty.Question("Is it wet?"), {}, "texts="),
        (thrifty.Question("How many?", "number"), {"texts": ["a"], "server": print}, "a number"),
    ):
        with pytest.raises(errors.BadInput, match=said):
            thrifty.Oracle(asked, **more)
    everything = life.answer("large", X, oracle=oracle, agree=1.0)
    assert everything.by_oracle.all() and "for certain" in str(everything)


def test_precision_of_one_class_of_several_rests_on_that_class_alone():
    """Labels of rows that are answered wrongly with other classes bring no credit."""
    rng = np.random.default_rng(0)
    n = 900
    y = np.where(rng.random(n) < 0.4, "a", np.where(rng.random(n) < 0.5, "b", "c"))
    learned_as = np.array([{"a": "a", "b": "c", "c": "b"}[label] for label in y])
    shown = np.where((y != "a") & (rng.random(n) < 0.2), "a", y)  # some b and c look like a
    X = np.column_stack([shown == word for word in "abc"]).astype(float)
    life = thrifty.Lifetime(prices=0)
    life.learn("word", X[:300], learned_as[:300])
    rest, truth = X[300:], y[300:]
    others = {row: truth[row] for row in range(600) if shown[300 + row] != "a"}
    oracle = thrifty.Oracle(
        lambda rows: [truth[int(row)] for row in rows], classes=["a", "b", "c"], known=others
    )
    missed = 0
    for seed in range(10):
        found = life.answer("word", rest, oracle=oracle, precision=0.9, of="a", random_state=seed)
        missed += (truth[found.values == "a"] == "a").mean() < 0.9
        life = thrifty.Lifetime(prices=0)  # labels that were bought would be known
        life.learn("word", X[:300], learned_as[:300])
    assert missed <= 2, missed
