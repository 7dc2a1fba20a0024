"""The report: one page, complete in itself, from a :class:`LifetimeView`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from thrifty.errors import ThriftyError
from thrifty.report.lineage import Lineage, lineage_of
from thrifty.report.pictures import Picture, pictures_of
from thrifty.report.rows import metafeature_rows, task_detail, task_row
from thrifty.report.view import LifetimeView
from thrifty.report.words import amount, share, summary

__all__ = ["Card", "cards_of", "report_page", "static_text", "templates"]

_SCRIPTS = ("tree.js", "table.js", "task.js", "report.js")


@dataclass(frozen=True)
class Card:
    """One of the figures at the top of a page."""

    name: str
    label: str
    value: str


def cards_of(view: LifetimeView) -> list[Card]:
    """The figures a user asks for first."""
    scratch = sum(task.route == "scratch" for task in view.tasks)
    cards = [
        Card("tasks", "tasks learned", f"{len(view.tasks):,}"),
        Card("scratch", "from scratch", f"{scratch:,}"),
        Card("cells", "cells bought", f"{view.cells:,}"),
        Card("share", "of buying everything", share(view.cells, view.everything)),
        Card("known", "metafeatures", f"{len(view.metafeature_texts):,}"),
    ]
    if view.priced:
        cards.insert(2, Card("cost", f"spent ({view.unit})", _short(view.cost)))
    balance = view.balance
    if balance is not None and balance.predictions:
        cards.append(
            Card("predictions", f"on predictions ({view.unit})", _short(balance.predictions))
        )
    if balance is not None and view.priced and balance.saved:
        cards.append(Card("saved", f"saved ({view.unit})", _short(balance.saved)))
    if balance is not None and balance.left is not None:
        cards.append(Card("left", "left of the budget", _short(balance.left)))
    if view.ledger is not None and view.ledger.reserved:
        cards.append(Card("reserved", "reserved", _short(view.ledger.reserved)))
    return cards


def _short(money: float) -> str:
    """Cents say nothing beside tens of thousands."""
    return amount(round(money) if money >= 10_000 else money)


def report_page(view: LifetimeView, scores: Mapping[str, float] | None = None) -> str:
    """The whole report as HTML.

    >>> "Nothing has been learned yet" in report_page(LifetimeView(title="empty"))
    True
    """
    lineage = lineage_of(view)
    from markupsafe import Markup

    return str(
        templates().get_template("report.html").render(
            view=view,
            sentences=summary(view, lineage),
            cards=cards_of(view),
            pictures=[_inline(picture) for picture in pictures_of(view, lineage, scores)],
            metafeatures=len(view.metafeature_texts),
            css=Markup(static_text("thrifty.css")),
            script=Markup("\n".join(map(static_text, _SCRIPTS))),
            data=Markup(_data(view, lineage)),
            version=version("thrifty"),
        )
    )  # fmt: skip


def templates() -> Any:
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
    made.filters["amount"] = amount
    return made


def static_text(name: str) -> str:
    """A script or style sheet that ships with the package."""
    return files("thrifty.report").joinpath("static", name).read_text(encoding="utf-8")


def _inline(picture: Picture) -> dict[str, Any]:
    encoded = base64.b64encode(picture.svg().encode()).decode()
    return {
        "heading": picture.heading,
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
