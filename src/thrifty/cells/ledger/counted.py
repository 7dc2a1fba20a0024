"""Cells of named tables that are free to read: counted once, whichever task looks at them first.

They are kept like bought ones, with their values: a table that says something else of a cell the
next time is noticed, and what was billed can be exported.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.book import Column, Pages
from thrifty.cells.ledger.compacted import Facts, read_column, write_column
from thrifty.cells.ledger.known import Known
from thrifty.cells.ledger.meter import Meter, Owned
from thrifty.cells.ledger.words import Places, words_in_store
from thrifty.cells.sources import Source
from thrifty.errors import ChangedValue

__all__ = [
    "OwnedMeanwhile",
    "count_as_owned",
    "owned_by_id",
    "refuse_what_is_owned",
    "values_by_id",
]

_KIND = "feature"


class OwnedMeanwhile(Exception):
    """Others have paid for something that a task counts as its own: it has to be counted again."""

    def __init__(self, owned: Owned) -> None:
        super().__init__()
        self.owned = owned


def owned_by_id(pages: Pages, source: Source, features: NDArray[np.int64] | None = None) -> Owned:
    """What was paid for before, of the examples and features of this source, or some of them."""
    assert source.examples is not None
    owned = Owned(source.n_examples, source.n_features)
    numbered = pages.numbered(_KIND, source.name)
    if not numbered:
        return owned
    names = source.feature_names
    some = range(len(names)) if features is None else features.tolist()
    at = {numbered[names[f]]: f for f in some if names[f] in numbered}
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


def values_by_id(
    pages: Pages, source: Source, valid: NDArray[np.float64], now: float
) -> dict[int, float | str]:
    """What is owned of a source's one example, by feature: numbers, and words of categories.

    NaN is a gap that is known; what has expired by ``valid`` seconds is not owned.
    """
    assert source.examples is not None
    example = pages.numbers("example", source.examples)
    features = pages.numbers(_KIND, source.feature_names, source.name)
    none, no_bits = np.zeros(0, dtype=np.int32), np.zeros(len(features), dtype=bool)
    known = Known(example, features, none, no_bits, valid, now)
    known.follow(pages)
    row, words, out = np.zeros(1, dtype=np.int64), pages.words(), {}
    for f in np.flatnonzero(features >= 0).tolist():
        if example[0] >= 0 and known.is_known(f, row)[0]:
            value, listed = float(known.column(f, row)[0]), words.get(int(features[f]))
            out[f] = listed[int(value)] if listed and value == value else value
    return out


def refuse_what_is_owned(
    pages: Pages, source: Source, meter: Meter, tied: NDArray[np.int64]
) -> None:
    """Who was first has bought a cell: raise where others were, since this task began.

    ``tied``: features whose fees or orders another may have paid on the same rows.
    """
    looked = meter.touched_features
    some = np.union1d(looked, tied)
    now = owned_by_id(pages, source, some)
    if not len(now.bitmap):
        return
    rows = np.bitwise_or.reduce(meter.touched[looked], axis=0)
    if meter.everything:
        rows = ~np.zeros_like(rows)
    if (now.bitmap[some] & rows & ~meter.owned_before(some)).any():
        raise OwnedMeanwhile(owned_by_id(pages, source))


def count_as_owned(
    pages: Pages, source: Source, meter: Meter, now: float, without: Sequence[int] = ()
) -> ChangedValue | None:
    """What was looked at is owned from now on, with its value.

    Cells that the store knows otherwise keep their value, and come back as the error to raise; of
    a source whose ``values`` are the newest they have the new one from now on.
    """
    assert source.examples is not None
    touched = meter.touched.any(axis=1) | meter.everything
    features = np.flatnonzero(touched)
    if not len(features):
        return None
    changed: list[tuple[str, str, float, float]] = []
    everything = np.setdiff1d(np.arange(source.n_examples), without)
    examples = np.full(source.n_examples, -1, dtype=np.int32)
    examples[everything] = pages.number("example", [source.examples[i] for i in everything])
    names = [source.feature_names[f] for f in features.tolist()]
    numbers = pages.number(_KIND, names, source.name)
    before = {c.number: c for c in pages.columns(_KIND, numbers.tolist())}
    kept = pages.words()
    columns: list[Column] = []
    for f, number in zip(features.tolist(), numbers.tolist()):
        rows = everything
        if not meter.everything:
            rows = np.intersect1d(kernels.rows_of_mask(meter.touched[f]), everything)
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
            new = ~np.isin(facts.examples, had.examples)  # who was first has bought it
            if f not in source.categories or number in kept:
                other, found = _changed(pages, source.feature_names[f], had, facts)
                if source.values == "newest":
                    new |= np.isin(facts.examples, other)
                else:
                    changed += found
            facts = Facts(facts.examples[new], facts.values[new], facts.times[new]).merged(had)
            boolean = boolean and old.boolean
        columns.append(write_column(_KIND, number, boolean, facts))
    pages.put_columns(columns)
    pages.columns_were_told()
    return _said(source, changed) if changed else None


def _changed(
    pages: Pages, feature: str, had: Facts, facts: Facts
) -> tuple[NDArray[np.int32], list[tuple[str, str, float, float]]]:
    """Examples whose value is another one now; the cells in full."""
    _, i, j = np.intersect1d(had.examples, facts.examples, return_indices=True)
    old, new = had.values[i], facts.values[j]
    differs = np.flatnonzero(~((old == new) | (np.isnan(old) & np.isnan(new))))
    numbers = had.examples[i[differs]]
    ids = pages.names("example", numbers.tolist())
    found = [(id, feature, float(old[k]), float(new[k])) for id, k in zip(ids, differs.tolist())]
    return numbers, found


def _said(source: Source, changed: list[tuple[str, str, float, float]]) -> ChangedValue:
    example, feature, old, new = changed[0]
    return ChangedValue(
        f"{feature} of example {example!r} in {source.name!r} is {old:g} in the store and {new:g} "
        f"here{ChangedValue.also(changed)}. These cells keep the value they have. Where values may "
        "change, give the source values='newest'; if this is another table, another name=; if one "
        "was mended, purge the example first: thrifty store purge STORE EXAMPLE.",
        cells=tuple(changed),
    )
