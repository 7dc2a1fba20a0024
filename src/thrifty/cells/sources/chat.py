"""Any server that speaks OpenAI's chat completions; no vendor's package is needed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from thrifty.cells.prices.tokens import Rates
from thrifty.cells.sources.http_connection import HttpConnection, can_be_direct
from thrifty.cells.sources.questions import Reply
from thrifty.errors import BadInput, NotBilled, ThriftyError
from thrifty.typing import Json, JsonLike

if TYPE_CHECKING:
    import httpx

    from thrifty.cells.sources.chat_batches import Batches

__all__ = ["NOT_BILLED", "ChatServer", "reply_of", "send"]

#: answers to a call that did no work: too many requests, overloaded, not reachable, no right
NOT_BILLED = (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)


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
        more of the request's body: ``temperature``, ``seed``, ...
    poll : float
        seconds between two looks at a batch

    Refusals (400 to 429, 503, no connection) are known not to be billed, and are tried again or
    reported. Of any other end nobody knows whether it was billed: the purchase is in doubt.
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
        timeout: float = 60.0,
        poll: float = 1.0,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise BadInput(f"base_url must begin with http:// or https://; got {base_url!r}.")
        self.model, self.rates, self.base_url = model, rates, base_url.rstrip("/")
        self.key_from, self.options = key_from, dict(options or {"temperature": 0})
        self.timeout, self.poll = timeout, poll
        self._certificates: ssl.SSLContext | None = None
        self._direct = can_be_direct(self.base_url)
        #: connections that are open and idle, of each loop in which calls are made
        self._kept: dict[asyncio.AbstractEventLoop, list[HttpConnection]] = {}

    def __repr__(self) -> str:
        where = re.sub(r"(://)[^/@]*@", r"\1***@", self.base_url)  # no name, no password
        return f"ChatServer({self.model!r} at {where})"

    def client(self) -> httpx.AsyncClient:
        """A connection, with the key where there is one."""
        try:
            import httpx
        except ImportError as error:
            raise ThriftyError(
                "asking a chat server needs the package httpx. Type: pip install "
                "'thrifty[providers]'"
            ) from error
        return httpx.AsyncClient(
            base_url=self.base_url,
            headers=self._headers(),
            timeout=self.timeout,
            verify=self._trust(),
        )

    def _headers(self) -> dict[str, str]:
        """The key, where the server wants one; it is read for each call, and kept nowhere."""
        if self.key_from is None:
            return {}
        key = os.environ.get(self.key_from)
        if not key:
            raise NotBilled(f"the environment has no {self.key_from}, which holds the key.")
        return {"Authorization": f"Bearer {key}"}

    def _trust(self) -> ssl.SSLContext:
        """Certificates are read once: reading them takes longer than a call."""
        if self._certificates is None:
            try:
                import httpx
            except ImportError:  # only what needs a proxy, or a batch, needs it
                self._certificates = ssl.create_default_context()
            else:
                self._certificates = httpx.create_ssl_context()
        return self._certificates

    def body(self, prompt: str, longest: int | None = None, *, logprobs: bool = False) -> Json:
        """The request for one prompt."""
        limit: Json = {} if longest is None else {"max_tokens": longest}
        sure: Json = {"logprobs": True} if logprobs else {}
        message = {"role": "user", "content": prompt}
        return {"model": self.model, "messages": [message], **limit, **sure, **self.options}

    async def __call__(
        self, prompt: str, longest: int | None = None, *, logprobs: bool = False
    ) -> Reply:
        body = self.body(prompt, longest, logprobs=logprobs)
        if not self._direct:
            async with self.client() as client:
                return reply_of((await send(client, "POST", "/chat/completions", json=body)).json())
        idle = self._kept.get(asyncio.get_running_loop())
        connection = await self._connection(idle or [])
        try:
            return await self._complete(connection, body)
        finally:
            if idle is not None and connection.alive:
                idle.append(connection)
            else:
                connection.close()

    async def _connection(self, idle: list[HttpConnection]) -> HttpConnection:
        """One that is open and idle, or a new one."""
        while idle:
            connection = idle.pop()
            if connection.alive:
                return connection
            connection.close()
        self._headers()  # no key, no connection
        return await HttpConnection.open(self.base_url, self._trust(), self.timeout)

    async def _complete(self, connection: HttpConnection, body: Json) -> Reply:
        raw = json.dumps(body).encode()
        reply = await connection.post("/chat/completions", raw, self._headers(), self.timeout)
        _check(reply.status)
        return reply_of(json.loads(reply.body))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Calls made inside share their connections, which are closed at the end."""
        loop = asyncio.get_running_loop()
        self._direct = can_be_direct(self.base_url)  # the environment may have changed
        self._kept[loop] = []  # calls fill it
        try:
            yield
        finally:
            for connection in self._kept.pop(loop):
                connection.close()

    def in_batches(self, gather: float = 0.05) -> Batches:
        """The same server through its batch interface, at the price of batches."""
        from thrifty.cells.sources.chat_batches import Batches

        return Batches(self, gather)


async def send(client: httpx.AsyncClient, method: str, path: str, **what: Any) -> httpx.Response:
    """A request that asks for work: what is known to have begun none is :class:`NotBilled`."""
    import httpx

    try:
        reply = await client.request(method, path, **what)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NotBilled("the server cannot be reached") from error
    _check(reply.status_code)
    return reply


def _check(status: int) -> None:
    if status in NOT_BILLED:
        raise NotBilled(f"the server answered {status}")
    if not 200 <= status < 300:
        raise RuntimeError(f"the server answered {status}")


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
