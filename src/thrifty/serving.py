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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells.bits import Bit
from thrifty.errors import BadInput
from thrifty.models.fits.plain_trees import Leaf, Node, before, both
from thrifty.models.held.classifier import ModelClassifier
from thrifty.models.held.scorecard import ScorecardClassifier
from thrifty.trees.model import TreeClassifier
from thrifty.trees.over_bits_model import OverBits
from thrifty.typing import AnyArray, Json

__all__ = ["serving_model"]

#: of files that have rows beside trees
_WITH_ROWS = "thrifty model 2"


def serving_model(model: Any) -> dict[str, object]:
    """A model of ours as plain data for serving.

    >>> from thrifty import TreeClassifier
    >>> tree = TreeClassifier().fit(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1])
    >>> found = serving_model(tree)
    >>> found["classes"], found["trees"][0]["feature"], found["trees"][0]["no"]
    ([0, 1], 'x0', [1.0, 0.0])
    """
    if isinstance(model, ModelClassifier):
        names = [model.feature_names_[f] for f in model.features_.tolist()]
        found = model.estimator_.as_trees(names, model.words_)
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
        questions = [_bit_node(bit) for bit in model.bits_]
        names = [model.feature_names_[f] for f in model.features_.tolist()]
        return _shares(model.over_bits_, lambda f, t: dict(questions[f]), names)
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


def _bit_node(bit: Bit) -> dict[str, object]:
    if bit.test == "at least":
        return {"feature": bit.feature, "above": before(float(bit.what or 0.0)), "gap": False}
    if bit.test == "is":
        return {"feature": bit.feature, "in": [bit.what], "gap": False}
    if bit.test == "missing":
        return {"feature": bit.feature, "in": [], "gap": True}
    return {"feature": bit.feature, "above": 0.5}


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
