"""What stands for "missing" in a table: codes that a user names, and words among numbers.

A laboratory writes "-" where a test was not made, a survey 999. Taken for a value it makes a
category of a column of numbers, or an outlier of a gap. Codes are told with ``na=``; where a column
is numeric but for one or two words, these are found by themselves, and said.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.errors import BadInput, BadParameter, TakenForGap
from thrifty.typing import AnyArray, NaLike

__all__ = [
    "GAPS", "Codes", "decimal_commas", "gap_words", "read_na", "say_gaps", "with_na", "without_na",
]  # fmt: skip

#: marks that mean a gap wherever a number or a yes or no is expected
GAPS = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
#: codes by feature; those under "" hold for every feature
Codes = Mapping[str, Sequence[object]]

# Not measured: a column with ten different numbers and one or two words is a measurement with a
# remark; with fewer it may as well be a list of codes, which only the user knows.
_WORDS, _NUMBERS = 2, 10
#: with marks alone beside them, two numbers are enough
_NUMBERS_BESIDE_MARKS = 2
_COMMA = re.compile(r"[+-]?\d+,\d+$")
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


def with_na(kept: Codes | None, new: Codes) -> dict[str, list[object]]:
    """Both together.

    >>> with_na({"": ["-"]}, {"": ["-", 9], "a": [1]})
    {'': ['-', 9], 'a': [1]}
    """
    both: dict[str, list[object]] = {name: list(codes) for name, codes in (kept or {}).items()}
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
    words = frozenset(text.strip() for text in texts if not is_number(text))
    if not words or any(map(_LEADING_ZERO.match, numbers)):
        return frozenset()
    different = len(numbers) + others
    if all(word.lower() in GAPS for word in words):
        return words if different >= _NUMBERS_BESIDE_MARKS else frozenset()
    return words if len(words) <= _WORDS and different >= _NUMBERS else frozenset()


def say_gaps(name: str, words: Mapping[str, int], n: int) -> None:
    """Tell the user what was taken for a gap."""
    told = " and ".join(f"{word!r} ({times} of {n})" for word, times in sorted(words.items()))
    warnings.warn(
        f"{name!r} holds numbers but for {told}: taken for gaps. Where that is right, say "
        f"na={sorted(words)!r} and nothing is said again; where it is a category, "
        f"kinds={{{name!r}: 'category'}}.",
        TakenForGap,
        stacklevel=2,
    )


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
