"""Ledgers and sources that are paid for, as most tests want them."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.cells import Cells, Ledger, Source
from thrifty.stores import MemoryStore
from thrifty.testing import FakeProvider


def ledger(**options: Any) -> Ledger:
    """A ledger in memory that holds nothing yet."""
    return Ledger(MemoryStore().book("test", {}, {}), **options)


def seller(ask: Callable, examples: Iterable, features: Sequence[str], **options: Any) -> Source:
    """A source of cells that a function sells, named lab unless the test says otherwise."""
    options = {"name": "lab", **options}
    return Source.from_callable(ask, examples=examples, features=features, **options)


def table_seller(
    X: np.ndarray, names: Sequence[str] | None = None, sold: list | None = None, **options: Any
) -> Source:
    """A source that sells the cells of a table; those that it sold are added to ``sold``."""
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)

    def ask(ids, asked):
        if sold is not None:
            sold.extend((i, name) for i in ids for name in asked)
        return X[np.ix_([int(i) for i in ids], [names.index(name) for name in asked])]

    return seller(ask, range(len(X)), names, **options)


def reader(source: Source, **options: Any) -> Cells:
    """The reader of a source for a task, through a ledger that holds nothing yet."""
    return Cells(source, ledger=ledger(**options), task="t")


def both_ways(
    prices: Any, ids: Sequence[str], features: Sequence[str], **options: Any
) -> tuple[FakeProvider, Cells, Cells]:
    """A provider, and readers of the same cells: sold by it, and in an array."""
    provider = FakeProvider()
    table = np.array([[provider.value(e, f) for f in features] for e in ids], dtype=np.uint8)
    free = Cells(Source.from_array(table, feature_names=features), prices)
    return provider, reader(provider.source(ids, features, prices=prices, **options)), free


def alter(store: Path, statement: str, *values: Any) -> None:
    """Change a file of a store from outside, as a stranger might."""
    with closing(sqlite3.connect(store)) as book, book:
        book.execute(statement, values)
