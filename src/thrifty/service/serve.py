"""Serves a lifetime on this machine's loopback address."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

from thrifty.errors import ThriftyError
from thrifty.lifetime import Lifetime
from thrifty.service.interview import Interviews

__all__ = ["serve"]


def serve(
    life: Lifetime,
    *,
    port: int = 8711,
    source: str = "form",
    announce: Callable[[str, str], None] | None = None,
) -> None:
    """Answer rows until interrupted; ``announce`` gets the address and the token.

    Parameters
    ----------
    port : int
        0 takes any that is free
    source : str
        the provider that cells are booked under
    announce : callable or None
        told where it listens; the token is ``THRIFTY_TOKEN`` where that is set, else a new one
    """
    try:
        import uvicorn
        from starlette.applications import Starlette  # noqa: F401
    except ImportError as error:
        raise ThriftyError(
            "thrifty serve needs Starlette and uvicorn. Type: pip install 'thrifty[dashboard]'"
        ) from error
    from thrifty.report.dashboard.serve import listen
    from thrifty.service.app import make_app

    listener = listen(port)
    port = int(listener.getsockname()[1])
    token = os.environ.get("THRIFTY_TOKEN") or secrets.token_urlsafe(24)
    app = make_app(Interviews(life, source), token, port)
    if announce is not None:
        announce(f"http://127.0.0.1:{port}/", token)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])
