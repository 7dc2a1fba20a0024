"""The report: one page, complete in itself, from a :class:`LifetimeView`."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from thrifty.errors import ThriftyError
from thrifty.report.lineage import Lineage, lineage_of
from thrifty.report.outcomes import monitor_rows
from thrifty.report.pictures import Picture, pictures_of
from thrifty.report.rows import (
    beside_columns,
    metafeature_rows,
    task_columns,
    task_detail,
    task_row,
)
from thrifty.report.view import LifetimeView
from thrifty.report.words import amount, knows, share, summary

if TYPE_CHECKING:
    import jinja2

__all__ = ["PageCard", "cards_of", "moment", "report_page", "static_text", "templates"]

_SCRIPTS = ("tree.js", "table.js", "task.js", "report.js")


@dataclass(frozen=True)
class PageCard:
    """One of the figures at the top of a page."""

    name: str
    label: str
    value: str


def cards_of(view: LifetimeView) -> list[PageCard]:
    """The figures that the one who pays asks for first."""
    balance = view.balance
    unit = f" ({view.unit})" if view.unit else ""
    cards = []
    if balance is not None and balance.everything:
        cards.append(PageCard("saved", f"saved{unit}", _short(balance.saved)))
    cards.append(PageCard("learning", f"spent on learning{unit}", _short(view.spent_on_learning)))
    if balance is not None:
        cards.append(
            PageCard("predictions", f"spent on predictions{unit}", _short(balance.predictions))
        )
        if balance.reserved:
            cards.append(PageCard("reserved", f"reserved{unit}", _short(balance.reserved)))
        if balance.left is not None:
            cards.append(PageCard("left", f"left of the budget{unit}", _short(balance.left)))
    cards.append(PageCard("tasks", "tasks learned", f"{len(view.tasks):,}"))
    if view.tasks:
        part = share(view.cells_of_learning, view.everything)
        cards.append(PageCard("share", "bought, of all there is", part))
    return cards


def _short(money: float) -> str:
    """Cents say nothing beside tens of thousands."""
    return amount(round(money) if money >= 10_000 else round(money, 4))


def report_page(view: LifetimeView, scores: Mapping[str, float] | None = None) -> str:
    """The whole report as HTML.

    >>> "Nothing has been learned yet" in report_page(LifetimeView(title="empty"))
    True
    """
    lineage = lineage_of(view)
    from markupsafe import Markup

    return str(
        templates()
        .get_template("report.html")
        .render(
            view=view,
            sentences=summary(view),
            learned=knows(view, lineage),
            cards=cards_of(view),
            outcome_rows=monitor_rows(view),
            measured=any(task.quality is not None for task in view.tasks),
            pictures=[_inline(picture) for picture in pictures_of(view, lineage, scores)],
            metafeatures=len(view.metafeature_texts),
            css=Markup(static_text("thrifty.css")),
            script=Markup("\n".join(map(static_text, _SCRIPTS))),
            data=Markup(_data(view, lineage)),
            version=version("thrifty"),
        )
    )


def templates() -> jinja2.Environment:
    """The pages' templates; every value put into them is escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ThriftyError(
            "the report needs Jinja2, which is not installed. Type: pip install 'thrifty[report]'"
        ) from error
    made = Environment(
        loader=PackageLoader("thrifty.report"), autoescape=True, undefined=StrictUndefined
    )
    made.filters.update(amount=amount, moment=moment)
    made.globals.update(task_columns=task_columns, beside_columns=beside_columns)
    return made


def moment(seconds: float | None) -> str:
    """A time as a date and a clock would show it here.

    >>> moment(None), moment(0.0)
    ('', 'never')
    """
    if seconds is None:
        return ""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds else "never"


def static_text(name: str) -> str:
    """A script or style sheet that ships with the package."""
    return files("thrifty.report").joinpath("static", name).read_text(encoding="utf-8")


def _inline(picture: Picture) -> dict[str, object]:
    encoded = base64.b64encode(picture.svg().encode()).decode()
    return {
        "heading": picture.heading,
        "curious": picture.curious,
        "caption": picture.caption,
        "src": f"data:image/svg+xml;base64,{encoded}",
        "width": 720,
        "height": round(100 * picture.height),
    }


def _data(view: LifetimeView, lineage: Lineage) -> str:
    """What the page's script reads. ``<`` is written so that no name can end the script."""
    data = {
        "rows": [task_row(i, task) for i, task in enumerate(view.tasks)],
        "details": [task_detail(task, view) for task in view.tasks],
        "metafeatures": metafeature_rows(view, lineage),
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
