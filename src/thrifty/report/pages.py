"""What the report and the dashboard say: figures at the top, sentences, tables, the page itself.

Tables are small JSON for the browser. A tree is nested lists: a leaf ``[label, training rows]``, a
node ``[feature, threshold, false, true]``. Short on purpose: a report holds thousands of them.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from thrifty.lifetime.bill import COLUMNS, BillColumn
from thrifty.on_demand import needed
from thrifty.report.pictures import Picture, pictures_of
from thrifty.report.view import LifetimeView, TaskView, amount, counted, share
from thrifty.trees.tree import Leaf, Tree
from thrifty.typing import Json

if TYPE_CHECKING:
    import jinja2

    from thrifty.report.dashboard import Scene

#: what draws trees, tables and tasks, and then what fills the page with them
SCRIPTS = ("tree.js", "table.js", "task.js", "report.js")
_READING = "Reading the store. This page fills itself as soon as it is read."
#: how a task was learned, by its route
_HOW = {
    "reused": "Learned from what earlier tasks had taught.",
    "scratch": "Learned on its own: what earlier tasks had taught was not enough.",
}


# -- the top of a page ---------------------------------------------------------------------------


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
    money = [("learning", "spent on learning", view.spent_on_learning)]
    if balance is not None:
        money.append(("predictions", "spent on predictions", balance.predictions))
        if balance.everything:
            money.insert(0, ("saved", "saved", balance.saved))
        if balance.reserved:
            money.append(("reserved", "reserved", balance.reserved))
        if balance.left is not None:
            money.append(("left", "left of the budget", balance.left))
    cards = [PageCard(name, f"{label}{unit}", _short(sum)) for name, label, sum in money]
    cards.append(PageCard("tasks", "tasks learned", f"{len(view.tasks):,}"))
    if view.tasks:
        part = share(view.bought, view.everything)
        cards.append(PageCard("share", "bought, of all there is", part))
    return cards


def _short(money: float) -> str:
    """Cents say nothing beside tens of thousands."""
    return amount(round(money) if money >= 10_000 else round(money, 4))


def summary(view: LifetimeView) -> list[str]:
    """What happened, for the one who pays; an empty lifetime gets a friendly sentence."""
    if not view.tasks:
        said = [
            "Nothing has been learned yet. The first task will appear here: learn one with "
            "life.learn(name, X, y), or with the command thrifty learn."
        ]
        if view.balance is not None and view.balance.spent:
            said.append(f"{view.money(view.balance.spent)} spent so far.")
    else:
        widest = max(task.receipt.n_features for task in view.tasks)
        cells = view.cells_of_learning
        learned = (
            f"{counted(len(view.tasks), 'task')} learned over {counted(widest, 'feature')}, from "
            f"{counted(cells, 'cell')}. Of the {view.everything:,} cells of all rows "
            f"{view.bought:,} were bought, {share(view.bought, view.everything)}."
        )
        said = [learned, *_paid(view)]
    if view.ledger.in_doubt:
        waiting = counted(len(view.ledger.in_doubt), "purchase")
        said.append(f"{waiting} in doubt: money stays reserved until you say what happened.")
    return said


def _paid(view: LifetimeView) -> list[str]:
    balance = view.balance
    if balance is None:
        return [f"Learning cost {view.money(view.cost)}."] if view.priced else []
    said = []
    if view.priced:
        said.append(f"Learning cost {view.money(balance.learning)}.")
    if balance.predictions:
        said.append(f"Predictions have cost {view.money(balance.predictions)}.")
    if view.priced and balance.everything:
        said.append(
            f"All values of the same rows, each paid once, would have cost "
            f"{view.money(balance.everything)}: {view.money(balance.saved)} saved."
        )
    if balance.left is not None:
        total = balance.left + balance.spent + balance.reserved
        said.append(f"Of the budget of {view.money(total)}, {view.money(balance.left)} is left.")
    return [" ".join(said)] if said else []


# -- tables --------------------------------------------------------------------------------------


def task_columns() -> list[BillColumn]:
    """The columns of the bill that stand in the table of tasks beside cells and cost."""
    return [column for column in COLUMNS if column.tasks_heading]


def beside_columns() -> list[BillColumn]:
    """The columns of the bill that stand in the table of predictions beside the cost."""
    return [column for column in COLUMNS if column.beside_heading]


def task_row(number: int, task: TaskView) -> list[object]:
    """One line of the table.

    Number, name, cells, per cent bought, cost, quality (-1: not measured), the quality in words;
    then the further columns of the bill that a page lists.
    """
    part = task.cells / task.everything if task.everything else 0.0
    measured = task.measured
    return [
        number,
        task.name,
        task.cells,
        round(100 * part, 3),
        round(task.cost, 6),
        -1 if measured is None else round(measured.value, 4),
        "not measured" if measured is None else str(measured),
        *(column.read(task.receipt) for column in task_columns()),
    ]


def task_detail(task: TaskView, view: LifetimeView) -> Json:
    """What opening a task shows."""
    card_lines = 150  # lines of a scorecard that a page shows
    top_features = 8
    receipt = task.receipt
    top = sorted(receipt.per_feature.items(), key=lambda item: (-item[1], item[0]))
    detail: Json = {
        "said": [_bought(task, view), *filter(None, (_HOW.get(task.route), task.about))],
        "features": top[:top_features],
        "more": max(0, len(top) - top_features),
    }
    if task.failure:
        detail["failure"] = task.failure
    if task.card is not None:
        lines = task.card.lines()
        detail["card"] = {
            "classes": len(task.card.base) > 1,
            "lines": lines[:card_lines],
            "more": max(0, len(lines) - card_lines),
            "legend": task.card.legend,
        }
    elif task.tree is None:
        detail["text"] = task.text
    else:
        detail["tree"] = _small_tree(task.tree, view)
    return detail


def _bought(task: TaskView, view: LifetimeView) -> str:
    receipt = task.receipt
    cost = f" for {view.money(task.cost)}" if view.priced else ""
    return (
        f"{counted(task.cells, 'cell')} bought{cost} on {counted(receipt.n_examples, 'row')}: "
        f"{share(task.cells, task.everything)} of its table, at most "
        f"{receipt.max_cells_per_example:,} on one row. "
        f"{counted(receipt.reused_cells, 'cell was', 'cells were')} already owned."
    )


def _small_tree(tree: Tree, view: LifetimeView) -> list[object]:
    """The tree as nested lists, features by name."""
    if isinstance(tree, Leaf):
        label = None if tree.label is None else str(tree.label)
        return [label, None if tree.counts is None else round(sum(tree.counts))]
    sides = [_small_tree(tree.child(b), view) for b in (False, True)]
    return [view.name_of(tree.split.feature), tree.split.threshold, *sides]


# -- the page ------------------------------------------------------------------------------------


def report_page(view: LifetimeView) -> str:
    """The whole report as HTML.

    >>> "Nothing has been learned yet" in report_page(LifetimeView(title="empty"))
    True
    """
    from markupsafe import Markup

    return _page(
        view,
        scene=None,
        place="STORE",
        sentences=summary(view),
        pictures=[_shown(picture, _inline(picture)) for picture in pictures_of(view)],
        css=Markup(static_text("thrifty.css")),
        scripts=Markup("\n".join(map(static_text, SCRIPTS))),
        data=Markup(_data(view)),
    )


def live_page(scene: Scene, place: str) -> str:
    """The same of what a dashboard has seen last; its parts are asked for one by one."""
    view = scene.view
    return _page(
        view,
        scene=scene,
        place=place,
        sentences=summary(view) if scene.seen_at else [_READING],
        pictures=[
            _shown(picture, f"/pictures/{name}.svg?version={scene.version}")
            for name, (picture, _) in scene.pictures.items()
        ],
        scripts=("live.js", *SCRIPTS),
    )


def _page(view: LifetimeView, **more: object) -> str:
    page = (
        templates()
        .get_template("report.html")
        .render(
            view=view,
            cards=cards_of(view),
            measured=any(task.measured is not None for task in view.tasks),
            version=version("thrifty"),
            **more,
        )
    )
    return str(page)


@cache
def templates() -> jinja2.Environment:
    """The pages' templates; every value put into them is escaped."""
    jinja = needed("jinja2", "the report", "report")
    made: jinja2.Environment = jinja.Environment(
        loader=jinja.PackageLoader("thrifty.report"), autoescape=True,
        undefined=jinja.StrictUndefined,
    )  # fmt: skip
    made.filters.update(amount=amount, moment=moment)
    made.globals.update(task_columns=task_columns, beside_columns=beside_columns, counted=counted)
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


def _shown(picture: Picture, src: str) -> Json:
    size = {"width": 720, "height": round(100 * picture.height)}
    return {"heading": picture.heading, "caption": picture.caption, "src": src, **size}


def _inline(picture: Picture) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.svg().encode()).decode()}"


def _data(view: LifetimeView) -> str:
    """What the page's script reads. ``<`` is written so that no name can end the script."""
    data = {
        "rows": [task_row(i, task) for i, task in enumerate(view.tasks)],
        "details": [task_detail(task, view) for task in view.tasks],
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
