"""What a page or a picture shows of a lifetime: plain values, wherever they were kept.

A lifetime in memory and a store on disk both give a :class:`LifetimeView`; everything in this
package is a function of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from thrifty.cells import Balance, Receipt
from thrifty.cells.prices.money import to_units
from thrifty.cells.prices.price_list import PricesLike, as_price_list
from thrifty.lifetime import Learned, Lifetime
from thrifty.lifetime.outcomes import Monitor
from thrifty.models import ModelClassifier
from thrifty.models.card import Card
from thrifty.models.fits.quality import Quality
from thrifty.powers.representation import written
from thrifty.report.number_text import amount, as_counted
from thrifty.trees.tree import Leaf, Node, Tree
from thrifty.typing import Fields, JsonLike

__all__ = [
    "LedgerView",
    "LifetimeView",
    "PurchaseView",
    "TaskView",
    "members_of",
    "prices_by_name",
    "task_view",
    "view_of",
]


@dataclass(frozen=True, slots=True)
class TaskView:
    """One learned task: its bill, and its model as a tree, a card or text.

    Attributes
    ----------
    about : str
        what the model is, in a sentence
    quality : Quality or None
        cross-validated; None where it was not measured
    asks : tuple of str
        the features that a prediction may ask for
    """

    name: str
    route: str
    receipt: Receipt
    tree: Tree | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)
    card: Card | None = field(default=None, repr=False)
    about: str = ""
    quality: Quality | None = None
    positive: str = ""
    asks: tuple[str, ...] = field(default=(), repr=False)
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
class PurchaseView:
    """One line of the ledger: a purchase, open or done. ``waits``: it needs the user's word."""

    id: int
    task: str
    provider: str
    status: str
    cells: int
    price: float
    at: float
    waits: bool = False
    note: str = ""
    features: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerView:
    """What was spent and what is reserved; the latest purchases first.

    ``running`` is what tasks that are not learned yet have spent or reserved so far.
    """

    spent: float = 0.0
    reserved: float = 0.0
    running: Mapping[str, float] = field(default_factory=dict)
    purchases: tuple[PurchaseView, ...] = ()
    in_doubt: tuple[PurchaseView, ...] = ()


@dataclass(frozen=True)
class LifetimeView:
    """A lifetime as it stands.

    Attributes
    ----------
    family : mapping
        the family's name and parameters, as JSON
    prices : mapping
        what a cell of a feature costs by itself; empty where the prices are not known, and a
        feature that is not listed costs 1
    fees : mapping
        paid once per example before a feature can be had: ``{feature: {panel: fee}}``
    metafeatures : tuple of Tree
        the representation, where it consists of trees
    metafeature_texts : tuple of str
        each of its members as text, whatever they are
    useful : tuple of str
        names of features that earlier tasks found useful, where that is all that is known
    bits : tuple of tuple of str
        name and feature of each bit, where trees ask for bits of features
    balance : Balance or None
        spent on learning and on predictions, in doubt, left; what everything would cost
    beside : tuple of mapping
        rows of the bill that are no learned task: predictions, and what was not learned
    monitors : tuple of Monitor
        of each model with outcomes, how it does on what became true
    """

    title: str = "lifetime"
    family: JsonLike = field(default_factory=dict)
    feature_names: tuple[str, ...] = ()
    prices: Mapping[str, float] = field(default_factory=dict)
    fees: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    currency: str = ""
    tasks: tuple[TaskView, ...] = ()
    metafeatures: tuple[Tree, ...] = ()
    metafeature_texts: tuple[str, ...] = ()
    useful: tuple[str, ...] = ()
    bits: tuple[tuple[str, str], ...] = ()
    ledger: LedgerView | None = None
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
    def updates(self) -> tuple[JsonLike, ...]:
        """Rows of the bill that are later versions of a task."""
        return tuple(row for row in self.beside if row["route"] == "update")

    @cached_property
    def cells_of_learning(self) -> int:
        """With those of later versions."""
        return self.cells + sum(int(row.get("cells", 0)) for row in self.updates)

    @cached_property
    def from_scratch(self) -> int:
        """Cells that learning every task from scratch, with no memory, would have bought."""
        return sum(task.everything for task in self.tasks)

    @cached_property
    def lines(self) -> list[tuple[str, int, float]]:
        """The bill of all tasks line by line, the dearest first; none where only cells cost."""
        return _summed(line for task in self.tasks for line in task.receipt.lines)

    @cached_property
    def predicted_lines(self) -> list[tuple[str, int, float]]:
        """The bill of all predictions, in the same way."""
        return _summed(line for row in self.beside for line in row.get("lines", ()))

    @cached_property
    def everything(self) -> int:
        """The distinct cells there are to buy for these tasks."""
        known = self.balance.everything_cells if self.balance is not None else 0
        return known or self.from_scratch  # stores of 0.1 did not write it down

    @cached_property
    def priced(self) -> bool:
        """Whether money says something that cells do not."""
        return bool(self.currency) or any(task.cost != task.cells for task in self.tasks)

    @property
    def unit(self) -> str:
        """What the bill is counted in: the user's currency, or cells; "" where it has no name."""
        return self.currency if self.priced else "cells"

    @property
    def price_unit(self) -> str:
        """What features and predictions are counted in: cells, where prices are not known."""
        return self.unit if self.prices else "cells"

    @property
    def spent_on_learning(self) -> float:
        """In the bill's unit; with what tasks that are not learned yet have spent."""
        return self.cost if self.balance is None else self.balance.learning

    def money(self, number: float) -> str:
        """A sum with its unit: ``4,200 EUR``; ``4,200`` where the unit has no name."""
        return f"{amount(number)} {self.unit}".rstrip()

    def price(self, feature: str) -> float:
        return self.prices.get(feature, 1.0)

    def name_of(self, feature: int) -> str:
        """What a split asks for: a feature, or a bit of one."""
        if self.bits:
            return self.bits[feature][0] if 0 <= feature < len(self.bits) else f"bit {feature}"
        names = self.feature_names
        return names[feature] if 0 <= feature < len(names) else f"x{feature}"

    def feature_behind(self, feature: int) -> str:
        """The feature that is bought when a split asks."""
        if self.bits and 0 <= feature < len(self.bits):
            return self.bits[feature][1]
        return self.name_of(feature)


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
        **_model_facts(model),
        asks=_asked(model),
        failure=learned.failure.message if learned.failure else "",
    )


def _model_facts(model: object) -> Fields:
    """What a page says of a model of ours."""
    if not isinstance(model, ModelClassifier):
        return {}
    quality = model.quality_
    rare = None if quality is None else quality.rare
    return {
        "card": getattr(model, "card_", None),
        "about": model.estimator_.summary(),
        "quality": quality,
        "positive": "" if rare is None else str(model.classes_[rare]),
    }


def _asked(model: object) -> tuple[str, ...]:
    features = getattr(model, "features_", None)
    names = getattr(model, "feature_names_", None)
    if features is None or names is None:
        return ()
    return tuple(str(names[f]) for f in features.tolist())


def _summed(lines: Iterable[tuple[str, int, float]]) -> list[tuple[str, int, float]]:
    """Lines of the same thing as one, the dearest first."""
    found: dict[str, list[float]] = {}
    for what, n, cost in lines:
        both = found.setdefault(what, [0, 0.0])
        both[0] += n
        both[1] += cost
    summed = [(what, int(n), cost) for what, (n, cost) in found.items()]
    return sorted(summed, key=lambda line: (-line[2], as_counted(line[0])))


def view_of(life: Lifetime, title: str = "lifetime", prices: PricesLike = None) -> LifetimeView:
    """What there is to see of a lifetime.

    ``prices`` are those the lifetime pays: with them features and predictions are shown in money.

    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    >>> view = view_of(life)
    >>> view.tasks[0].route, view.cells, len(view.metafeatures)
    ('scratch', 8, 1)
    """
    names = _feature_names(life)
    return LifetimeView(
        title=title,
        balance=life.balance(),
        beside=tuple(life.rows_beside()),
        monitors=tuple(life.monitors()),
        family=_family(life),
        feature_names=names,
        **prices_by_name(life.prices if prices is None else prices, names),
        currency=next((t.receipt.currency for t in life.tasks if t.receipt.currency), ""),
        tasks=tuple(task_view(learned) for learned in life.tasks),
        **members_of(life.representation, names),
    )


def members_of(representation: Iterable[object], feature_names: Sequence[str]) -> Fields:
    """The members of a representation: as trees where they are, and as text."""
    members = tuple(representation)
    if members and all(isinstance(member, int) for member in members):
        places = [f for f in members if isinstance(f, int) and f < len(feature_names)]
        known = [feature_names[f] for f in places]
        return {"useful": tuple(known)}
    bits = getattr(representation, "bits", ())
    told = tuple((bit.name, bit.feature) for bit in bits)
    trees = tuple(member for member in members if isinstance(member, Leaf | Node))
    texts = (written(m, feature_names) if isinstance(m, tuple) else str(m) for m in members)
    return {"metafeatures": trees, "metafeature_texts": tuple(texts), "bits": told}


def prices_by_name(prices: PricesLike, feature_names: Sequence[str]) -> Fields:
    """The ``prices`` and ``fees`` of a view, from whatever the lifetime was given."""
    if prices is None or not feature_names:
        return {}
    tariff = as_price_list(prices).tariff(feature_names)
    fees = {
        name: {tariff.draws[d].name: to_units(tariff.draws[d].fee) for d in needs}
        for name, needs in zip(feature_names, tariff.needs)
        if len(needs)
    }
    fees_of = [sum(tariff.draws[d].fee for d in needs) for needs in tariff.needs]
    own = [to_units(int(a) - fee) for a, fee in zip(tariff.alone, fees_of)]
    return {"prices": dict(zip(feature_names, own)), "fees": fees}


def _family(life: Lifetime) -> Mapping[str, object]:
    """Name and parameters; a gain that is a function has no JSON, so the name alone is shown."""
    try:
        return life.family.to_dict()
    except ValueError:
        return {"family": type(life.family).__name__}


def _feature_names(life: Lifetime) -> tuple[str, ...]:
    for learned in life.tasks[:1]:
        for attribute in ("feature_names_", "feature_names_in_"):
            names = getattr(learned.model, attribute, None)
            if names is not None:
                return tuple(str(name) for name in names)
    return ()
