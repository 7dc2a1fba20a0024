"""The bank keeps its server busy: connections that are kept, sums that are written once."""

import asyncio
import json
import socket
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import thrifty
from thrifty.errors import BudgetExceeded, NotBilled, PurchaseInDoubt
from thrifty.protocol import Cells
from thrifty.testing import LocalChatServer

BODY = json.dumps(
    {"model": "m", "choices": [{"message": {"content": '{"1": "yes"}'}}],
     "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
).encode()  # fmt: skip
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@contextmanager
def raw_server(*replies: bytes, close: bool = False):
    """Answers the requests of any connection with these bytes in turn, the last one for ever."""
    listening = socket.create_server(("127.0.0.1", 0))
    left, opened = list(replies), []

    def talk(line: socket.socket) -> None:
        with line:
            while True:
                got = b""
                while b"\r\n\r\n" not in got:
                    some = line.recv(65536)
                    if not some:
                        return
                    got += some
                head, _, body = got.partition(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                while len(body) < size:
                    body += line.recv(65536)
                line.sendall(left.pop(0) if len(left) > 1 else left[0])
                if close:
                    return

    def serve() -> None:
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            opened.append(line)
            threading.Thread(target=talk, args=(line,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", opened
    finally:
        listening.close()


def answers(url: str, n: int = 3) -> np.ndarray:
    chat = thrifty.ChatServer("m", rates=thrifty.Rates(1, 1), base_url=url, key_from=None)
    bank = thrifty.Source.from_questions([f"t{i}" for i in range(n)], ["Is it?"], ask=chat)
    return Cells(bank, ledger=thrifty.Lifetime().ledger, task="t").get(range(n), [0])


@pytest.mark.parametrize(
    "reply",
    [
        SIZED.replace(b"\r\n", b"\r\nConnection: close\r\n", 1),
        b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    ],
    ids=["sized", "until it closes", "HTTP/1.0"],
)
def test_a_server_that_closes_after_each_reply_is_opened_again(reply):
    with raw_server(reply, close=True) as (url, opened):
        assert (answers(url, 4) == 1).all()
        assert len(opened) == 4


def test_a_connection_that_was_closed_or_idle_is_not_used_again(monkeypatch):
    """One that is used while its server closes it ends in doubt: nobody knows what was billed."""

    async def two(url, wait=0.0):
        chat = thrifty.ChatServer("m", base_url=url, key_from=None)
        async with chat.connected():
            for _ in range(2):
                await chat("Is it?")
                await asyncio.sleep(wait)  # until a closing has arrived

    with raw_server(SIZED, close=True) as (url, opened):
        asyncio.run(two(url, 0.2))
        assert len(opened) == 2
    with raw_server(SIZED) as (url, opened):
        asyncio.run(two(url))
        assert len(opened) == 1
        monkeypatch.setattr("thrifty.cells.sources.chat._IDLE", 0.0)
        asyncio.run(two(url, 0.01))
        assert len(opened) == 3


def test_a_reply_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("thrifty.cells.sources.chat._MOST_BYTES", len(BODY) - 1)
    with raw_server(SIZED) as (url, _), pytest.raises(PurchaseInDoubt):
        answers(url, 1)


@pytest.mark.parametrize(
    "reply",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", b"SSH-2.0\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
     b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"],
)  # fmt: skip
def test_a_reply_that_is_none_leaves_the_purchase_in_doubt(reply):
    with raw_server(reply, close=True) as (url, _), pytest.raises(PurchaseInDoubt):
        answers(url, 1)


def test_a_line_break_in_a_header_is_refused_before_anything_is_sent(monkeypatch):
    monkeypatch.setenv("A_KEY", "a\r\nX: y")
    with raw_server(SIZED) as (url, _), pytest.raises(NotBilled, match="line break"):
        chat = thrifty.ChatServer("m", base_url=url, key_from="A_KEY")
        asyncio.run(chat("Is it?"))


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    with LocalChatServer(lambda text, question: "yes") as server:
        # it sees whole addresses instead of paths, as a proxy does
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        assert (answers("http://model.invalid/v1") == 1).all()
        assert len(server.requests) == 3


def test_sums_written_together_are_those_written_one_by_one():
    def book(pages, *, together):
        def moves():
            pages.move("a", 5, 0)
            pages.add_example_costs(np.array([3], np.int32), np.array([5]))
            pages.add_example_costs(np.array([3, 2000], np.int32), np.array([1, 2]))
            pages.move("a", -5, 4, over=2)
            seen = pages.balance(None), pages.balance("a"), pages.over()
            try:
                with pages.savepoint():
                    pages.move("a", 100, 0, over=9)
                    pages.add_example_costs(np.array([3], np.int32), np.array([50]))
                    raise BudgetExceeded("no")
            except BudgetExceeded:
                pass
            return seen

        if not together:
            seen = moves()
        else:
            with pages.together():
                seen = moves()
        costs = pages.example_costs(np.array([3, 2000], np.int32)).tolist()
        return seen, pages.balance(None), pages.balance("a"), pages.over(), costs

    found = []
    for together in (False, True):
        ledger = thrifty.Lifetime().ledger
        found.append(ledger.book.write(lambda pages, t=together: book(pages, together=t)))
    assert found[0] == found[1]
    assert found[1] == (((0, 4), (0, 4), 2), (0, 4), (0, 4), 2, [6, 2])


def test_what_begins_at_once_is_looked_at_once_and_again_before_another_try():
    """A look is good for one try: a purchase that somebody else took meanwhile is not called."""
    life, asked, looks = thrifty.Lifetime(), [], []

    async def ask(prompt):
        asked.append(prompt)
        if len(asked) == 7:  # six have begun; the first is taken over by somebody far away
            life.ledger.book.write(lambda pages: pages.claim(2, "far/1/1/1", 0.0))
        if 2 <= len(asked) <= 7:
            raise NotBilled("busy")
        return '{"1": "yes"}'

    texts = [f"text {i}" for i in range(7)]
    rates = thrifty.Rates(1, 1)
    bank = thrifty.Source.from_questions(texts, ["Is it?"], ask=ask, rates=rates, concurrency=6)
    cells = Cells(bank, ledger=life.ledger, task="t")
    cells.get([0], [0])  # the first question is put alone
    read = life.ledger.book.read
    life.ledger.book.read = lambda work: (looks.append(work), read(work))[1]
    with pytest.raises(PurchaseInDoubt):
        cells.get(range(7), [0])
    assert [sum(text in prompt for prompt in asked) for text in texts] == [1, 1, 2, 2, 2, 2, 2]
    assert len(looks) <= 8
