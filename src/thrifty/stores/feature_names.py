"""A lifetime's features as text: a million numbered names take a line, not megabytes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from thrifty.cells.sources.checks import default_names

__all__ = ["names_from_text", "names_to_text"]

#: more features than any lifetime has, and longer numbers than any of them: a stranger's store
#: may say what it likes, and is not given the memory for it
_MOST, _WIDEST = 5_000_000, 40

_NUMBERED = re.compile(r"^(.*?)(\d+)$", re.DOTALL)


def names_to_text(names: Sequence[str]) -> str:
    """Names as JSON; those that are a prefix and a running number, in short.

    >>> names_to_text(["x0", "x1", "x2"]), names_to_text(["age", "tsh"])
    ('{"prefix": "x", "first": 0, "count": 3, "width": 0}', '["age", "tsh"]')
    """
    match = _NUMBERED.match(names[0]) if names else None
    if match is not None and 1 < len(names) <= _MOST and len(match.group(2)) <= _WIDEST:
        prefix, digits = match.groups()
        width = len(digits) if len(digits) > 1 else 0
        short = {"prefix": prefix, "first": int(digits), "count": len(names), "width": width}
        for tried in (short, {**short, "width": 0}):
            if tuple(names) == _numbered(**tried):  # type: ignore[arg-type]
                return json.dumps(tried)
    return json.dumps(list(names))


def names_from_text(text: str) -> tuple[str, ...]:
    """The inverse of :func:`names_to_text`.

    >>> names_from_text(names_to_text(["f08", "f09", "f10"]))
    ('f08', 'f09', 'f10')
    """
    data = json.loads(text)
    if isinstance(data, dict):
        numbers = (data.get("first"), data.get("count"), data.get("width"))
        if not all(type(number) is int for number in numbers) or len(str(data["prefix"])) > 1000:
            raise ValueError(f"features {data!r:.80}")
        return _numbered(**data)
    return tuple(map(str, data))


def _numbered(prefix: str, first: int, count: int, width: int) -> tuple[str, ...]:
    if not (0 <= count <= _MOST and 0 <= width <= _WIDEST and 0 <= first < 10**_WIDEST):
        raise ValueError(f"{count} features with numbers of {width} digits")
    if prefix == "x" and first == 0 and width == 0:
        return default_names(count)
    return tuple(f"{prefix}{i:0{width}d}" for i in range(first, first + count))
