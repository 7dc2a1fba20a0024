"""Lets Markdown read our docstrings.

Short ones show an example without a heading: without a fence, Markdown would take its brackets for
links. Sphinx's roles are not Markdown's, and what to see also is a list.
"""

from __future__ import annotations

import re

import griffe


class FencedExamples(griffe.Extension):
    """Fences examples that have no heading, and turns roles into code."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The docstring as Markdown expects it."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    lines, out, section = text.split("\n"), [], ""
    inside = False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip()):
            section = line.strip()
        elif section == "See Also" and " : " in line:
            line = re.sub(r"^(.+?) : ", lambda found: f"- `{found[1]}`: ", line)
        if inside and not line.strip():
            out.append("```")
            inside = False
        if line.startswith(">>>") and not inside and section != "Examples":
            out.append("```pycon")
            inside = True
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)
