"""Where a mutation is, and the source with it: told by its lines, wherever they have moved to."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Mutation", "changed_line", "found_in", "function_at", "with_change"]

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


def changed_line(code: str, one: Mutation) -> int:
    """The number of the first line that differs and holds something.

    >>> changed_line("a = 1\\nb = 1\\n", {"old": "b = 1", "new": "b = 2"})
    2
    """
    lines = zip(code.split("\n"), (with_change(code, one) or "").split("\n"), strict=False)
    return next((i for i, (old, new) in enumerate(lines, 1) if old.strip() and old != new), 1)


def function_at(code: str, line: int) -> str:
    """The innermost function or class around a line; empty outside of any, as for a constant.

    >>> function_at("A = 1\\nclass B:\\n    def c(self):\\n        return 1\\n", 4)
    'B.c'
    >>> function_at("A = 1\\n", 1)
    ''
    """
    around = [one for one in _named(code) if one[0] <= line <= one[1]]
    return max(around, default=(0, 0, ""))[2]


@cache
def _named(code: str) -> list[tuple[int, int, str]]:
    """(first line, last line, qualified name) of functions and classes, with their decorators."""
    found: list[tuple[int, int, str]] = []

    def walk(node: ast.AST, before: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = before
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{before}.{child.name}".lstrip(".")
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                found.append((first, child.end_lineno or child.lineno, name))
            walk(child, name)

    walk(ast.parse(code), "")
    return found
