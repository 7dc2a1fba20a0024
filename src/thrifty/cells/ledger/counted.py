"""Cells of free sources whose examples have ids: counted once, whichever source they come from.

Their values are not stored, only that they were paid for: a column of its own kind per feature.
"""

from __future__ import annotations

import numpy as np

from thrifty import kernels
from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.columns import Facts, read_column, write_column
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.sources import Source

__all__ = ["count_as_owned", "owned_by_id"]

_KIND = "counted"


def owned_by_id(pages: Pages, source: Source) -> Owned:
    """What earlier tasks paid for, of the examples and features of this source."""
    assert source.examples is not None
    owned = Owned(source.n_examples, source.n_features)
    row_of = {int(n): r for r, n in enumerate(pages.number("example", source.examples))}
    at = {int(n): f for f, n in enumerate(pages.number("feature", source.feature_names))}
    columns = [c for c in pages.columns() if c.kind == _KIND and c.number in at]
    if columns:
        words = kernels.words_for(source.n_examples)
        owned.bitmap = np.zeros((source.n_features, words), dtype=np.uint64)
    for column in columns:
        numbers = read_column(column).examples.tolist()
        rows = np.array([row_of[n] for n in numbers if n in row_of], dtype=np.int64)
        owned.bitmap[at[column.number]] = kernels.mask_of_rows(rows, source.n_examples)
    return owned


def count_as_owned(pages: Pages, source: Source, meter: Meter, now: float) -> None:
    """What this task looked at is owned from now on, by id."""
    assert source.examples is not None
    examples = pages.number("example", source.examples)
    features = pages.number("feature", source.feature_names)
    before = {c.number: c for c in pages.columns() if c.kind == _KIND}
    everything = np.arange(source.n_examples)
    columns: list[Column] = []
    touched = meter.touched.any(axis=1) | meter.everything
    for f in np.flatnonzero(touched).tolist():
        rows = everything if meter.everything else kernels.rows_of_mask(meter.touched[f])
        numbers = np.sort(examples[rows])
        facts = Facts(numbers, np.zeros(len(numbers)), np.full(len(numbers), now))
        old = before.get(int(features[f]))
        if old is not None:
            facts = read_column(old).merged(facts)
        columns.append(write_column(_KIND, int(features[f]), True, facts))
    pages.put_columns(columns)
