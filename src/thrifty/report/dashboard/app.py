"""The dashboard's pages. Addresses hold numbers and known words, never a path or a statement."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from thrifty.errors import ThriftyError
from thrifty.report.dashboard.watch import Scene, Watcher
from thrifty.report.outcomes import monitor_rows
from thrifty.report.page import cards_of, moment, static_text, templates
from thrifty.report.pictures import PICTURES
from thrifty.report.rows import metafeature_rows, task_columns, task_detail
from thrifty.report.view import PurchaseView
from thrifty.report.words import counted, knows, summary

__all__ = ["make_app"]

_PAGE = 25
_STATIC = {
    "thrifty.css": "text/css",
    "tree.js": "text/javascript",
    "table.js": "text/javascript",
    "task.js": "text/javascript",
    "live.js": "text/javascript",
}
_OUTCOMES = ("billed", "not-billed")
_LARGEST_FORM = 4096
_READING = "Reading the store. This page fills itself as soon as it is read."

Resolve = Callable[[int, str], None]


class _Number(Convertor[int]):
    """A number of at most 15 digits: Python reads no integer of five thousand."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", _Number())


def make_app(watcher: Watcher, resolve: Resolve) -> Starlette:
    """The pages over what a watcher sees; ``resolve(purchase, outcome)`` is all that writes."""
    pages = _Pages(watcher, resolve)
    return Starlette(
        routes=[
            Route("/", pages.overview),
            Route("/tasks", pages.tasks),
            Route("/tasks/{number:number}", pages.task),
            Route("/representation", pages.representation),
            Route("/ledger", pages.ledger),
            Route("/doubt", pages.doubt),
            Route("/doubt/{purchase:number}", pages.confirm),
            Route("/doubt/{purchase:number}", pages.settle, methods=["POST"]),
            Route("/api/live", pages.live),
            Route("/api/tasks", pages.some_tasks),
            Route("/api/tasks/{number:number}", pages.one_task),
            Route("/api/representation", pages.metafeatures),
            Route("/pictures/{name}.svg", pages.picture),
            Route("/static/{name}", pages.static),
            Route("/favicon.ico", pages.no_icon),
        ],
        exception_handlers={HTTPException: pages.wrong},
    )


class _Pages:
    def __init__(self, watcher: Watcher, resolve: Resolve) -> None:
        self.watcher, self._resolve = watcher, resolve
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
        measured = any(task.quality is not None for task in self.watcher.scene.view.tasks)
        return self._page("tasks.html", measured=measured)

    async def task(self, request: Request) -> Response:
        number = _task_number(request, self.watcher.scene)
        return self._page("task.html", number=number)

    async def representation(self, request: Request) -> Response:
        scene = self.watcher.scene
        learned = knows(scene.view, scene.lineage)
        return self._page("representation.html", learned=learned, pictures=scene.pictures)

    async def ledger(self, request: Request) -> Response:
        return self._page("ledger.html")

    async def doubt(self, request: Request) -> Response:
        return self._page("doubt.html")

    async def confirm(self, request: Request) -> Response:
        purchase = self._waiting(request)
        outcome = _outcome(request.query_params.get("outcome", ""))
        return self._page("confirm.html", purchase=purchase, outcome=outcome)

    async def settle(self, request: Request) -> Response:
        """The one action that writes; the form was confirmed on a page of its own."""
        purchase = self._waiting(request)
        body = await request.body()
        if len(body) > _LARGEST_FORM:
            raise HTTPException(413, "That form is too large.")
        given = parse_qs(body.decode("latin-1")).get("outcome", [""])[0]
        try:
            self._resolve(purchase.id, _outcome(given))
        except ThriftyError as error:
            return self._page("wrong.html", 409, message=str(error))
        self.watcher.look_once()
        return RedirectResponse("/doubt", 303)

    def _waiting(self, request: Request) -> PurchaseView:
        ledger = self.watcher.scene.view.ledger
        for purchase in ledger.in_doubt if ledger is not None else ():
            if purchase.id == request.path_params["purchase"]:
                return purchase
        raise HTTPException(404, "No purchase of that number waits for you.")

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
        column = _number(ask.get("sort", "0"), 7 + len(task_columns()))
        page = _number(ask.get("page", "0"), 10**6)
        text, route = ask.get("text", "")[:200].lower(), ask.get("route", "")
        rows = [
            row
            for row in self.watcher.scene.rows
            if (not route or row[2] == route) and text in row[1].lower()
        ]
        rows.sort(key=lambda row: row[column], reverse=ask.get("down") == "true")
        return JSONResponse({"total": len(rows), "rows": rows[page * _PAGE : (page + 1) * _PAGE]})

    async def one_task(self, request: Request) -> Response:
        scene = self.watcher.scene
        number = _task_number(request, scene)
        detail = task_detail(scene.view.tasks[number], scene.view)
        return JSONResponse({"row": scene.rows[number], "detail": detail})

    async def metafeatures(self, request: Request) -> Response:
        scene = self.watcher.scene
        known = len(scene.lineage.taught_by) == len(scene.view.metafeatures)
        return JSONResponse(metafeature_rows(scene.view, scene.lineage) if known else [])

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


def _outcome(given: str) -> str:
    if given not in _OUTCOMES:
        raise HTTPException(400, "Say whether it was billed or not-billed.")
    return given
