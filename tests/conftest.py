"""What several test folders share."""

import gc
import os
from itertools import combinations

import pytest
from hypothesis import settings

from tests.postgres import postgres_server

# One profile for every folder. A profile is global: set in one folder's conftest it would hold for
# whatever is collected after it. No clock, because kernels compile at their first call.
settings.register_profile("thrifty", deadline=None)
settings.load_profile("thrifty")

# Lifetimes take rows in an order of their own, a secret. Tests that count cells say which one.
os.environ.setdefault("THRIFTY_ROW_SEED", "0")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``some(n)`` the points beyond n are slow."""
    grids: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("some"):
            grids.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for points in grids.values():
        wanted = points[0].get_closest_marker("some").args[0]
        for item in most_different(points)[wanted:]:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Thousands of tests and every module stay: the collector need not look at them each time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end all is let go: libraries complain of what is left."""
    gc.unfreeze()


def most_different(points: list[pytest.Item]) -> list[pytest.Item]:
    """Points of a grid, first those that show values, and pairs of values, not shown before."""
    left = {item: {(k, repr(v)) for k, v in item.callspec.params.items()} for item in points}
    shown: set[object] = set()
    order = []
    while left:
        news = {
            item: [len(said - shown), len(set(combinations(sorted(said), 2)) - shown)]
            for item, said in left.items()
        }
        best = max(left, key=news.__getitem__)
        said = left.pop(best)
        shown |= {*said, *combinations(sorted(said), 2)}
        order.append(best)
    return order


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
