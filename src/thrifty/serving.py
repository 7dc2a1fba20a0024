"""A model as a JSON file that twenty lines predict from, without Thrifty and without pickle.

Whatever the model is, the file holds a sum of small decision trees: a card is a tree for each
feature, a linear score too, a decision tree is one whose leaves are shares. A leaf is a list, what
it adds for each class. A node is ``{"feature", "yes", "no"}`` with one question:

- ``"above": t``: is the value above t?
- ``"in": [...]``: is it one of these?

``"gap"`` says whether a gap goes to "yes"; a model that allows none has no such key. A value that
is not in ``"known"``, where that is given, counts as a gap.

A mixture has rows beside its trees. ``"columns"`` say what becomes of values:
a number between ``"low"`` and ``"high"``, less ``"centre"``, times ``"scale"``; ``"yes"`` or
``"no"`` of a category; ``"gap"`` of a gap. ``"rows"`` are pairs: where a row stands in these
columns, and what it adds for each class, times exp(-d^2) at distance d. The function is in
docs/serving.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells.bit_cells import Bit
from thrifty.errors import BadInput
from thrifty.models.fits.plain_trees import Leaf, Node, before, both
from thrifty.models.fits.stack import Stack
from thrifty.models.held.classifier import ModelClassifier
from thrifty.models.held.scorecard import ScorecardClassifier
from thrifty.trees.model import TreeClassifier
from thrifty.trees.over_bits_model import OverBits
from thrifty.typing import AnyArray, Json

__all__ = ["serving_model"]

#: of files that have rows beside trees
_WITH_ROWS = "thrifty model 2"


def serving_model(model: Any, *, rows: bool = True) -> dict[str, object]:
    """A model of ours as plain data for serving.

    **It holds values of the rows that the model was learned from**, and says so under ``"holds"``:
    the default model keeps some of its rows (``"rows"``), from which nearly every value of a column
    can be read again, and trees and cards cut numbers where those rows have them. Keep the file as
    you keep the rows.

    Parameters
    ----------
    rows : bool
        False: a file for whoever may not see single values. It has no rows, and its cuts lie on a
        grid of at most a thousandth of what a feature's cuts span, between the numbers that people
        write. Answers differ a little from those of ``life.predict``

    >>> from thrifty import TreeClassifier
    >>> tree = TreeClassifier().fit(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1])
    >>> found = serving_model(tree)
    >>> found["classes"], found["trees"][0]["feature"], found["trees"][0]["no"]
    ([0, 1], 'x0', [1.0, 0.0])
    """
    found = _plain(model, rows)
    if not rows:
        found["trees"] = _on_a_grid(found["trees"])
    return {**found, "holds": _holds(found, rows)}


def _holds(found: dict[str, Any], rows: bool) -> str:
    """What of the training rows is in a file, for whoever keeps it."""
    if not rows:
        return (
            "It holds no row that the model was learned from, and its cuts are rounded; the words "
            "of categories are in it."
        )
    if "rows" in found:
        return (
            f"It holds {len(found['rows'])} of the rows that the model was learned from, value by "
            "value: keep it as you keep those. For a file without: --without-rows, rows=False."
        )
    return (
        "It cuts numbers at values of the rows that the model was learned from: keep it as you "
        "keep those. For a file with rounded cuts: --without-rows, rows=False."
    )


def _plain(model: Any, rows: bool) -> Json:
    if isinstance(model, ModelClassifier):
        names = [model.feature_names_[f] for f in model.features_.tolist()]
        own, table = model.estimator_, model.table_
        if isinstance(own, Stack) and not rows:
            own = own.without_rows(np.where(table.bought, table.values, np.nan))
        found = own.as_trees(names, model.words_)
        whole = _file(names, model.classes_[found.codes], found.base, found.trees)
        return whole if found.near is None else {**whole, "format": _WITH_ROWS, **found.near}
    if isinstance(model, ScorecardClassifier):
        names = list(getattr(model, "feature_names_in_", []))
        names = names or [f"x{f}" for f in range(model.n_features_in_)]
        told = zip(names, model.reader_.categories)
        words = {str(name): texts for name, texts in told if texts is not None}
        base, trees = model.points_.as_trees(names, words)
        return _file(names, model.classes_, base, trees)
    if isinstance(model, OverBits):
        bits = model.bits_
        names = [model.feature_names_[f] for f in model.features_.tolist()]
        return _shares(model.over_bits_, lambda f, t: _bit_node(bits[f], t), names)
    if isinstance(model, TreeClassifier):
        names = [model.feature_names_[f] for f in model.features_.tolist()]

        def above(feature: int, threshold: float) -> Json:
            return {"feature": model.feature_names_[feature], "above": before(threshold)}

        return _shares(model, above, names)
    raise BadInput(
        f"a {type(model).__name__} cannot be written for serving: it must be Thrifty's own model, "
        "a scorecard, a tree or a list. Of others keep the lifetime's store, and predict with "
        "life.predict."
    )


def _on_a_grid(trees: Any) -> list[Any]:
    """Trees whose cuts tell no value; categories are words, which everybody has."""
    cuts: dict[str, list[float]] = {}
    for node in _nodes(trees):
        if "above" in node:
            cuts.setdefault(node["feature"], []).append(node["above"])
    steps = {name: _step(np.array(some)) for name, some in cuts.items()}

    def moved(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        yes, no = moved(node["yes"]), moved(node["no"])
        if "above" not in node:
            return {**node, "yes": yes, "no": no}
        step = steps[node["feature"]]
        # half a step beside the grid: what people write with few digits lies on it
        above = float((np.floor(node["above"] / step) + 0.5) * step)
        return {**node, "above": above, "yes": yes, "no": no}

    return [moved(tree) for tree in trees]


def _nodes(trees: Sequence[Any]) -> Iterator[Any]:
    for node in trees:
        if isinstance(node, dict):
            yield node
            yield from _nodes([node["yes"], node["no"]])


def _step(cuts: Floats) -> float:
    """A power of ten, a thousandth of what the cuts span or less; of one cut, of its size.

    >>> _step(np.array([0.25, 3.0])), _step(np.array([52.0]))
    (0.001, 0.01)
    """
    span = float(np.ptp(cuts)) or float(np.abs(cuts).max()) or 1.0
    return float(10.0 ** np.floor(np.log10(span / 1000)))


def _file(
    names: Sequence[str], classes: AnyArray, base: Floats, trees: list[Node], softmax: bool = True
) -> Json:
    return {
        "format": "thrifty model 1",
        "features": list(map(str, names)),
        "classes": classes.tolist(),
        "softmax": softmax,
        "base": both(base) if softmax else base.tolist(),
        "trees": trees,
    }


def _bit_node(bit: Bit, threshold: float) -> dict[str, object]:
    if bit.test == "is":
        return {"feature": bit.feature, "in": [bit.what], "gap": False}
    if bit.test == "missing":
        return {"feature": bit.feature, "in": [], "gap": True}
    return {"feature": bit.feature, "above": before(threshold)}


def _shares(
    model: TreeClassifier, question: Callable[[int, float], Json], names: Sequence[str]
) -> Json:
    """One tree whose leaves are the shares of the classes."""
    flat, allowed = model._flat, model.missing != "error"

    def grown(at: int) -> Node:
        if flat.feature[at] < 0:
            leaf: Leaf = flat.share[at].tolist()
            return leaf
        node = question(int(flat.feature[at]), float(flat.threshold[at]))
        if allowed and "gap" not in node:
            node["gap"] = bool(flat.larger[at] == flat.child[at, 1])
        no, yes = (grown(int(child)) for child in flat.child[at])
        return {**node, "yes": yes, "no": no}

    nothing = np.zeros(len(model.classes_))
    return _file(names, model.classes_, nothing, [grown(0)], softmax=False)
