"""Where a mutation is, and the source with it: told by its lines, wherever they have moved to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["Mutation", "found_in", "with_change"]

#: ``file``, ``old`` and ``new`` lines, and what else is known of it
Mutation = dict[str, Any]


def with_change(code: str, one: Mutation) -> str | None:
    """The code after the change; None where its lines are not there, or more than once.

    Lines are also found at another indentation: code that is moved into a function keeps them.

    >>> with_change("if a:\\n    b = 1\\n", {"old": "b = 1", "new": "b = 2"})
    'if a:\\n    b = 2\\n'
    >>> with_change("if a:\\n    b = 1\\n    c\\n",
    ...             {"old": "        b = 1\\n        c", "new": "        b = 2\\n        c"})
    'if a:\\n    b = 2\\n    c\\n'
    """
    if code.count(one["old"]) == 1:
        return code.replace(one["old"], one["new"])
    lines, old = code.split("\n"), one["old"].split("\n")
    wanted, bare = [line.strip() for line in old], [line.strip() for line in lines]
    n = len(old)
    at = [i for i in range(len(bare) - n + 1) if bare[i : i + n] == wanted]
    if len(at) != 1:
        return None
    deep, was = _indent(lines[at[0]]), _indent(old[0])
    new = [deep + line.removeprefix(was) if line else line for line in one["new"].split("\n")]
    return "\n".join([*lines[: at[0]], *new, *lines[at[0] + n :]])


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def found_in(root: Path, one: Mutation) -> str | None:
    """The file that holds it: its own, or else the only one in ``src`` that does."""
    own = root / one["file"]
    if own.exists() and with_change(own.read_text(encoding="utf-8"), one) is not None:
        return str(one["file"])
    holding = [
        path
        for path in sorted((root / "src").rglob("*.py"))
        if with_change(path.read_text(encoding="utf-8"), one) is not None
    ]
    return holding[0].relative_to(root).as_posix() if len(holding) == 1 else None
