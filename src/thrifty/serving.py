"""A model as a JSON file that ten lines predict from, without Thrifty and without pickle.

Whatever the model is, the file holds a sum of small decision trees: a card is a tree for each
feature, a linear score too, a decision tree is one whose leaves are shares. A leaf is a list, what
it adds for each class. A node is ``{"feature", "yes", "no"}`` with one question:

- ``"above": t``: is the value above t?
- ``"in": [...]``: is it one of these?

``"gap"`` says whether a gap goes to "yes"; a model that allows none has no such key. A value that
is not in ``"known"``, where that is given, counts as a gap. The function is in docs/serving.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.array_types import Floats
from thrifty.cells.bits import Bit
from thrifty.errors import BadInput
from thrifty.models.fits.bins import Bins
from thrifty.models.fits.estimators import Prepared
from thrifty.models.fits.linear_and_trees import LinearAndTrees
from thrifty.models.fits.linear_score import LinearScore
from thrifty.models.fits.mixture import Stack
from thrifty.models.fits.points import Points
from thrifty.models.fits.tree_sums import TreeSum
from thrifty.models.held.classifier import ModelClassifier
from thrifty.models.held.scorecard import ScorecardClassifier
from thrifty.trees.model import TreeClassifier
from thrifty.trees.over_bits import OverBits
from thrifty.typing import AnyArray, Json

__all__ = ["serving_model"]

Leaf = list[float]
Node = Json | Leaf
Words = Mapping[str, Sequence[object]]


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
        return _fitted(model.estimator_, names, model.words_, model.classes_)
    if isinstance(model, ScorecardClassifier):
        names = list(getattr(model, "feature_names_in_", []))
        names = names or [f"x{f}" for f in range(model.n_features_in_)]
        told = zip(names, model.reader_.categories)
        words = {str(name): texts for name, texts in told if texts is not None}
        base, trees = _card(model.points_, names, words, 1.0)
        return _file(names, model.classes_, base, trees)
    if isinstance(model, OverBits):
        questions = [_bit_node(bit) for bit in model.bits_]
        names = [model.feature_names_[f] for f in model.features_.tolist()]
        return _shares(model.over_bits_, lambda f, t: dict(questions[f]), names)
    if isinstance(model, TreeClassifier):
        names = [model.feature_names_[f] for f in model.features_.tolist()]

        def above(feature: int, threshold: float) -> Json:
            return {"feature": model.feature_names_[feature], "above": _before(threshold)}

        return _shares(model, above, names)
    raise BadInput(
        f"a {type(model).__name__} cannot be written for serving: it must be Thrifty's own model, "
        "a scorecard, a tree or a list. Of others keep the lifetime's store, and predict with "
        "life.predict."
    )


def _file(
    names: Sequence[str],
    classes: AnyArray,
    base: Floats,
    trees: list[Node],
    softmax: bool = True,
) -> Json:
    return {
        "format": "thrifty model 1",
        "features": list(map(str, names)),
        "classes": classes.tolist(),
        "softmax": softmax,
        "base": _both(base) if softmax else base.tolist(),
        "trees": trees,
    }


def _both(scores: Floats) -> Leaf:
    """A score for each class; of two classes the first has 0."""
    found = [float(score) for score in scores]
    return [0.0, *found] if len(found) == 1 else found


def _before(threshold: float) -> float:
    """At least the threshold is above the number before it."""
    return float(np.nextafter(threshold, -np.inf))


def _fitted(
    fitted: object, names: list[str], words: Words, classes: AnyArray
) -> dict[str, object]:
    """The model over class codes that a ModelClassifier holds."""
    if isinstance(fitted, Prepared) and fitted.fills is None:
        fitted = fitted.fitted
    if isinstance(fitted, Stack):
        card, line, share = fitted.shares
        base, trees = _card(fitted.card, names, words, fitted.slope * card)
        more, steps = _card(fitted.line, names, words, fitted.slope * line)
        base, trees = base + more, trees + steps
        if fitted.trees is not None and share:
            more, grown = _boosted(fitted.trees, names, words, fitted.slope * share)
            base, trees = base + more, trees + grown
        return _file(names, classes[fitted.classes_], base + fitted.intercepts, trees)
    if isinstance(fitted, ScorecardClassifier):
        base, trees = _card(fitted.points_, names, words, 1.0)
        return _file(names, classes[fitted.classes_], base, trees)
    if isinstance(fitted, LinearScore):
        return _file(names, classes, *_linear(fitted, names, 1.0))
    if isinstance(fitted, LinearAndTrees):
        base, trees = _linear(fitted.linear, names, 1 - fitted.share)
        joint = [names[j] for j in fitted.joint.tolist()]
        more, grown = _boosted(fitted.trees, joint, {}, 1.0)
        return _file(names, classes, base + more, trees + grown)
    own = fitted.fitted if isinstance(fitted, Prepared) else fitted
    raise BadInput(
        f"this model was fitted with {type(own).__name__}, which cannot be written for serving "
        "as plain data; Thrifty's own model and scorecards can."
    )


def _linear(score: LinearScore, names: list[str], times: float) -> tuple[Floats, list[Node]]:
    """A Boolean feature adds its effect times its distance from the background; a gap nothing."""
    trees: list[Node] = []
    for name, effect, centre in zip(names, score.coef_.tolist(), score.centres_.tolist()):
        yes, no = [0.0, times * effect * (1 - centre)], [0.0, -times * effect * centre]
        known = {"feature": name, "above": 0.5, "yes": yes, "no": no}
        trees.append({"feature": name, "in": [], "gap": True, "yes": [0.0, 0.0], "no": known})
    return np.array([times * score.intercept_]), trees


def _card(
    points: Points, names: Sequence[str], words: Words, times: float
) -> tuple[Floats, list[Node]]:
    trees: list[Node] = []
    for name, bins, table in zip(names, points.bins, points.points):
        leaves = [_both(times * row) for row in table]
        if any(any(leaf) for leaf in leaves):
            trees.append(_bins(str(name), bins, leaves, words.get(str(name))))
    return times * points.intercepts, trees


def _bins(name: str, bins: Bins, leaves: list[Leaf], words: Sequence[object] | None) -> Node:
    """First whether it is a gap, then which bin; a category never seen adds nothing."""
    nothing = [0.0] * len(leaves[0])
    gap = leaves[-1] if bins.weight[-1] > 0 else nothing
    if bins.groups is None:
        known = _between(name, bins.edges.tolist(), leaves[:-1])
    else:
        known = nothing
        for group, leaf in zip(bins.groups, leaves):
            told = [_word(code, words) for code in group]
            known = {"feature": name, "in": told, "yes": leaf, "no": known}
    return {"feature": name, "in": [], "gap": True, "yes": gap, "no": known}


def _between(name: str, edges: list[float], leaves: list[Leaf]) -> Node:
    """Halve the limits until one bin is left."""
    if not edges:
        return leaves[0]
    middle = len(edges) // 2
    return {
        "feature": name,
        "above": _before(edges[middle]),
        "no": _between(name, edges[:middle], leaves[: middle + 1]),
        "yes": _between(name, edges[middle + 1 :], leaves[middle + 1 :]),
    }


def _word(code: float, words: Sequence[object] | None) -> object:
    return code if words is None else words[int(code)]


def _boosted(
    trees: TreeSum, names: Sequence[str], words: Words, times: float
) -> tuple[Floats, list[Node]]:
    n_columns = len(trees.base)

    def grown(at: int, column: int) -> Node:
        if trees.left[at] == at:
            leaf = np.zeros(n_columns)
            leaf[column] = times * trees.value[at]
            return _both(leaf)
        left, right = grown(int(trees.left[at]), column), grown(int(trees.right[at]), column)
        name, gap_left = str(names[int(trees.feature[at])]), bool(trees.gap_left[at])
        node: Json = {"feature": name}
        texts, threshold = words.get(name), float(trees.threshold[at])
        if at in trees.sets:
            known, chosen = trees.sets[at]
            node["known"] = [_word(code, texts) for code in known]
            node["in"] = [_word(code, texts) for code in chosen]
        elif texts is not None:  # very many categories are cut as numbers are, by their places
            node["in"] = [text for code, text in enumerate(texts) if code <= threshold]
        elif np.isfinite(threshold):
            return {**node, "above": threshold, "gap": not gap_left, "yes": right, "no": left}
        else:  # gaps on one side, whatever is known on the other
            return {**node, "in": [], "gap": not gap_left, "yes": right, "no": left}
        return {**node, "gap": gap_left, "yes": left, "no": right}

    each = zip(trees.roots.tolist(), trees.column.tolist())
    return times * trees.base, [grown(root, column) for root, column in each]


def _bit_node(bit: Bit) -> dict[str, object]:
    if bit.test == "at least":
        return {"feature": bit.feature, "above": _before(float(bit.what or 0.0)), "gap": False}
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
