"""Lets mkdocstrings read our docstrings.

They write ``name : what it is`` on one line; in numpy's own style that place is the type's, but
types are in our signatures already. And short ones show an example without a heading: without a
fence, Markdown would take its brackets for links.
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
    """The docstring as griffe and Markdown expect it."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)  # Sphinx's roles are not Markdown's
    lines, out, section = text.split("\n"), [], ""
    fenced = False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip()):
            section = line.strip()
        if fenced and not line.strip():
            out.append("```")
            fenced = False
        if line.startswith(">>>") and not fenced and section != "Examples":
            out.append("```pycon")
            fenced = True
        match = _LINE.match(line)
        if section in _TITLES and match:
            out += [match.group(1), f"    {match.group(2)}"]
        else:
            out.append(line)
    return "\n".join([*out, "```"] if fenced else out)
