"""The provider: a process of its own behind loopback HTTP, which bills, and never forgets.

Every bill is one line, written and synced before the answer leaves. It refuses, cuts the connection
before or after billing, answers nonsense, and is slow, at random; a key it has seen is not billed
again. It shares no code with the ledger: prices are its own sums (:class:`Contract`).
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.tribunal.chat_process import Chat
from tests.tribunal.rooms import LABEL, Contract, Room, amount, said
from thrifty.cells.sources.answered import FAILED
from thrifty.typing import Fields, JsonLike


@dataclass(frozen=True, slots=True)
class Faults:
    """How often a call ends badly: shares of all calls."""

    refused: float = 0.25
    cut: float = 0.10
    malformed: float = 0.05
    slow: float = 0.05

    def scaled(self, share: float) -> Faults:
        """The same kinds, less often."""
        return Faults(*(share * getattr(self, kind) for kind in self.__slots__))


@dataclass(frozen=True, slots=True)
class Billed:
    """What came of a call: what each example that was billed cost, and which have no value."""

    costs: Mapping[str, int]
    #: example to one of FAILED
    failed: Mapping[str, str] = field(default_factory=dict)
    #: examples that cost nothing by the contract
    free: tuple[str, ...] = ()

    def told(self, examples: list[str]) -> list[str]:
        """What is said of the cost of each: of one that nobody can tell of, nothing."""
        known = {e: c for e, c in self.costs.items() if self.failed.get(e) != "unknown"}
        return [amount(known.get(example, 0)) for example in examples]


class Biller:
    """What was billed, for one room."""

    def __init__(self, room: Room, faults: Faults, seed: int) -> None:
        self.room, self.faults, self.chance = room, faults, random.Random(seed)
        self.calm = False
        self.lock = threading.Lock()
        self.active: set[int] = set()
        self.keys: dict[str, Billed] = {}
        self.drawn: set[tuple[int, str]] = set()
        self.chat = Chat(self)
        self.log = os.open(room.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, line: JsonLike) -> None:
        os.write(self.log, json.dumps(line).encode() + b"\n")
        os.fsync(self.log)

    def fault(self) -> tuple[str, float]:
        """What becomes of this call, and how long it takes first."""
        with self.lock:
            at, wait = self.chance.random(), self.chance.random()
            seconds = self.chance.uniform(0.0, 0.01)
        if self.calm:
            return "", 0.0
        if wait < self.faults.slow:
            seconds = self.room.timeout * (0.1 + 1.4 * wait / self.faults.slow)  # some too long
        for name in ("refused", "cut", "malformed"):
            share = getattr(self.faults, name)
            if at < share:
                return (name if name != "cut" or at < share / 2 else "cut after"), seconds
            at -= share
        return "", seconds

    def wait(self, seconds: float) -> None:
        """Be slow, and write it down."""
        if seconds > 0.01:
            with self.lock:
                self.write({"fault": "slow"})
        time.sleep(seconds)

    def failing(self, examples: list[str]) -> dict[str, str]:
        """Of some calls about several examples one that has no answer, and what is said of it."""
        with self.lock:
            some = self.room.parts and len(examples) > 1 and self.chance.random() < 0.25
            if not some or self.calm:
                return {}
            return {self.chance.choice(examples): self.chance.choice(FAILED)}

    def bill(self, asked: JsonLike, fault: str, failed: Mapping[str, str]) -> Billed:
        """Write down what is billed, once for a key; what came of the call.

        What is said to be unknown was billed one time in two. An example that was billed without an
        answer owes its fees again.
        """
        key, contract = asked["key"], self.room.contracts[asked["contract"]]
        with self.lock:
            if key is not None and key in self.keys:
                again = {"ids": asked["ids"], "names": asked["names"], "calm": self.calm}
                self.write({"fault": fault, "repeated": key, **again})
                return self.keys[key]
            costs: dict[str, int] = {}
            free: list[str] = []
            for example in asked["ids"]:
                word = failed.get(example, "")
                if word == "not-billed" or (word == "unknown" and self.chance.random() < 0.5):
                    continue
                drawn = self.drawn.copy() if word == "billed" else self.drawn
                cost = sum(contract.own.get(name, LABEL) for name in asked["names"])
                cost -= self.discount(contract, example, asked["names"], drawn)
                for fee, members in contract.once:
                    mark = (hash(members), example)
                    if mark not in drawn and set(members) & set(asked["names"]):
                        drawn.add(mark)
                        cost += fee
                costs[example] = self.really(cost)
                free += [example] if not cost else []
            made = Billed(costs, failed, tuple(free))
            self._note(made, asked["names"], fault, key)
            if key is not None:
                self.keys[key] = made
            return made

    def note(self, ids: list[str], names: list[str], amount: int, fault: str) -> None:
        """Write a bill down."""
        with self.lock:
            self._note(Billed(dict(zip(ids, [amount] + [0] * len(ids)))), names, fault, None)

    def _note(self, made: Billed, names: list[str], fault: str, key: str | None) -> None:
        costs = dict(made.costs)
        line = {"t": time.time(), "key": key, "ids": list(costs), "names": names, "costs": costs}
        failed = {"failed": dict(made.failed)} if made.failed else {}
        free = {"free": list(made.free)} if made.free else {}
        fault = fault or "".join(f"in part, {word}" for word in made.failed.values())
        amount = sum(costs.values())
        self.write({**line, **failed, **free, "amount": amount, "fault": fault, "calm": self.calm})

    def discount(
        self, contract: Contract, example: str, names: list[str], drawn: set[tuple[int, str]]
    ) -> int:
        """What is taken off tests of a group; the first pays in full, the one that loses least."""
        off = {n: contract.own[n] - contract.less[n] for n in names if n in contract.less}
        if not off:
            return 0
        first = (hash("group"), example) not in drawn
        drawn.add((hash("group"), example))
        return sum(off.values()) - (min(off.values()) if first else 0)

    def really(self, listed: int) -> int:
        """What is billed, where it may be something else than the list says.

        What is free stays free: a free call whose end nobody knows is asked again, until a bill
        beyond the list has come (tests/cells/test_failures.py).
        """
        if self.calm or not listed:
            return listed
        if self.room.says == "below":
            return max(0, listed - self.chance.randrange(90_000))
        if self.room.says == "above" and self.chance.random() < 0.3:
            return listed + self.chance.randrange(1, 2_000_000)
        return listed

    def answer(self, asked: JsonLike, fault: str) -> object:
        room = self.room
        values: list[list[object]] = [
            [said(room, e, f) for f in asked["names"]] for e in asked["ids"]
        ]
        if fault != "malformed":
            return values
        with self.lock:
            kind = self.chance.randrange(5)
        if kind == 0:
            return [[*row, 1] for row in values]
        if kind == 1:
            return values[:-1]
        if kind == 2:
            return [[float("inf"), *row[1:]] for row in values]
        return [["yes", *row[1:]] for row in values] if kind == 3 else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, biller: Biller) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.biller = biller

    def process_request(self, request: Any, client_address: Any) -> None:
        # Marked in the order of arrival, so that "quiet" knows of every call before it.
        self.biller.active.add(id(request))
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.biller.active.discard(id(request))

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that was killed says nothing more; that is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._tell(self.server.biller.chat.looked_at(self.path))

    def do_POST(self) -> None:
        biller = self.server.biller
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/v1/"):
            self._tell(biller.chat.asked(self.path, raw))
            return
        asked = json.loads(raw)
        if self.path == "/quiet":
            before = set(biller.active) - {id(self.request)}
            while before & biller.active:
                time.sleep(0.005)
            self._say(200, {})
        elif self.path == "/calm":
            biller.calm = True
            self._say(200, {})
        else:
            self._cells(biller, asked)

    def _cells(self, biller: Biller, asked: JsonLike) -> None:
        fault, seconds = biller.fault()
        biller.wait(seconds)
        if fault in ("refused", "cut"):
            with biller.lock:
                biller.write({"fault": fault})
            if fault == "refused":
                self._say(503, {})
            return
        failed = {} if fault else biller.failing(asked["ids"])
        made = biller.bill(asked, fault, failed)
        if fault == "cut after":
            return
        told = None if biller.room.says == "no" else made.told(asked["ids"])
        ends = [made.failed.get(e, "") for e in asked["ids"]] if made.failed else None
        values = biller.answer(asked, fault)
        self._say(200, {"values": values, "costs": told, "failed": ends})

    def _tell(self, reply: tuple[int, object]) -> None:
        if reply[0]:  # 0: cut
            self._say(*reply)

    def _say(self, status: int, data: object) -> None:
        body = data.encode() if isinstance(data, str) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the screen."""


def begin_billing(room: Room, faults: Faults, seed: int) -> tuple[int, int]:
    """Fork a provider for this room; (process number, port)."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        with os.fdopen(reads) as told:
            return pid, int(told.readline())
    try:
        os.close(reads)
        server = _Server(Biller(room, faults, seed))
        os.write(writes, f"{server.server_address[1]}\n".encode())
        os.close(writes)
        server.serve_forever(poll_interval=0.5)
    finally:
        os._exit(1)


def tell(port: int, what: str) -> None:
    """Ask the provider to finish what it has begun (quiet), or to make no more faults (calm)."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", f"/{what}", b"{}")
    connection.getresponse().read()
    connection.close()


def read_log(path: Path) -> list[Fields]:
    """Every line of a provider's log; the last may be half written."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]
