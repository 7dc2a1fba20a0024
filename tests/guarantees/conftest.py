"""Of several streams that check one promise, make test takes one and make guarantees all.

The streams differ by their seed alone. The first keeps a change from breaking a promise unnoticed;
the others are there to find a promise that holds by luck.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.parent == HERE and seed_of(item) is not None]
    first: dict[str, int] = {}
    for item in ours:
        name = f"{item.path.name}::{item.originalname}"
        first[name] = min(first.get(name, seed_of(item)), seed_of(item))
    for item in ours:
        if seed_of(item) > first[f"{item.path.name}::{item.originalname}"]:
            item.add_marker(pytest.mark.slow)


def seed_of(item: pytest.Item) -> int | None:
    """The seed of a test's stream, where it has one."""
    called = getattr(item, "callspec", None)
    return None if called is None else called.params.get("seed")
