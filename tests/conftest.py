"""What several test folders share."""

from __future__ import annotations

import pytest

from thrifty.testing.postgres import postgres_server


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server, started from the wheel that ships it."""
    with postgres_server() as server:
        yield server
