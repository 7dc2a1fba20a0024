"""An answer becomes values only if it is exactly what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from thrifty.cells.ledger.categories import place_of
from thrifty.cells.ledger.purchase import pack_arrays
from thrifty.cells.sources.checks import one_form, unmasked
from thrifty.errors import MalformedAnswer
from thrifty.typing import AnyArray, Bools, Floats

#: names of what is secret
_NAMED = (
    r"[\w-]*(?:api[-_]?key|tokens?|secrets?|passw(?:or)?ds?|passphrases?|pwd|authorization|bearer"
    r"|credentials?)[\w-]*"
)
#: what a text may hold in quotes
_QUOTED = r"b?(?:'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?)"
_SECRETS = {
    # to the end of the key, or of the text where it was cut off
    r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*KEY-----|\Z)": "***",
    # to the last @: a password may have one
    r"(?i)(://[^/\s:@]+:)[^\s\"'<>]*@": r"\1***@",
    r"(?i)\b((?:set-)?cookie|authorization)([\"']?\s*[:=,]\s*b?[\"']?)[^\"'\r\n}]+": r"\1\2***",
    r"\b([Bb]asic|BASIC|[Bb]earer|BEARER)\s+(?=\S*[A-Z0-9])[A-Za-z0-9+/_.~-]{6,}=*": r"\1 ***",
    r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?": "***",
    # a name in quotes and all that belongs to it: a list, a mapping, the next of a pair
    rf"(?is)(b?([\"']){_NAMED}\2\s*[:,=]\s*)[\[({{].*": r"\1***",
    rf"(?i)(b?([\"']){_NAMED}\2\s*[:,=]\s*){_QUOTED}": r"\1***",
    rf"(?i)\b({_NAMED}\s*[:=]\s*){_QUOTED}": r"\1***",
    rf"(?i)\b({_NAMED}[\"']?\s*[:= ]\s*[\"']?)(?:bearer\s+)?[^\s\"',;&)}}]+": r"\1***",
    r"\b(?:(?:sk|pk|rk|gh[pousr]|github_pat|glpat|gldt|glrt|xox[abeprs]|ya29|hf|npm|pypi)"
    r"[-_.][A-Za-z0-9_.-]{8,}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,})": "***",
}


def redacted(text: str) -> str:
    """Text without what looks like a password, a key or a token.

    >>> redacted("GET https://me:hunter2@lab.example/?api_key=12345 failed")
    'GET https://me:***@lab.example/?api_key=*** failed'
    """
    for pattern, instead in _SECRETS.items():
        text = re.sub(pattern, instead, text)
    return text


def keep_answer(answer: object) -> bytes:
    """A malformed answer as it can be kept: numbers as numbers, anything else as short text."""
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "biuf" and answer.size < 1e6:
        return pack_arrays({"numbers": np.asarray(answer, dtype=np.float64)})
    text = redacted(_shown(answer)[:4000]).encode(errors="backslashreplace")
    return pack_arrays({"text": np.frombuffer(text, dtype=np.uint8)})


def _shown(value: object) -> str:
    """Its repr; a stranger's object may not even have one."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} without a repr>"


def read_answer(
    answer: object,
    examples: Sequence[object],
    features: Sequence[str],
    boolean: Bools,
    *,
    allow_missing: bool = False,
    words: Mapping[int, Sequence[str]] | None = None,
) -> Floats:
    """The values of an answer, rows x features; anything odd is an error that says what.

    ``words`` are the categories of those columns that are one. An answer is first held against what
    was asked, as it came; only then are words turned into their places.

    >>> read_answer([[True, 0]], ["p1"], ["a", "b"], np.array([True, True])).tolist()
    [[1.0, 0.0]]
    >>> read_answer([["red"]], ["p1"], ["a"], np.array([False]), words={0: ["red"]}).tolist()
    [[0.0]]
    """
    with _malformed(answer):
        return _read(answer, examples, features, boolean, allow_missing, words or {})


def _read(
    answer: object,
    examples: Sequence[object],
    features: Sequence[str],
    boolean: Bools,
    allow_missing: bool,
    words: Mapping[int, Sequence[str]],
) -> Floats:
    asked = f"{len(examples)} examples x {len(features)} features"
    if isinstance(answer, MalformedAnswer):
        raise answer
    if answer is None:
        raise MalformedAnswer(f"the provider answered nothing (None) where {asked} were asked.")
    table = _table(answer, examples, features, asked, mixed=bool(words))
    if table.ndim != 2 or table.shape != (len(examples), len(features)):
        raise MalformedAnswer(
            f"the provider was asked for {asked} and answered with shape {table.shape}. It must "
            "give one row per example and one column per feature, in the order asked, no more and "
            "no less."
        )
    if words:
        table = _in_places(table, examples, features, words)
    values = _numbers(table, examples, features, allow_missing)
    bad = ~np.isfinite(values)
    if allow_missing:
        bad &= ~(np.isnan(values) & ~boolean)
    bad |= boolean & (values != 0) & (values != 1) & ~np.isnan(values)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        wanted = "0 or 1" if boolean[column] else "a finite number"
        raise MalformedAnswer(
            f"{features[column]} must be {wanted}; the provider gave {values[row, column]:g} for "
            f"example {examples[row]!r} ({int(bad.sum())} of {bad.size} values are bad)."
        )
    return values


def as_table(answer: object, examples: Sequence[object], features: Sequence[str]) -> AnyArray:
    """An answer as an array of whatever it holds, its order held against what was asked."""
    asked = f"{len(examples)} examples x {len(features)} features"
    if isinstance(answer, MalformedAnswer):
        raise answer
    with _malformed(answer):
        return _table(answer, examples, features, asked, mixed=True)


@contextmanager
def _malformed(answer: object) -> Iterator[None]:
    """An object of the provider's that fails when it is looked at is no answer."""
    try:
        yield
    except MalformedAnswer:
        raise
    except Exception as error:
        raise MalformedAnswer(
            f"the provider must answer with a table of numbers; its {type(answer).__name__} cannot "
            f"be read ({type(error).__name__})."
        ) from error


def _table(
    answer: object, examples: Sequence[object], features: Sequence[str], asked: str, *, mixed: bool
) -> AnyArray:
    """The answer as an array; ``mixed``: words and numbers, which numpy would turn into text."""
    kind = object if mixed else None
    if hasattr(answer, "columns") and hasattr(answer, "index") and hasattr(answer, "to_numpy"):
        _same_order([str(c) for c in answer.columns], list(features), "features")
        given, asked_for = ([one_form(str(e)) for e in some] for some in (answer.index, examples))
        _same_order(given, asked_for, "examples")
        return unmasked(answer.to_numpy(dtype=kind))
    if isinstance(answer, str | bytes | Mapping | set):
        raise MalformedAnswer(
            f"the provider must answer with a table of {asked}; it gave a {type(answer).__name__}."
        )
    try:
        if np.ma.isMA(answer):
            return _gaps_for_masked(answer) if mixed else unmasked(answer)
        return np.asarray(answer, dtype=kind)
    except ValueError as error:
        raise MalformedAnswer(
            f"the provider must answer with a table of {asked}; its rows have different lengths."
        ) from error


def _gaps_for_masked(answer: AnyArray) -> AnyArray:
    """What is masked is not there; what lies under the mask is nobody's answer."""
    out = np.array(np.ma.getdata(answer), dtype=object)
    out[np.ma.getmaskarray(answer)] = None
    return out


def _in_places(
    table: AnyArray,
    examples: Sequence[object],
    features: Sequence[str],
    words: Mapping[int, Sequence[str]],
) -> AnyArray:
    """Words in their places; whatever is none of them is no answer."""
    out = table.astype(object)
    for j, listed in words.items():
        for i, value in enumerate(out[:, j]):
            try:
                out[i, j] = place_of(value, listed)
            except ValueError:
                shown = redacted(_shown(value)[:40])
                raise MalformedAnswer(
                    f"{features[j]} must be one of {', '.join(map(repr, listed[:8]))}; the "
                    f"provider gave {shown} for example {examples[i]!r}."
                ) from None
    return out


def _same_order(got: list[str], asked: list[str], what: str) -> None:
    if got == asked:
        return
    if sorted(got) == sorted(asked):
        i = next(i for i, (g, a) in enumerate(zip(got, asked)) if g != a)
        raise MalformedAnswer(
            f"the {what} came in another order than asked: place {i} holds {got[i]!r} where "
            f"{asked[i]!r} was asked."
        )
    lacking, extra = sorted(set(asked) - set(got))[:3], sorted(set(got) - set(asked))[:3]
    raise MalformedAnswer(
        f"the provider was asked for {len(asked)} {what} and answered {len(got)}; missing: "
        f"{lacking or 'none'}, not asked for: {extra or 'none'}."
    )


def _numbers(
    table: AnyArray, examples: Sequence[object], features: Sequence[str], allow_missing: bool
) -> Floats:
    if table.dtype.kind in "biuf":
        return table.astype(np.float64)
    if table.dtype == object:
        plain = (bool, int, float, np.bool_, np.integer, np.floating)
        for (row, column), value in np.ndenumerate(table):
            if value is None and allow_missing:
                continue  # a gap, as JSON writes it
            if not isinstance(value, plain):
                shown = redacted(_shown(value)[:40])
                raise MalformedAnswer(
                    f"{features[column]} must be a number; the provider gave {shown} for example "
                    f"{examples[row]!r}."
                )
        try:
            return table.astype(np.float64)
        except (OverflowError, ValueError) as error:
            raise MalformedAnswer(f"the provider gave a number out of range ({error}).") from error
    raise MalformedAnswer(
        f"values must be numbers or Booleans; the provider gave {table.dtype} values."
    )
