"""One HTTP/1.1 connection that is kept: a request, its reply, the next request.

A chat server is asked thousands of times for small things. A general client takes longer for one
than the ledger does (httpx 1.6 ms, this .2 ms of processor time; ``benchmarks/busy_bank.py``), so
plain POSTs go through here; what needs more (a proxy, a name in the address) goes through httpx.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from thrifty.errors import NotBilled

__all__ = ["HttpConnection", "HttpReply", "can_be_direct"]

#: a reply is refused beyond these: a head of so many bytes, a body of so many
_HEAD, _BODY = 1 << 16, 1 << 26
#: seconds after which an idle connection is not used again. Servers close idle ones after five and
#: more (uvicorn five, nginx 75); a request that meets the closing may have been billed or not.
_IDLE = 2.0


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A status, and a body as it came."""

    status: int
    body: bytes


def can_be_direct(url: str) -> bool:
    """Whether nothing stands between: no proxy of the environment, no name or password.

    >>> can_be_direct("http://me:secret@127.0.0.1:8000/v1")
    False
    """
    parts = urlsplit(url)
    proxies = getproxies()
    proxied = parts.scheme in proxies or "all" in proxies
    return "@" not in parts.netloc and not (proxied and not proxy_bypass(parts.hostname or ""))


class HttpConnection:
    """Open with :meth:`open`; ``alive`` says whether it may be used again."""

    def __init__(
        self, parts: SplitResult, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._parts, self._reader, self._writer = parts, reader, writer
        self._reusable, self._used = True, time.monotonic()

    @classmethod
    async def open(cls, url: str, trust: ssl.SSLContext, timeout: float) -> HttpConnection:
        """A connection to the host of an address; one that cannot be had billed nothing."""
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_connection(
                    parts.hostname, port, ssl=trust if secure else None, limit=_HEAD
                )
        except (OSError, TimeoutError) as error:  # OSError: no such host, refused, no trust
            raise NotBilled("the server cannot be reached") from error
        return cls(parts, reader, writer)

    @property
    def alive(self) -> bool:
        """Whether it may be used again; a server closes what was idle for long."""
        idle = time.monotonic() - self._used
        gone = self._reader.at_eof() or self._writer.is_closing()
        return self._reusable and not gone and idle < _IDLE

    def close(self) -> None:
        """Now, without waiting."""
        self._reusable = False
        self._writer.close()

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> HttpReply:
        """One request with its reply. Whatever goes wrong, nobody knows whether it was billed."""
        whole = {
            "Host": self._parts.netloc,
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            **headers,
            "Content-Length": str(len(body)),
        }
        lines = [f"POST {self._parts.path.rstrip('/')}{path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in whole.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise NotBilled("a header or the address holds a line break")
        head = "\r\n".join(lines).encode("latin-1", "strict")
        self._reusable = False  # until the reply is read to its end
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(head + b"\r\n\r\n" + body)
                await self._writer.drain()
                return await self._reply()
        except BaseException:
            self.close()
            raise

    async def _reply(self) -> HttpReply:
        status, headers = await self._head()
        while 100 <= status < 200:  # "go on": the reply is still to come
            status, headers = await self._head()
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = await self._chunks()
        elif "content-length" in headers:
            body = await self._reader.readexactly(_length(headers["content-length"], 10))
        else:  # until the server closes
            body = await self._reader.read(_BODY)
            headers["connection"] = "close"
        self._reusable = headers.get("connection", "").lower() != "close"
        self._used = time.monotonic()
        return HttpReply(status, body)

    async def _head(self) -> tuple[int, dict[str, str]]:
        raw = await self._reader.readuntil(b"\r\n\r\n")
        first, *rest = raw.decode("latin-1").split("\r\n")
        version, _, said = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ConnectionError("the server does not speak HTTP/1.1")
        headers = {"connection": "close"} if version == "HTTP/1.0" else {}
        for line in filter(None, rest):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(said.split(" ")[0]), headers

    async def _chunks(self) -> bytes:
        parts, total = [], 0
        while True:
            line = await self._reader.readuntil(b"\r\n")
            size = _length(line.split(b";")[0].strip().decode("latin-1"), 16)
            if not size:
                break
            total += size
            _length(str(total), 10)
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers
        return b"".join(parts)


def _length(text: str, base: int) -> int:
    """A number of bytes that a reply may have."""
    size = int(text, base)
    if not 0 <= size <= _BODY:
        raise ConnectionError(f"the server announces {size} bytes")
    return size
