"""Who may ask: this machine, through the address that was printed, with the token in it.

- A foreign ``Host`` is refused, so that no other site's name can be pointed at the dashboard.
- What changes something (POST) must come from our own pages, by ``Origin``.
- The token in the printed address becomes a cookie that scripts cannot read.
- Every answer forbids all that a page of ours does not need.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard"]

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": browsers then hide the Origin of our own forms, too.
    "referrer-policy": "same-origin",
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
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _no(405, "This dashboard knows GET and POST only.")
        if scope["method"] == "POST" and headers.get("origin") != f"http://{host}":
            return _no(403, "Refused: this did not come from a page of this dashboard.")
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
                "This dashboard needs its token. Open the whole address that 'thrifty dashboard' "
                "printed, with ?token= at its end.",
            )
        return None


def _no(status: int, why: str) -> PlainTextResponse:
    return PlainTextResponse(why + "\n", status)
