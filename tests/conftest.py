"""What several test folders share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from thrifty.testing.postgres import postgres_server

# One profile for every folder. A profile is global: set in one folder's conftest it would hold for
# whatever is collected after it. No clock, because kernels compile at their first call.
settings.register_profile("thrifty", deadline=None)
settings.load_profile("thrifty")

# Lifetimes take rows in an order of their own, a secret. Tests that count cells say which one.
os.environ.setdefault("THRIFTY_ROW_SEED", "0")


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server, started from the wheel that ships it."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def dask_client():
    """Two real workers of Dask, in processes of their own."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as made:
        yield made
