"""The dashboard: a lifetime live, at the loopback address of this machine. It only reads.

Addresses hold numbers and known words, never a path or a statement.

Who may ask: this machine, through the address that was printed, with the token in it.

- A foreign ``Host`` is refused, so that no other site's name can be pointed at the dashboard.
- Nothing can be changed: it knows GET alone.
- The token in the printed address becomes a cookie that scripts cannot read.
- Every answer forbids all that a page of ours does not need.

Keeps an eye on a store, so that a page is answered from what was seen last.

One thread looks twice a second and reads only what is new. Pictures are drawn by another, at most
every few seconds; a page gets the last one meanwhile. A store that is busy is looked at again
later; the last state stays on show, with its age.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thrifty.cells.ledger.answers import redacted
from thrifty.errors import BadParameter, StoreError, ThriftyError
from thrifty.report.pages import (
    cards_of,
    knows,
    moment,
    monitor_rows,
    static_text,
    summary,
    task_columns,
    task_detail,
    task_row,
    templates,
)
from thrifty.report.pictures import PICTURES, pictures_of
from thrifty.report.reader import Reader
from thrifty.report.view import LifetimeView, counted

_EVERY = 0.5


@dataclass(frozen=True)
class Drawn:
    """A picture as it was drawn last."""

    heading: str
    caption: str
    svg: bytes


@dataclass(frozen=True)
class Scene:
    """What was seen last. ``version`` rises with every change; ``drawn`` with new pictures."""

    view: LifetimeView = field(default_factory=LifetimeView)
    rows: tuple[list[Any], ...] = ()
    version: int = 0
    seen_at: float = 0.0
    trouble: str = ""
    drawn: int = 0
    pictures: dict[str, Drawn] = field(default_factory=dict)


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

    def _now(self, **changes: Any) -> None:
        with self._lock:
            self.scene = replace(self.scene, **changes)

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
        changed = _mark(view) != _mark(before.view) or trouble != before.trouble
        rows = before.rows if len(view.tasks) >= len(before.rows) else ()
        new = enumerate(view.tasks[len(rows) :], len(rows))
        self._now(
            # an unchanged view keeps the sums it has worked out
            view=view if changed or not before.seen_at else before.view,
            rows=(*rows, *(task_row(i, task) for i, task in new)),
            trouble=trouble,
            seen_at=before.seen_at if trouble else time.time(),
            version=before.version + changed,
        )
        return changed

    def draw_once(self) -> bool:
        """Draw the pictures, if something was learned since."""
        view, before = self.scene.view, self._drawn_of
        if before is not None and _drawing_mark(before) == _drawing_mark(view):
            return False
        pictures = {
            p.name: Drawn(p.heading, p.caption, p.svg().encode()) for p in pictures_of(view)
        }
        self._drawn_of = view
        self._now(pictures=pictures, drawn=self.scene.drawn + 1)
        return True


def _drawing_mark(view: LifetimeView) -> tuple[object, ...]:
    told = tuple((one.task, one.version, one.outcomes) for one in view.monitors)
    return (len(view.tasks), view.metafeature_texts, len(view.beside), told)


def _mark(view: LifetimeView) -> tuple[object, ...]:
    """What changes when something happened."""
    ledger = view.ledger
    spent: tuple[object, ...] = ()
    if ledger is not None:
        doubts = tuple(p.id for p in ledger.in_doubt)
        spent = (ledger.spent, ledger.reserved, ledger.purchases[:1], doubts, tuple(ledger.running))
    told = sum(one.outcomes for one in view.monitors)
    return (len(view.tasks), len(view.metafeature_texts), len(view.beside), told, *spent)


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


def _no(status: int, why: str) -> PlainTextResponse:
    return PlainTextResponse(why + "\n", status)


_PAGE = 25
_SCRIPTS = ("tree.js", "table.js", "task.js", "live.js")
_STATIC = {"thrifty.css": "text/css", **dict.fromkeys(_SCRIPTS, "text/javascript")}
_READING = "Reading the store. This page fills itself as soon as it is read."


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
    watcher.start()  # a large store takes seconds to read; pages fill themselves when it is
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


class _Number(Convertor[int]):
    """A number of at most 15 digits: Python reads no integer of five thousand."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", _Number())


def make_app(watcher: Watcher, place: str) -> Starlette:
    """The pages over what a watcher sees; ``place`` is the store, as a command names it."""
    pages = _DashboardPages(watcher, place)
    return Starlette(
        routes=[
            Route("/", pages.overview),
            Route("/tasks", pages.tasks),
            Route("/tasks/{number:number}", pages.task),
            Route("/representation", pages.representation),
            Route("/ledger", pages.ledger),
            Route("/doubt", pages.doubt),
            Route("/api/live", pages.live),
            Route("/api/tasks", pages.some_tasks),
            Route("/api/tasks/{number:number}", pages.one_task),
            Route("/pictures/{name}.svg", pages.picture),
            Route("/static/{name}", pages.static),
            Route("/favicon.ico", pages.no_icon),
        ],
        exception_handlers={HTTPException: pages.wrong},
    )


class _DashboardPages:
    def __init__(self, watcher: Watcher, place: str) -> None:
        self.watcher, self._place = watcher, place
        self.templates = templates()
        self.files = {name: static_text(name) for name in _STATIC}

    def _page(self, name: str, status: int = 200, **values: object) -> HTMLResponse:
        scene = self.watcher.scene
        text = self.templates.get_template(name).render(
            scene=scene,
            view=scene.view,
            ledger=scene.view.ledger,
            version=version("thrifty"),
            here=name.removesuffix(".html"),
            **values,
        )
        return HTMLResponse(text, status)

    # -- pages --------------------------------------------------------------------------------

    async def overview(self, request: Request) -> Response:
        scene = self.watcher.scene
        said = summary(scene.view) if scene.seen_at else [_READING]
        return self._page(
            "overview.html",
            sentences=said,
            cards=cards_of(scene.view),
            pictures=scene.pictures,
            outcome_rows=monitor_rows(scene.view),
        )

    async def tasks(self, request: Request) -> Response:
        measured = any(task.measured is not None for task in self.watcher.scene.view.tasks)
        return self._page("tasks.html", measured=measured)

    async def task(self, request: Request) -> Response:
        number = _task_number(request, self.watcher.scene)
        return self._page("task.html", number=number)

    async def representation(self, request: Request) -> Response:
        return self._page("representation.html", learned=knows(self.watcher.scene.view))

    async def ledger(self, request: Request) -> Response:
        return self._page("ledger.html")

    async def doubt(self, request: Request) -> Response:
        return self._page("doubt.html", place=self._place)

    async def wrong(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self._page("wrong.html", error.status_code, message=error.detail)

    # -- data ---------------------------------------------------------------------------------

    async def live(self, request: Request) -> Response:
        scene = self.watcher.scene
        return JSONResponse(
            {
                "version": scene.version,
                "drawn": scene.drawn,
                "trouble": scene.trouble,
                "seen": moment(scene.seen_at),
                "running": counted(len(_running(scene)), "task"),
                "learning": bool(_running(scene)),
            }
        )

    async def some_tasks(self, request: Request) -> Response:
        """Rows of the table: filtered, sorted by a known column, one page of them."""
        ask = request.query_params
        column = _number(ask.get("sort", "0"), 6 + len(task_columns()))
        page = _number(ask.get("page", "0"), 10**6)
        text = ask.get("text", "")[:200].lower()
        rows = [row for row in self.watcher.scene.rows if text in row[1].lower()]
        rows.sort(key=lambda row: row[column], reverse=ask.get("down") == "true")
        return JSONResponse({"total": len(rows), "rows": rows[page * _PAGE : (page + 1) * _PAGE]})

    async def one_task(self, request: Request) -> Response:
        scene = self.watcher.scene
        number = _task_number(request, scene)
        detail = task_detail(scene.view.tasks[number], scene.view)
        return JSONResponse({"row": scene.rows[number], "detail": detail})

    async def picture(self, request: Request) -> Response:
        name = request.path_params["name"]
        drawn = self.watcher.scene.pictures.get(name) if name in PICTURES else None
        if drawn is None:
            raise HTTPException(404, "There is no such picture.")
        return Response(drawn.svg, media_type="image/svg+xml")

    async def no_icon(self, request: Request) -> Response:
        return Response(status_code=204)

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self.files:
            raise HTTPException(404, "There is no such file.")
        return Response(self.files[name], media_type=_STATIC[name])


def _running(scene: Scene) -> dict[str, float]:
    ledger = scene.view.ledger
    return dict(ledger.running) if ledger is not None else {}


def _task_number(request: Request, scene: Scene) -> int:
    number = int(request.path_params["number"])
    if number >= len(scene.rows):
        raise HTTPException(404, "No task of that number has been learned.")
    return number


def _number(text: str, most: int) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 12 or int(text) > most:
        raise HTTPException(400, f"A number from 0 to {most} was expected.")
    return int(text)
