"""What is wrong with a table, said before a cell of it is used."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from thrifty.errors import BadInput, BadParameter
from thrifty.typing import AnyArray, Bools

#: what a cell of a source is: one value for good, or the newest that came
Values = Literal["fixed", "newest"]
#: what to do with an id that comes more than once
Duplicates = Literal["refuse", "first", "newest"]


@lru_cache(maxsize=8)  # very wide data is named again and again
def default_names(n: int) -> tuple[str, ...]:
    """x0, x1, ... as scikit-learn names them."""
    return tuple(f"x{i}" for i in range(n))


def checked_names(names: Sequence[object], n: int) -> tuple[str, ...]:
    """One distinct text per feature."""
    given = tuple(str(name) for name in names)
    if len(given) != n:
        raise BadInput(f"expected {n} feature names, one per column; got {len(given)}.")
    if len(set(given)) != n:
        twice = sorted({name for name in given if given.count(name) > 1})[:5]
        raise BadInput(f"feature names must be distinct; these occur more than once: {twice}.")
    can_be_stored(given, "feature name")
    return given


def checked_ids(examples: Iterable[object], n: int) -> tuple[str, ...]:
    """One distinct, stable id per example, as text.

    >>> checked_ids(["p7", 8], 2)
    ('p7', '8')
    """
    given = [e.item() if isinstance(e, np.generic) else e for e in examples]
    if len(given) != n:
        raise BadInput(f"expected {n} example ids, one per example; got {len(given)}.")
    seen: set[str] = set()
    texts: list[str] = []
    for example in given:
        if isinstance(example, int) and example.bit_length() > 4000:
            raise BadInput(
                f"an example id that is a number must have fewer than 1000 digits; "
                f"one has about {example.bit_length() * 3 // 10}. Give it as text, or shorter."
            )
        if isinstance(example, bool) or not isinstance(example, str | int):
            raise BadInput(
                f"an example id must be text or an integer, the same in every task; got "
                f"{example!r}."
            )
        text = one_form(str(example))
        if text in seen:
            raise BadInput(
                f"example ids must be distinct; {text!r} occurs more than once. A cell "
                "belongs to one example: give each its own id."
            )
        seen.add(text)
        texts.append(text)
    can_be_stored(texts, "example id")
    return tuple(texts)


def one_form(text: str) -> str:
    """The same letters are the same text, however they were typed (Unicode's composed form).

    >>> one_form("Rene\\u0301") == "Ren\\u00e9"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def checked_source_name(name: object, *, needed: bool) -> str:
    """What a source is called; ids mean nothing without it.

    >>> checked_source_name("clinic", needed=True)
    'clinic'
    """
    if name is None and not needed:
        return ""
    if not isinstance(name, str) or not name:
        raise BadInput(
            f"ids need a name= for the source that they are ids of, a text such as 'clinic'; got "
            f"{name!r}. A cell belongs to (source name, example id, feature name): the same name "
            "in two tasks says that these are the same examples."
        )
    can_be_stored([name], "source name")
    return name


def can_be_stored(texts: Iterable[str], what: str) -> None:
    """A store holds Unicode text; half a character, or a zero byte, is none."""
    given = list(texts)
    try:
        if b"\x00" not in "".join(given).encode():
            return
    except UnicodeEncodeError:
        pass
    for text in given:
        if "\x00" in text or any("\ud800" <= c <= "\udfff" for c in text):
            raise BadInput(
                f"the {what} must be text that can be stored; {text!a} holds a zero byte or "
                "half a character."
            )


def unmasked(table: object) -> AnyArray:
    """What is masked is not there: NaN, as in any other table.

    >>> unmasked(np.ma.array([1.0, 2.0], mask=[False, True])).tolist()
    [1.0, nan]
    """
    if not np.ma.isMA(table) or not np.ma.is_masked(table):
        return np.asarray(table)
    if table.dtype.kind not in "biuf":
        raise BadInput(
            f"a masked array must hold numbers; got {table.dtype}. Fill or drop what is masked."
        )
    return np.asarray(np.ma.filled(table.astype(np.float64), np.nan))


def refuse_masked(labels: object) -> None:
    """A masked label is none: learning from what lies under the mask would invent it."""
    if np.ma.isMA(labels) and np.ma.is_masked(labels):
        n = int(np.ma.getmaskarray(labels).sum())
        raise BadInput(
            f"every example needs its label; {n} of {np.size(labels)} are masked. Leave those "
            "examples out: X[~y.mask], y.compressed()."
        )


_DATES = (
    "X holds dates or times, which are not used as features. Turn them into numbers (days since an "
    "event, hour of the day, age), or leave them out."
)
_BYTES = (
    "X must hold numbers, Booleans or categories as text; got {} values. Decode bytes first: "
    "np.char.decode(X)."
)
_COMPLEX = "Complex data not supported: X must hold real numbers or Booleans."
#: what to say of values that are no features, by the kind of their dtype
_NO_FEATURES = {"m": _DATES, "M": _DATES, "S": _BYTES, "V": _BYTES, "c": _COMPLEX}


def checked_table(X: object) -> AnyArray:
    """A two-dimensional numeric array with at least one row and one column."""
    try:
        table = unmasked(X)
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(
            f"X must be a table with rows of equal length; it is ragged ({error}). "
            "Give every example the same features."
        ) from error
    if table.dtype == object:
        _not_ragged(table)
    if table.dtype.kind in _NO_FEATURES:
        raise BadInput(_NO_FEATURES[table.dtype.kind].format(table.dtype))
    if table.ndim != 2:
        raise BadInput(
            f"X must be two-dimensional, examples x features; got an array with {table.ndim} "
            "dimension(s). Reshape your data: X.reshape(-1, 1) for one feature."
        )
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise BadInput(
            f"X must hold at least one example and one feature; got {table.shape[0]} sample(s) "
            f"and {table.shape[1]} feature(s) (shape={table.shape}) while a minimum of 1 is "
            "required."
        )
    return table


def _not_ragged(table: AnyArray) -> None:
    """Object arrays of lists were ragged tables; a list in a cell is no value."""
    odd = [i for i, v in enumerate(table.ravel()[:100]) if isinstance(v, list | tuple | np.ndarray)]
    if odd and table.ndim == 2:
        row, column = divmod(odd[0], table.shape[1])
        raise BadInput(
            f"every value must be a number or text; column {column} of X holds a "
            f"{type(table[row, column]).__name__} on example {row}. Turn it into text, or leave "
            "the column out."
        )
    if odd:
        raise BadInput(
            "X must be a table with rows of equal length; it is ragged. Give every example the "
            "same features."
        )


def boolean_columns(table: AnyArray, names: Sequence[str], *, allow_missing: bool) -> Bools:
    """Which columns hold only 0 and 1; NaN and infinities are refused, naming the cell."""
    kind = table.dtype.kind
    n = table.shape[1]
    if kind == "b":
        return np.ones(n, dtype=np.bool_)
    if kind in "iu":
        if table.max() <= 1 and (kind == "u" or table.min() >= 0):
            return np.ones(n, dtype=np.bool_)
        low, high = table.min(axis=0), table.max(axis=0)
        return np.asarray((low >= 0) & (high <= 1))
    boolean = np.ones(n, dtype=np.bool_)
    for start in range(0, table.shape[0], 1024):
        block = table[start : start + 1024]
        good = (block == 0) | (block == 1)
        if good.all():
            continue
        _finite(block, start, names, allow_missing)
        boolean &= good.all(axis=0)
    return boolean


def _finite(block: AnyArray, start: int, names: Sequence[str], allow_missing: bool) -> None:
    missing = np.isnan(block)
    bad = np.isinf(block) if allow_missing else ~np.isfinite(block)
    if not bad.any():
        return
    row, column = map(int, np.argwhere(bad)[0])
    what = "NaN" if missing[row, column] else "infinity"
    todo = (
        "Say allow_missing=True where the source is made if gaps are values, as for Models; for "
        "Trees also missing='larger-child'. Else drop or impute it."
        if what == "NaN"
        else "Replace it by a finite number."
    )
    raise BadInput(
        f"every value must be known and finite; got {what} for {names[column]} on example "
        f"{start + row}. {todo}"
    )


def checked_values(values: object) -> Values:
    """What a cell of a source is: one value for good, or the newest that came."""
    if values == "fixed":
        return "fixed"
    if values == "newest":
        return "newest"
    raise BadParameter(
        f"values must be 'fixed', a cell that changes is an error, or 'newest', what came last "
        f"counts from then on; got {values!r}."
    )
