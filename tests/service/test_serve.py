"""The service: rows are answered and asked about, booked once, and only for who has the token."""

import numpy as np
import pytest
from starlette.testclient import TestClient

import thrifty
from thrifty.service.app import make_app
from thrifty.service.interview import Interviews, Row

TOKEN, PORT = "a-token-of-tests", 8711
NAMES = [f"t{j}" for j in range(6)]


@pytest.fixture
def life(tmp_path):
    """A lifetime of a laboratory: an order of three, a fee, single tests."""
    prices = thrifty.PriceList(
        dict.fromkeys(NAMES, 3), orders={"panel": (5, NAMES[:3])}, fees={"draw": (2, NAMES[:4])}
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 1] + X[:, 4] + 0.3 * rng.normal(size=300) > 0).astype(int)
    life = thrifty.Lifetime(store=tmp_path / "clinic.db", prices=prices, random_state=0)
    import pandas

    life.learn("ill", pandas.DataFrame(X, columns=NAMES), y, spend="60 %")
    return life


@pytest.fixture
def client(life):
    app = make_app(Interviews(life, "form"), TOKEN, PORT)
    return TestClient(
        app, base_url=f"http://127.0.0.1:{PORT}", headers={"Authorization": f"Bearer {TOKEN}"}
    )


def interview(client, id, truth, **more):
    """Ask, answer, ask, ... until there is an answer; how often, and the answer."""
    told, times = {}, 0
    while True:
        reply = client.post("/row", json={"task": "ill", "id": id, "values": told, **more})
        assert reply.status_code == 200, reply.text
        said = reply.json()
        if "next" not in said:
            return times, told, said
        assert said["next"] and not set(said["next"]) & set(told)
        told |= {name: truth[name] for name in said["next"]}
        times += 1
        assert times < 20


def test_an_interview_ends_in_the_prediction_of_the_lifetime_and_is_booked_once(client, life):
    truth = dict(zip(NAMES, [0.2, 1.5, -0.3, 0.1, 0.9, -1.0]))
    before = life.balance().spent
    times, _, said = interview(client, "ann", truth)
    assert times >= 1 and said["value"] == 1 and said["stopped"] == "finished"
    paid = life.balance().spent - before
    assert paid == pytest.approx(said["cost"]) and paid > 0
    row = np.array([[truth[name] for name in life["ill"].model.feature_names_]])
    direct = life["ill"].model.predict_proba(row)[0]
    assert np.allclose(said["probabilities"], direct)
    _, _, again = interview(client, "ann", truth)
    assert again["cost"] == 0 and life.balance().spent - before == pytest.approx(paid)


def test_asking_books_nothing(client, life):
    before, rows = life.balance().spent, len(life._bill_rows())
    said = client.post("/row", json={"task": "ill", "id": "bob"}).json()
    assert said["next"] and "value" not in said
    assert life.balance().spent == before and len(life._bill_rows()) == rows


def test_who_is_sure_is_asked_less(client):
    truth = dict(zip(NAMES, [0.0, 4.0, 0.0, 0.0, 4.0, 0.0]))
    _, told, said = interview(client, "cyd", truth, sure=0.6)
    _, all_told, _ = interview(client, "dan", truth)
    assert len(told) < len(all_told) and said["stopped"] == "sure"


def test_a_known_gap_is_an_answer(client):
    truth = dict.fromkeys(NAMES)
    _, _, said = interview(client, "eve", truth)
    assert 0 <= said["probabilities"][1] <= 1


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        (b"{", 400, "sent as JSON"),
        (b'{"task": "ill", "extra": 1}', 400, "an object with"),
        (b'{"values": {}}', 400, "task must be"),
        (b'{"task": "ill", "values": {"t0": [1]}}', 400, "values must be"),
        (b'{"task": "ill", "values": {"nothing": 1}}', 400, "no feature 'nothing'"),
        (b'{"task": "ill", "sure": "very"}', 400, "sure must be a number"),
        (b'{"task": "ill", "sure": 7}', 400, "7"),
        (b'{"task": "other"}', 404, "other"),
        (b" " * 1_000_001, 413, "at most"),
    ],
)
def test_what_is_wrong_is_said(client, sent, status, words):
    reply = client.post("/row", content=sent)
    assert reply.status_code == status and words in reply.json()["error"]


def test_only_with_the_token_and_at_this_address(client):
    for headers in ({"Authorization": "Bearer other"}, {"Authorization": TOKEN}):
        assert client.get("/tasks", headers=headers).status_code == 403
        assert client.post("/row", json={"task": "ill"}, headers=headers).status_code == 403
    assert client.get("/tasks", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/tasks").json()[0]["task"] == "ill"


def test_the_description_names_every_address(client):
    told = client.get("/openapi.json").json()
    assert set(told["paths"]) == {"/tasks", "/row"} and told["openapi"].startswith("3.1")
    page = client.get("/").text
    assert "POST /row" in page and "per_row" in page


def test_many_at_once_pay_once(life):
    from concurrent.futures import ThreadPoolExecutor

    rows = Interviews(life, "form")
    values = dict(zip(NAMES, [0.2, 1.5, -0.3, 0.1, 0.9, -1.0]))
    before = life.balance().spent
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda i: rows.answer("ill", Row(f"p{i % 2}", values)), range(12)))
    costs = sorted(one["cost"] for one in said)
    assert sum(cost > 0 for cost in costs) == 2
    assert life.balance().spent - before == pytest.approx(sum(costs))


def wait_together(rows, requests):
    """The replies to requests that all wait when the worker comes to them."""
    from threading import Event

    go = Event()
    rows._worker.submit(go.wait)
    replies = [rows.submit("ill", row) for row in requests]
    go.set()
    return replies


def test_rows_that_wait_are_one_purchase_and_are_told_apart(life):
    rows = Interviews(life, "form")
    values = np.random.default_rng(5).normal(size=(6, 6))
    told = [dict(zip(NAMES, row)) for row in values.tolist()]
    before, runs = life.balance().spent, len(life._bill_rows())
    some = [Row(f"p{i}", row) for i, row in enumerate(told)]
    replies = wait_together(rows, [*some, Row("new", {}), Row("p0", told[0])])
    *said, asked, again = [reply.result(60) for reply in replies]
    assert len(life._bill_rows()) == runs + 1
    direct = life["ill"].model.predict_proba(values)
    assert np.allclose([one["probabilities"] for one in said], direct)
    assert [one["id"] for one in said] == [f"p{i}" for i in range(6)]
    assert life.balance().spent - before == pytest.approx(sum(one["cost"] for one in said))
    assert len({one["cost"] for one in said}) == 1 and said[0]["cost"] > 0
    assert asked["next"] and asked["id"] == "new"
    assert again["cost"] == 0 and again["value"] == said[0]["value"]


def test_a_row_that_is_wrong_fails_alone(life):
    rows = Interviews(life, "form")
    good = dict(zip(NAMES, [0.2, 1.5, -0.3, 0.1, 0.9, -1.0]))
    replies = wait_together(
        rows, [Row("a", good), Row("b", {**good, NAMES[1]: "high"}), Row("c", {"no": 1})]
    )
    assert replies[0].result(60)["value"] == 1
    with pytest.raises(thrifty.errors.ThriftyError, match="high"):
        replies[1].result(60)
    with pytest.raises(thrifty.errors.BadInput, match="no feature 'no'"):
        replies[2].result(60)
    assert life.ledger.open_purchases() == []


def test_a_client_that_is_gone_holds_nobody_up(life):
    rows = Interviews(life, "form")
    from threading import Event

    go = Event()
    rows._worker.submit(go.wait)
    gone, there = rows.submit("ill", Row("a", {})), rows.submit("ill", Row("b", {}))
    assert gone.cancel()
    go.set()
    assert there.result(60)["next"]


def test_what_is_owned_leaves_money_for_more_and_that_is_asked_for(life):
    """A limit buys half of it; the second time that half is owned, and the rest is wanted."""
    rows = Interviews(life, "form")
    truth = dict(zip(NAMES, [0.2, 1.5, -0.3, 0.1, 0.9, -1.0]))

    def interview():
        told = {}
        while "next" in (said := rows.answer("ill", Row("ann", told, per_row=7.0))):
            assert said["next"]
            told |= {name: truth[name] for name in said["next"]}
        return told, said

    first, _ = interview()
    second, _ = interview()
    assert set(first) < set(second)


def test_a_category_is_said_by_its_word_and_no_other_word_is_taken(tmp_path):
    import pandas

    rng = np.random.default_rng(1)
    ward = rng.choice(["a", "b", "c"], 200)
    table = pandas.DataFrame({"ward": ward, "age": rng.normal(size=200)})
    prices = thrifty.PriceList({"ward": 1, "age": 1})
    life = thrifty.Lifetime(store=tmp_path / "wards.db", prices=prices, random_state=0)
    life.learn("ill", table, (ward == "b").astype(int), spend="100 %")
    app = make_app(Interviews(life, "form"), TOKEN, PORT)
    sent = {"Authorization": f"Bearer {TOKEN}"}
    client = TestClient(app, base_url=f"http://127.0.0.1:{PORT}", headers=sent)
    replies = [
        client.post("/row", json={"task": "ill", "id": str(i), "values": {"ward": said}})
        for i, said in enumerate(["b", "d"])
    ]
    assert [reply.status_code for reply in replies] == [200, 400], replies[0].text
    assert "one of 'a', 'b', 'c'" in replies[1].text
