"""Cells from a pandas or polars frame: columns keep their names, dtypes say what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.cells.sources.array import ArraySource
from thrifty.cells.sources.base import Source
from thrifty.cells.sources.checks import checked_names
from thrifty.cells.sources.gaps import read_na
from thrifty.cells.sources.kinds import plain_kinds, read_columns, read_kinds
from thrifty.errors import BadInput
from thrifty.typing import KindsLike, NaLike

__all__ = ["frame_source"]


def frame_source(
    frame: Any,  # of pandas or Polars
    *,
    allow_missing: bool = False,
    kinds: KindsLike = None,
    known: Mapping[str, Sequence[str]] | None = None,
    lazily: bool = False,
    na: NaLike = None,
) -> Source:
    """A source over the frame's columns.

    ``lazily``: a column that is no feature, dates for instance, is an error when it is needed.
    All-Boolean frames become one byte per cell; a frame with any other column becomes float64.
    """
    given = list(frame.columns)
    if not given or len(frame) == 0:
        raise BadInput(
            "X must hold at least one example and one feature; the frame has "
            f"{len(frame)} rows and {len(given)} columns."
        )
    names = checked_names(given, len(given))
    columns = (np.asarray(frame[name].to_numpy()) for name in given)
    told = read_kinds(kinds, names)
    unread: dict[str, BadInput] = {}
    gaps: dict[str, list[object]] = {}
    table, categories = read_columns(
        columns, names, told, known or {}, unread if lazily else None, na=read_na(na), found=gaps
    )
    source = ArraySource(table, names, allow_missing=allow_missing)
    source.boolean[list(categories)] = False
    source.categories, source.unread, source.gaps = categories, unread, gaps
    source.told_kinds = plain_kinds(told)
    return source
