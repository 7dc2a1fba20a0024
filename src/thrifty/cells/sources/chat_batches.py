"""Prompts in batches: sending one, looking at it and fetching it are three acts.

Sending may be refused, and then nothing is billed. From the moment a batch was accepted nothing but
its own end says what became of it: trouble while looking at it or fetching it is waited out, and
where that cannot be, nobody knows what was billed, and the purchases are in doubt.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from thrifty.cells.sources.chat import NOT_BILLED, ChatServer, reply_of, send
from thrifty.cells.sources.questions import Reply
from thrifty.errors import NotBilled
from thrifty.typing import Fields, Json

if TYPE_CHECKING:
    import httpx

__all__ = ["Batches"]

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
            sent = await send(
                client,
                "POST",
                "/files",
                data={"purpose": "batch"},
                files={"file": ("batch.jsonl", lines.encode())},
            )
            made = await send(client, "POST", "/batches", json={
                "input_file_id": sent.json()["id"], "endpoint": "/v1/chat/completions",
                "completion_window": "24h"})  # fmt: skip
            state = made.json()
            while state["status"] not in _ENDS:
                await asyncio.sleep(self.server.poll)
                state = (await self._look(client, f"/batches/{state['id']}")).json()
            found: dict[str, Fields] = {}
            for name in ("output_file_id", "error_file_id"):
                if state.get(name):
                    file = await self._look(client, f"/files/{state[name]}/content")
                    found.update(_lines(file.text))
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
