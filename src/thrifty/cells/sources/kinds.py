"""What a feature is: a number, a Boolean or a category; and how raw values become cells.

A cell is always a number: a category's cell holds its place in the list of the feature's
categories, a gap is NaN. Frames say what a column is by its dtype, object arrays column by column;
``kinds=`` says it where that is not enough. Nothing is guessed where a guess could be wrong:
dates, free text and numbers written as text are named, with what to do.

:class:`ColumnReader` reads the table of a scorecard that is fitted without cells: what is text is a
category there, and what is learned of the training rows reads later ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from thrifty.cells.sources.gaps import (
    GAPS,
    Codes,
    censored_of,
    decimal_commas,
    gap_words,
    limit_of,
    may_halve,
    say_gaps,
    say_limits,
    say_spellings,
    without_na,
)
from thrifty.errors import BadInput, BadParameter
from thrifty.typing import AnyArray, Bools, Floats, TableLike

#: what a user may say of a feature: a kind, or the list of its categories
ToldKind = str | tuple[str, ...]

_KINDS = ("number", "boolean", "category")
_YES = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}


@dataclass(frozen=True, slots=True, eq=False)
class ReadColumn:
    """One column as cells: values, whether it is Boolean, its categories (none: not a category)."""

    values: AnyArray
    boolean: bool
    categories: tuple[str, ...] | None = None
    #: words that were taken for gaps, and how often
    gaps: Mapping[str, int] = field(default_factory=dict)
    #: texts such as "<5" that were read as their limit though nobody said how
    limited: Sequence[str] = ()
    #: categories that differ by case and blanks alone, and the one that they are read as
    respelt: Mapping[str, str] = field(default_factory=dict)


def read_kinds(kinds: object, names: Sequence[str]) -> dict[str, ToldKind]:
    """What the user said about the features, checked.

    >>> read_kinds({"age": "number", "colour": ["red", "green"]}, ["age", "colour", "x"])
    {'age': 'number', 'colour': ('red', 'green')}
    """
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise BadParameter(
            "kinds must be a mapping from feature names to 'number', 'category', 'boolean' or a "
            f"list of categories; got {type(kinds).__name__}."
        )
    there = set(names)
    unknown = [str(name) for name in kinds if str(name) not in there]
    if unknown:
        raise BadParameter(
            f"kinds names features that are not there: {unknown[:5]}; there are "
            f"{', '.join(map(repr, list(names)[:8]))}{', ...' if len(names) > 8 else ''}."
        )
    return {str(name): _told(str(name), said) for name, said in kinds.items()}


def _told(name: str, said: object) -> ToldKind:
    if isinstance(said, str) and said in _KINDS:
        return said
    if isinstance(said, Sequence) and not isinstance(said, str) and len(said):
        listed = tuple(_text(v) for v in said)
        if len(set(listed)) == len(listed):
            return listed
    raise BadParameter(
        f"kinds[{name!r}] must be 'number', 'category', 'boolean' or a list of distinct "
        f"categories; got {said!r}."
    )


def plain_kinds(told: Mapping[str, ToldKind]) -> dict[str, str]:
    """Those told in one word; listed categories are the words of their own source.

    >>> plain_kinds({"age": "number", "colour": ("red", "green")})
    {'age': 'number'}
    """
    return {name: kind for name, kind in told.items() if isinstance(kind, str)}


def read_column(
    raw: object,
    name: str,
    told: ToldKind | None = None,
    known: Sequence[str] = (),
    na: Codes | None = None,
) -> ReadColumn:
    """A raw column as cells; ``known`` are categories that have their places already.

    ``na`` are codes that stand for a gap.

    >>> column = read_column(np.array(["red", None, "green", "red"], dtype=object), "colour")
    >>> column.categories, column.values.tolist()
    (('green', 'red'), [1.0, nan, 0.0, 1.0])
    """
    read = _read_column(raw, name, told, known, na)
    _say({name: read})
    return read


def _say(columns: Mapping[str, ReadColumn]) -> None:
    """What was found in some columns of a table, in one note for all of them."""
    n = max((len(column.values) for column in columns.values()), default=0)
    say_limits({name: c.limited for name, c in columns.items() if c.limited}, n)
    say_gaps({name: c.gaps for name, c in columns.items() if c.gaps}, n)
    say_spellings({name: c.respelt for name, c in columns.items() if c.respelt})


def _read_column(
    raw: object, name: str, told: ToldKind | None, known: Sequence[str], na: Codes | None
) -> ReadColumn:
    """The same, nothing said."""
    values = np.asarray(raw)
    if np.ma.isMaskedArray(raw):
        values = raw.data.astype(object)
        values[np.ma.getmaskarray(raw)] = None
    if values.dtype.kind in "mM":
        raise _a_date(name)
    if values.dtype.kind in "SV" or values.dtype.kind == "c":
        raise BadInput(
            f"every feature must hold numbers, Booleans or categories; {name!r} holds "
            f"{values.dtype} values. Decode or convert it first, or leave the column out."
        )
    before = values
    values = values if na is None else without_na(values, name, na)
    coded = values is not before or bool(na and na.get(name))
    if told is None and values.dtype.kind in "biuf":
        return _numeric(values, name)
    listed = values.astype(object).tolist()
    gaps = np.array([_is_gap(v) for v in listed], dtype=np.bool_)
    words, limited = dict[str, int](), dict[int, str]()
    censored = censored_of(na)
    if told in (None, "number"):
        listed, limited = _with_limits(listed, gaps, told)
    if censored == "gap":
        gaps[list(limited)] = True
    if told is None and (words := _words_among_numbers(listed, gaps)):
        gaps |= np.array([isinstance(v, str) and v.strip() in words for v in listed])
        told = "number"
    if told is None:
        numbers = coded or bool(limited)
        numbers = numbers and all(gap or _like_number(str(v)) for v, gap in zip(listed, gaps))
        told = "number" if numbers else _inferred(listed, gaps, name)
    if told == "number":
        cells = _numbers(listed, gaps, name)
        if censored == "half":
            cells[[i for i, text in limited.items() if may_halve(text)]] /= 2
        beyond = [text.strip() for text in limited.values()] if censored is None else []
        return replace(_numeric(cells, name), gaps=words, limited=beyond)
    if told == "boolean":
        return _booleans(listed, gaps, name)
    declared = told if isinstance(told, tuple) else None
    return _codes(listed, gaps, name, declared, tuple(known))


def read_columns(
    columns: Iterable[Sequence[object] | AnyArray],
    names: Sequence[str],
    told: Mapping[str, ToldKind],
    unread: dict[str, BadInput] | None = None,
    na: Codes | None = None,
    found: dict[str, list[object]] | None = None,
) -> tuple[AnyArray, dict[int, tuple[str, ...]]]:
    """Raw columns as one table of cells, and the categories of those features that have them.

    With ``unread``, columns that are no features are noted there, with what is to be said should
    they be needed, and hold zeros. With ``found``, words that were taken for gaps are noted there.
    """
    read = []
    for column, name in zip(columns, names):
        try:
            read.append(_read_column(column, name, told.get(name), (), na))
        except BadInput as error:
            if unread is None:
                raise
            unread[name] = error
            read.append(ReadColumn(np.zeros(len(column), dtype=np.uint8), True))
    _say(dict(zip(names, read)))
    if found is not None:
        found |= {name: list(c.gaps) for name, c in zip(names, read) if c.gaps}
    categories = {f: c.categories for f, c in enumerate(read) if c.categories is not None}
    dtype = np.uint8 if all(column.boolean for column in read) else np.float64
    return np.column_stack([column.values.astype(dtype) for column in read]), categories


def _numeric(values: AnyArray, name: str) -> ReadColumn:
    if values.dtype.kind == "b":
        return ReadColumn(values.astype(np.uint8), True)
    boolean = bool(((values == 0) | (values == 1)).all())
    return ReadColumn(values.astype(np.uint8 if boolean else np.float64), boolean)


def _is_gap(value: object) -> bool:
    if value is None or (isinstance(value, float) and value != value):
        return True
    return type(value).__name__ in ("NAType", "NaTType")  # pandas' own gaps, without pandas


def _with_limits(
    listed: list[object], gaps: Bools, told: ToldKind | None
) -> tuple[list[object], dict[int, str]]:
    """A column of numbers with values beyond a limit, "<5", as the limit, and which these are.

    A column that is not said to be of numbers is one where all else is numbers and words for gaps,
    and two numbers differ: "<5", "5-10" and ">10" are categories.
    """
    texts = {i: v for i, v in enumerate(listed) if isinstance(v, str) and not gaps[i]}
    limits = {i: limit for i, v in texts.items() if (limit := limit_of(v)) is not None}
    if not limits:
        return listed, {}
    rest = [v.strip() for i, v in texts.items() if i not in limits]
    there = [v for v in listed if isinstance(v, int | float | np.number)]
    if told is None:
        words = gap_words(rest, len(set(there)), _like_number)
        plain = {*there, *(v for v in rest if v not in words)}
        if len(plain) < 2 or not all(v in words or _like_number(v) for v in rest):
            return listed, {}
    return [limits.get(i, v) for i, v in enumerate(listed)], {i: texts[i] for i in limits}


def _words_among_numbers(listed: list[object], gaps: Bools) -> dict[str, int]:
    """The words of an object column that is numeric but for them, counted; none: it is not."""
    there = [v for v, gap in zip(listed, gaps) if not gap]
    texts = [v for v in there if isinstance(v, str)]
    numbers = [v for v in there if isinstance(v, int | float | np.number)]
    if len(texts) + len(numbers) < len(there):
        return {}
    words = gap_words(texts, len(set(numbers)), _like_number)
    return {word: sum(text.strip() == word for text in texts) for word in sorted(words)}


def _inferred(listed: list[object], gaps: Bools, name: str) -> str:
    """The kind of an object column, from the values that are there."""
    there = [v for v, gap in zip(listed, gaps) if not gap]
    if all(isinstance(v, bool | np.bool_) for v in there) and there:
        return "boolean"
    if all(isinstance(v, bool | int | float | np.number | np.bool_) for v in there):
        return "number"
    if any(map(_is_date, there)):
        raise _a_date(name)
    odd = next((v for v in there if not isinstance(v, str | int | float | np.number | bool)), None)
    if odd is not None:
        raise BadInput(
            f"a category must be text or a number; {name!r} holds a {type(odd).__name__} "
            f"({odd!r:.40}). Turn it into text, or leave the column out."
        )
    texts = [v for v in there if isinstance(v, str)]
    if 0.5 * len(there) < sum(map(is_date_text, texts)):
        raise _a_date(name)
    like_numbers = sum(map(_like_number, texts)) + len(there) - len(texts)
    if 0.5 * len(there) < like_numbers:
        odd_ones = sorted({v for v in texts if not _like_number(v)})[:3]
        among = f" (among others {', '.join(map(repr, odd_ones))})" if odd_ones else ""
        raise BadInput(
            f"{name!r} holds text, and {like_numbers} of its {len(there)} values look like numbers"
            f"{among}. Say what it is: kinds={{{name!r}: 'number'}}, where marks such as 'NA' and "
            f"'?' become gaps, or kinds={{{name!r}: 'category'}}."
        )
    different = len(set(texts))
    if different > 50 and different > 0.5 * len(there):  # most of them on one row
        raise BadInput(
            f"{name!r} looks like free text or an identifier: {different} different texts on "
            f"{len(there)} examples. Leave the column out, make features of it, or, if it "
            f"is a category all the same, say kinds={{{name!r}: 'category'}}."
        )
    return "category"


#: a date written as text, with or without a time: 2024-05-31, 31.5.2024, 5/31/24 10:20
_DATE = re.compile(r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}([./])\d{1,2}\2(\d{4}|\d{2}))([T ,].*)?\s*$")


def is_date_text(text: str) -> bool:
    """Whether a text is a date.

    >>> is_date_text("31.12.2024"), is_date_text("3.5")
    (True, False)
    """
    return _DATE.match(text) is not None


def _is_date(value: object) -> bool:
    # pandas' periods have no isoformat
    return (
        hasattr(value, "isoformat")
        or isinstance(value, np.datetime64)
        or (type(value).__name__ == "Period")
    )


def _a_date(name: str) -> BadInput:
    return BadInput(
        f"{name!r} holds dates or times, which are not used as features. Turn it into a number "
        "(days since an event, hour of the day, age), or leave the column out."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower() not in GAPS


def _like_number(text: str) -> bool:
    """Also with a decimal comma, which is read where the column is said to hold numbers."""
    return _is_number(text) or _is_number(text.replace(",", ".", 1))


def _numbers(listed: list[Any], gaps: Bools, name: str) -> Floats:
    out = np.full(len(listed), np.nan)
    texts = [v for v, gap in zip(listed, gaps) if not gap and isinstance(v, str) and "," in v]
    comma = decimal_commas(texts, name) if texts else ""
    for i, value in enumerate(listed):
        if gaps[i] or (isinstance(value, str) and value.strip().lower() in GAPS):
            continue
        if texts and isinstance(value, str) and "," in value:
            value = value.replace(",", "." if comma else "")
        try:
            out[i] = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(
                f"{name!r} must hold numbers; got {value!r:.60} on example {i}. Mend the value, "
                f"say kinds={{{name!r}: 'category'}}, or, where it stands for a gap, "
                f"na=[{value!r:.60}]."
            ) from error
    return out


def _booleans(listed: list[object], gaps: Bools, name: str) -> ReadColumn:
    out = np.full(len(listed), np.nan)
    for i, value in enumerate(listed):
        if gaps[i] or (isinstance(value, str) and value.strip().lower() in GAPS):
            continue
        read = _YES.get(str(value).strip().lower().removesuffix(".0"))
        if read is None:
            raise BadInput(
                f"{name!r} must be yes or no (True, False, 1, 0); got {value!r:.60} on example {i}."
            )
        out[i] = read
    whole = not np.isnan(out).any()  # with gaps it is a number that is 0 or 1
    return ReadColumn(out.astype(np.uint8) if whole else out, whole)


def _codes(
    listed: list[object],
    gaps: Bools,
    name: str,
    declared: tuple[str, ...] | None,
    known: tuple[str, ...],
) -> ReadColumn:
    """Places in the list of categories: what is known first, then what is new, in order."""
    try:
        texts = ["" if gap else _text(v) for v, gap in zip(listed, gaps)]
    except TypeError as error:
        raise BadInput(f"a category must be text or a number; {name!r}: {error}.") from error
    known = (*known, *(c for c in declared or () if c not in known))
    spelt = in_one_spelling((t for t, gap in zip(texts, gaps) if not gap), known)
    new = set(spelt.values()) - set(known)
    if declared is not None and (stray := sorted(new)):
        raise BadInput(
            f"{name!r} must be one of {list(declared)[:8]}; got {stray[0]!r} on example "
            f"{texts.index(stray[0])}. Add it to kinds[{name!r}], or mend the value."
        )
    categories = (*known, *sorted(new))
    place = {c: float(i) for i, c in enumerate(categories)}
    out = np.array([np.nan if gap else place[spelt[t]] for t, gap in zip(texts, gaps)])
    respelt = {text: as_ for text, as_ in spelt.items() if text != as_ and as_ in new}
    return ReadColumn(out, False, categories, respelt=respelt)


def in_one_spelling(texts: Iterable[str], known: Sequence[str] = ()) -> dict[str, str]:
    """Texts that differ by case and blanks alone as one category: the known, or the most frequent.

    A single letter may differ from its capital.

    >>> in_one_spelling(["Nein", "nein", "Nein", "ja", "a"], ["A", "JA"])
    {'Nein': 'Nein', 'nein': 'Nein', 'ja': 'JA', 'a': 'a'}
    """
    there = set(known)
    meant: dict[str, str] = {}
    for word in reversed(known):
        meant[_meaning(word)] = word
    counted = Counter(texts).most_common()
    return {
        text: text if text in there else meant.setdefault(_meaning(text), text)
        for text, _ in counted
    }


def _meaning(text: str) -> str:
    word = " ".join(text.split())
    return word.casefold() if len(word) > 1 else word


def _text(value: object) -> str:
    """A category's name; 2 and 2.0 are the same one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float | bool):
        raise TypeError(f"got {value!r:.40}, a {type(value).__name__}")
    return str(value)


def has_texts(X: Any) -> bool:
    """Whether some column of a frame or an object array has to be read as categories."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        return any(_is_category(X[name]) for name in X.columns)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        return any(_is_category(X[:, f]) for f in range(X.shape[1]))
    return False


@dataclass(frozen=True)
class ColumnReader:
    """Texts of every column that holds categories, None for numbers; learned from training rows.

    >>> reader = ColumnReader.of(np.array([["red", 1], ["blue", 2]], dtype=object))
    >>> reader.categories, reader.read(np.array([["blue", 5], ["green", None]], dtype=object))
    ((('blue', 'red'), None), array([[ 0.,  5.],
           [ 2., nan]]))
    """

    categories: tuple[tuple[str, ...] | None, ...]

    @classmethod
    def of(cls, X: TableLike) -> ColumnReader:
        return cls(
            tuple(
                read_column(column, name, "category").categories if _is_category(column) else None
                for name, column in _columns(X)
            )
        )

    def read(self, X: TableLike) -> Floats:
        """Numbers; a category never seen is one more than the last, a gap NaN."""
        found = []
        for texts, (name, column) in zip(self.categories, _columns(X)):
            told = "number" if np.asarray(column).dtype.kind not in "biuf" else None
            kind = told if texts is None else "category"
            values = read_column(column, name, kind, texts or ()).values.astype(np.float64)
            found.append(values if texts is None else np.minimum(values, len(texts)))
        return np.column_stack(found)


def _columns(X: Any) -> list[tuple[str, Any]]:
    if hasattr(X, "columns"):
        return [(str(name), X[name]) for name in X.columns]
    return [(f"x{f}", X[:, f]) for f in range(X.shape[1])]


def _is_category(column: Any) -> bool:
    kind = str(column.dtype).lower()
    if any(word in kind for word in ("category", "categorical", "str", "enum", "utf8")):
        return True
    if kind == "object":
        return any(isinstance(value, str) for value in np.asarray(column, dtype=object))
    return kind.startswith(("<u", ">u", "|s"))
