"""The dashboard: the report of a lifetime live, at the loopback address of this machine.

It only reads, and addresses hold numbers and known words, never a path or a statement.

Who may ask: this machine, through the address that was printed, with the token in it.

- A foreign ``Host`` is refused, so that no other site's name can be pointed at the dashboard.
- Nothing can be changed: it knows GET alone.
- The token in the printed address becomes a cookie that scripts cannot read.
- Every answer forbids all that a page of ours does not need.

One thread looks at the store twice a second and reads only what is new, so that a page is answered
from what was seen last. Pictures are drawn by another, at most every few seconds; a page gets the
last ones meanwhile. A store that is busy is looked at again later; the last state stays on show.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thrifty.cells.ledger.answers import redacted
from thrifty.errors import BadParameter, StoreError, ThriftyError
from thrifty.report.pages import SCRIPTS, live_page, moment, static_text, task_detail, task_row
from thrifty.report.pictures import Picture, pictures_of
from thrifty.report.view import LifetimeView, Reader, counted

_EVERY = 0.5


@dataclass(frozen=True)
class Scene:
    """What was seen last. ``version`` rises with every change, new pictures too."""

    view: LifetimeView = field(default_factory=LifetimeView)
    version: int = 0
    seen_at: float = 0.0
    trouble: str = ""
    pictures: dict[str, tuple[Picture, bytes]] = field(default_factory=dict)


class Watcher:
    """Looks at a store in the background; ``scene`` is always there and never waits."""

    def __init__(
        self, look: Callable[[], LifetimeView], title: str = "lifetime", every: float = _EVERY
    ) -> None:
        self.scene = Scene(LifetimeView(title=title))
        self._look, self._every = look, every
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._drawn_of: LifetimeView | None = None
        self._threads = [
            threading.Thread(target=self._repeat, args=(work,), daemon=True)
            for work in (self.look_once, self.draw_once)
        ]

    def _now(self, changed: bool, **changes: Any) -> None:
        with self._lock:
            self.scene = replace(self.scene, version=self.scene.version + changed, **changes)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=5)

    def _repeat(self, work: Callable[[], bool]) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            changed = work()
            took = time.monotonic() - began
            # Reading a little is done often; drawing much leaves the machine to those who learn.
            rest = max(self._every, took * 8.0) if changed else self._every
            self._stop.wait(min(rest, 20.0) if work == self.draw_once else self._every)

    def look_once(self) -> bool:
        """Take in what is new; says whether there was something."""
        before = self.scene
        try:
            view, trouble = self._look(), ""
        except StoreError as error:
            view, trouble = before.view, str(error)
        if view == before.view:
            view = before.view  # keeps the sums it has worked out
        changed = view is not before.view or trouble != before.trouble
        seen_at = before.seen_at if trouble else time.time()
        self._now(changed, view=view, trouble=trouble, seen_at=seen_at)
        return changed

    def draw_once(self) -> bool:
        """Draw the pictures, if something changed since."""
        view = self.scene.view
        if view is self._drawn_of:
            return False
        self._drawn_of = view
        self._now(True, pictures={p.name: (p, p.svg().encode()) for p in pictures_of(view)})
        return True


_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Stands before the pages."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        # Cookies do not know ports: two dashboards on one machine need two names.
        self.cookie = f"thrifty_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await (self._refusal(scope) or self.app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return _no(421, f"This dashboard answers at {', '.join(sorted(self.hosts))} only.")
        if scope["method"] not in ("GET", "HEAD"):
            return _no(405, "This dashboard only shows: it knows GET alone.")
        return self._token(scope, headers)

    def _token(self, scope: Scope, headers: Headers) -> Response | None:
        query = QueryParams(scope["query_string"])
        given = query.get("token")
        if given is not None and scope["method"] == "GET":
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                return _no(403, "The token in this address is not this dashboard's.")
            rest = urlencode([(k, v) for k, v in query.multi_items() if k != "token"])
            welcome = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
            welcome.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
            return welcome
        kept = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        if not secrets.compare_digest(kept.encode(), self.token.encode()):
            return _no(
                403,
                "This dashboard needs its token. Open the whole address that "
                "'thrifty report --live' printed, with ?token= at its end.",
            )
        return None


def _no(status: int, why: str) -> Response:
    return Response(why + "\n", status, media_type="text/plain")


_STATIC = {"thrifty.css": "text/css", **dict.fromkeys((*SCRIPTS, "live.js"), "text/javascript")}


def serve(
    where: str,
    *,
    port: int = 8710,
    lifetime: str | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Show a lifetime until interrupted; ``announce`` gets the address, token included."""
    reader = Reader(where, lifetime)
    listener = listen(port)
    port = int(listener.getsockname()[1])
    token = secrets.token_urlsafe(24)
    watcher = Watcher(reader.look, reader.title)
    watcher.start()  # a large store takes seconds to read; the page fills itself when it is
    app = Guard(make_app(watcher, redacted(where)), port, token)
    announce(f"http://127.0.0.1:{port}/?token={token}")
    # No access log: its lines would hold the token.
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        watcher.stop()


def listen(port: int) -> socket.socket:
    """A socket on the loopback address."""
    if not 0 <= port <= 65535:
        raise BadParameter(f"the port must lie in 0..65535; got {port}.")
    # The protocol is named so that asyncio turns off Nagle's delay, which costs 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)  # whoever opens the address at once waits instead of failing
    except OSError as error:
        listener.close()
        raise ThriftyError(
            f"port {port} cannot be used ({error.strerror}). Another dashboard may be running: "
            "stop it, or choose another with --port; --port 0 takes any that is free."
        ) from error
    return listener


def make_app(watcher: Watcher, place: str) -> Starlette:
    """The page over what a watcher sees; ``place`` is the store, as a command names it."""
    files = {name: static_text(name) for name in _STATIC}

    async def page(request: Request) -> Response:
        return Response(live_page(watcher.scene, place), media_type="text/html")

    async def live(request: Request) -> Response:
        scene = watcher.scene
        running = len(scene.view.ledger.running)
        said = {"version": scene.version, "trouble": scene.trouble, "seen": moment(scene.seen_at)}
        return JSONResponse({**said, "running": counted(running, "task") if running else ""})

    async def tasks(request: Request) -> Response:
        every = enumerate(watcher.scene.view.tasks)
        return JSONResponse([task_row(i, task) for i, task in every])

    async def task(request: Request) -> Response:
        view, told = watcher.scene.view, request.path_params["number"]
        number = int(told) if told.isdecimal() and told.isascii() and len(told) < 16 else -1
        if not 0 <= number < len(view.tasks):
            raise HTTPException(404, "No task of that number has been learned.")
        return JSONResponse(task_detail(view.tasks[number], view))

    async def picture(request: Request) -> Response:
        drawn = watcher.scene.pictures.get(request.path_params["name"])
        if drawn is None:
            raise HTTPException(404, "There is no such picture.")
        return Response(drawn[1], media_type="image/svg+xml")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise HTTPException(404, "There is no such file.")
        return Response(files[name], media_type=_STATIC[name])

    return Starlette(
        routes=[
            Route("/", page),
            Route("/live", live),
            Route("/tasks", tasks),
            Route("/tasks/{number}", task),
            Route("/pictures/{name}.svg", picture),
            Route("/static/{name}", static),
            Route("/favicon.ico", lambda request: Response(status_code=204)),
        ]
    )
