"""Cells of named tables that are free to read: counted once, whichever task looks at them first.

They are kept like bought ones, with their values: a table that says something else of a cell the
next time is noticed, and what was billed can be exported.
"""

from __future__ import annotations

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.ledger.words import Places, words_in_store
from thrifty.cells.sources import Source
from thrifty.errors import ChangedValue

__all__ = ["count_as_owned", "owned_by_id"]

_KIND = "feature"


def owned_by_id(pages: Pages, source: Source) -> Owned:
    """What was paid for before, of the examples and features of this source."""
    assert source.examples is not None
    owned = Owned(source.n_examples, source.n_features)
    numbered = pages.numbered(_KIND, source.name)
    if not numbered:
        return owned
    at = {numbered[name]: f for f, name in enumerate(source.feature_names) if name in numbered}
    columns = pages.columns(_KIND, at)
    if not columns:
        return owned
    examples = pages.numbers("example", source.examples).tolist()
    row_of = {n: r for r, n in enumerate(examples) if n >= 0}
    words = kernels.words_for(source.n_examples)
    owned.bitmap = np.zeros((source.n_features, words), dtype=np.uint64)
    for column in columns:
        numbers = read_column(column).examples.tolist()
        rows = np.array([row_of[n] for n in numbers if n in row_of], dtype=np.int64)
        owned.bitmap[at[column.number]] = kernels.mask_of_rows(rows, source.n_examples)
    return owned


def count_as_owned(pages: Pages, source: Source, meter: Meter, now: float) -> None:
    """What was looked at is owned from now on, with its value."""
    assert source.examples is not None
    touched = meter.touched.any(axis=1) | meter.everything
    features = np.flatnonzero(touched)
    if not len(features):
        return
    examples = pages.number("example", source.examples)
    names = [source.feature_names[f] for f in features.tolist()]
    numbers = pages.number(_KIND, names, source.name)
    before = {c.number: c for c in pages.columns(_KIND, numbers.tolist())}
    kept = pages.words()
    everything = np.arange(source.n_examples)
    columns: list[Column] = []
    for f, number in zip(features.tolist(), numbers.tolist()):
        rows = everything if meter.everything else kernels.rows_of_mask(meter.touched[f])
        values = np.asarray(source.read(rows, np.array([f]))[:, 0], dtype=np.float64)
        if f in source.categories and (number in kept or number not in before):
            # by word: its place differs from table to table
            words = words_in_store(pages, number, source.categories[f], write=True)
            values = Places(source.feature_names[f], source.categories[f], words).here(values)
        order = np.argsort(examples[rows], kind="stable")
        facts = Facts(examples[rows][order], values[order], np.full(len(rows), now))
        boolean, old = bool(source.boolean[f]), before.get(number)
        if old is not None:
            had = read_column(old)
            if f not in source.categories or number in kept:
                _same_values(pages, source, f, had, facts)
            new = ~np.isin(facts.examples, had.examples)  # who was first has bought it
            facts = Facts(facts.examples[new], facts.values[new], facts.times[new]).merged(had)
            boolean = boolean and old.boolean
        columns.append(write_column(_KIND, number, boolean, facts))
    pages.put_columns(columns)


def _same_values(pages: Pages, source: Source, f: int, had: Facts, facts: Facts) -> None:
    _, i, j = np.intersect1d(had.examples, facts.examples, return_indices=True)
    old, new = had.values[i], facts.values[j]
    differs = ~((old == new) | (np.isnan(old) & np.isnan(new)))
    if not differs.any():
        return
    k = int(np.flatnonzero(differs)[0])
    (example,) = pages.names("example", [int(had.examples[i[k]])])
    raise ChangedValue(
        f"{source.feature_names[f]} of example {example!r} in {source.name!r} is {old[k]:g} in the "
        f"store and {new[k]:g} here ({int(differs.sum())} of {len(old)} cells differ). Nothing was "
        "written: if this is another table, give its source another name=; if the table was "
        "mended, purge the example first: thrifty purge STORE EXAMPLE."
    )
