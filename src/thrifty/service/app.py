"""The addresses of the service, and who may ask: this machine, with the token.

What it understands is in ``openapi.json`` beside this file, for people in ``page.html``.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import uuid
from collections.abc import Callable
from contextlib import suppress
from html import escape
from importlib.metadata import version
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from thrifty.cells.sources.checks import can_be_stored
from thrifty.errors import BadInput, BudgetExceeded, ChangedValue, ThriftyError, UnknownTask
from thrifty.lifetime.lifetime import Lifetime
from thrifty.report.dashboard import listen
from thrifty.service.interview import Interviews, Row
from thrifty.stopping import Sure
from thrifty.typing import Json

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

#: what an error is in HTTP; of others the request is wrong
_STATUS = {UnknownTask: 404, BudgetExceeded: 402, ChangedValue: 409}
_KEYS = {"task", "id", "values", "sure", "per_row"}


def serve(
    life: Lifetime,
    *,
    port: int = 8711,
    source: str = "form",
    patience: float = 30.0,
    announce: Callable[[str, str], None] | None = None,
) -> None:
    """Answer rows until interrupted; ``announce`` gets the address and the token.

    Parameters
    ----------
    port : int
        0 takes any that is free
    source : str
        the provider that cells are booked under
    patience : float
        seconds that a client has to send a request; a connection that takes longer is closed
    announce : callable or None
        told where it listens; the token is ``THRIFTY_TOKEN`` where that is set, else a new one
    """
    listener = listen(port)
    port = int(listener.getsockname()[1])
    token = os.environ.get("THRIFTY_TOKEN") or secrets.token_urlsafe(24)
    app = make_app(Interviews(life, source), token, port)
    if announce is not None:
        announce(f"http://127.0.0.1:{port}/", token)
    config = uvicorn.Config(
        app, http=_patient(patience), log_level="warning", access_log=False, server_header=False
    )
    uvicorn.Server(config).run(sockets=[listener])


def make_app(interviews: Interviews, token: str, port: int) -> Starlette:
    """The application; ``port`` is where it listens: what asks for another address is refused."""
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    def refusal(request: Request) -> Response | None:
        if request.headers.get("host", "") not in hosts:
            return _no(421, f"this service answers at {', '.join(sorted(hosts))} only.")
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        same = secrets.compare_digest(given.encode(), token.encode())
        if kind.lower() != "bearer" or not same:
            return _no(403, "send the token that was printed: Authorization: Bearer TOKEN.")
        return None

    async def people(request: Request) -> Response:
        return HTMLResponse(_text("page.html"))

    async def openapi(request: Request) -> Response:
        return Response(_text("openapi.json"), media_type="application/json")

    async def tasks(request: Request) -> Response:
        return refusal(request) or JSONResponse(await run_in_threadpool(interviews.tasks))

    async def row(request: Request) -> Response:
        largest = 1_000_000  # bytes of a row
        refused = refusal(request)
        if refused is not None:
            return refused
        body = b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > largest:
                    return _no(413, f"a row has {largest:,} bytes at most.")
            task, asked = _read(body)
            return JSONResponse(await asyncio.wrap_future(interviews.submit(task, asked)))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except ThriftyError as error:
            known = (status for kind, status in _STATUS.items() if isinstance(error, kind))
            return _no(next(known, 400), str(error))

    return Starlette(
        routes=[
            Route("/", people),
            Route("/openapi.json", openapi),
            Route("/tasks", tasks),
            Route("/row", row, methods=["POST"]),
        ]
    )


def _read(body: bytes) -> tuple[str, Row]:
    """A row as it was sent, checked."""
    try:
        sent = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput('a row is sent as JSON: {"task": ..., "values": {...}}.') from error
    if not isinstance(sent, dict) or not set(sent) <= _KEYS:
        raise BadInput(f"a row is an object with {', '.join(sorted(_KEYS))}; got other keys.")
    task, id, values = sent.get("task"), sent.get("id"), sent.get("values", {})
    if not isinstance(task, str):
        raise BadInput("task must be the name of a learned task; GET /tasks lists them.")
    if id is not None and not isinstance(id, str):
        raise BadInput("id must be a text.")
    can_be_stored([id or ""], "id of a row")
    if not isinstance(values, dict) or any(isinstance(v, dict | list) for v in values.values()):
        raise BadInput("values must be an object of numbers, texts, Booleans and null.")
    sure, most = _number(sent, "sure"), _number(sent, "per_row")
    stop = None if sure is None else Sure(sure)
    return task, Row(id or uuid.uuid4().hex, values, stop, most)


def _number(sent: Json, name: str) -> float | None:
    given = sent.get(name)
    if given is None:
        return None
    with suppress(OverflowError):  # an integer of 400 digits
        if isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given):
            return float(given)
    raise BadInput(f"{name} must be a number.")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _no(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status)


def _text(name: str) -> str:
    """A file beside this one, of this version."""
    told = files("thrifty.service").joinpath(name).read_text(encoding="utf-8")
    return told.replace("VERSION", escape(version("thrifty")))


def _patient(seconds: float) -> type:
    """uvicorn's protocol, closing connections whose request is not whole after so long."""

    class Patient(H11Protocol):
        _late: TimerHandle | None = None

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._late = self.loop.call_later(seconds, transport.abort)

        def data_received(self, data: bytes) -> None:
            if self._late is None:  # the next request of a connection that is kept
                self._late = self.loop.call_later(seconds, self.transport.abort)
            super().data_received(data)
            if self.cycle is not None and not self.cycle.more_body:
                self._on_time()

        def connection_lost(self, exc: Exception | None) -> None:
            self._on_time()
            super().connection_lost(exc)

        def _on_time(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Patient
