"""Small tables for notebooks: every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if value != int(value) else f"{int(value):,}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def table_html(head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table; numbers are written as people write them.

    >>> table_html(["task"], [["<b>"]])
    '<table><thead><tr><th>task</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{below}"


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """A heading and a line for each fact that there is; None is left out."""
    lines = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_cell(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{lines}</tbody></table>"


def pre_html(text: str) -> str:
    """Text as it is.

    >>> pre_html("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape(text)}</pre>"
