"""The addresses of the service, and who may ask: this machine, with the token."""

from __future__ import annotations

import asyncio
import json
import secrets
import uuid
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from thrifty.errors import BadInput, BudgetExceeded, ThriftyError, UnknownTask
from thrifty.lazy.stopping import Sure
from thrifty.service.interview import Interviews, Row
from thrifty.service.openapi import description, page
from thrifty.typing import Json

__all__ = ["make_app"]

_LARGEST = 1_000_000
_KEYS = {"task", "id", "values", "sure", "per_row"}


def make_app(interviews: Interviews, token: str, port: int) -> Starlette:
    """The application; ``port`` is where it listens: what asks for another address is refused."""
    pages = _Pages(interviews, token, port)
    return Starlette(
        routes=[
            Route("/", pages.people),
            Route("/openapi.json", pages.openapi),
            Route("/tasks", pages.tasks),
            Route("/row", pages.row, methods=["POST"]),
        ]
    )


class _Pages:
    def __init__(self, interviews: Interviews, token: str, port: int) -> None:
        self.interviews, self._token = interviews, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def people(self, request: Request) -> Response:
        return HTMLResponse(page(version("thrifty")))

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(description(version("thrifty")))

    async def tasks(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse(
            await run_in_threadpool(self.interviews.tasks)
        )

    async def row(self, request: Request) -> Response:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST:
                return _no(413, f"a row has {_LARGEST:,} bytes at most.")
        try:
            task, row = _read(body)
            return JSONResponse(await asyncio.wrap_future(self.interviews.submit(task, row)))
        except UnknownTask as error:
            return _no(404, str(error))
        except BudgetExceeded as error:
            return _no(402, str(error))
        except ThriftyError as error:
            return _no(400, str(error))

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host", "") not in self._hosts:
            return _no(421, f"this service answers at {', '.join(sorted(self._hosts))} only.")
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        same = secrets.compare_digest(given.encode(), self._token.encode())
        if kind.lower() != "bearer" or not same:
            return _no(403, "send the token that was printed: Authorization: Bearer TOKEN.")
        return None


def _read(body: bytes) -> tuple[str, Row]:
    """A row as it was sent, checked."""
    try:
        sent = json.loads(body)
    except ValueError as error:
        raise BadInput('a row is sent as JSON: {"task": ..., "values": {...}}.') from error
    if not isinstance(sent, dict) or not set(sent) <= _KEYS:
        raise BadInput(f"a row is an object with {', '.join(sorted(_KEYS))}; got other keys.")
    task, id, values = sent.get("task"), sent.get("id"), sent.get("values", {})
    if not isinstance(task, str):
        raise BadInput("task must be the name of a learned task; GET /tasks lists them.")
    if id is not None and not isinstance(id, str):
        raise BadInput("id must be a text.")
    if not isinstance(values, dict) or any(isinstance(v, dict | list) for v in values.values()):
        raise BadInput("values must be an object of numbers, texts, Booleans and null.")
    sure, most = _number(sent, "sure"), _number(sent, "per_row")
    stop = None if sure is None else Sure(sure)
    return task, Row(id or uuid.uuid4().hex, values, stop, most)


def _number(sent: Json, name: str) -> float | None:
    given = sent.get(name)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadInput(f"{name} must be a number.")
    return float(given)


def _no(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status)
