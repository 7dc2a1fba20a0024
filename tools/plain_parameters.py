"""Lets mkdocstrings read our docstrings, which write ``name : what it is`` on one line.

In numpy's own style that place is the type's; types are in our signatures already, so the words
after the colon are the description.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_LINE = re.compile(r"^(\w+(?:, \w+)*) : (.+)$")
_TITLES = ("Parameters", "Attributes")


class PlainParameters(griffe.Extension):
    """Moves the words after the colon to the line below, indented, where griffe expects them."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = moved(obj.docstring.value)


def moved(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)  # Sphinx's roles are not Markdown's
    lines, out, inside = text.split("\n"), [], False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip()):
            inside = line.strip() in _TITLES
        match = _LINE.match(line)
        if inside and match:
            out += [match.group(1), f"    {match.group(2)}"]
        else:
            out.append(line)
    return "\n".join(out)
