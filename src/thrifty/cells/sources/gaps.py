"""What stands for "missing" in a table: codes that a user names, and words among numbers.

A laboratory writes "-" where a test was not made, a survey 999. Taken for a value it makes a
category of a column of numbers, or an outlier of a gap. Codes are told with ``na=``; where a column
is numeric but for one or two words, these are found by themselves, and said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.cells.sources.base import Source, SourceView
from thrifty.checks import warn_user
from thrifty.errors import BadInput, BadParameter, Censored, LooksMisspelt, TakenForGap
from thrifty.typing import AnyArray, Bools, CensoredLike, Floats, Ints, NaLike, PresentLike

#: marks that mean a gap wherever a number or a yes or no is expected
GAPS = frozenset(
    {"", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "?", "-", "--", ".", "n.d.", "n.b."}
    | {"k.a."}  # German laboratories: not stated
)
#: codes by feature; those under "" hold for every feature
Codes = Mapping[str, Sequence[object]]

#: under this the codes say how values beyond a limit are read, so that both are kept together
_LIMITS = "<limits>"
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?$")
#: with both, 1.200,50 or 1,200.50
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+)$")
#: beyond a limit of detection: <5, >= 100
_CENSORED = re.compile(r"\s*(?:[<>≤≥]=?|=[<>])\s*([+-]?[\d.,]*\d(?:[eE][+-]?\d+)?)\s*$")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?$")
#: 007 is a name, 0.7 is not
_LEADING_ZERO = re.compile(r"[+-]?0\d")


def read_na(na: NaLike) -> dict[str, list[object]]:
    """What a user said stands for a gap, by feature; "": in every feature.

    >>> read_na(["-", 999]), read_na({"weight": 999})
    ({'': ['-', 999]}, {'weight': [999]})
    """
    if na is None:
        return {}
    if isinstance(na, Mapping):
        return {str(name): _listed(codes) for name, codes in na.items()}
    return {"": _listed(na)}


def _listed(codes: object) -> list[object]:
    several = isinstance(codes, Iterable) and not isinstance(codes, str | bytes)
    given: list[Any] = list(codes) if several else [codes]  # type: ignore[call-overload]
    plain = [c.item() if isinstance(c, np.generic) else c for c in given]
    for code in plain:
        if isinstance(code, bool) or not isinstance(code, str | int | float):
            raise BadParameter(
                "na must be texts or numbers that stand for a gap, na=['-', 999], or a mapping "
                f"from features to them; got {code!r}."
            )
    return plain


def with_censored(na: NaLike, censored: CensoredLike) -> NaLike:
    """What stands for a gap, and how a value beyond a limit is read, where that was said.

    >>> censored_of(read_na(with_censored(["-"], "half"))), with_censored(["-"], None)
    ('half', ['-'])
    """
    if censored is None:
        return na
    if censored not in ("limit", "half", "gap"):
        raise BadParameter(f"censored must be 'limit', 'half' or 'gap'; got {censored!r}.")
    return {**read_na(na), _LIMITS: [censored]}


def censored_of(codes: Codes | None) -> str | None:
    """How values beyond a limit are read; None: nobody said it."""
    said = (codes or {}).get(_LIMITS)
    return str(said[-1]) if said else None


def with_na(kept: Codes | None, new: Codes) -> dict[str, list[object]]:
    """Both together; how values beyond a limit are read is said by the new ones.

    >>> with_na({"": ["-"]}, {"": ["-", 9], "a": [1]})
    {'': ['-', 9], 'a': [1]}
    """
    both: dict[str, list[object]] = {name: list(codes) for name, codes in (kept or {}).items()}
    if _LIMITS in new:
        both.pop(_LIMITS, None)
    for name, codes in new.items():
        there = both.setdefault(name, [])
        there += [code for code in codes if code not in there]
    return both


def without_na(values: AnyArray, name: str, codes: Codes) -> AnyArray:
    """A raw column with gaps where one of the codes stands.

    >>> without_na(np.array([70, 999, 81]), "weight", {"": ["-", 999]}).tolist()
    [70.0, nan, 81.0]
    """
    here = [*codes.get("", ()), *codes.get(name, ())]
    if not here:
        return values
    numbers = [n for code in here if (n := _number(code)) is not None]
    if values.dtype.kind in "iuf":
        found = np.isin(values, numbers)
        return np.where(found, np.nan, values.astype(np.float64)) if found.any() else values
    if values.dtype.kind not in "OU":
        return values
    texts = {str(code).strip() for code in here}
    out = values.astype(object)
    for i, value in enumerate(out.tolist()):
        if isinstance(value, str):
            if value.strip() in texts:
                out[i] = None
        elif isinstance(value, int | float) and not isinstance(value, bool) and value in numbers:
            out[i] = None
    return out


def _number(code: object) -> float | None:
    try:
        return float(code)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def gap_words(texts: Sequence[str], others: int, is_number: Any) -> frozenset[str]:
    """The words of a column that is numeric but for them; none where it is something else.

    ``others`` is how many values are numbers already.

    >>> like = lambda text: text.replace(".", "").isdigit()
    >>> sorted(gap_words(["1.2", "-", "3.1"], 0, like)), sorted(gap_words(["a", "1"], 0, like))
    (['-'], [])
    """
    numbers = {text.strip() for text in texts if is_number(text)}
    odd = [text.strip() for text in texts if not is_number(text)]
    if not odd or any(map(_LEADING_ZERO.match, numbers)):
        return frozenset()
    different = len(numbers) + others
    remarks = [word for word in odd if word.lower() not in GAPS]
    if not remarks:  # marks alone
        return frozenset(odd) if different >= 2 else frozenset()
    # Not measured: a column with ten different numbers and one or two words, or words on few rows,
    # is a measurement with remarks; with fewer numbers it may as well be a list of codes, which
    # only the user knows.
    few = len(set(remarks)) <= 2 or len(remarks) <= 0.1 * (len(texts) + others)
    return frozenset(odd) if few and different >= 10 else frozenset()


def limit_of(text: str) -> str | None:
    """The limit that a censored value names; None: it is something else.

    >>> limit_of("< 0,5"), limit_of(">=100"), limit_of("<b>")
    ('0,5', '100', None)
    """
    found = _CENSORED.match(text)
    return None if found is None else found.group(1)


def may_halve(text: str) -> bool:
    """Whether half of a censored value's limit lies beyond it, too: that of "<5" does.

    >>> may_halve("<= 5"), may_halve(">100"), may_halve("<-5")
    (True, False, False)
    """
    return ">" not in text and "≥" not in text and "-" not in text.lower().partition("e")[0]


def as_written(text: str, censored: str | None = None) -> float | str | None:
    """A number as columns of numbers write it; the text itself where it is none, None: a gap.

    >>> as_written("1.200,50"), as_written("1,200.5")
    (1200.5, 1200.5)
    >>> as_written("1,5"), as_written("<5"), as_written("1,5e3"), as_written("high")
    (1.5, 5.0, 1500.0, 'high')
    >>> as_written("<0,5", "half"), as_written(">100", "half"), as_written("<5", "gap")
    (0.25, 100.0, None)
    """
    limit = limit_of(text)
    said = (text if limit is None else limit).strip()
    try:
        number = float(_with_a_point(said))
    except ValueError:
        return text
    if limit is not None and censored == "gap":
        return None
    return number / 2 if limit is not None and censored == "half" and may_halve(text) else number


def _with_a_point(said: str) -> str:
    """A number with commas as Python writes it, where the commas can mean one thing only."""
    if _GROUPED.match(said):
        first, last = (".", ",") if said.rindex(",") > said.rindex(".") else (",", ".")
        return said.replace(first, "").replace(last, ".")
    return said.replace(",", ".") if _COMMA.match(said) else said


def say_limits(found: Mapping[str, Sequence[str]], n: int) -> None:
    """Tell the user which values of which columns were read as their limit."""
    if not found:
        return
    texts = [text for some in found.values() for text in some]
    shown = ", ".join(sorted(set(texts))[:4])
    of = f" of {n}" if len(found) == 1 else ""
    warn_user(
        f"{_named(found, 'holds')} {len(texts)}{of} values beyond a limit ({shown}): each is read "
        "as the limit itself. To have them read otherwise, say censored='half' or censored='gap'; "
        "with censored='limit' nothing is said again.",
        Censored,
    )


def say_gaps(found: Mapping[str, Mapping[str, int]], n: int) -> None:
    """Tell the user what was taken for a gap, and in which columns."""
    if not found:
        return
    words = Counter[str]()
    for counts in found.values():
        words.update(counts)
    told = " and ".join(f"{word!r} ({times} of {n})" for word, times in sorted(words.items()))
    if len(found) > 1:
        told = ", ".join(map(repr, sorted(words)))
    warn_user(
        f"{_named(found, 'holds')} numbers but for {told}: taken for gaps. Where that is right, "
        f"say na={sorted(words)!r} and nothing is said again; where it is a category, "
        f"kinds={{{next(iter(found))!r}: 'category'}}.",
        TakenForGap,
    )


def say_spellings(found: Mapping[str, Mapping[str, str]]) -> None:
    """Tell the user which categories were taken for one."""
    if not found:
        return
    alike = dict.fromkeys(
        f"{text!r} as {as_!r}" for spelt in found.values() for text, as_ in spelt.items()
    )
    shown = ", ".join(list(alike)[:6]) + (", ..." if len(alike) > 6 else "")
    name, spelt = next(iter(found.items()))
    warn_user(
        f"{_named(found, 'has')} categories in several spellings: {shown}. Where they are to stay "
        f"apart, list all: kinds={{{name!r}: {list(next(iter(spelt.items())))}}}.",
        LooksMisspelt,
    )


def _named(found: Collection[str], verb: str) -> str:
    """The columns, and what they do.

    >>> _named(["CRP", "TSH"], "holds"), _named(["CRP"], "has")
    ("'CRP' and 'TSH' hold", "'CRP' has")
    """
    names = list(map(repr, found))
    if len(names) == 1:
        return f"{names[0]} {verb}"
    last = names[-1] if len(names) <= 6 else f"{len(names) - 5} more"
    first = names[:-1] if len(names) <= 6 else names[:5]
    return f"{', '.join(first)} and {last} {'have' if verb == 'has' else 'hold'}"


def decimal_commas(texts: Sequence[str], name: str) -> str:
    """What a comma means in the numbers of a column: "," for decimals, "" for thousands.

    >>> decimal_commas(["3,5", "12"], "TSH"), decimal_commas(["1,200.5"], "count")
    (',', '')
    """
    commas = [text.strip() for text in texts if "," in text]
    thousands = [text for text in commas if _THOUSANDS.match(text)]
    decimals = [text for text in commas if _COMMA.match(text) and not _THOUSANDS.match(text)]
    if decimals or not commas:
        return ","
    if thousands and not any("." in text for text in thousands):
        raise BadInput(
            f"{name!r} holds numbers such as {thousands[0]!r}, where the comma may stand for a "
            "decimal point or for thousands. Write them without commas."
        )
    return ""


def read_present(
    present: PresentLike | None, ids: Sequence[object] | None, names: Sequence[str], n: int
) -> Bools | None:
    """(examples, features) which cells exist; None where all do.

    >>> read_present([[1, 0], [1, 1]], None, ["a", "b"], 2).tolist()
    [[True, False], [True, True]]
    >>> made = read_present(lambda ids, names: [["b" in i for _ in names] for i in ids],
    ...                     ["ab", "c"], ["a"], 2)
    >>> made.tolist()
    [[True], [False]]
    """
    if present is None:
        return None
    told: object = present
    if callable(present):
        told = present(list(range(n)) if ids is None else list(ids), list(names))
    columns = getattr(told, "columns", None)
    if columns is not None:
        told = _by_name(told, [str(c) for c in columns], names)
    try:
        mask = np.asarray(told)
    except ValueError as error:
        raise BadInput(f"present must be rows x features of True and False: {error}.") from error
    if mask.shape != (n, len(names)):
        raise BadInput(
            f"present must say of every cell whether it exists: expected {n} examples x "
            f"{len(names)} features, got {' x '.join(map(str, mask.shape)) or 'one value'}."
        )
    if mask.dtype != np.bool_:
        values = _numbers(mask)
        if not np.isin(values, (0.0, 1.0)).all():
            raise BadInput(
                "present must hold True where a cell exists and False where it does not, no "
                "values; for a table with gaps that is ~np.isnan(X), or frame.notna()."
            )
        mask = values == 1.0
    return None if mask.all() else np.array(mask, dtype=np.bool_)


def _numbers(mask: AnyArray) -> Floats:
    try:
        return mask.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"present must hold True and False; got {mask.flat[0]!r}.") from error


def _by_name(frame: object, columns: Sequence[str], names: Sequence[str]) -> AnyArray:
    """A frame's columns, in the order of the features."""
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise BadInput(
            f"present must have a column for every feature; it lacks {lacking[:5]}. Give an array "
            "where its columns have no names."
        )
    given = list(frame.columns)  # type: ignore[attr-defined]
    at = [given[columns.index(name)] for name in names]
    return np.column_stack([np.asarray(frame[c].to_numpy()) for c in at])  # type: ignore[index]


class PresentSource(SourceView):
    """A source that is free to read, with gaps where cells do not exist.

    >>> from thrifty.protocol import Cells
    >>> cells = Cells(Source.from_array(np.eye(2), present=[[True, False], [True, True]]))
    >>> cells.get([0, 1], [0, 1]).tolist(), cells.receipt().cells, cells.price_of([0], [1])
    ([[1.0, nan], [0.0, 1.0]], 3, 0.0)
    """

    def __init__(self, source: Source, present: Bools) -> None:
        # a column with gaps is none of Booleans, which is why columns and tiles are the source's
        super().__init__(source, source.boolean & present.all(axis=0))
        self.present: Bools = present

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        values, here = super().read(rows, features), self.present[np.ix_(rows, features)]
        return values if here.all() else np.where(here, values.astype(np.float64), np.nan)
