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
from dataclasses import replace
from typing import Any

import numpy as np

from thrifty.cells.bit_cells import Bit
from thrifty.errors import BadInput
from thrifty.models.estimators import ModelClassifier
from thrifty.models.fits.columns import CATEGORY, GAP
from thrifty.models.fits.fitting import Prepared
from thrifty.models.fits.kernel_ridge import KernelRidge
from thrifty.models.fits.stack import Stack
from thrifty.models.fits.tree_ensembles import TreeSum
from thrifty.models.scorecard import Bins, CategoryNames, Points
from thrifty.models.scorecard_classifier import ScorecardClassifier
from thrifty.trees.model import TreeClassifier
from thrifty.typing import AnyArray, Floats, Json

__all__ = ["serving_model"]

#: a leaf is what it adds for each class; a node asks one question
Leaf = list[float]
Node = Json | Leaf

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

    Examples
    --------
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
        if isinstance(own, Prepared):
            own = own.fitted if own.fills is None else own
        points = getattr(own, "points_", None)
        if isinstance(points, Points):
            trees = _of_points(points, names, model.words_, 1.0)
            codes = np.asarray(own.classes_, dtype=np.int64)
            return _file(names, model.classes_[codes], points.intercepts, trees)
        if not isinstance(own, Stack):
            fitted = own.fitted if isinstance(own, Prepared) else own
            raise BadInput(
                f"this model was fitted with {type(fitted).__name__}, which cannot be written for "
                "serving as plain data; Thrifty's own model and scorecards can."
            )
        if not rows:
            own = _without_rows(own, np.where(table.bought, table.values, np.nan))
        return _of_stack(own, names, model.words_, model.classes_)
    if isinstance(model, ScorecardClassifier):
        names = list(getattr(model, "feature_names_in_", []))
        names = names or [f"x{f}" for f in range(model.n_features_in_)]
        told = zip(names, model.reader_.categories)
        words = {str(name): texts for name, texts in told if texts is not None}
        trees = _of_points(model.points_, names, words, 1.0)
        return _file(names, model.classes_, model.points_.intercepts, trees)
    if isinstance(model, TreeClassifier):
        names = [model.feature_names_[f] for f in model.features_.tolist()]
        if bits := model.bits_:
            return _shares(model, lambda f, t: _bit_node(bits[f], t), names)

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
    forest, share = model._flat.forest, model._flat.share
    allowed = model.missing != "error"

    def grown(at: int) -> Node:
        if forest.feature[at] < 0:
            leaf: Leaf = share[at].tolist()
            return leaf
        node = question(int(forest.feature[at]), float(forest.threshold[at]))
        if allowed and "gap" not in node:
            node["gap"] = bool(forest.missing[at] == forest.second[at])
        no, yes = grown(int(forest.first[at])), grown(int(forest.second[at]))
        return {**node, "yes": yes, "no": no}

    nothing = np.zeros(len(model.classes_))
    return _file(names, model.classes_, nothing, [grown(0)], softmax=False)


# The parts of the default model: a base, trees, and rows with what they say.


def both(scores: Floats) -> Leaf:
    """A score for each class; of two classes the first has 0."""
    found = [float(score) for score in scores]
    return [0.0, *found] if len(found) == 1 else found


def before(threshold: float) -> float:
    """At least the threshold is above the number before it."""
    return float(np.nextafter(threshold, -np.inf))


def _of_stack(own: Stack, names: Sequence[str], words: CategoryNames, classes: AnyArray) -> Json:
    ridge, share, near = (own.slope * share for share in own.shares)
    base = ridge * own.ridge.intercepts + own.intercepts
    trees = _of_points(own.ridge, names, words, ridge)
    if own.trees is not None and share:
        base = base + share * own.trees.base
        trees += _of_trees(own.trees, names, words, share)
    if own.kernel is None or not near:
        return _file(names, classes[own.classes_], base, trees)
    base = base + near * own.kernel.means
    file = _file(names, classes[own.classes_], base, trees)
    return {**file, "format": _WITH_ROWS, **_of_kernel(own.kernel, names, words, near)}


def _without_rows(own: Stack, values: Floats) -> Stack:
    """The same without its kernel, which keeps rows; on these rows it says nearly the same.

    The other parts take the kernel's share; a line through what the whole says of the rows puts
    back what the kernel added to the mean and to the spread.
    """
    if own.kernel is None:
        return own
    ridge, trees, _ = own.shares
    rest = ridge + trees
    shares = (ridge / rest, trees / rest, 0.0) if rest > 0 else (1.0, 0.0, 0.0)
    still = np.zeros_like(own.intercepts)
    alone = replace(own, kernel=None, shares=shares, slope=1.0, intercepts=still)
    whole, said = own.scores(values), alone.scores(values)
    middle, off = whole.mean(axis=0), said - said.mean(axis=0)
    slope = float((off * whole).sum() / max(float((off**2).sum()), 1e-300))
    return replace(alone, slope=slope, intercepts=middle - slope * said.mean(axis=0))


def _of_points(
    points: Points, names: Sequence[str], words: CategoryNames, times: float
) -> list[Node]:
    """A tree for each feature that has points: first whether it is a gap, then which bin."""
    trees: list[Node] = []
    for name, bins, table in zip(names, points.bins, points.points):
        leaves = [both(times * row) for row in table]
        if not any(any(leaf) for leaf in leaves):
            continue
        nothing = [0.0] * len(leaves[0])  # of a gap or a category that was never seen
        gap = leaves[-1] if bins.weight[-1] > 0 else nothing
        known = _of_bins(str(name), bins, leaves, words.get(str(name)), nothing)
        trees.append({"feature": str(name), "in": [], "gap": True, "yes": gap, "no": known})
    return trees


def _of_bins(
    name: str, bins: Bins, leaves: list[Leaf], texts: Sequence[object] | None, nothing: Leaf
) -> Node:
    if bins.groups is None:
        return _between(name, bins.edges.tolist(), leaves[:-1])
    known: Node = nothing
    for group, leaf in zip(bins.groups, leaves):
        told = [code if texts is None else texts[int(code)] for code in group]
        known = {"feature": name, "in": told, "yes": leaf, "no": known}
    return known


def _between(name: str, edges: list[float], leaves: list[Leaf]) -> Node:
    """Halve the limits until one bin is left."""
    if not edges:
        return leaves[0]
    middle = len(edges) // 2
    return {
        "feature": name,
        "above": before(edges[middle]),
        "no": _between(name, edges[:middle], leaves[: middle + 1]),
        "yes": _between(name, edges[middle + 1 :], leaves[middle + 1 :]),
    }


def _of_trees(own: TreeSum, names: Sequence[str], words: CategoryNames, times: float) -> list[Node]:
    def grown(at: int) -> Node:
        if own.left[at] == at:
            return both(times * own.value[at])
        name, limit = str(names[int(own.feature[at])]), float(own.threshold[at])
        below, above = grown(int(own.left[at])), grown(int(own.right[at]))
        if own.equal[at]:
            texts = words.get(name)
            word = limit if texts is None else texts[int(limit)]
            return {"feature": name, "in": [word], "gap": False, "yes": above, "no": below}
        # trees see single precision: values up to half way to the next one are not above
        limit = (limit + float(np.nextafter(np.float32(limit), np.float32(np.inf)))) / 2
        gap = not bool(own.gap_left[at])
        return {"feature": name, "above": limit, "gap": gap, "yes": above, "no": below}

    return [grown(root) for root in own.roots.tolist()]


def _of_kernel(own: KernelRidge, names: Sequence[str], words: CategoryNames, times: float) -> Json:
    """What becomes of a row's values, column by column, and the rows with what they say."""
    of, asked = own.columns, []
    for i, f in enumerate(of.feature.tolist()):
        name, scale = str(names[f]), float(own.scale[i] / of.spread[i])
        no, yes = (float((x - of.centre[i]) * scale) for x in (0.0, 1.0))
        texts = words.get(name)
        if of.holds[i] == GAP:
            asked.append({"feature": name, "in": [], "gap": yes, "no": no})
        elif of.holds[i] == CATEGORY:
            code = of.low[i] if texts is None else texts[int(of.low[i])]
            asked.append({"feature": name, "in": [code], "gap": no, "yes": yes, "no": no})
        else:
            low, high, centre = (float(x[i]) for x in (of.low, of.high, of.centre))
            kept = {"low": low, "high": high, "centre": centre, "scale": scale, "gap": 0.0}
            asked.append({"feature": name, **kept})
    said = [both(times * one) for one in own.coefficients]
    return {"columns": asked, "rows": [list(pair) for pair in zip(own.rows.tolist(), said)]}
