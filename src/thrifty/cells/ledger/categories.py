"""The words of paid categories: kept in the store with the cells, in the places they have there.

A cell of a category holds a place. Which word stands in it belongs to the source's cells, not to
whoever asks for them: another lifetime may list the same words in another order, and reads them by
word. What cannot be read by word is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from thrifty.cells.ledger.book import Pages
from thrifty.cells.ledger.compacted import read_column
from thrifty.cells.ledger.purchase import unpack_values
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.callable import CallableSource
from thrifty.errors import BadInput
from thrifty.typing import Floats


class Places:
    """The words of one feature in the store's places, and where they stand in the source's list.

    >>> places = Places("colour", ("red", "green"), ("green", "red"))
    >>> places.here(np.array([0.0, np.nan, 1.0])).tolist()
    [1.0, nan, 0.0]
    """

    def __init__(self, name: str, stored: Sequence[str], listed: Sequence[str]) -> None:
        self.name, self.words = name, tuple(stored)
        at = {word: float(i) for i, word in enumerate(listed)}
        self._here = np.array([at.get(word, np.nan) for word in self.words])

    def here(self, values: Floats) -> Floats:
        """The store's places as the source's; a gap stays one."""
        out = np.full(len(values), np.nan)
        there = ~np.isnan(values)
        at = values[there].astype(np.int64)
        if len(at) and (at.max() >= len(self._here) or np.isnan(self._here[at]).any()):
            raise BadInput(
                f"the store holds a category of {self.name!r} that this source does not list; it "
                "was bought by somebody who lists more. Open the source again with all of them."
            )
        out[there] = self._here[at]
        return out


def place_of(value: object, words: Sequence[str]) -> float:
    """The place of one answer among words; NaN for a gap.

    A number is a place, unless words are numbers themselves: then it is the word.

    >>> place_of("green", ["red", "green"]), place_of(1, ["red", "green"]), place_of(1, ["2", "1"])
    (1.0, 1.0, 1.0)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    if isinstance(value, str):
        return float(words.index(value))
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool | np.bool_):
        raise ValueError(value)
    at = float(value)  # type: ignore[arg-type]
    if math.isnan(at):
        return at
    if any(map(_is_number, words)):
        return float(words.index(str(int(at)) if at.is_integer() else str(at)))
    if not (at.is_integer() and 0 <= at < len(words)):
        raise ValueError(value)
    return at


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def categories_in_store(
    pages: Pages, feature: int, listed: Sequence[str], *, write: bool
) -> tuple[str, ...]:
    """The words of a feature in their places; new ones come after those that are there."""
    if write:
        pages.number("word", list(listed), str(feature))
    kept = pages.words().get(feature, ())
    return (*kept, *(word for word in listed if word not in kept))


def agree_on_categories(pages: Pages, source: CallableSource, *, write: bool) -> dict[int, Places]:
    """How a source's categories are read in this store; by the source's features."""
    names, listed = source.feature_names, source.categories
    kept = pages.words()
    begun = _begun_with_words(pages, source, write=write)
    if not kept and not listed:
        return {}
    _refuse_numbers(pages, source, kept)
    some = sorted(listed)
    look = pages.number if write else pages.numbers
    numbers = source.numbered(look, some).tolist()
    out: dict[int, Places] = {}
    for f, number in zip(some, numbers):
        had, mine = kept.get(number, ()), listed[f]
        missing = [word for word in had if word not in mine]
        paid = set(_values_of(pages, number).tolist()) if missing else set()
        missing = [word for word in missing if had.index(word) in paid]
        if missing:
            raise BadInput(
                f"the store holds cells of {names[f]!r} with the categories {list(had)}; this "
                f"source lists {list(mine)}, without {missing[0]!r}. List all of them, in any "
                f"order: kinds={{{names[f]!r}: [...]}}."
            )
        if not had and number >= 0:
            _refuse_what_was_a_number(pages, names[f], number, mine, begun=begun)
        stored = mine if number < 0 else had
        if number >= 0 and not set(mine) <= set(had):
            stored = categories_in_store(pages, number, mine, write=write)
        out[f] = Places(names[f], stored, mine)
    return out


def _begun_with_words(pages: Pages, source: Source, *, write: bool) -> bool:
    """Whether all cells of this source were bought since words are kept; older stores kept none."""
    marked = bool((pages.numbers("word", [source.name], "sources") >= 0).all())
    if marked or pages.knows_source("feature", source.name):
        return marked
    if write:
        pages.number("word", [source.name], "sources")
    return True


def _refuse_numbers(
    pages: Pages, source: CallableSource, kept: Mapping[int, Sequence[str]]
) -> None:
    """A feature that has words in the store is no number here."""
    known = {source.place_of(name) for name in pages.names("feature", kept)} if kept else set()
    there = [f for f in known if f is not None and f not in source.categories]
    for f, number in zip(there, source.numbered(pages.numbers, there).tolist()):
        name = source.feature_names[f]
        if number in kept and _has_cells(pages, number):
            raise BadInput(
                f"{name!r} is a category in this store ({', '.join(kept[number][:5])}); this "
                f"source says nothing of it. Say kinds={{{name!r}: {list(kept[number])}}}."
            )


def _refuse_what_was_a_number(
    pages: Pages, name: str, number: int, words: Sequence[str], *, begun: bool
) -> None:
    values = _values_of(pages, number)
    if not len(values):
        return
    known = values[~np.isnan(values)]
    fits = (known == np.floor(known)) & (known >= 0) & (known < len(words))
    if begun or not fits.all():
        raise BadInput(
            f"the cells of {name!r} in this store were bought as a number; this source says that "
            f"it is a category ({', '.join(words[:5])}). Leave it out of kinds=, or give the "
            "source another name=: its cells are then bought anew."
        )


def _has_cells(pages: Pages, number: int) -> bool:
    open_now = any(number in p.block.features.tolist() for p in pages.blocking())
    return open_now or len(_values_of(pages, number)) > 0


def _values_of(pages: Pages, number: int) -> Floats:
    """Every value of a feature in the store."""
    found = [read_column(column).values for column in pages.columns("feature", [number])]
    for purchase in pages.settled_after(0):
        at = np.flatnonzero(purchase.block.features == number)
        if len(at) and purchase.answer is not None:
            found.append(unpack_values(purchase.answer, purchase.block)[:, at].ravel())
    return np.concatenate(found) if found else np.zeros(0)
