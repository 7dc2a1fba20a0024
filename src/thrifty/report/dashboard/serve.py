"""Serves the dashboard on this machine's loopback address."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from thrifty.cells.ledger.ledger import Ledger
from thrifty.cells.prices.price_list import PricesLike
from thrifty.errors import BadParameter, ThriftyError
from thrifty.report.reader import Reader
from thrifty.stores import open_store

__all__ = ["listen", "serve"]


def serve(
    where: str,
    *,
    port: int = 8710,
    lifetime: str | None = None,
    prices: PricesLike = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Show a lifetime until interrupted; ``announce`` gets the address, token included."""
    try:
        import uvicorn
        from starlette.applications import Starlette  # noqa: F401
    except ImportError as error:
        raise ThriftyError(
            "the dashboard needs Starlette and uvicorn. Type: pip install 'thrifty[dashboard]'"
        ) from error
    from thrifty.report.dashboard.app import make_app
    from thrifty.report.dashboard.guard import Guard
    from thrifty.report.dashboard.watch import Watcher

    reader = Reader(where, lifetime, prices)
    listener = listen(port)
    port = int(listener.getsockname()[1])
    token = secrets.token_urlsafe(24)
    watcher = Watcher(reader.look)
    watcher.start()  # a large store takes seconds to read; pages fill themselves when it is
    app = Guard(make_app(watcher, _resolver(reader)), port, token)
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


def _resolver(reader: Reader) -> Callable[[int, str], None]:
    """Says what became of a purchase, over a connection of its own that may write."""

    def resolve(purchase: int, outcome: str) -> None:
        with open_store(reader.where) as store:
            Ledger(store.book(str(reader.name), None, None)).resolve(purchase, outcome)

    return resolve
