"""What a page or a picture shows of a lifetime: plain values, wherever they were kept.

A lifetime in memory and a store on disk both give a :class:`LifetimeView`; everything in this
package is a function of one. A store is looked at again and again without ever being written: each
look reads only what is new, tasks learned since, the representation if it changed, and the ledger's
latest lines.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from thrifty.cells import Balance, Receipt
from thrifty.cells.ledger.ledger import OpenPurchase
from thrifty.cells.ledger.owner import is_alive
from thrifty.cells.ledger.purchase import Purchase
from thrifty.cells.prices.money import to_units
from thrifty.lifetime.bill import bill_lines, lines_beside
from thrifty.lifetime.learned import Learned
from thrifty.lifetime.lifetime import Lifetime
from thrifty.lifetime.outcomes import Monitor, read_monitors
from thrifty.models import ModelClassifier, ModelRegressor
from thrifty.models.fits.quality import quality_words
from thrifty.models.scorecard import Scorecard
from thrifty.powers.representation import written
from thrifty.stores.base import lifetime_in, open_to_read
from thrifty.stores.pages import SqlPages
from thrifty.trees.tree import Leaf, Node, Tree
from thrifty.typing import Fields, JsonLike

Line = tuple[str, int, float]
#: seconds after its last purchase for which a task counts as being learned
_RECENT = 120.0

# -- numbers as people write them ----------------------------------------------------------------


def amount(number: float) -> str:
    """A number with as many decimals as it needs, thousands apart.

    >>> amount(1386000), amount(22.5), amount(0.2), amount(0.00041), amount(0.0)
    ('1,386,000', '22.50', '0.20', '0.00041', '0')
    """
    if number == int(number):
        return f"{int(number):,}"
    whole_cents = abs(number) >= 1 or round(number, 2) == number
    return f"{number:,.2f}" if whole_cents else f"{number:.2g}"


def share(part: float, whole: float) -> str:
    """A part of a whole in per cent.

    >>> share(1, 8), share(1, 3000), share(0, 0)
    ('12.5 %', '0.033 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def as_counted(name: str) -> list[tuple[str, int]]:
    """A key that sorts names with numbers as people count.

    >>> sorted(["item 10", "item 9", "age"], key=as_counted)
    ['age', 'item 9', 'item 10']
    """
    parts = re.findall(r"(\D*)(\d{0,18})", name)
    return [(words, int(digits or -1)) for words, digits in parts]


# -- what is shown -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """How good a model is on held-out rows: the figure, its interval, and what guessing has.

    ``of``: of two classes the one that it is of, `` of ill``.
    """

    what: str
    value: float
    low: float
    high: float
    guessing: float
    of: str = ""

    def __str__(self) -> str:
        return f"{self.what}{self.of} {self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def measured_of(model: object) -> Measured | None:
    """Average precision of classes, R squared of numbers; None where nothing was measured."""
    if isinstance(model, ModelClassifier) and (quality := model.quality_) is not None:
        found, guessing = quality.average_precision, quality.guessing
        of = "" if quality.positive is None else f" of {model.classes_[quality.positive]}"
        return Measured("AP", found.value, found.low, found.high, guessing, of)
    if isinstance(model, ModelRegressor) and (numbers := model.quality_) is not None:
        found = numbers.r2
        return Measured("R²", found.value, found.low, found.high, 0.0)
    return None


@dataclass(frozen=True, slots=True)
class TaskView:
    """One learned task: its bill, and its model as a tree, a card or text.

    Attributes
    ----------
    about : str
        what the model is and how good, in a sentence or two
    measured : Measured or None
        on held-out rows; None where it was not measured
    prediction_price : float or None
        what all that the model may ask for costs on a new row; None where nobody wrote it down
    """

    name: str
    route: str
    receipt: Receipt
    tree: Tree | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)
    card: Scorecard | None = field(default=None, repr=False)
    about: str = ""
    measured: Measured | None = None
    prediction_price: float | None = None
    failure: str = ""

    @property
    def cells(self) -> int:
        return self.receipt.cells

    @property
    def cost(self) -> float:
        return self.receipt.cost

    @property
    def everything(self) -> int:
        """Cells that learning this task from scratch, with no memory, would buy."""
        return self.receipt.n_examples * self.receipt.n_features


@dataclass(frozen=True, slots=True)
class LedgerView:
    """What was spent and what is reserved; the latest purchases first.

    ``running`` is what tasks that are not learned yet have spent or reserved so far; a purchase is
    a row with its number, task, status, cells, price, provider and time; those ``in_doubt`` need
    the user's word.
    """

    spent: float = 0.0
    reserved: float = 0.0
    running: Mapping[str, float] = field(default_factory=dict)
    purchases: tuple[JsonLike, ...] = ()
    in_doubt: tuple[OpenPurchase, ...] = ()


@dataclass(frozen=True)
class LifetimeView:
    """A lifetime as it stands.

    Attributes
    ----------
    metafeature_texts : tuple of str
        each member of the representation as text, whatever they are
    useful : tuple of str
        names of features that earlier tasks found useful, where that is all that is known
    bits : tuple of tuple of str
        name and feature of each bit, where trees ask for bits of features
    balance : Balance or None
        spent on learning and on predictions, in doubt, left; what everything would cost
    beside : tuple of mapping
        rows of the bill that are no learned task: predictions, and what was not learned
    monitors : tuple of Monitor
        of each model with outcomes, how it does on them
    """

    title: str = "lifetime"
    feature_names: tuple[str, ...] = ()
    currency: str = ""
    tasks: tuple[TaskView, ...] = ()
    metafeature_texts: tuple[str, ...] = ()
    useful: tuple[str, ...] = ()
    bits: tuple[tuple[str, str], ...] = ()
    ledger: LedgerView = field(default_factory=LedgerView)
    balance: Balance | None = None
    beside: tuple[JsonLike, ...] = ()
    monitors: tuple[Monitor, ...] = ()

    @cached_property
    def cells(self) -> int:
        return sum(task.cells for task in self.tasks)

    @cached_property
    def cost(self) -> float:
        return sum(task.cost for task in self.tasks)

    @cached_property
    def predicted(self) -> tuple[JsonLike, ...]:
        """Rows of the bill that are predictions."""
        return tuple(r for r in self.beside if str(r["route"]).startswith("prediction"))

    @cached_property
    def updates(self) -> tuple[JsonLike, ...]:
        """Rows of the bill that are later versions of a task."""
        return tuple(r for r in self.beside if str(r["route"]).startswith("update"))

    @cached_property
    def cells_of_learning(self) -> int:
        """With those of later versions."""
        return self.cells + sum(int(row.get("cells", 0)) for row in self.updates)

    @cached_property
    def latest(self) -> list[JsonLike]:
        """What stands beside the tasks, by time; money of no known time comes first."""
        return sorted(self.beside, key=lambda row: row.get("at", 0.0))

    @cached_property
    def bought(self) -> int:
        """All cells on the bill: learning, later versions, predictions."""
        return self.cells + sum(int(row.get("cells", 0)) for row in self.beside)

    @cached_property
    def lines(self) -> dict[str, list[Line]]:
        """The bill line by line, of "learning" and of "predictions"; each sums to what was spent.

        Empty where only cells cost.
        """
        if not self.priced:
            return {"learning": [], "predictions": []}
        return bill_lines([task.receipt for task in self.tasks], self.beside)

    @cached_property
    def everything(self) -> int:
        """The distinct cells there are to buy for these tasks."""
        known = self.balance.everything_cells if self.balance is not None else 0
        return known or sum(task.everything for task in self.tasks)

    @cached_property
    def priced(self) -> bool:
        """Whether money says something that cells do not."""
        return bool(self.currency) or any(task.cost != task.cells for task in self.tasks)

    @property
    def unit(self) -> str:
        """What the bill is counted in: the user's currency, or cells; "" where it has no name."""
        return self.currency if self.priced else "cells"

    @property
    def spent_on_learning(self) -> float:
        """In the bill's unit; with what tasks that are not learned yet have spent."""
        return self.cost if self.balance is None else self.balance.learning

    def money(self, number: float) -> str:
        """A sum with its unit: ``4,200 EUR``; ``4,200`` where the unit has no name."""
        return f"{amount(number)} {self.unit}".rstrip()

    def name_of(self, feature: int) -> str:
        """What a split asks for: a feature, or a bit of one."""
        if self.bits:
            return self.bits[feature][0] if 0 <= feature < len(self.bits) else f"bit {feature}"
        names = self.feature_names
        return names[feature] if 0 <= feature < len(names) else f"x{feature}"


#: tasks as they were looked at, by name
KnownTasks = dict[str, tuple[Learned, TaskView]]


# -- from a lifetime -----------------------------------------------------------------------------


def view_of(
    life: Lifetime,
    title: str = "lifetime",
    known: dict[str, tuple[Learned, TaskView]] | None = None,
) -> LifetimeView:
    """What there is to see of a lifetime; ``known``: tasks as they were looked at before, by name.

    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    >>> view = view_of(life)
    >>> view.tasks[0].route, view.cells, len(view.metafeature_texts)
    ('scratch', 8, 1)
    """
    life._refresh()
    known = {} if known is None else known
    before = dict(known)
    known.clear()
    for learned in life.tasks:
        seen = before.get(learned.name)
        if seen is None or seen[0] is not learned:
            seen = learned, task_view(copy(learned))  # the copy's model is let go
        known[learned.name] = seen
    names, balance, ledger = life._state.now.features or (), life.balance(), _ledger(life)
    beside = [
        {**row, "route": "in progress"} if row["task"] in ledger.running else row
        for row in lines_beside(life._state)
    ]
    return LifetimeView(
        title=title,
        ledger=ledger,
        balance=balance,
        beside=tuple(beside),
        monitors=tuple(life.ledger.book.read(read_monitors)),
        feature_names=names,
        currency=balance.currency,
        tasks=tuple(view for _, view in known.values()),
        **_members_of(life.representation, names),
    )


def task_view(learned: Learned) -> TaskView:
    """One task of a lifetime."""
    model = learned.model
    tree = getattr(model, "tree_", None)
    shown = tree if isinstance(tree, Leaf | Node) else None
    return TaskView(
        learned.name,
        learned.route,
        learned.receipt,
        tree=shown,
        text="" if shown is not None else str(model),
        card=getattr(model, "card_", None) if isinstance(model, ModelClassifier) else None,
        about=_about(model),
        measured=measured_of(model),
        prediction_price=learned.prediction_price,
        failure=learned.failure.message if learned.failure else "",
    )


def _about(model: object) -> str:
    """What a model of ours is and how good, in words."""
    if isinstance(model, ModelClassifier):
        said = quality_words(model.quality_, model.classes_.tolist())
        return f"{model.estimator_.summary()} {said}"
    if isinstance(model, ModelRegressor) and (quality := model.quality_) is not None:
        return (
            f"On {quality.rows:,} held-out rows it explains {quality.r2} of the variance "
            f"(R squared), and is off by {quality.error.value:.4g} (root mean square)."
        )
    return ""


def _members_of(representation: Iterable[object], feature_names: Sequence[str]) -> Fields:
    """The members of a representation: as trees where they are, and as text."""
    members = tuple(representation)
    if members and all(isinstance(member, int) for member in members):
        places = [f for f in members if isinstance(f, int) and f < len(feature_names)]
        return {"useful": tuple(feature_names[f] for f in places)}
    bits = getattr(representation, "bits", ())
    told = tuple((bit.name, bit.feature) for bit in bits)
    texts = (written(m, feature_names) if isinstance(m, tuple) else str(m) for m in members)
    return {"metafeature_texts": tuple(texts), "bits": told}


def _ledger(life: Lifetime) -> LedgerView:
    waiting = tuple(life.ledger.open_purchases())

    def work(pages: SqlPages) -> LedgerView:
        reserved, spent = pages.balance(None)
        latest = pages.latest(200)
        over = {one.account for one in pages.predictions() if one.receipt is not None}
        over |= {head.name for head in pages.versions()} | set(life)
        over |= {p.task for p in waiting}  # these wait for a word, not for us
        running = {p.task for p in latest if p.task not in over and _goes_on(p)}
        return LedgerView(
            spent=to_units(spent),
            reserved=to_units(reserved),
            running={task: to_units(sum(pages.balance(task))) for task in sorted(running)},
            purchases=tuple(map(_line, latest)),
            in_doubt=waiting,
        )

    return life.ledger.book.read(work)


def _line(p: Purchase) -> Fields:
    row = {"id": p.id, "task": p.task, "status": p.status, "cells": p.block.n_cells}
    return {**row, "price": to_units(p.spent or p.reserved), "from": p.provider, "at": p.created_at}


def _goes_on(p: Purchase) -> bool:
    """Whether what ordered this is still at work, as far as one can tell from here.

    A process that lives may have given the task up, and of one elsewhere nothing is known: only
    what was ordered a moment ago counts, or what is on its way.
    """
    alive = is_alive(p.owner)
    recent = time.time() - p.created_at < (_RECENT if alive else _RECENT / 4)
    return alive is not False and (recent or (alive is True and p.status == "pending"))


# -- from a store --------------------------------------------------------------------------------


def read_store(where: str, name: str | None = None) -> LifetimeView:
    """What there is to see of a lifetime in a store."""
    return Reader(where, name).look()


class Reader:
    """Looks at one lifetime of a store, and never writes.

    Parameters
    ----------
    where : str
        a file name or a ``postgresql://`` URL
    name : str or None
        of the lifetime; may be left out where the store holds only one
    """

    def __init__(self, where: str, name: str | None = None) -> None:
        self.store, self._name = open_to_read(where), name
        if name is not None or self.store.lifetimes():
            self._name = lifetime_in(self.store, name)
        self.title = Path(where).stem if "://" not in where else (self._name or "lifetime")
        self._life: Lifetime | None = None
        self._known: KnownTasks = {}
        self._lock = threading.Lock()

    def look(self) -> LifetimeView:
        """The lifetime as it stands now; an empty view where nothing was begun yet."""
        with self._lock:
            if self._life is None:
                if not self.store.lifetimes():
                    return LifetimeView(title=self.title)
                self._life = Lifetime.open(self.store, name=lifetime_in(self.store, self._name))
            return view_of(self._life, self.title, self._known)
