"""A provider that bills nobody: it counts what it would have billed and fails on demand.

A chat server on this machine: it bills, fails, limits the rate, and answers out of order.

Real HTTP in the shape of OpenAI's chat completions and batches, for tests and for trying out a bank
of questions without paying. It listens on the loopback alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from thrifty.cells.prices.money import Rates, estimated_tokens
from thrifty.cells.sources import Source
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadParameter, NotBilled, PurchaseFailed
from thrifty.typing import Fields, JsonLike

#: what a call can be made to do; see :class:`FakeProvider`
FAULTS = ("", "refuse", "fail", "error", "error-after", "slow", "slow-after")


@dataclass(slots=True)
class Bill:
    """What a provider has billed: how often each cell, in how many calls."""

    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: int = 0
    failed: int = 0

    @property
    def twice(self) -> list[tuple[str, str]]:
        """Cells that were billed more than once."""
        return sorted(cell for cell, times in self.cells.items() if times > 1)


class FakeProvider:
    """Answers from a rule, bills in a log, fails on demand.

    Parameters
    ----------
    value : callable or None
        ``value(example_id, feature_name)``, or None for a fixed pseudo-random 0 or 1
    idempotent : bool
        repeats the answer of a key it has seen, without billing again
    log : str, path or None
        a file to keep the bill in; it then survives a crash, and several processes share it
    faults : iterable or callable
        what to do on each call, in turn, or a function of the number of the call: ``"refuse"``
        (NotBilled), ``"fail"`` (PurchaseFailed), ``"error"`` (an exception, nothing billed),
        ``"error-after"`` (billed, then an exception), ``"slow"`` and ``"slow-after"`` (sleeps
        before, or after, billing), or any other object: billed, then answered with that
    seconds : float
        how long slow calls sleep
    delay : float
        how long every call takes

    See Also
    --------
    thrifty.Source.from_callable : a source that is paid for
    thrifty.testing.LocalChatServer : the same for questions

    Examples
    --------
    >>> provider = FakeProvider(lambda example, feature: len(feature) > 3)
    >>> provider(["p1", "p2"], ["tsh", "thyroid"])
    [[False, True], [False, True]]
    >>> provider.bill().calls, provider.bill().twice
    (1, [])
    """

    def __init__(
        self,
        value: Callable[[str, str], object] | None = None,
        *,
        idempotent: bool = False,
        log: str | os.PathLike[str] | None = None,
        faults: Iterable[object] | Callable[[int], object] = (),
        seconds: float = 1.0,
        delay: float = 0.0,
    ) -> None:
        self.value = value or pseudo_random
        self.idempotent, self.seconds, self.delay = idempotent, seconds, delay
        self._log = Path(log) if log is not None else None
        self._lines: list[Fields] = []
        self._faults = faults if callable(faults) else None
        self._in_turn = [] if callable(faults) else list(faults)
        self.calls = 0

    def source(
        self,
        examples: Iterable[object],
        features: Sequence[str],
        *,
        awaited: bool = False,
        **options: Any,
    ) -> CallableSource:
        """A source of this provider's cells; ``awaited``: through an async function."""
        options = {"idempotent": self.idempotent, "name": "provider", **options}

        async def later(ids: Sequence[object], names: Sequence[str]) -> object:
            return self(ids, names)

        fn: Callable[..., object] = self if self.idempotent else later if awaited else self.ask
        return Source.from_callable(fn, examples=examples, features=features, **options)

    def ask(self, ids: Sequence[object], names: Sequence[str]) -> object:
        """A call without a key."""
        return self(ids, names)

    def __call__(
        self, ids: Sequence[object], names: Sequence[str], idempotency_key: str | None = None
    ) -> object:
        fault = self._next_fault()
        if self.delay:
            time.sleep(self.delay)
        if fault == "refuse":
            raise NotBilled("the fake provider refuses")
        if fault == "error":
            raise RuntimeError("the fake provider broke down")
        if fault == "slow":
            time.sleep(self.seconds)
        if fault == "fail":
            self._write({"failed": True})
            raise PurchaseFailed("the fake provider tried and failed")
        answer = [[self.value(str(i), n) for n in names] for i in ids]
        if not (self.idempotent and idempotency_key and self._seen(idempotency_key)):
            self._write({"key": idempotency_key, "ids": [str(i) for i in ids], "names": [*names]})
        if fault == "error-after":
            raise ConnectionResetError("the fake provider broke down after billing")
        if fault == "slow-after":
            time.sleep(self.seconds)
        if isinstance(fault, str):
            return answer
        return fault(answer, ids, names) if callable(fault) else fault

    def _next_fault(self) -> object:
        number, self.calls = self.calls, self.calls + 1
        if self._faults is not None:
            fault = self._faults(number)
        else:
            fault = self._in_turn[number] if number < len(self._in_turn) else ""
        if isinstance(fault, str) and fault not in FAULTS:
            raise BadParameter(f"a fault must be one of {FAULTS} or an answer; got {fault!r}.")
        return fault

    # -- the bill -----------------------------------------------------------------------------

    def _write(self, line: JsonLike) -> None:
        if self._log is None:
            self._lines.append(dict(line))
            return
        # One write in append mode: lines of several processes do not mix.
        file = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)

    def _read(self) -> list[Fields]:
        if self._log is None:
            return self._lines
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def _seen(self, key: str) -> bool:
        return any(line.get("key") == key for line in self._read())

    def bill(self) -> Bill:
        """What was billed so far, by all processes that share the log."""
        bill = Bill()
        for line in self._read():
            if line.get("failed"):
                bill.failed += 1
                continue
            bill.calls += 1
            bill.cells.update((i, n) for i in line["ids"] for n in line["names"])
        return bill


def pseudo_random(example: str, feature: str) -> int:
    """0 or 1, the same in every process.

    >>> pseudo_random("p1", "tsh") == pseudo_random("p1", "tsh")
    True
    """
    return hashlib.blake2b(f"{example}\x00{feature}".encode(), digest_size=1).digest()[0] & 1


_TEXT = re.compile(r"<text>\n(.*)\n</text>\n(.*)", re.S)
_LINE = re.compile(r"^(\d+)\. (.*) \(([^()]*)\)$")


class _Server(ThreadingHTTPServer):
    """Takes many connections at once, as a real one does."""

    request_queue_size = 256


@dataclass(eq=False)
class LocalChatServer:
    """A server to use in a ``with`` block; ``url`` is its address.

    Parameters
    ----------
    answer : callable
        ``answer(text, question) -> value``, what it knows
    rates : Rates
        what it bills for tokens
    key : str or None
        the key that it wants, if any
    refuse : int
        so many of the first requests get 429, unbilled
    break_ : int
        so many of the following are billed and then broken off with 500
    garble : int
        so many of the following get a reply that is no answer, billed
    delay : callable
        ``delay(text) -> seconds`` before the reply, to mix up the order
    overcharge : float
        factor on the tokens that are billed
    trouble : mapping or None
        ``{"upload" | "submit" | "poll" | "download": [status, ...]}``: what the first polls of a
        batch get instead, in turn; 0 breaks the connection
    status : callable
        ``status(text) -> int`` for each request, alone or in a batch; other than 200 is unbilled
    ends : str
        how batches end: "completed", "expired", "failed", ...
    lose : callable
        ``lose(text) -> bool``: requests of a batch that are worked on, and then are in no file
    logprob : callable or None
        ``logprob(text) -> float`` of each token of an answer, given to whoever asks for
        log-probabilities; None: it gives none
    reasoning : int
        tokens of thoughts that it bills beside each answer; where ``max_tokens`` leaves no room
        for both, the reply is cut off
    heeds_limit : bool
        whether ``max_tokens`` ends a reply

    Examples
    --------
    >>> with LocalChatServer(lambda text, question: "yes") as server:
    ...     server.url.startswith("http://127.0.0.1:"), server.billed
    (True, 0)
    """

    answer: Callable[[str, str], object]
    _: KW_ONLY
    rates: Rates = field(default_factory=lambda: Rates("0.15 USD", "0.60 USD"))
    key: str | None = None
    refuse: int = 0
    break_: int = 0
    garble: int = 0
    delay: Callable[[str], float] = lambda text: 0.0
    confidence: float | None = None
    overcharge: float = 1.0
    trouble: Mapping[str, Sequence[int]] = field(default_factory=dict)
    status: Callable[[str], int] = lambda text: 200
    ends: str = "completed"
    lose: Callable[[str], bool] = lambda text: False
    logprob: Callable[[str], float] | None = None
    reasoning: int = 0
    heeds_limit: bool = True

    def __post_init__(self) -> None:
        self._trouble = {act: list(some) for act, some in self.trouble.items()}
        #: what it has billed, in minor units
        self.billed = 0
        #: (text, questions) of each request it worked on, in the order in which they came in
        self.requests: list[tuple[str, list[str]]] = []
        self.refused = 0
        #: connections that were opened
        self.connections = 0
        #: texts in the order in which replies went out
        self.replied: list[str] = []
        self._seen: set[str] = set()
        self._files: dict[str, str] = {}
        self._batches: dict[str, Fields] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> LocalChatServer:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                with server._lock:
                    server.connections += 1
                super().setup()

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                status, body = server._post(self.path, self.headers, self.rfile.read(size))
                self._write(status, body)

            def do_GET(self) -> None:
                self._write(*server._get(self.path))

            def _write(self, status: int, body: object) -> None:
                if status == 0:  # broken off
                    self.close_connection = True
                    return
                raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                """Silent."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    # -- what it does -------------------------------------------------------------------------

    def _post(self, path: str, headers: Message, raw: bytes) -> tuple[int, object]:
        if self.key is not None and headers.get("Authorization") != f"Bearer {self.key}":
            return 401, {"error": {"message": "no key"}}
        act = "upload" if path.endswith("/files") else "submit"
        in_the_way = self._in_the_way(act) if path.endswith(("/files", "/batches")) else None
        if in_the_way is not None:
            return in_the_way, {}
        if path.endswith("/files"):
            name = f"file-{len(self._files)}"
            self._files[name] = "\n".join(
                line for line in raw.decode().splitlines() if line.startswith("{")
            )
            return 200, {"id": name}
        body = json.loads(raw)
        if path.endswith("/batches"):
            return 200, self._batch(body)
        with self._lock:
            if self.refuse > 0:
                self.refuse -= 1
                self.refused += 1
                return 429, {"error": {"message": "slow down"}}
        return self._complete(body, self.rates)

    def _in_the_way(self, act: str) -> int | None:
        with self._lock:
            some = self._trouble.get(act)
            return some.pop(0) if some else None

    def _get(self, path: str) -> tuple[int, object]:
        name = path.rstrip("/").split("/")
        in_the_way = self._in_the_way("download" if path.endswith("/content") else "poll")
        if in_the_way is not None:
            return in_the_way, {}
        if path.endswith("/content"):
            return 200, self._files[name[-2]]
        state = self._batches[name[-1]]
        state["looks"] += 1
        return 200, {**state, "status": self.ends if state["looks"] > 1 else "in_progress"}

    def _batch(self, body: Fields) -> Fields:
        lines = [json.loads(x) for x in self._files[body["input_file_id"]].splitlines()]
        out: list[Fields] = []
        for line in lines:
            status, reply = self._complete(line["body"], self.rates.in_batch())
            if not self.lose(_TEXT.search(line["body"]["messages"][0]["content"]).group(1)):  # type: ignore[union-attr]
                out.append(
                    {
                        "custom_id": line["custom_id"],
                        "error": None,
                        "response": {"status_code": status, "body": reply},
                    }
                )
        random.Random(len(out)).shuffle(out)
        name = f"batch-{len(self._batches)}"
        good = [line for line in out if line["response"]["status_code"] == 200]
        bad = [line for line in out if line["response"]["status_code"] != 200]
        self._batches[name] = {
            "id": name,
            "looks": 0,
            "output_file_id": self._file(good),
            "error_file_id": self._file(bad),
        }
        return {"id": name, "status": "validating"}

    def _file(self, lines: list[Fields]) -> str | None:
        if not lines:
            return None
        name = f"file-{len(self._files)}"
        self._files[name] = "\n".join(map(json.dumps, lines))
        return name

    def _complete(self, body: Fields, rates: Rates) -> tuple[int, object]:
        prompt = body["messages"][0]["content"]
        text, questions = _TEXT.search(prompt).groups()  # type: ignore[union-attr]
        asked = [m.groups() for m in map(_LINE.match, questions.splitlines()) if m]
        time.sleep(self.delay(text))
        status = self.status(text)
        if status != 200:
            return status, {"error": {"message": "not now"}}
        with self._lock:
            said = {number: self._said(text, question) for number, question, _ in asked}
            written = json.dumps(said)
            if self.garble > 0 and self.break_ <= 0:
                self.garble -= 1
                written = "Sure! Here is what I think about it."
            read = int(self.overcharge * estimated_tokens(prompt))
            cached = estimated_tokens(text) if text in self._seen else 0
            out = estimated_tokens(written) + self.reasoning
            most = int(body.get("max_tokens", 10**9)) if self.heeds_limit else out
            ended = "length" if out > most else "stop"
            if out > most:  # thoughts come first, and what is left is cut
                out, written = most, written[: 3 * max(most - self.reasoning, 0)]
            out = int(self.overcharge * out)
            self._seen.add(text)
            self.billed += rates.cost(read, out, cached)
            self.requests.append((text, [question for _, question, _ in asked]))
            self.replied.append(text)
            if self.break_ > 0:
                self.break_ -= 1
                return 500, {"error": {"message": "broken off"}}
        usage = {
            "prompt_tokens": read,
            "completion_tokens": out,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        message = {"role": "assistant", "content": written}
        choice: Fields = {"message": message, "finish_reason": ended}
        if body.get("logprobs") and self.logprob is not None:
            log = self.logprob(text)
            pieces = re.findall(r"\w+|\W", written)
            choice["logprobs"] = {"content": [{"token": t, "logprob": log} for t in pieces]}
        return 200, {"model": body["model"], "choices": [choice], "usage": usage}

    def _said(self, text: str, question: str) -> object:
        value = self.answer(text, question)
        if self.confidence is None:
            return value
        return {"answer": value, "confidence": self.confidence}
