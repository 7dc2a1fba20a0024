"""Clients that send nonsense, hang up, dawdle or contradict themselves: none gets a traceback."""

import os
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from starlette.testclient import TestClient

import thrifty
from thrifty.service.app import make_app
from thrifty.service.interview import Interviews

TOKEN, PORT = "a-token-of-tests", 8711
NAMES = [f"t{j}" for j in range(4)]
VALUES = dict(zip(NAMES, [0.2, 1.5, -0.3, 0.9]))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A store with one task of four priced numbers."""
    import pandas

    where = tmp_path_factory.mktemp("served") / "clinic.db"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 1] + X[:, 3] + 0.3 * rng.normal(size=200) > 0).astype(int)
    life = thrifty.Lifetime(store=where, prices=dict.fromkeys(NAMES, 3), random_state=0)
    life.learn("ill", pandas.DataFrame(X, columns=NAMES), y, spend="90 %")
    life.close()
    return where


@pytest.fixture
def client(place):
    app = make_app(Interviews(thrifty.Lifetime.open(place), "form"), TOKEN, PORT)
    sent = {"Authorization": f"Bearer {TOKEN}"}
    here = f"http://127.0.0.1:{PORT}"
    return TestClient(app, base_url=here, headers=sent, raise_server_exceptions=False)


def values(text: str) -> bytes:
    return b'{"task": "ill", "values": {"t1": %s}}' % text.encode()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"[" * 200_000, "sent as JSON"),
        (b'{"a":' * 200_000, "sent as JSON"),
        (b'{"task": "ill", "sure": 1%s}' % (b"0" * 400), "sure must be"),
        (b'{"task": "ill", "per_row": 1%s}' % (b"0" * 400), "per_row must be"),
        (b'{"task": "ill", "per_row": NaN}', "sent as JSON"),
        (values("1" + "0" * 400), "t1"),
        (values("1e400"), "t1"),
        (values("Infinity"), "sent as JSON"),
        (b'{"task": "ill", "id": "\\ud800", "values": {"t1": 1}}', "id"),
        (b'{"task": "ill", "id": "a\\u0000b", "values": {"t1": 1}}', "id"),
    ],
    ids=["lists", "objects", "sure", "per_row", "nan", "digits", "1e400", "inf", "half", "zero"],
)
def test_what_cannot_be_read_is_the_clients_fault(client, sent, words):
    reply = client.post("/row", content=sent)
    assert reply.status_code == 400 and words in reply.json()["error"]


def test_a_word_for_a_number_is_refused_as_input_and_nothing_is_called_spent(client):
    """The rehearsal's ledger in memory bought it; no purchase that a user could resolve did."""
    reply = client.post("/row", content=values('"high"'))
    said = reply.json()["error"]
    assert reply.status_code == 400 and "t1" in said and "high" in said
    assert "spent" not in said and "resolve" not in said and "urchase" not in said


def test_another_value_of_a_known_id_is_refused(client):
    def send(**other):
        row = {"task": "ill", "id": "ann", "values": {**VALUES, **other}}
        return client.post("/row", json=row)

    first = send()
    assert first.status_code == 200 and first.json()["cost"] > 0
    reply = send(t1=-1.5)
    assert reply.status_code == 409
    assert all(word in reply.json()["error"] for word in ("ann", "t1", "1.5", "-1.5"))
    again = send().json()
    assert again["cost"] == 0 and again["value"] == first.json()["value"]
    assert client.post("/row", json={"task": "ill", "id": "ann"}).status_code == 200


@pytest.fixture(scope="module")
def server(place, tmp_path_factory):
    """``serve`` in a process of its own, with clients given a second; (port, its stderr)."""
    said = tmp_path_factory.mktemp("said") / "stderr"
    code = (
        "import sys, thrifty; from thrifty.service.app import serve\n"
        f"life = thrifty.Lifetime.open({str(place)!r})\n"
        "serve(life, port=0, patience=1.0, announce=lambda a, t: print(a, flush=True))"
    )
    with said.open("w") as stderr:
        there = {**os.environ, "THRIFTY_TOKEN": TOKEN}
        heard = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True}
        process = subprocess.Popen([sys.executable, "-c", code], env=there, **heard)
        port = int(process.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
        yield port, said
        process.terminate()
        process.wait(20)


def head(port: int, length: int) -> bytes:
    return (
        f"POST /row HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def answers(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 5) as one:
        body = b'{"task": "ill"}'
        one.sendall(head(port, len(body)) + body)
        return one.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_client_that_hangs_up_leaves_no_traceback(server):
    port, said = server
    for sent in (head(port, 1000) + b'{"task": ', head(port, 1000)[:40], b""):
        with socket.create_connection(("127.0.0.1", port), 5) as gone:
            gone.sendall(sent)
    time.sleep(0.3)
    assert answers(port)
    assert "Traceback" not in said.read_text()


@pytest.mark.parametrize("sent", ["body", "head", "nothing", "second"])
def test_a_client_that_dawdles_is_let_go(server, sent):
    port, said = server
    whole = b'{"task": "ill"}'
    begun = {
        "body": head(port, 1000) + b"{",
        "head": head(port, 1000)[:40],
        "nothing": b"",
        "second": head(port, len(whole)) + whole + head(port, 1000) + b"{",
    }[sent]
    with socket.create_connection(("127.0.0.1", port), 5) as slow:
        slow.settimeout(10)
        slow.sendall(begun)
        start, ended = time.monotonic(), False
        while not ended and time.monotonic() - start < 8:
            if sent != "nothing":
                try:
                    slow.sendall(b" " if sent != "head" else b"a")
                except OSError:
                    break
            slow.settimeout(0.2)
            try:
                ended = slow.recv(4096) == b""
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - start < 8, "it is still waited for"
    assert answers(port)
    assert "Traceback" not in said.read_text()
