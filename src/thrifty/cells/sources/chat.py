"""Any server that speaks OpenAI's chat completions; no vendor's package is needed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

from thrifty.cells.prices.money import Rates
from thrifty.cells.sources.questions import Reply
from thrifty.errors import BadInput, NotBilled
from thrifty.on_demand import needed
from thrifty.typing import Fields, Json, JsonLike

if TYPE_CHECKING:
    import httpx


#: answers to a call that did no work: too many requests, overloaded, not reachable, no right
NOT_BILLED = (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)
#: bytes of a reply beyond which it is refused
_MOST_BYTES = 1 << 26
#: seconds after which an idle connection is not used again. Servers close idle ones after five and
#: more (uvicorn five, nginx 75); a request that meets the closing may have been billed or not.
_IDLE = 2.0


#: parameters that are left out, or named otherwise, where a server refuses them
_OPTIONAL = ("max_tokens", "temperature", "logprobs")
_OTHER_NAMES = {"max_tokens": "max_completion_tokens"}
#: names of models that think before they answer
_REASONS = re.compile(
    r"(^|[/_.:-])(o[1-9]|gpt-5|gpt-oss|r1|qwq|magistral|reason\w*|think\w*)([/_.:-]|$)",
    re.IGNORECASE,
)


def _room_for(model: str) -> int:
    """Tokens for thoughts, by a model's name.

    >>> _room_for("o3-mini"), _room_for("qwen3-thinking"), _room_for("gpt-4o-mini")
    (2000, 2000, 0)
    """
    return 2000 if _REASONS.search(model) else 0


class _Unsupported(NotBilled):
    """The server does not take a parameter of the request."""

    def __init__(self, parameter: str) -> None:
        super().__init__(f"the server answered 400: it does not take {parameter!r}")
        self.parameter = parameter


def _parameter_in(said: bytes) -> str | None:
    """The parameter that a refusal names; None: it names none."""
    try:
        error = json.loads(said)["error"]
        named = error.get("param")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return named if isinstance(named, str) and named else None


class ChatServer:
    """Asks one prompt at a time, or many in a batch.

    Parameters
    ----------
    model : str
        the name that the server knows it by
    rates : Rates or None
        what it costs
    base_url : str
        up to and with the version, for instance ``"http://127.0.0.1:8000/v1"``
    key_from : str or None
        the environment variable that holds the key. It is read when a call is made, and written
        nowhere; None: the server takes none
    options : mapping or None
        more of the request's body: ``seed``, ``reasoning_effort``, ...; None: a temperature of 0.
        What is None in it is not sent, ``{"temperature": None}`` for instance
    max_tokens : {"auto"}, int or None
        how long a reply may be: "auto", as long as the answers may take and ``reasoning`` beside
        them; None: not sent
    reasoning : {"auto"} or int
        tokens that the model may think in each call: reserved, and billed as it counts them.
        "auto": 2,000 for models whose name says that they reason (o3, gpt-5, ...-thinking), else 0
    poll : float
        seconds between two polls of a batch

    Raises
    ------
    thrifty.errors.BadInput
        an address without http, or limits that are no numbers of tokens
    thrifty.errors.NotBilled
        on a call: the key is missing, or the server refused
    thrifty.errors.ThriftyError
        on a call: httpx is not installed (``pip install 'thrifty[providers]'``)

    See Also
    --------
    thrifty.Source.from_questions : questions put to it
    thrifty.Rates : what its tokens cost
    thrifty.testing.LocalChatServer : one that charges nobody

    Notes
    -----
    Refusals (400 to 429, 503, no connection) are known not to be billed, and are tried again or
    reported. Of any other end nobody knows whether it was billed: the purchase is in doubt.

    Examples
    --------
    >>> server = ChatServer("small", base_url="http://127.0.0.1:8000/v1", key_from=None)
    >>> sorted(server.body("Is it raining?", longest=20))
    ['max_tokens', 'messages', 'model', 'temperature']
    """

    takes_longest = takes_logprobs = True

    def __init__(
        self,
        model: str,
        *,
        rates: Rates | None = None,
        base_url: str = "https://api.openai.com/v1",
        key_from: str | None = "OPENAI_API_KEY",
        options: Json | None = None,
        max_tokens: int | Literal["auto"] | None = "auto",
        reasoning: int | Literal["auto"] = "auto",
        timeout: float = 60.0,
        poll: float = 1.0,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise BadInput(f"base_url must begin with http:// or https://; got {base_url!r}.")
        self.model, self.rates, self.base_url = model, rates, base_url.rstrip("/")
        self.key_from = key_from
        self.options: Json = {"temperature": 0} if options is None else dict(options)
        if reasoning != "auto" and (not isinstance(reasoning, int) or reasoning < 0):
            raise BadInput(f"reasoning must be 'auto' or a number of tokens; got {reasoning!r}.")
        if max_tokens not in ("auto", None) and (not isinstance(max_tokens, int) or max_tokens < 1):
            raise BadInput(f"max_tokens is 'auto', a number of tokens or None; got {max_tokens!r}.")
        self.max_tokens = max_tokens
        self.reasoning: int = _room_for(model) if reasoning == "auto" else reasoning
        #: parameters that the server has refused, and the names it takes them by; "": none
        self._instead: dict[str, str] = {}
        self.timeout, self.poll = timeout, poll
        self._certificates: ssl.SSLContext | None = None
        #: idle ones, of each loop in which calls share them
        self._clients: dict[asyncio.AbstractEventLoop, list[httpx.AsyncClient]] = {}

    def __repr__(self) -> str:
        where = re.sub(r"(://)[^/@]*@", r"\1***@", self.base_url)  # no name, no password
        return f"ChatServer({self.model!r} at {where})"

    def client(self) -> httpx.AsyncClient:
        """A connection that is kept; each request brings the key."""
        needed("httpx", "asking a chat server", "providers")
        import httpx

        if self._certificates is None:  # read once: reading them takes longer than a call
            self._certificates = httpx.create_ssl_context()
        return httpx.AsyncClient(
            base_url=self.base_url,
            timeout=self.timeout,
            verify=self._certificates,
            limits=httpx.Limits(keepalive_expiry=_IDLE),
        )

    def headers(self) -> dict[str, str]:
        """The key, where the server wants one; it is read for each call, and kept nowhere."""
        if self.key_from is None:
            return {}
        key = os.environ.get(self.key_from)
        if not key:
            raise NotBilled(f"the environment has no {self.key_from}, which holds the key.")
        return {"Authorization": f"Bearer {key}"}

    def body(self, prompt: str, longest: int | None = None, *, logprobs: bool = False) -> Json:
        """The request for one prompt, without what the server does not take."""
        most = self.max_tokens
        if most == "auto":
            most = None if longest is None else longest + self.reasoning
        sure: Json = {"logprobs": True} if logprobs else {}
        message = {"role": "user", "content": prompt}
        named: Json = {"max_tokens": most, **sure, **self.options}
        sent = {self._instead.get(k, k): v for k, v in named.items() if v is not None}
        sent.pop("", None)
        return {"model": self.model, "messages": [message], **sent}

    def _goes_without(self, parameter: str) -> bool:
        """Whether a parameter that the server refuses can be left out, or named otherwise."""
        if parameter not in (*_OPTIONAL, *self.options) or parameter in self._instead:
            return False
        self._instead[parameter] = _OTHER_NAMES.get(parameter, "")
        return True

    async def __call__(
        self, prompt: str, longest: int | None = None, *, logprobs: bool = False
    ) -> Reply:
        idle = self._clients.get(asyncio.get_running_loop())
        # One connection each: among many, a client takes longer to choose one than to use it.
        client = idle.pop() if idle else self.client()
        try:
            while True:
                body = self.body(prompt, longest, logprobs=logprobs)
                try:
                    return reply_of(await self._complete(client, body))
                except _Unsupported as error:  # nothing was billed: ask without it
                    if not self._goes_without(error.parameter):
                        raise
        finally:
            if idle is None:
                await client.aclose()
            else:
                idle.append(client)

    async def _complete(self, client: httpx.AsyncClient, body: Json) -> Json:
        request = client.build_request(
            "POST",
            "/chat/completions",
            json=body,
            headers={"Accept-Encoding": "identity", **self.headers()},
        )
        # Each step has its timeout; all of them together too, since a server may send drop by drop.
        async with asyncio.timeout(2 * self.timeout):
            reply = await send(client, request, stream=True)
            try:
                read: Json = json.loads(await _all_of(reply))
            finally:
                await reply.aclose()
        return read

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Calls made inside share their connections, which are closed at the end."""
        loop = asyncio.get_running_loop()
        self._clients[loop] = []
        try:
            yield
        finally:
            for client in self._clients.pop(loop):
                await client.aclose()

    def in_batches(self, gather: float = 0.05) -> Batches:
        """The same server through its batch interface, at the price of batches."""

        return Batches(self, gather)


async def send(
    client: httpx.AsyncClient, request: httpx.Request, *, stream: bool = False
) -> httpx.Response:
    """A request that asks for work: what is known to have begun none is :class:`NotBilled`."""
    import httpx

    try:
        reply = await client.send(request, stream=stream)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NotBilled("the server cannot be reached") from error
    except httpx.LocalProtocolError as error:
        raise NotBilled("the request cannot be sent: a header holds a line break") from error
    if reply.is_success:
        return reply
    said = await _all_of(reply) if reply.status_code == 400 else b""
    await reply.aclose()
    if (parameter := _parameter_in(said)) is not None:
        raise _Unsupported(parameter)
    refused = NotBilled if reply.status_code in NOT_BILLED else RuntimeError
    raise refused(f"the server answered {reply.status_code}")


async def _all_of(reply: httpx.Response) -> bytes:
    """The body as it came, of bounded size."""
    parts, size = [], 0
    async for part in reply.aiter_raw():
        size += len(part)
        if size > _MOST_BYTES:
            raise RuntimeError(f"the server's reply is larger than {_MOST_BYTES:,} bytes")
        parts.append(part)
    return b"".join(parts)


def reply_of(body: JsonLike) -> Reply:
    """What a completion says; the tokens are the server's own count."""
    usage = body.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    choice = body["choices"][0]
    return Reply(
        choice["message"].get("content") or "",
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        int(details.get("cached_tokens") or 0),
        str(body.get("model", "")),
        _tokens_of(choice),
        str(choice.get("finish_reason") or ""),
        str(choice["message"].get("refusal") or ""),
    )


def _tokens_of(choice: JsonLike) -> tuple[tuple[str, float], ...] | None:
    """What was written token by token, with log-probabilities; None: the server does not say."""
    said = (choice.get("logprobs") or {}).get("content")
    if not said:
        return None
    try:
        return tuple((str(one["token"]), float(one["logprob"])) for one in said)
    except (LookupError, TypeError, ValueError):
        return None


_ENDS = ("completed", "failed", "expired", "cancelled")
#: a look that was answered with one of these is taken again
_LOOK_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)

#: a request, and who waits for its reply
_Waiting = list[tuple[Json, "asyncio.Future[Reply]"]]


class Batches:
    """Prompts that are asked at about the same time go out as one batch.

    Each is still a purchase of its own: reserved before, settled or refused by itself.
    """

    takes_longest = takes_logprobs = True

    def __init__(self, server: ChatServer, gather: float) -> None:
        self.server, self.gather = server, gather
        self.model, self.rates = server.model, server.rates
        # each purchase runs in an event loop of its thread; a reply belongs to the loop that waits
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()

    async def __call__(
        self, prompt: str, longest: int | None = None, *, logprobs: bool = False
    ) -> Reply:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        waiting = self._waiting.setdefault(loop, [])
        waiting.append((self.server.body(prompt, longest, logprobs=logprobs), future))
        mine = len(waiting)
        await asyncio.sleep(self.gather)
        if self._waiting.get(loop) is waiting and len(waiting) == mine:
            del self._waiting[loop]  # the last to come sends them all
            await self._flush(waiting)
        return await future

    async def _flush(self, batch: _Waiting) -> None:
        try:
            ended, found = await self._run([body for body, _ in batch])
            ends = [_end(found.get(f"r{i}"), ended) for i in range(len(batch))]
        except Exception as error:
            ends = [error] * len(batch)
        for (_, future), end in zip(batch, ends):
            if future.done():
                continue
            if isinstance(end, Exception):
                future.set_exception(end)
            else:
                future.set_result(end)

    async def _run(self, bodies: list[Json]) -> tuple[str, dict[str, Fields]]:
        """How a batch ended, and what it says of each request, in whatever order that came."""
        lines = "\n".join(
            json.dumps(
                {
                    "custom_id": f"r{i}",
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": body,
                }
            )
            for i, body in enumerate(bodies)
        )
        async with self.server.client() as client:
            client.headers.update(self.server.headers())
            file = {"file": ("batch.jsonl", lines.encode())}
            given = client.build_request("POST", "/files", data={"purpose": "batch"}, files=file)
            sent = await send(client, given)
            wanted = {
                "input_file_id": sent.json()["id"],
                "endpoint": "/v1/chat/completions",
                "completion_window": "24h",
            }
            made = await send(client, client.build_request("POST", "/batches", json=wanted))
            state = made.json()
            while state["status"] not in _ENDS:
                await asyncio.sleep(self.server.poll)
                state = (await self._look(client, f"/batches/{state['id']}")).json()
            found: dict[str, Fields] = {}
            for name in ("output_file_id", "error_file_id"):
                if state.get(name):
                    ended = await self._look(client, f"/files/{state[name]}/content")
                    found.update(_lines(ended.text))
        return str(state["status"]), found

    async def _look(self, client: httpx.AsyncClient, path: str) -> httpx.Response:
        """Look until there is something to see; the time-out of the purchase ends it."""
        import httpx

        while True:
            try:
                reply = await client.get(path)
            except httpx.TransportError:
                reply = None
            if reply is not None and reply.status_code < 300:
                return reply
            if reply is not None and reply.status_code not in _LOOK_AGAIN:
                raise RuntimeError(
                    f"the batch was accepted, and its end cannot be read: {reply.status_code}"
                )
            await asyncio.sleep(self.server.poll)


def _lines(text: str) -> dict[str, Fields]:
    found: dict[str, Fields] = {}
    for line in filter(str.strip, text.splitlines()):
        try:
            read = json.loads(line)
            found[read["custom_id"]] = read
        except (ValueError, LookupError, TypeError):
            continue  # whose it was is not to be known
    return found


def _end(line: Fields | None, ended: str) -> Reply | Exception:
    """What became of one request of a batch that has ended."""
    if line is None:
        if ended == "completed":  # neither answered nor refused
            return RuntimeError("the batch says nothing of this request")
        return NotBilled(f"the batch ended as {ended} before this request")
    try:
        response = line.get("response")
        if not response:
            return NotBilled("the batch refused this request")
        if response["status_code"] == 200:
            return reply_of(response["body"])
        if response["status_code"] in NOT_BILLED:
            return NotBilled("the batch refused this request")
        return RuntimeError(f"the batch answered {response['status_code']}")
    except Exception as error:
        return error
